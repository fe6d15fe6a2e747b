//! Checks before the first sample is read: the footers, and that all files have one schema.
use super::{
    ParquetReader, beside,
    cache::Cache,
    cell::Cell,
    columns::{Column, How},
    file::File,
    files::{Found, Listing},
    keys::Keys,
    layout::FORMAT,
    manifest::{Manifest, NAME, ShardFacts},
    parts,
};
use crate::{
    index::Index,
    shards::versions::{self, number},
};
use bytes::Bytes;
use fdconvert_core::{
    Error, InnerClasses, Kind, MaxDecompressed, OpenOptions, Remark, Result, Schema, Shard,
    SourceFacts, packed_splits,
};
use fdconvert_storage::{
    Blob, name_of, open_all,
    place::{self, Kind as PlaceKind},
};
use std::{path::Path, sync::OnceLock};

/// Rows to read for a first value.
const LOOKED_AT: u64 = 16;
/// Minimum number of images in a column per value that is no image.
const OTHERS_MOST: u64 = 3;

#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) file: File,
    /// Number of samples in the dataset before it.
    pub(crate) first: u64,
    pub(crate) split: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) index: Option<Index>,
    pub(crate) problem: Option<String>,
}

impl ParquetReader {
    /// Opens a file, or all files of a folder.
    ///
    /// # Errors
    /// `Io`; `Version` and `Unsupported` for data that this build does not support; `Corrupt`.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// Like [`open`](Self::open), with a limit for the pages decompressed together, and without the
    /// dropped columns.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub(crate) fn open_with(path: &Path, options: &OpenOptions) -> Result<Self> {
        let how = (options.max_decompressed, &*options.drop_fields);
        if place::look_at(path)? != PlaceKind::Folder {
            return Self::open_files(path, vec![alone(path)], how);
        }
        versions::open(path, NAME, options.version, |opened| {
            let Some(opened) = opened else { return Self::open_listed(path, how) };
            let manifest = Manifest::parse(&opened.text, &opened.path)?;
            let found = manifest.shards.iter().map(|shard| Found {
                path: opened.files.path(&shard.name),
                split: shard.split.clone(),
                partitions: Vec::new(),
                elsewhere: opened.files.elsewhere(&shard.name),
            });
            let mut reader = Self::open_files(path, found.collect(), how)?;
            for (facts, part) in manifest.shards.iter().zip(&reader.parts) {
                let found = (part.file.data.len(), part.file.n_rows);
                if found != (facts.bytes, facts.samples) {
                    let what = format!(
                        "{} bytes and {} rows, and the manifest says {} and {}",
                        found.0, found.1, facts.bytes, facts.samples
                    );
                    return Err(part.file.corrupt(0, what));
                }
            }
            reader.facts.version = Some(number(manifest.edit.as_ref()));
            let record = |facts: &ShardFacts| opened.files.path(&facts.record());
            reader.records = manifest.shards.iter().map(record).collect();
            reader.manifest = Some(manifest);
            Ok(reader)
        })
    }

    /// Opens the files that a folder has.
    fn open_listed(path: &Path, how: (MaxDecompressed, &[String])) -> Result<Self> {
        let listing = Listing::of(path)?;
        let mut remarks: Vec<Remark> = listing.remark().into_iter().collect();
        let found = listing.files(path)?;
        remarks.extend(beside::remark(path, &found));
        let mut reader = Self::open_files(path, found, how)?;
        reader.facts.remarks.extend(remarks);
        Ok(reader)
    }

    fn open_files(
        path: &Path,
        found: Vec<Found>,
        (limit, dropped): (MaxDecompressed, &[String]),
    ) -> Result<Self> {
        let opened = open_all(path, &found, |found| File::open(found, dropped));
        let files = opened.into_iter().collect::<Result<Vec<_>>>()?;
        let reader = Self::new(path, files, found, (limit, dropped))?;
        Ok(Self { is_stored: true, ..reader })
    }

    /// Opens a file in memory; messages call it `path`.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    #[doc(hidden)]
    pub fn from_bytes(bytes: Bytes, path: &Path, limit: MaxDecompressed) -> Result<Self> {
        let file = File::new(Blob::from(bytes), path, &[])?;
        Self::new(path, vec![file], vec![alone(path)], (limit, &[]))
    }

    fn new(
        path: &Path,
        files: Vec<File>,
        found: Vec<Found>,
        (limit, dropped): (MaxDecompressed, &[String]),
    ) -> Result<Self> {
        let mut parts = Vec::new();
        let mut n_samples = 0_u64;
        let (columns, dropped_fields) = parts::columns(&files, &found, dropped)?;
        for ((file, found), columns) in files.into_iter().zip(found).zip(columns) {
            let split = found.split;
            let (index, problem) = match file.index()? {
                Ok(index) => (index, None),
                Err(problem) => (None, Some(problem)),
            };
            let n_rows = file.n_rows;
            parts.push(Part { file, first: n_samples, split, columns, index, problem });
            n_samples = n_samples.saturating_add(n_rows);
        }
        let Some(first) = parts.first() else {
            return Err(Error::corrupt(FORMAT, path, 0, "it holds no .parquet file"));
        };
        if first.columns.is_empty() {
            return Err(first.file.corrupt(0, "it has no columns"));
        }
        let schema = Schema::new(first.columns.iter().map(|column| column.field.clone()).collect())
            .map_err(|error| first.file.corrupt(0, error.to_string()))?;
        let name = name_of(path)?.unwrap_or_else(|| FORMAT.into());
        let mut facts = SourceFacts::new(name, schema, n_samples);
        facts.dropped_fields = dropped_fields;
        facts.reads_ahead = parts.iter().any(|part| part.file.data.here().is_none());
        facts.splits = packed_splits(parts.iter().map(|it| (it.split.as_str(), it.file.n_rows)));
        let mut reader = Self {
            path: path.into(),
            is_stored: false,
            manifest: None,
            records: Vec::new(),
            parts,
            facts,
            limit,
            cache: Cache::default(),
            keys: OnceLock::new(),
        };
        reader.recognise_images()?;
        let fields = parts::unified(&mut reader.parts)?;
        reader.facts.schema = Schema { fields };
        reader.remark_lists();
        reader.remark_classes();
        reader.take_indexes();
        let columns = reader.parts.first().map_or(&[][..], |part| &part.columns);
        for (field, column) in reader.facts.fields.iter_mut().zip(columns) {
            field.inner.clone_from(&column.inner);
        }
        Ok(reader)
    }

    /// Turns bytes columns into image fields if their first value is an image, or if they are
    /// images in another file.
    fn recognise_images(&mut self) -> Result<()> {
        for at in 0..self.facts.schema.fields.len() {
            let columns = || self.parts.iter().filter_map(|part| part.columns.get(at));
            if !columns().any(Column::may_be_image) {
                continue;
            }
            let is_image = |kind: &Kind| matches!(kind, Kind::Image | Kind::Images);
            let is_known = columns().any(|column| is_image(&column.field.kind));
            if !is_known && !self.begins_with_image(at)? {
                continue;
            }
            let columns = self.parts.iter_mut().filter_map(|part| part.columns.get_mut(at));
            let mut others = Vec::new();
            for column in columns.filter(|column| column.may_be_image()) {
                others = column.becomes_image();
            }
            if !others.is_empty() {
                let name = self.facts.schema.fields.get(at).map_or("", |field| &field.name);
                let remark = format!(
                    "the members `{}` of `{name}` are left out: an image has `bytes` and `path`",
                    others.join("`, `")
                );
                self.facts.remarks.push(remark.into());
            }
        }
        // An error may have read the keys before the image columns were known.
        self.keys = OnceLock::new();
        Ok(())
    }

    /// Reports files in lists, if there are image fields as well. Without image fields every source
    /// gives a similar report.
    fn remark_lists(&mut self) {
        let fields = &self.facts.schema.fields;
        if self.facts.schema.first_image().is_none() {
            return;
        }
        for at in 0..fields.len() {
            let has_files = |part: &Part| {
                let how = part.columns.get(at).map(|column| &column.how);
                matches!(how, Some(How::Json(nested)) if nested.has_files)
            };
            if let Some(field) = fields.get(at).filter(|_| self.parts.iter().any(has_files)) {
                let remark = format!(
                    "the files in `{}` are stored as base64 in JSON, which no loader shows as images",
                    field.name
                );
                self.facts.remarks.push(remark.into());
            }
        }
    }

    /// Reports class names that only the files' schema has: values have their numbers.
    fn remark_classes(&mut self) {
        let columns = self.parts.first().map_or(&[][..], |part| &part.columns);
        for Column { field, inner, .. } in columns {
            for InnerClasses { key, .. } in inner.iter().filter(|it| !it.are_told) {
                let within = if key.is_empty() { "" } else { &*format!("`{key}` in ") };
                let remark = format!(
                    "the names of the classes of {within}`{}` are left out: its values are their numbers",
                    field.name
                );
                self.facts.remarks.push(remark.into());
            }
        }
    }

    /// Returns true if a bytes column begins with an image, or with a broken one followed by
    /// images. If it begins with nulls, values of the whole dataset are sampled.
    fn begins_with_image(&self, at: usize) -> Result<bool> {
        let n_looks = self.facts.len.min(LOOKED_AT);
        if let Some(are_images) = self.are_images(at, 0..n_looks)? {
            return Ok(are_images);
        }
        let spread = |look| u128::from(look) * u128::from(self.facts.len - 1) / u128::from(n_looks);
        let indices = (1..=n_looks).map(|look| u64::try_from(spread(look)).unwrap_or(0));
        Ok(self.are_images(at, indices)?.unwrap_or(false))
    }

    /// Returns true if the first of these values of a column is an image, or nearly all are; `None`
    /// if there are none.
    fn are_images(&self, at: usize, indices: impl Iterator<Item = u64>) -> Result<Option<bool>> {
        let (mut n_images, mut n_others) = (0, 0);
        for index in indices {
            let (_, part, _) = self.part_of(index)?;
            let Some(leaf) = part.columns.get(at).and_then(Column::bytes_leaf) else { continue };
            match self.flat(index, leaf) {
                Ok(Cell::Bytes(bytes)) if fdconvert_core::probe::probe(&bytes).is_ok() => {
                    if n_others == 0 {
                        return Ok(Some(true));
                    }
                    n_images += 1;
                }
                Ok(Cell::Bytes(_)) => n_others += 1,
                Err(error @ Error::Io { .. }) => return Err(error),
                // A null, or damage that reading the sample will report.
                _ => {}
            }
        }
        Ok((n_others > 0).then_some(n_images > OTHERS_MOST * n_others))
    }

    /// Adopts the schema of the index blocks, if all files have a matching one.
    fn take_indexes(&mut self) {
        for part in &mut self.parts {
            let fits = |index: &Index| {
                let written = &index.meta().schema.fields;
                let n_regions = written.iter().filter(|field| !is_cell(&field.kind)).count();
                let stored = || part.columns.iter().filter(|column| column.is_stored());
                written.len() == stored().count()
                    && u32::try_from(n_regions) == Ok(index.regions_per_sample())
                    && stored().zip(written).all(|(column, field)| column.agrees(field))
            };
            if part.index.as_ref().is_some_and(|index| !fits(index)) {
                part.index = None;
                // The columns are reordered, which the index does not support, or incomplete.
                if self.facts.dropped_fields.is_empty() && !parts::is_reordered(&part.columns) {
                    part.problem = Some("its index block is about other columns".to_owned());
                }
            }
        }
        let schemas = self.parts.iter().map(|part| Some(&part.index.as_ref()?.meta().schema));
        let mut schemas = schemas.collect::<Option<Vec<_>>>().unwrap_or_default().into_iter();
        let Some(schema) = schemas.next().cloned() else { return };
        if schemas.all(|other| *other == schema) {
            // Fields from folder names come after the stored ones.
            for (mine, written) in self.facts.schema.fields.iter_mut().zip(schema.fields) {
                *mine = written;
            }
            for part in &mut self.parts {
                for (column, field) in part.columns.iter_mut().zip(&self.facts.schema.fields) {
                    column.field = field.clone();
                }
            }
        }
    }

    /// The keys of files without an index block, read on first use.
    pub(crate) fn keys(&self) -> &Keys {
        self.keys.get_or_init(|| Keys::read(self))
    }
}

/// Returns true if the values of a field are in the rows of the index block.
pub(crate) fn is_cell(kind: &Kind) -> bool {
    matches!(kind, Kind::Int | Kind::Float)
}

fn alone(path: &Path) -> Found {
    let (path, split) = (path.to_path_buf(), Shard::DEFAULT_SPLIT.to_owned());
    Found { path, split, partitions: Vec::new(), elsewhere: Vec::new() }
}
