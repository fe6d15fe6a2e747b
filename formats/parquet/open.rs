//! What is checked before the first sample is read: the footers, and that all files have one schema.
use super::{
    ParquetReader,
    cache::Cache,
    columns::{Column, columns},
    file::File,
    keys::Keys,
    layout::{FORMAT, MAGIC},
    splits,
};
use crate::index::Index;
use bytes::Bytes;
use fdconvert_core::{Error, Kind, MaxDecompressed, Result, Schema, Shard, Value, split_named};
use fdconvert_storage::{
    Blob, open_all,
    place::{self, Kind as PlaceKind},
};
use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};

/// Name of the table of a folder of images, which is not a dataset.
const METADATA: &str = "metadata.parquet";
/// Folders that datasets have their files in, beside those that are called after splits.
const FOLDERS: [&str; 2] = ["data", "default"];
/// Rows that are looked at for a first value.
const LOOKED_AT: u64 = 16;

/// A file of a dataset.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) file: File,
    /// Samples of the dataset before it.
    pub(crate) first: u64,
    pub(crate) split: String,
    /// The index block, of a file of ours.
    pub(crate) index: Option<Index>,
    /// Why the index block that is there is not used.
    pub(crate) problem: Option<String>,
}

impl ParquetReader {
    /// Opens a file, or all files of a folder.
    ///
    /// # Errors
    /// `Io`; `Version` and `Unsupported` for what this build does not read; `Corrupt`.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_within(path, MaxDecompressed::default())
    }

    /// As [`open`](Self::open), with this limit for the pages that are decompressed together.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub(crate) fn open_within(path: &Path, limit: MaxDecompressed) -> Result<Self> {
        let named = match place::look_at(path)? {
            PlaceKind::Folder => splits::with_splits(path, files(path)?),
            _ => vec![(path.to_path_buf(), Shard::DEFAULT_SPLIT.to_owned())],
        };
        let opened = open_all(path, &named, |(path, _)| File::open(path));
        let files = opened.into_iter().collect::<Result<Vec<_>>>()?;
        let splits = named.into_iter().map(|(_, split)| split);
        let reader = Self::new(path, files.into_iter().zip(splits), limit)?;
        Ok(Self { is_stored: true, ..reader })
    }

    /// Opens a file that is in memory; `path` is what messages call it.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    #[doc(hidden)]
    pub fn from_bytes(bytes: Bytes, path: &Path, limit: MaxDecompressed) -> Result<Self> {
        let file = File::new(Blob::from(bytes), path)?;
        Self::new(path, [(file, Shard::DEFAULT_SPLIT.to_owned())], limit)
    }

    fn new(
        path: &Path,
        files: impl IntoIterator<Item = (File, String)>,
        limit: MaxDecompressed,
    ) -> Result<Self> {
        let mut parts = Vec::new();
        let mut n_samples = 0_u64;
        for (file, split) in files {
            let (index, problem) = match file.index()? {
                Ok(index) => (index, None),
                Err(problem) => (None, Some(problem)),
            };
            let n_rows = file.n_rows;
            parts.push(Part { file, first: n_samples, split, index, problem });
            n_samples = n_samples.saturating_add(n_rows);
        }
        let Some(first) = parts.first() else {
            return Err(Error::corrupt(FORMAT, path, 0, "it holds no .parquet file"));
        };
        let columns = columns_of(&first.file);
        if columns.is_empty() {
            return Err(first.file.corrupt(0, "it has no columns"));
        }
        for part in parts.iter().skip(1) {
            same_columns(&first.file, &columns, &part.file)?;
        }
        let schema = Schema::new(columns.iter().map(|column| column.field.clone()).collect())
            .map_err(|error| first.file.corrupt(0, error.to_string()))?;
        let mut reader = Self {
            path: path.into(),
            is_stored: false,
            parts,
            columns,
            schema,
            n_samples,
            limit,
            cache: Cache::default(),
            keys: OnceLock::new(),
        };
        reader.recognise_images()?;
        reader.take_indexes();
        Ok(reader)
    }

    /// Makes columns of bytes whose first value is an image fields of images.
    fn recognise_images(&mut self) -> Result<()> {
        for at in 0..self.columns.len() {
            let Some(column) = self.columns.get(at) else { break };
            if !column.how.may_be_image() {
                continue;
            }
            let mut is_image = false;
            for index in 0..self.n_samples.min(LOOKED_AT) {
                match self.value(index, column) {
                    Ok(Value::Bytes(bytes)) => {
                        is_image = fdconvert_core::probe::probe(&bytes).is_ok();
                        break;
                    }
                    Err(error @ Error::Io { .. }) => return Err(error),
                    // A null, or damage that reading the sample will tell.
                    _ => {}
                }
            }
            if let Some(column) = self.columns.get_mut(at).filter(|_| is_image) {
                column.becomes_image();
            }
        }
        let fields = self.columns.iter().map(|column| column.field.clone()).collect();
        self.schema = Schema { fields };
        // An error may have asked for them before it was known which columns are images.
        self.keys = OnceLock::new();
        Ok(())
    }

    /// Takes over what the index blocks say of the schema, where all files have one that fits.
    fn take_indexes(&mut self) {
        let fits = |index: &Index| {
            let written = &index.meta().schema.fields;
            let n_regions = written.iter().filter(|field| !is_cell(&field.kind)).count();
            written.len() == self.columns.len()
                && u32::try_from(n_regions) == Ok(index.regions_per_sample())
                && self.columns.iter().zip(written).all(|(column, field)| column.agrees(field))
        };
        for part in &mut self.parts {
            if part.index.as_ref().is_some_and(|index| !fits(index)) {
                part.index = None;
                part.problem = Some("its index block is about other columns".to_owned());
            }
        }
        let schemas = self.parts.iter().map(|part| Some(&part.index.as_ref()?.meta().schema));
        let mut schemas = schemas.collect::<Option<Vec<_>>>().unwrap_or_default().into_iter();
        let Some(schema) = schemas.next().cloned() else { return };
        if schemas.all(|other| *other == schema) {
            for (column, field) in self.columns.iter_mut().zip(&schema.fields) {
                column.field = field.clone();
            }
            self.schema = schema;
        }
    }

    /// The keys of files without an index block, read when the first is asked for.
    pub(crate) fn keys(&self) -> &Keys {
        self.keys.get_or_init(|| Keys::read(self))
    }
}

/// Returns whether the values of a field lie in the rows of the index block.
pub(crate) fn is_cell(kind: &Kind) -> bool {
    matches!(kind, Kind::Int | Kind::Float)
}

fn columns_of(file: &File) -> Vec<Column> {
    let documents = file.note.as_ref().map_or(&[][..], |note| &note.json);
    columns(file, documents)
}

/// Refuses a file whose columns are not those of the first.
fn same_columns(first: &File, columns: &[Column], other: &File) -> Result<()> {
    let others = columns_of(other);
    let differs = columns.iter().zip(&others).find(|(column, other)| !column.same_field(other));
    let what = match differs {
        Some((column, other)) => format!(
            "its column `{}` is another one than `{}` of {}",
            other.field.name,
            column.field.name,
            first.path.display()
        ),
        None if columns.len() != others.len() => {
            format!(
                "it has {} columns, {} has {}",
                others.len(),
                first.path.display(),
                columns.len()
            )
        }
        None => return Ok(()),
    };
    let cure = "read the files one by one, or name them as sources";
    let (format, path) = (FORMAT, other.path.to_path_buf());
    Err(Error::Unsupported { format, path, what: format!("{what}; {cure}").into() })
}

/// Returns whether a path is called as such files are.
pub(crate) fn is_named(path: &Path) -> bool {
    let is_hidden = || {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        name.starts_with(b".") || name.starts_with(b"_")
    };
    path.extension().is_some_and(|extension| extension == FORMAT) && !is_hidden()
}

/// Returns whether a file begins as such files do.
pub(crate) fn is_parquet(path: &Path) -> bool {
    place::read_start(path, MAGIC.len()).is_ok_and(|start| start[..] == MAGIC)
}

/// The files of a folder, in the order of their names: those in it, else those of its folders.
///
/// # Errors
/// `Io`.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = place::list(folder)?;
    let of = |entries: Vec<(PathBuf, PlaceKind)>| -> Vec<PathBuf> {
        let is_file = |path: &PathBuf, kind: PlaceKind| kind == PlaceKind::File && is_named(path);
        entries.into_iter().filter(|(path, kind)| is_file(path, *kind)).map(|it| it.0).collect()
    };
    // Others are classes of images, which need not be looked through.
    let is_known = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        FOLDERS.contains(&&*name) || split_named(&name).is_some()
    };
    let folders =
        entries.iter().filter(|(path, kind)| *kind == PlaceKind::Folder && is_known(path));
    let folders: Vec<_> = folders.map(|(path, _)| path.clone()).collect();
    let mut files = of(entries);
    if !files.is_empty() {
        // A table of the images beside it.
        files.retain(|path| path.file_name().is_none_or(|name| name != METADATA));
        return Ok(files);
    }
    for folder in folders {
        files.extend(of(place::list(&folder)?));
    }
    files.retain(|path| path.file_name().is_none_or(|name| name != METADATA));
    Ok(files)
}
