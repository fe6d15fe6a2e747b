//! A dataset restricted to some of its splits.
use bytes::Bytes;
use fdconvert_core::{
    Ahead, Amount, Codec, Encoded, Error, Extent, Image, Look, Provenance, Reader, Result, Sample,
    Source, SourceFacts, SplitChoice, Splits, Value, option, split_names, split_sizes,
};
use std::{ops::Range, sync::OnceLock};
use xxhash_rust::xxh3::Xxh3;

/// Restricts `reader` to the chosen splits; returns it unchanged if it has no others.
///
/// # Errors
/// `Usage`, with a list of the existing splits, for an unknown name, and for several splits where
/// only one is expected.
pub(crate) fn choose(reader: Box<dyn Reader>, choice: &SplitChoice) -> Result<Box<dyn Reader>> {
    let wanted = match choice {
        SplitChoice::All => return Ok(reader),
        SplitChoice::Only => {
            let splits = split_sizes(reader.splits());
            return if splits.len() > 1 { Err(several(&*reader, &splits)) } else { Ok(reader) };
        }
        SplitChoice::Named(wanted) => wanted,
    };
    let splits = reader.splits().to_vec();
    let names = split_names(&splits);
    if wanted.is_empty() {
        let what = format!("it names none; the splits are {}", names.join(", "));
        return Err(Error::usage(option::SPLIT, what));
    }
    if let Some(unknown) = wanted.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(missing(&*reader, unknown, &names));
    }
    if names.iter().all(|name| wanted.iter().any(|wanted| wanted == name)) {
        return Ok(reader);
    }
    let taken = splits.into_iter().filter(|(name, _)| wanted.contains(name));
    Ok(Box::new(OfSplits::new(reader, taken)))
}

fn missing(reader: &dyn Reader, unknown: &str, names: &[&str]) -> Error {
    let of = reader.name();
    let what = match names {
        [] => format!("{of} has no splits, so `{unknown}` does not exist; leave it out"),
        [only] => format!("`{unknown}` is no split of {of}, which has only {only}"),
        _ => format!("`{unknown}` is not one of the splits of {of}: {}", names.join(", ")),
    };
    Error::usage(option::SPLIT, what)
}

fn several(reader: &dyn Reader, splits: &[(String, u64)]) -> Error {
    let sized: Vec<_> = splits.iter().map(|(name, n)| format!("{name} {n}")).collect();
    let first = splits.first().map_or("train", |(name, _)| name);
    let train = splits.iter().find(|(name, _)| name == "train").map_or(first, |(name, _)| name);
    let what = format!(
        "{} has {} splits ({}), which are not mixed unless that is said",
        reader.name(),
        splits.len(),
        sized.join(", ")
    );
    Error::usage(option::SPLIT, what)
        .cure("to take one", option::SPLIT.with(train))
        .cure("to take all of them", option::SPLIT.with(SplitChoice::ALL))
}

/// The samples of some splits of a dataset, in the dataset's order. Datasets that
/// [generate](fdconvert_core::Generated) their images have no splits.
struct OfSplits {
    inner: Box<dyn Reader>,
    facts: SourceFacts,
    /// In dataset order, none empty.
    pieces: Vec<Piece>,
    /// True if the dataset has more than one stratum.
    has_strata: bool,
    /// The selected runs of positions, for each stratum of the dataset.
    strata: OnceLock<Vec<Vec<Piece>>>,
}

/// A run of samples that is contiguous both here and in the dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    start: u64,
    inner: Range<u64>,
}

/// Maps a position here to the position in the dataset.
fn inner_of(pieces: &[Piece], index: u64) -> Option<u64> {
    let at = pieces.partition_point(|piece| piece.start <= index).checked_sub(1)?;
    let piece = pieces.get(at)?;
    let inner = piece.inner.start + (index - piece.start);
    piece.inner.contains(&inner).then_some(inner)
}

/// Maps a position in the dataset to the position here, if the sample is selected.
fn outer_of(pieces: &[Piece], inner: u64) -> Option<u64> {
    let at = pieces.partition_point(|piece| piece.inner.start <= inner).checked_sub(1)?;
    let piece = pieces.get(at).filter(|piece| piece.inner.contains(&inner))?;
    Some(piece.start + (inner - piece.inner.start))
}

impl OfSplits {
    fn new(inner: Box<dyn Reader>, taken: impl Iterator<Item = (String, Range<u64>)>) -> Self {
        let (mut len, mut pieces, mut splits) = (0, Vec::new(), Splits::new());
        for (name, range) in taken.filter(|(_, range)| !range.is_empty()) {
            let (start, inner) = (len, range.clone());
            len += range.end - range.start;
            pieces.push(Piece { start, inner });
            match splits.last_mut() {
                Some((last, range)) if *last == name => range.end = len,
                _ => splits.push((name, start..len)),
            }
        }
        let has_strata = inner.strata().len() > 1;
        let facts = SourceFacts { len, splits, ..inner.facts().clone() };
        Self { inner, facts, pieces, has_strata, strata: OnceLock::new() }
    }

    fn at(&self, index: u64) -> Result<u64> {
        inner_of(&self.pieces, index).ok_or_else(|| {
            let what = format!("there is no sample {index}, only {}", self.len());
            Error::usage("sample", what)
        })
    }

    /// Like [`at`](Self::at), for callers that cannot fail: out of range gives a position that no
    /// sample has.
    fn or_none(&self, index: u64) -> u64 {
        inner_of(&self.pieces, index).unwrap_or(u64::MAX)
    }

    /// The runs of each stratum. With several strata, finding them reads every position once.
    fn runs(&self) -> &[Vec<Piece>] {
        self.strata.get_or_init(|| {
            let lens = self.inner.strata();
            (0..).zip(lens).map(|(stratum, len)| self.runs_of(stratum, len)).collect()
        })
    }

    fn runs_of(&self, stratum: usize, len: u64) -> Vec<Piece> {
        let (mut runs, mut n_taken) = (Vec::<Piece>::new(), 0);
        for position in 0..len {
            let inner = self.inner.stratum_sample(stratum, position);
            if outer_of(&self.pieces, inner).is_none() {
                continue;
            }
            match runs.last_mut() {
                Some(run) if run.inner.end == position => run.inner.end += 1,
                _ => runs.push(Piece { start: n_taken, inner: position..position + 1 }),
            }
            n_taken += 1;
        }
        runs
    }
}

impl Source for OfSplits {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        self.inner.read(self.at(index)?)
    }

    fn read_ahead(&self, indices: &[u64]) -> Ahead {
        let indices: Vec<_> = indices.iter().filter_map(|it| inner_of(&self.pieces, *it)).collect();
        self.inner.read_ahead(&indices)
    }

    fn key(&self, index: u64) -> String {
        self.inner.key(self.or_none(index))
    }

    fn value(&self, index: u64, field: usize) -> Result<Option<Value<Image>>> {
        self.inner.value(self.at(index)?, field)
    }

    fn codec_hint(&self, index: u64) -> Result<Option<Codec>> {
        self.inner.codec_hint(self.or_none(index))
    }

    fn bytes(&self, index: u64, amount: Amount) -> Result<Option<u64>> {
        self.inner.bytes(self.at(index)?, amount)
    }

    fn fingerprint(&self, look: Look) -> Result<[u8; 16]> {
        let mut hash = Xxh3::new();
        hash.update(&self.inner.fingerprint(look)?);
        for Piece { inner, .. } in &self.pieces {
            hash.update(&inner.start.to_le_bytes());
            hash.update(&inner.end.to_le_bytes());
        }
        Ok(hash.digest128().to_le_bytes())
    }
}

impl Reader for OfSplits {
    fn get(&self, index: u64) -> Result<Sample<Encoded>> {
        self.inner.get(self.at(index)?)
    }

    fn get_many(&self, indices: &[u64]) -> Vec<Result<Sample<Encoded>>> {
        let inner: Vec<_> = indices.iter().map(|index| self.or_none(*index)).collect();
        self.inner.get_many(&inner)
    }

    fn strata(&self) -> Vec<u64> {
        if !self.has_strata {
            return vec![self.len()];
        }
        let len = |runs: &Vec<Piece>| {
            runs.last().map_or(0, |it| it.start + it.inner.end - it.inner.start)
        };
        // Skip codecs that only the other splits use.
        self.runs().iter().map(len).filter(|len| *len > 0).collect()
    }

    fn stratum_sample(&self, stratum: usize, position: u64) -> u64 {
        if !self.has_strata {
            return position;
        }
        let taken = (0..).zip(self.runs()).filter(|(_, runs)| !runs.is_empty()).nth(stratum);
        let inner = taken.and_then(|(stratum, runs)| {
            Some(self.inner.stratum_sample(stratum, inner_of(runs, position)?))
        });
        // A missing sample has no position.
        inner.and_then(|inner| outer_of(&self.pieces, inner)).unwrap_or(u64::MAX)
    }

    fn image_extent(&self, index: u64) -> Result<Option<Extent>> {
        self.inner.image_extent(self.at(index)?)
    }

    fn entry_points(&self, index: u64, field: usize) -> Result<Option<Bytes>> {
        self.inner.entry_points(self.at(index)?, field)
    }

    fn provenance(&self) -> Option<&Provenance> {
        self.inner.provenance()
    }

    fn details(&self) -> serde_json::Map<String, serde_json::Value> {
        self.inner.details()
    }

    fn verify_layout(&self) -> Vec<Error> {
        self.inner.verify_layout()
    }

    fn verify_sample(&self, index: u64) -> Result<()> {
        self.inner.verify_sample(self.at(index)?)
    }

    fn verify_row(&self, index: u64) -> Result<()> {
        self.inner.verify_row(self.at(index)?)
    }

    fn has_checksums(&self) -> bool {
        self.inner.has_checksums()
    }
}
