//! Chosen samples of a dataset as a dataset.
mod indices;
mod splits;
#[cfg(test)]
mod tests;

use crate::{
    Ahead, Amount, Codec, Drawn, Encoded, Error, Extent, Generated, Image, LanesImage, Look,
    Provenance, Reader, Result, Sample, Source, SourceFacts, Value,
};
use bytes::Bytes;
pub use indices::Indices;
use indices::Steps;
pub use splits::indices_of_splits;
use std::sync::{Arc, OnceLock};
use xxhash_rust::xxh3::Xxh3;

/// The chosen samples of a dataset, in the order of their choice.
///
/// It has the schema and the classes of the dataset: numbers of classes do not change, even where
/// none of a class is left. Its [splits](SourceFacts::splits) are those of the dataset, unless the
/// order of choice mixes them: then it has none. Apart from the [`Indices`] it takes no memory per
/// sample, except that a loader that [spreads](Reader::strata) the samples of a dataset with
/// several codecs keeps the indices of each.
pub struct Subset {
    inner: Arc<dyn Reader>,
    indices: Arc<Indices>,
    facts: SourceFacts,
    /// Fingerprint of the whole dataset, and of this subset.
    fingerprint: OnceLock<([u8; 16], [u8; 16])>,
    /// True if the dataset has more than one stratum.
    has_strata: bool,
    /// Positions here of the samples of each stratum, without empty ones.
    strata: OnceLock<Vec<Indices>>,
}

impl Subset {
    /// Chooses samples of a dataset.
    ///
    /// # Errors
    /// `Usage` for an index that the dataset does not have.
    pub fn new(inner: Arc<dyn Reader>, indices: Arc<Indices>) -> Result<Self> {
        indices.check(inner.len())?;
        let splits = splits::within(inner.splits(), &indices);
        let facts = SourceFacts { len: indices.len(), splits, ..inner.facts().clone() };
        let has_strata = inner.strata().len() > 1;
        let (fingerprint, strata) = (OnceLock::new(), OnceLock::new());
        Ok(Self { inner, indices, facts, fingerprint, has_strata, strata })
    }

    fn at(&self, position: u64) -> Result<u64> {
        self.indices.at(position).ok_or_else(|| {
            let what = format!("there is no sample {position}, only {}", self.len());
            Error::usage("sample", what)
        })
    }

    /// Like [`at`](Self::at), for callers that cannot fail: out of range gives an index that no
    /// sample has.
    fn or_none(&self, position: u64) -> u64 {
        self.indices.at(position).unwrap_or(u64::MAX)
    }

    fn hash(&self, inner: [u8; 16]) -> [u8; 16] {
        let mut hash = Xxh3::new();
        hash.update(&inner);
        for Steps { first, step, len } in self.indices.steps() {
            // No range starts there.
            let uneven = [u64::MAX, step.cast_unsigned(), len];
            let uneven = uneven.iter().filter(|_| step != 1 && len > 1);
            uneven.for_each(|number| hash.update(&number.to_le_bytes()));
            hash.update(&first.to_le_bytes());
            hash.update(&(first.wrapping_add(len)).to_le_bytes());
        }
        hash.digest128().to_le_bytes()
    }

    /// Groups the positions by stratum, which takes every sample of the dataset once.
    fn strata(&self) -> &[Indices] {
        self.strata.get_or_init(|| {
            let lens = self.inner.strata();
            let mut stratum_of =
                vec![0_u16; usize::try_from(self.inner.len()).unwrap_or(usize::MAX)];
            for (number, (stratum, len)) in (0..=u16::MAX).zip(lens.iter().enumerate()) {
                for position in 0..*len {
                    let index = self.inner.stratum_sample(stratum, position);
                    let index = usize::try_from(index).unwrap_or(usize::MAX);
                    if let Some(stratum) = stratum_of.get_mut(index) {
                        *stratum = number;
                    }
                }
            }
            let mut strata = vec![Indices::default(); lens.len()];
            for (position, index) in (0..).zip(self.indices.iter()) {
                let stratum = usize::try_from(index).ok().and_then(|index| stratum_of.get(index));
                let stratum = stratum.and_then(|stratum| strata.get_mut(usize::from(*stratum)));
                stratum.into_iter().for_each(|stratum| stratum.extend([position]));
            }
            // Skip codecs that no chosen sample has.
            strata.retain(|stratum| !stratum.is_empty());
            strata
        })
    }

    /// Chooses the same samples of the dataset in another form.
    fn of(&self, inner: Box<dyn Reader>) -> Result<Box<dyn Reader>> {
        Ok(Box::new(Self::new(inner.into(), self.indices.clone())?))
    }

    fn generated(&self) -> Result<&dyn Generated> {
        let generated = self.inner.as_generated();
        generated.ok_or_else(|| Error::usage("dataset", "its images are stored"))
    }
}

impl Source for Subset {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        self.inner.read(self.at(index)?)
    }

    fn read_ahead(&self, indices: &[u64]) -> Ahead {
        let indices: Vec<u64> = indices.iter().filter_map(|at| self.indices.at(*at)).collect();
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

    fn image_size(&self, index: u64) -> Result<Option<(u32, u32)>> {
        self.inner.image_size(self.at(index)?)
    }

    fn fingerprint(&self, look: Look) -> Result<[u8; 16]> {
        let inner = self.inner.fingerprint(look)?;
        let hashed = self.fingerprint.get_or_init(|| (inner, self.hash(inner)));
        Ok(if hashed.0 == inner { hashed.1 } else { self.hash(inner) })
    }
}

impl Reader for Subset {
    fn get(&self, index: u64) -> Result<Sample<Encoded>> {
        self.inner.get(self.at(index)?)
    }

    fn get_many(&self, indices: &[u64]) -> Vec<Result<Sample<Encoded>>> {
        let inner: Vec<u64> = indices.iter().map(|index| self.or_none(*index)).collect();
        self.inner.get_many(&inner)
    }

    fn as_generated(&self) -> Option<&dyn Generated> {
        self.inner.as_generated().map(|_| self as &dyn Generated)
    }

    fn strata(&self) -> Vec<u64> {
        if !self.has_strata {
            return vec![self.len()];
        }
        self.strata().iter().map(Indices::len).collect()
    }

    fn stratum_sample(&self, stratum: usize, position: u64) -> u64 {
        if !self.has_strata {
            return position;
        }
        let stratum = self.strata().get(stratum);
        // A missing sample has no position.
        stratum.and_then(|stratum| stratum.at(position)).unwrap_or(u64::MAX)
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

impl Generated for Subset {
    fn drawn(&self) -> Drawn {
        self.generated().map_or(Drawn { side: 0, is_free: false }, Generated::drawn)
    }

    fn drawn_at(&self, side: u32) -> Result<Box<dyn Reader>> {
        self.of(self.generated()?.drawn_at(side)?)
    }

    fn at_epoch(&self, epoch: u64) -> Result<Option<Box<dyn Reader>>> {
        self.generated()?.at_epoch(epoch)?.map(|inner| self.of(inner)).transpose()
    }

    fn lanes(&self, index: u64) -> Result<Option<LanesImage>> {
        self.generated()?.lanes(self.at(index)?)
    }
}
