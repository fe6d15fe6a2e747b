use crate::index::EntryPointFacts;
use crate::shards::versions::{self, Files};
use crate::wds::{
    kept, keys,
    manifest::Manifest,
    names::Column,
    shard::{Contents, IndexProblem, Refusal, Shard, Slot},
    splits,
};
use bytes::Bytes;
use fdconvert_core::{
    Ahead, Amount, Codec, Encoded, Error, Extent, FieldSpec, Image, Kind, Look, Provenance, Reader,
    Remark, Result, Sample, Source, SourceFacts, Value, read_value,
};
use fdconvert_jpeg::grid_of;
use serde_json::{Map, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::OnceLock,
};
use xxhash_rust::xxh3::Xxh3;

/// Open shards as one dataset, in the order of the manifest or sorted by name. Nothing is copied:
/// values are slices of the maps. Many threads may read at the same time.
#[derive(Debug)]
pub struct WdsReader {
    pub(crate) path: PathBuf,
    pub(crate) facts: SourceFacts,
    pub(crate) slots: Vec<Slot>,
    /// Member names, in schema order.
    pub(crate) columns: Vec<Column>,
    pub(crate) manifest: Option<Manifest>,
    /// The files that the manifest names.
    pub(crate) files: Files,
    pub(crate) provenance: Option<Provenance>,
    pub(crate) shards: Vec<Shard>,
    /// Number of samples up to the end of each shard.
    pub(crate) ends: Vec<u64>,
    /// Counts of members that belong to no field, in shards without an index.
    pub(crate) extra: BTreeMap<Vec<u8>, u64>,
    pub(crate) fingerprint: OnceLock<[u8; 16]>,
    /// Why blocks of the combined index are ignored in favour of the shards' own indexes.
    pub(crate) combined_problem: Option<String>,
}

impl WdsReader {
    /// Returns true if a manifest lists the shards in order.
    #[must_use]
    pub fn has_manifest(&self) -> bool {
        self.manifest.is_some()
    }

    /// Returns the entry-point facts of all indexes together; `None` if no index has entry points.
    #[must_use]
    pub fn entry_point_facts(&self) -> Option<EntryPointFacts> {
        let found = self.shards.iter().filter_map(|shard| match &shard.contents {
            Contents::Indexed(index) => index.entry_point_facts(),
            Contents::Scanned(_) => None,
        });
        found.reduce(EntryPointFacts::and)
    }

    /// The number of the sample's shard (one past the last if out of range), and its position
    /// there.
    fn place(&self, index: u64) -> (usize, u64) {
        let number = self.ends.partition_point(|&end| end <= index);
        let start = number.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        (number, index - start.unwrap_or(0))
    }

    /// The shard of a sample, and its position there.
    pub(crate) fn locate(&self, index: u64) -> Result<(&Shard, u64)> {
        let (number, sample) = self.place(index);
        match self.shards.get(number) {
            Some(shard) => Ok((shard, sample)),
            None => {
                let what = format!("there is no sample {index}, only {}", self.len());
                Err(Error::usage("sample", what))
            }
        }
    }

    /// The key of a sample of a shard.
    #[inline(always)]
    pub(crate) fn key_in(&self, shard: &Shard, sample: u64) -> Result<String, String> {
        match &shard.contents {
            Contents::Indexed(index) => match index.key(sample) {
                Ok(Some(key)) => Ok(key.to_owned()),
                Ok(None) => Ok(format!("{sample:08}")),
                Err(error) => Err(error.to_string()),
            },
            Contents::Scanned(scanned) => {
                let stored = scanned.key(sample).ok_or("there is no such sample")?;
                Ok(self.with_extension(keys::decode(stored), shard, sample))
            }
        }
    }

    /// Member name of the first image of a sample, if it has one.
    fn image_name<'a>(&'a self, shard: &'a Shard, sample: u64) -> Option<&'a [u8]> {
        let column = self.columns.get(self.facts.schema.first_image()?)?.first();
        let name = match &shard.contents {
            Contents::Indexed(_) => column,
            Contents::Scanned(scanned) => scanned.image_name(sample).unwrap_or(column),
        };
        Some(name).filter(|name| !name.is_empty())
    }

    /// Appends the extension that the name in the tar lacks: files are unpacked under it.
    fn with_extension(&self, mut key: String, shard: &Shard, sample: u64) -> String {
        let last_part = key.rsplit('/').next().unwrap_or(&key);
        let known = last_part.rsplit_once('.').and_then(|(_, e)| Codec::from_extension(e));
        let common = self.manifest.as_ref().and_then(|m| m.common.extension.as_deref());
        let own = || self.image_name(shard, sample).map(String::from_utf8_lossy);
        let extension = common.map(Into::into).or_else(own);
        if let (Some(extension), None) = (extension, known) {
            key.push('.');
            key.push_str(&extension);
        }
        key
    }

    /// Returns true if samples consist of images only and their containers may be their classes:
    /// folders, or tars with different names.
    fn may_be_classes(&self) -> bool {
        let is_only = matches!(&self.facts.schema.fields[..], [field] if field.kind == Kind::Image);
        let is_bare = |shard: &Shard| matches!(shard.contents, Contents::Scanned(_));
        if !is_only || self.manifest.is_some() || !self.shards.iter().all(is_bare) {
            return false;
        }
        let has_folders = |shard: &Shard| match &shard.contents {
            Contents::Scanned(scanned) => scanned
                .key(0)
                .is_some_and(|key| key.strip_prefix(b"./").unwrap_or(key).contains(&b'/')),
            Contents::Indexed(_) => false,
        };
        let names = self.shards.iter().map(|shard| splits::split_of(&shard.path));
        let names: BTreeSet<String> = names.collect();
        let is_each_another = names.len() > 1 && names.len() == self.shards.len();
        self.shards.iter().any(has_folders) || is_each_another && splits::named(self).is_none()
    }

    /// Adds the facts that need all shards open. `n_images_beside` counts the images in their
    /// folder and its subfolders, as far as those were listed.
    pub(crate) fn told(mut self, n_images_beside: u64) -> Self {
        let mut facts = self.facts.clone();
        let fields = facts.fields.iter_mut().zip(&self.columns).enumerate();
        for (at, (field, column)) in fields {
            field.member = kept::of_source(&facts.schema, at, column);
        }
        for shard in &self.shards {
            facts.reads_ahead |= shard.archive.here().is_none();
            if let Contents::Scanned(scanned) = &shard.contents {
                facts.ignored.add(scanned.ignored.clone());
            }
        }
        facts.splits = splits::of(&self);
        facts.remarks.extend(self.found(n_images_beside));
        self.facts = facts;
        self
    }

    fn found(&self, n_images_beside: u64) -> impl Iterator<Item = Remark> {
        let extra = self.extra.iter().map(|(name, n)| {
            format!(
                "{n} members called `{}` are left out: by its indexes or its manifest the dataset has \
                 no such field",
                String::from_utf8_lossy(name)
            )
            .into()
        });
        let beside = match n_images_beside {
            0 => None,
            1 => Some(format!("1 image next to the shards of {} is left out", self.name()).into()),
            n => {
                let name = self.name();
                Some(format!("{n} images next to the shards of {name} are left out").into())
            }
        };
        let classes = self.may_be_classes().then(|| {
            format!(
                "neither tars nor folders in them are classes: to have some, unpack each tar of {} \
                 into a folder, and give the folder above these",
                self.name()
            )
            .into()
        });
        splits::remarks(self).into_iter().chain(extra).chain(beside).chain(classes)
    }

    fn stored_codec(&self, index: u64) -> Option<Codec> {
        let (shard, sample) = self.locate(index).ok()?;
        let image = self.facts.schema.first_image()?;
        match (&shard.contents, self.slots.get(image)?) {
            (Contents::Indexed(index), &Slot::Region(region)) => {
                Some(index.region(sample, region).ok()?.image?.codec)
            }
            _ => {
                let name = std::str::from_utf8(self.image_name(shard, sample)?).ok()?;
                Codec::from_extension(name.rsplit('.').next().unwrap_or(name))
            }
        }
    }

    fn image_bytes(&self, index: u64) -> Option<u64> {
        let (shard, sample) = self.locate(index).ok()?;
        let mut bytes = 0;
        for (column, field) in self.facts.schema.fields.iter().enumerate() {
            if !matches!(field.kind, Kind::Image | Kind::Images) {
                continue;
            }
            bytes += match (&shard.contents, self.slots.get(column)?) {
                (Contents::Indexed(index), &Slot::Region(region)) => {
                    index.region(sample, region).ok()?.len
                }
                (Contents::Indexed(_), Slot::Cell(_)) => 0,
                (Contents::Scanned(scanned), _) => match scanned.place(sample, column) {
                    None if field.kind == Kind::Images => 0,
                    place => place?.len() as u64,
                },
            };
        }
        Some(bytes)
    }

    pub(crate) fn refused(&self, index: u64, field: &FieldSpec, refusal: Refusal) -> Error {
        refusal.into_error(|what| {
            self.bad_sample(index, what.reworded(|what| format!("field `{}` {what}", field.name)))
        })
    }

    /// An error about one sample, with its shard.
    pub(crate) fn bad_sample(&self, index: u64, what: impl Into<Remark>) -> Error {
        let place = self.locate(index).map_or_else(
            |_| String::new(),
            |(shard, sample)| format!(" (sample {sample} of {})", shard.path.display()),
        );
        Error::sample(self.key(index), what.into().reworded(|what| format!("{what}{place}")))
    }
}

impl Source for WdsReader {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        let (shard, _) = self.locate(index)?;
        // Tars that were copied without their indexes are read like those of other tools.
        if !matches!(shard.index_problem, Some(IndexProblem::Missing(_))) {
            self.verify_row(index)?;
        }
        crate::wds::verify::compared(self, index).map(Into::into)
    }

    fn read_ahead(&self, indices: &[u64]) -> Ahead {
        let mut by_shard: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        for &index in indices {
            let (number, sample) = self.place(index);
            by_shard.entry(number).or_default().push(sample);
        }
        let mut ahead = Ahead::default();
        for (number, samples) in by_shard {
            let Some(shard) = self.shards.get(number) else { continue };
            ahead.add(shard.read_ahead(&samples, &self.slots));
        }
        ahead
    }

    fn key(&self, index: u64) -> String {
        let key = self.locate(index).ok().and_then(|(shard, i)| self.key_in(shard, i).ok());
        key.unwrap_or_else(|| format!("#{index}"))
    }

    /// In a shard with an index, integers and floats are in the row; texts and documents are read
    /// alone.
    fn value(&self, index: u64, field: usize) -> Result<Option<Value<Image>>> {
        let (shard, sample) = self.locate(index)?;
        if let (Contents::Indexed(block), Some(&Slot::Cell(at))) =
            (&shard.contents, self.slots.get(field))
        {
            self.verify_row(index)?;
            let row = block.row(sample).ok().flatten();
            let cell = row.and_then(|row| row.get(at..)?.first_chunk::<8>());
            let kind = self.facts.schema.fields.get(field).map(|field| &field.kind);
            match (cell, kind) {
                (Some(cell), Some(Kind::Int)) => {
                    return Ok(Some(Value::Int(i64::from_le_bytes(*cell))));
                }
                (Some(cell), Some(Kind::Float)) => {
                    return Ok(Some(Value::Float(f64::from_le_bytes(*cell))));
                }
                _ => {}
            }
        }
        let kind = self.facts.schema.fields.get(field).map(|field| &field.kind);
        if !matches!(kind, Some(Kind::Text | Kind::Json)) {
            return read_value(self, index, field);
        }
        if !matches!(shard.index_problem, Some(IndexProblem::Missing(_))) {
            self.verify_row(index)?;
        }
        crate::wds::verify::value(self, index, field).map(|value| Some(value.into()))
    }

    fn codec_hint(&self, index: u64) -> Result<Option<Codec>> {
        Ok(self.stored_codec(index))
    }

    fn bytes(&self, index: u64, _amount: Amount) -> Result<Option<u64>> {
        Ok(self.image_bytes(index))
    }

    fn image_size(&self, index: u64) -> Result<Option<(u32, u32)>> {
        let (shard, sample) = self.locate(index)?;
        let slot = self.facts.schema.first_image().and_then(|image| self.slots.get(image));
        let (Contents::Indexed(block), Some(&Slot::Region(region))) = (&shard.contents, slot)
        else {
            return Ok(None);
        };
        self.verify_row(index)?;
        let image = block.region(sample, region).ok().and_then(|region| region.image);
        let size = image.map(|image| (image.width, image.height));
        // Reading tells what is wrong with an image without pixels.
        Ok(size.filter(|(width, height)| *width > 0 && *height > 0))
    }

    fn fingerprint(&self, _look: Look) -> Result<[u8; 16]> {
        Ok(*self.fingerprint.get_or_init(|| {
            let mut hash = Xxh3::new();
            for shard in &self.shards {
                let name = shard.path.file_name().unwrap_or_default();
                hash.update(name.as_encoded_bytes());
                hash.update(&[0]);
                hash.update(&shard.archive.len().to_le_bytes());
                match &shard.contents {
                    // The root covers every key and every checksum.
                    Contents::Indexed(index) => hash.update(&index.root().to_le_bytes()),
                    Contents::Scanned(scanned) => scanned.update(|bytes| hash.update(bytes)),
                }
            }
            hash.digest128().to_le_bytes()
        }))
    }
}

impl Reader for WdsReader {
    fn get(&self, index: u64) -> Result<Sample<Encoded>> {
        let (shard, sample) = self.locate(index)?;
        let key = self.key_in(shard, sample).map_err(|what| self.bad_sample(index, &what))?;
        let mut values = Vec::with_capacity(self.facts.schema.fields.len());
        for (column, (field, &slot)) in self.facts.schema.fields.iter().zip(&self.slots).enumerate()
        {
            let value = shard.value(sample, column, field, slot);
            values.push(value.map_err(|refusal| self.refused(index, field, refusal))?);
        }
        Ok(Sample { key, values })
    }

    fn image_extent(&self, index: u64) -> Result<Option<Extent>> {
        let (shard, sample) = self.locate(index)?;
        let slot = self.facts.schema.first_image().and_then(|image| self.slots.get(image));
        let Some(&slot) = slot else { return Ok(None) };
        shard.extent(sample, slot).map_err(|what| self.bad_sample(index, &what))
    }

    fn entry_points(&self, index: u64, field: usize) -> Result<Option<Bytes>> {
        let (shard, sample) = self.locate(index)?;
        let (Contents::Indexed(block), Some(image)) =
            (&shard.contents, self.facts.schema.image_position(field))
        else {
            return Ok(None);
        };
        let found = block.entry_points(sample, image);
        found.map_err(|error| self.bad_sample(index, error.to_string()))
    }

    fn provenance(&self) -> Option<&Provenance> {
        self.provenance.as_ref()
    }

    fn details(&self) -> Map<String, serde_json::Value> {
        let indexed = |shard: &&Shard| matches!(shard.contents, Contents::Indexed(_));
        let bytes: u64 = self.shards.iter().map(|shard| shard.archive.len()).sum();
        let columns = self.columns.iter().map(Column::text);
        let facts = [
            ("shards", json!(self.shards.len())),
            ("bytes", json!(bytes)),
            ("indexed_shards", json!(self.shards.iter().filter(indexed).count())),
            ("members", json!(columns.collect::<Vec<_>>())),
            ("manifest", json!(self.manifest.is_some())),
        ];
        let entry_points = self.entry_point_facts();
        let entry_points = entry_points.map(|facts| ("entry_points", facts.to_json(grid_of)));
        let problem = self.combined_problem.as_ref();
        facts
            .into_iter()
            .chain(entry_points)
            .chain(problem.map(|problem| ("combined_index_problem", json!(problem))))
            .map(|(name, value)| (name.to_owned(), value))
            .chain(versions::detail(self.manifest.as_ref().and_then(|it| it.edit.as_ref())))
            .collect()
    }

    fn verify_layout(&self) -> Vec<Error> {
        crate::wds::verify::layout(self)
    }

    fn verify_sample(&self, index: u64) -> Result<()> {
        crate::wds::verify::sample(self, index)
    }

    fn verify_row(&self, index: u64) -> Result<()> {
        let (shard, _) = self.locate(index)?;
        let checked = match (&shard.index_problem, &shard.contents) {
            (Some(problem), _) => Err(problem.what().to_owned()),
            (None, Contents::Indexed(index)) => {
                index.check_tables().map_err(|error| error.to_string())
            }
            (None, Contents::Scanned(_)) => Ok(()),
        };
        checked.map_err(|what| self.bad_sample(index, &what))
    }

    fn has_checksums(&self) -> bool {
        self.shards.iter().all(|shard| matches!(shard.contents, Contents::Indexed(_)))
    }
}
