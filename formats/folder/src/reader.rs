use crate::{
    Ignored, labels,
    layout::{join, key_of_path},
    listing::Listing,
    sidecar,
    table::{Cell, Table},
    walk::walk,
};
use bytes::Bytes;
use fdconvert_core::{
    Encoded, Error, FieldSpec, Image, ImageHeader, Kind, Limits, Provenance, Reader, Result,
    Sample, Schema, Source, Value,
};
use fdconvert_storage::read_file;
use std::{
    borrow::Cow,
    fs, io,
    path::{Path, PathBuf},
    sync::OnceLock,
};
use xxhash_rust::xxh3::Xxh3Default;

const MISSING: &str = "the file is missing";

/// An open folder of images.
#[derive(Debug)]
pub struct FolderReader {
    root: PathBuf,
    name: String,
    schema: Schema,
    samples: Samples,
    ignored: Ignored,
    provenance: Option<Provenance>,
    limits: Limits,
    fingerprint: OnceLock<[u8; 16]>,
}

/// Where the list of samples came from.
#[derive(Debug)]
enum Samples {
    /// The walk found them.
    Walked(Listing),
    /// A table lists them.
    Listed {
        table: Table,
        /// Where the root really is: files have to lie in it, links or not.
        real: PathBuf,
        /// The table's bytes.
        bytes: Bytes,
        /// What to call the table in messages.
        origin: &'static str,
    },
}

impl FolderReader {
    pub(crate) fn open(root: &Path, limits: Limits) -> Result<Self> {
        if let Some(found) = sidecar::read(root, &limits)? {
            let (table, origin) = (found.table, "labels.jsonl");
            let samples = Samples::Listed { table, real: real(root)?, bytes: found.rows, origin };
            let mut reader = Self::new(root, found.schema, samples, limits)?;
            reader.provenance = Some(found.provenance);
            return Ok(reader);
        }
        let found = walk(root)?;
        let mut fields = vec![FieldSpec::new("image", Kind::Image)];
        if !found.class_names.is_empty() {
            fields.push(FieldSpec::label("label", found.class_names.into()));
        }
        let samples = Samples::Walked(found.listing);
        let mut reader = Self::new(root, Schema::new(fields)?, samples, limits)?;
        reader.ignored = found.ignored;
        Ok(reader)
    }

    pub(crate) fn open_planned(
        root: &Path,
        schema: Schema,
        listing: &[u8],
        fingerprint: [u8; 16],
        limits: Limits,
    ) -> Result<Self> {
        let listing = Listing::from_bytes(listing).ok_or_else(|| {
            Error::usage("plan", format!("the listing of {} is damaged", root.display()))
        })?;
        let mut reader = Self::new(root, schema, Samples::Walked(listing), limits)?;
        reader.fingerprint = OnceLock::from(fingerprint);
        Ok(reader)
    }

    pub(crate) fn open_with_labels(root: &Path, file: &Path, limits: Limits) -> Result<Self> {
        let (schema, table, bytes) = labels::read(file, &limits)?;
        let samples = Samples::Listed { table, real: real(root)?, bytes, origin: "--labels" };
        Self::new(root, schema, samples, limits)
    }

    fn new(root: &Path, schema: Schema, samples: Samples, limits: Limits) -> Result<Self> {
        let name = match root.file_name() {
            Some(name) => name.to_string_lossy().into_owned(),
            // `.` and `..` have names only once they are resolved.
            None => real(root)?
                .file_name()
                .map_or_else(|| "/".to_owned(), |name| name.to_string_lossy().into_owned()),
        };
        Ok(Self {
            root: root.to_path_buf(),
            name,
            schema,
            samples,
            ignored: Ignored::default(),
            provenance: None,
            limits,
            fingerprint: OnceLock::new(),
        })
    }

    /// What was seen in the folder and not taken. Empty when a table says what to take.
    #[must_use]
    pub fn ignored(&self) -> &Ignored {
        &self.ignored
    }

    /// What [`Folder::open_planned`](crate::Folder::open_planned) needs to know the files again;
    /// `None` when a table lists them.
    #[must_use]
    pub fn listing(&self) -> Option<Vec<u8>> {
        match &self.samples {
            Samples::Walked(listing) => Some(listing.to_bytes()),
            Samples::Listed { .. } => None,
        }
    }

    /// The path of a sample's file relative to the root.
    fn path(&self, index: u64) -> Option<Cow<'_, [u8]>> {
        match &self.samples {
            Samples::Walked(listing) => Some(listing.get(index)?.path().into()),
            Samples::Listed { table, .. } => Some(table.path(index)?.into()),
        }
    }

    fn key_of(&self, path: &[u8]) -> String {
        match self.schema.first_image() {
            Some(_) => key_of_path(path),
            // No file is meant: what stands in for the path is the key itself.
            None => String::from_utf8_lossy(path).into_owned(),
        }
    }

    /// The values of sample `index` before its images are read, with its key.
    fn cells(&self, index: u64) -> Result<(String, Vec<Cell<'_>>, Cow<'_, [u8]>)> {
        let missing = || {
            let what = format!("sample {index} of {} does not exist", self.len());
            Error::usage("index", what)
        };
        let path = self.path(index).ok_or_else(missing)?;
        let cells = match &self.samples {
            Samples::Walked(listing) => {
                let label = listing.get(index).ok_or_else(missing)?.label;
                let mut cells = vec![Cell::FirstImage];
                if self.schema.fields.len() > 1 {
                    cells.push(Cell::Value(Value::Int(i64::from(label))));
                }
                cells
            }
            Samples::Listed { table, .. } => table.row(index).ok_or_else(missing)?,
        };
        Ok((self.key_of(&path), cells, path))
    }

    fn read_image(&self, key: &str, path: &[u8]) -> Result<(ImageHeader, Bytes)> {
        let path = join(&self.root, path);
        if let Samples::Listed { real, origin, .. } = &self.samples {
            let target = fs::canonicalize(&path).map_err(|cause| match cause.kind() {
                io::ErrorKind::NotFound => Error::sample(key, MISSING),
                _ => Error::sample(key, cause.to_string()),
            })?;
            if !target.starts_with(real) {
                let what = format!("{origin} names a link that leads out of the folder");
                return Err(Error::sample(key, what));
            }
        }
        let bytes =
            read_file(&path, self.limits.max_file_bytes).map_err(|error| of_sample(key, error))?;
        let header = fdconvert_probe::probe(&bytes).map_err(|what| {
            let codec = fdconvert_probe::sniff(&bytes);
            let codec = codec.map_or_else(String::new, |codec| format!("{}: ", codec.extension()));
            Error::sample(key, format!("{codec}{what}"))
        })?;
        Ok((header, bytes))
    }
}

impl Source for FolderReader {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn len(&self) -> u64 {
        match &self.samples {
            Samples::Walked(listing) => listing.len(),
            Samples::Listed { table, .. } => table.len(),
        }
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        self.get(index).map(Sample::from)
    }

    fn key(&self, index: u64) -> String {
        self.path(index).map_or_else(|| format!("#{index}"), |path| self.key_of(&path))
    }

    fn label(&self, index: u64) -> Result<Option<i64>> {
        let Some(field) = self.schema.label() else { return Ok(None) };
        let (_, cells, _) = self.cells(index)?;
        Ok(match cells.get(field) {
            Some(Cell::Value(Value::Int(label))) => Some(*label),
            _ => None,
        })
    }

    /// Asks the system; exact for samples of one image.
    fn image_bytes(&self, index: u64) -> Option<u64> {
        let path = self.path(index)?;
        Some(fs::metadata(join(&self.root, &path)).ok()?.len())
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    /// Asks the system for the size of every file, which takes as long as the walk again: on the
    /// first call only.
    fn fingerprint(&self) -> [u8; 16] {
        *self.fingerprint.get_or_init(|| {
            let mut hash = Xxh3Default::new();
            if let Samples::Listed { bytes, .. } = &self.samples {
                hash.update(bytes);
            }
            for path in (0..self.len()).filter_map(|index| self.path(index)) {
                let size = fs::metadata(join(&self.root, &path)).map_or(u64::MAX, |m| m.len());
                hash.update(&path);
                hash.update(&[0]);
                hash.update(&size.to_le_bytes());
            }
            hash.digest128().to_le_bytes()
        })
    }
}

impl Reader for FolderReader {
    fn get(&self, index: u64) -> Result<Sample<Encoded>> {
        let (key, cells, own_path) = self.cells(index)?;
        let mut values = Vec::with_capacity(cells.len());
        for cell in cells {
            let path = match cell {
                Cell::FirstImage => &*own_path,
                Cell::Image(path) => path,
                Cell::Value(value) => {
                    values.push(value);
                    continue;
                }
            };
            let (header, bytes) = self.read_image(&key, path)?;
            let ImageHeader { codec, width, height, .. } = header;
            values.push(Value::Image(Encoded { codec, width, height, bytes }));
        }
        Ok(Sample { key, values })
    }

    fn provenance(&self) -> Option<&Provenance> {
        self.provenance.as_ref()
    }

    fn details(&self) -> serde_json::Map<String, serde_json::Value> {
        let mut details = serde_json::Map::new();
        let mut add = |name: &str, value: serde_json::Value| details.insert(name.to_owned(), value);
        let layout = match (&self.samples, self.schema.fields.len()) {
            (Samples::Walked(_), 1) => "flat folder",
            (Samples::Walked(_), _) => "class folders",
            (Samples::Listed { origin, .. }, _) => origin,
        };
        add("layout", layout.into());
        if let Samples::Walked(_) = self.samples {
            let ignored = &self.ignored;
            add("ignored files", ignored.others.into());
            add("ignored extensions", serde_json::json!(ignored.extensions));
            add("hidden names", ignored.hidden.into());
            add("links not followed", ignored.links.into());
            add("folders without images", serde_json::json!(ignored.folders));
        }
        details
    }

    /// The rules that concern the whole hold once the folder is open.
    fn verify_layout(&self) -> Vec<Error> {
        Vec::new()
    }

    fn verify_sample(&self, index: u64) -> Result<()> {
        let (key, cells, own_path) = self.cells(index)?;
        for cell in cells {
            let path = match cell {
                Cell::FirstImage => &*own_path,
                Cell::Image(path) => path,
                Cell::Value(_) => continue,
            };
            let (header, bytes) = self.read_image(&key, path)?;
            fdconvert_probe::check_complete(&bytes, &header).map_err(|what| {
                Error::sample(&key, format!("{}: {what}", header.codec.extension()))
            })?;
        }
        Ok(())
    }
}

fn real(root: &Path) -> Result<PathBuf> {
    fs::canonicalize(root).map_err(Error::io("open", root))
}

/// A failure that concerns one file and says nothing about the others becomes that sample's; a
/// failing disk stays what it is.
fn of_sample(key: &str, error: Error) -> Error {
    let Error::Io { source, .. } = &error else { return error };
    let what = match source.kind() {
        io::ErrorKind::NotFound => MISSING.to_owned(),
        io::ErrorKind::PermissionDenied
        | io::ErrorKind::NotADirectory
        | io::ErrorKind::IsADirectory
        | io::ErrorKind::InvalidFilename => source.to_string(),
        // How `read_file` says that it is no regular file.
        io::ErrorKind::Other if source.raw_os_error().is_none() => source.to_string(),
        _ => return error,
    };
    Error::sample(key, what)
}
