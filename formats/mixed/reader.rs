use crate::index::EntryPointFacts;
use crate::mixed::{
    layout::{CODECS, FORMAT, MANIFEST, folder, folder_name},
    manifest::{CodecFacts, Manifest},
    order::Order,
    verify,
};
use crate::shards::{
    manifest::{MAX_BYTES, NAME},
    versions::{self, Files, OpenVersion, number},
};
use crate::wds::WdsReader;
use bytes::Bytes;
use fdconvert_core::{
    Ahead, Amount, Codec, Encoded, Error, Extent, Image, Kind, Look, Provenance, Reader, Remark,
    Result, Sample, Source, SourceFacts, Value, packed_splits,
};
use fdconvert_jpeg::grid_of;
use fdconvert_storage::{name_of, place, read_if_there};
use serde_json::{Map, Value as Json, json};
use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};
use xxhash_rust::xxh3::Xxh3;

/// A mixed set: the samples of all codecs in the order of the source. Nothing is copied, and many
/// threads may read at the same time.
#[derive(Debug)]
pub struct MixedReader {
    pub(crate) path: PathBuf,
    facts: SourceFacts,
    pub(crate) manifest: Manifest,
    pub(crate) files: Files,
    pub(crate) order: Order,
    /// By code; `None` for a codec without a sample.
    pub(crate) parts: [Option<WdsReader>; CODECS.len()],
    fingerprint: OnceLock<[u8; 16]>,
}

/// The samples of one codec, for loaders that compose batches by codec.
#[derive(Debug, Clone, Copy)]
pub struct Stratum<'a> {
    order: &'a Order,
    code: u8,
    facts: &'a CodecFacts,
}

impl<'a> Stratum<'a> {
    /// Returns the codec of its images.
    #[must_use]
    pub fn codec(&self) -> Codec {
        self.facts.codec
    }

    /// Returns its name, which is that of its folder.
    #[must_use]
    pub fn name(&self) -> &'a str {
        &self.facts.folder
    }

    /// Returns the number of its samples; never 0.
    #[must_use]
    pub fn n_samples(&self) -> u64 {
        self.facts.samples
    }

    /// Returns the size of its shards in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.facts.bytes
    }

    /// Returns the number in the dataset of its sample at `position`, by a binary search.
    #[must_use]
    pub fn id(&self, position: u64) -> Option<u64> {
        self.order.select(self.code, position)
    }

    /// Yields the numbers in the dataset of all its samples, ascending.
    pub fn ids(&self) -> impl Iterator<Item = u64> + use<'a> {
        let code = self.code;
        (0..).zip(self.order.codes()).filter(move |(_, found)| *found == code).map(|(id, _)| id)
    }
}

impl MixedReader {
    pub(crate) fn open(path: &Path, version: Option<u64>) -> Result<Self> {
        versions::open(path, MANIFEST, version, |opened| match opened {
            Some(opened) => Self::open_version(path, &opened),
            // With the error of the missing file.
            None => Manifest::read(&path.join(MANIFEST)).and_then(|_| Self::open(path, version)),
        })
    }

    fn open_version(path: &Path, opened: &OpenVersion) -> Result<Self> {
        let (manifest, order) = Manifest::parse(&opened.text, &opened.path)?;
        let files = opened.files.clone();
        let mut parts = [const { None }; CODECS.len()];
        for (codec, part) in CODECS.into_iter().zip(&mut parts) {
            if let Some(facts) = manifest.codecs.iter().find(|facts| facts.codec == codec) {
                *part = Some(open_part(path, &files, &manifest, facts)?);
            }
        }
        let name = name_of(path)?.unwrap_or_else(|| FORMAT.into());
        let path = path.to_path_buf();
        let facts = facts(name, &manifest, order.len(), &parts);
        let fingerprint = OnceLock::new();
        Ok(Self { path, facts, manifest, files, order, parts, fingerprint })
    }

    /// Yields the samples by codec, in the order JPEG, PNG, BMP, WebP; codecs without a sample are
    /// left out.
    pub fn strata(&self) -> impl Iterator<Item = Stratum<'_>> {
        self.manifest.codecs.iter().filter_map(|facts| {
            let code = crate::mixed::layout::code_of(facts.codec)?;
            Some(Stratum { order: &self.order, code, facts })
        })
    }

    /// Returns the codec of a sample and its position in that codec's stratum.
    #[must_use]
    pub fn place(&self, index: u64) -> Option<(Codec, u64)> {
        let (code, position) = self.order.place(index)?;
        Some((*CODECS.get(usize::from(code))?, position))
    }

    /// Returns the folder that has a sample, and its position there.
    pub(crate) fn locate(&self, index: u64) -> Result<(&WdsReader, u64)> {
        let (code, position) = self.order.place(index).ok_or_else(|| {
            let what = format!("there is no sample {index}, only {}", self.order.len());
            Error::usage("sample", what)
        })?;
        match self.parts.get(usize::from(code)) {
            Some(Some(part)) => Ok((part, position)),
            _ => Err(self.damaged("its order has a codec that it does not list")),
        }
    }

    pub(crate) fn damaged(&self, what: impl Into<Remark>) -> Error {
        Error::corrupt(FORMAT, self.path.join(MANIFEST), 0, what)
    }
}

fn facts(name: String, manifest: &Manifest, len: u64, parts: &[Option<WdsReader>]) -> SourceFacts {
    let mut facts = SourceFacts::new(name, manifest.schema.clone(), len);
    let shards = manifest.shards.iter();
    facts.version = Some(number(manifest.edit.as_ref()));
    facts.splits = packed_splits(shards.map(|shard| (shard.split.as_str(), shard.samples)));
    let mut parts = parts.iter().flatten();
    facts.reads_ahead = parts.clone().any(|part| part.facts().reads_ahead);
    if let Some(part) = parts.next() {
        let fields = facts.fields.iter_mut().zip(&facts.schema.fields).enumerate();
        // The image field has the same name for all codecs, which is a matter of this format.
        for (at, (field, _)) in fields.filter(|(_, (_, spec))| spec.kind != Kind::Image) {
            field.member.clone_from(&part.facts().field(at).member);
        }
    }
    facts
}

/// Opens a codec's folder, and checks that it matches the manifest.
fn open_part(
    path: &Path,
    files: &Files,
    manifest: &Manifest,
    facts: &CodecFacts,
) -> Result<WdsReader> {
    let (folder, files) = (folder(path, facts.codec), files.within(folder_name(facts.codec)));
    let wrong = |what: String| Error::corrupt(FORMAT, path.join(MANIFEST), 0, what);
    let of_part = files.path(NAME);
    let Some(text) = read_if_there(&of_part, MAX_BYTES)? else {
        if place::is_folder(&folder) {
            return Err(wrong(format!("{} has no manifest", folder.display())));
        }
        return Err(wrong(format!(
            "{} samples are in {}, which is missing",
            facts.samples,
            folder.display()
        )));
    };
    let part = WdsReader::open_with_manifest(&folder, &text, &of_part, files)?;
    if part.len() != facts.samples {
        let (found, wanted) = (part.len(), facts.samples);
        return Err(wrong(format!("{} has {found} samples, not {wanted}", folder.display())));
    }
    if *part.schema() != manifest.schema {
        return Err(wrong(format!(
            "{} is of another dataset: its fields differ",
            folder.display()
        )));
    }
    Ok(part)
}

impl Source for MixedReader {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        let (part, position) = self.locate(index)?;
        part.read(position)
    }

    fn read_ahead(&self, indices: &[u64]) -> Ahead {
        let mut by_code = [const { Vec::new() }; CODECS.len()];
        for &index in indices {
            let Some((code, position)) = self.order.place(index) else { continue };
            if let Some(positions) = by_code.get_mut(usize::from(code)) {
                positions.push(position);
            }
        }
        let mut ahead = Ahead::default();
        for (part, positions) in self.parts.iter().zip(&by_code) {
            if let Some(part) = part {
                ahead.add(part.read_ahead(positions));
            }
        }
        ahead
    }

    fn key(&self, index: u64) -> String {
        let found = self.locate(index);
        found.map_or_else(|_| format!("#{index}"), |(part, position)| part.key(position))
    }

    fn value(&self, index: u64, field: usize) -> Result<Option<Value<Image>>> {
        let (part, position) = self.locate(index)?;
        part.value(position, field)
    }

    fn codec_hint(&self, index: u64) -> Result<Option<Codec>> {
        Ok(self.place(index).map(|(codec, _)| codec))
    }

    fn bytes(&self, index: u64, amount: Amount) -> Result<Option<u64>> {
        self.locate(index).map_or(Ok(None), |(part, position)| part.bytes(position, amount))
    }

    fn image_size(&self, index: u64) -> Result<Option<(u32, u32)>> {
        let (part, position) = self.locate(index)?;
        part.image_size(position)
    }

    fn fingerprint(&self, look: Look) -> Result<[u8; 16]> {
        if let Some(known) = self.fingerprint.get() {
            return Ok(*known);
        }
        let mut hash = Xxh3::new();
        hash.update(self.manifest.order.as_bytes());
        for (code, part) in (0_u8..).zip(&self.parts) {
            if let Some(part) = part {
                hash.update(&[code]);
                hash.update(&part.fingerprint(look)?);
            }
        }
        Ok(*self.fingerprint.get_or_init(|| hash.digest128().to_le_bytes()))
    }
}

impl Reader for MixedReader {
    fn get(&self, index: u64) -> Result<Sample<Encoded>> {
        let (part, position) = self.locate(index)?;
        part.get(position)
    }

    /// One for each codec, as in [`MixedReader::strata`].
    fn strata(&self) -> Vec<u64> {
        self.manifest.codecs.iter().map(|facts| facts.samples).collect()
    }

    fn stratum_sample(&self, stratum: usize, position: u64) -> u64 {
        let found = MixedReader::strata(self).nth(stratum).and_then(|codec| codec.id(position));
        // A missing sample has no number.
        found.unwrap_or(u64::MAX)
    }

    fn image_extent(&self, index: u64) -> Result<Option<Extent>> {
        let (part, position) = self.locate(index)?;
        part.image_extent(position)
    }

    fn entry_points(&self, index: u64, field: usize) -> Result<Option<Bytes>> {
        let (part, position) = self.locate(index)?;
        part.entry_points(position, field)
    }

    fn provenance(&self) -> Option<&Provenance> {
        Some(&self.manifest.provenance)
    }

    fn details(&self) -> Map<String, Json> {
        let mut details = Map::new();
        let mut put = |name: &str, value: Json| details.insert(name.to_owned(), value);
        put("shards", json!(self.manifest.shards.len()));
        let bytes = self.manifest.codecs.iter().map(|facts| facts.bytes);
        put("bytes", json!(bytes.fold(0, u64::saturating_add)));
        put("asked", json!(self.manifest.asked));
        for facts in &self.manifest.codecs {
            let share = facts.samples as f64 / self.order.len() as f64;
            let CodecFacts { samples, bytes, .. } = facts;
            put(&facts.folder, json!({ "samples": samples, "share": share, "bytes": bytes }));
        }
        details.extend(versions::detail(self.manifest.edit.as_ref()));
        let parts = self.parts.iter().flatten();
        if let Some(problem) = parts.clone().find_map(|part| part.combined_problem.as_ref()) {
            details.insert("combined_index_problem".into(), json!(problem));
        }
        let entry_points =
            parts.filter_map(WdsReader::entry_point_facts).reduce(EntryPointFacts::and);
        if let Some(facts) = entry_points {
            details.insert("entry_points".into(), facts.to_json(grid_of));
        }
        details
    }

    fn verify_layout(&self) -> Vec<Error> {
        verify::layout(self)
    }

    fn verify_sample(&self, index: u64) -> Result<()> {
        verify::sample(self, index)
    }

    fn verify_row(&self, index: u64) -> Result<()> {
        let (part, position) = self.locate(index)?;
        part.verify_row(position)
    }

    fn has_checksums(&self) -> bool {
        self.parts.iter().flatten().all(Reader::has_checksums)
    }
}
