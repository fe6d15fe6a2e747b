use crate::folder::{
    Folder,
    ahead::Coming,
    cache,
    details::details,
    labels,
    layout::{join, key_of_path},
    listing::{Listing, UNLABELLED},
    sidecar,
    sizes::Cached,
    split_classes::divide,
    split_folders::{self, Division},
    table::{Cell, Table},
    walk::{Found, Traces, walk},
    walk_away::{self, FoundAway},
    words::Words,
};
use bytes::Bytes;
use fdconvert_core::{
    Ahead, Encoded, Error, FieldSpec, Ignored, Image, ImageHeader, Kind, Message, Named,
    Provenance, Reader, Result, Sample, Schema, Source, Splits, Value, message, named, split_named,
};
use fdconvert_storage::{Blob, place::is_url, read_file};
use std::{
    borrow::Cow,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::OnceLock,
};
use xxhash_rust::xxh3::Xxh3Default;

pub(crate) const MISSING: &str = "the file is missing";

/// An open folder of images.
#[derive(Debug)]
pub struct FolderReader {
    pub(super) root: PathBuf,
    name: String,
    pub(super) schema: Schema,
    pub(super) samples: Samples,
    pub(super) ignored: Ignored,
    provenance: Option<Provenance>,
    /// Splits that the folders are or that the table records.
    division: Division,
    pub(super) how: Folder,
    pub(super) coming: Coming,
    fingerprint: OnceLock<[u8; 16]>,
    stamp: OnceLock<[u8; 16]>,
    pub(super) cached: Option<Cached>,
}

/// Where the list of samples came from.
#[derive(Debug)]
pub(super) enum Samples {
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
        origin: Named,
    },
}

impl FolderReader {
    pub(crate) fn open(root: &Path, how: Folder) -> Result<Self> {
        match Self::open_table(root, &how)? {
            Some(reader) => Ok(reader),
            None if is_url(root) => Self::open_away(root, how),
            None => Self::of_walk(root, how, None),
        }
    }

    /// A folder of objects, whose sizes and tags came with their names.
    fn open_away(root: &Path, how: Folder) -> Result<Self> {
        let FoundAway { found, sizes, stamp } = walk_away::walk(root)?;
        let mut reader = Self::of_walk(root, how, Some(found))?;
        reader.cached = Some(Cached { sizes, file: None });
        reader.stamp = OnceLock::from(stamp);
        Ok(reader)
    }

    pub(crate) fn open_cached(
        root: &Path,
        cache: &Path,
        how: Folder,
    ) -> Result<(Self, Option<Message>)> {
        if let Some(reader) = Self::open_table(root, &how)? {
            return Ok((reader, Some("the folder has a table".into())));
        }
        if is_url(root) {
            let why = "the list of a store is as quick; nothing was kept".into();
            return Ok((Self::open_away(root, how)?, Some(why)));
        }
        if how.follow_links {
            let why = message!(
                "{} was given, and what lies outside may change unseen; nothing was kept",
                named::FOLLOW_LINKS
            );
            return Ok((Self::of_walk(root, how, None)?, Some(why)));
        }
        let why = match cache::load(cache, root)? {
            Ok((found, sizes)) => {
                let mut reader = Self::of_walk(root, how, Some(found))?;
                reader.cached = Some(Cached { sizes, file: Some(cache.to_path_buf()) });
                return Ok((reader, None));
            }
            Err(why) => why,
        };
        let (began, mut traces) = (cache::now(), Traces::default());
        let found = walk(root, false, Some(&mut traces))?;
        let size = |index| {
            let file = found.listing.get(index).map(|listed| join(root, &listed.path()));
            let file = file.unwrap_or_default();
            fs::metadata(&file).map(|it| it.len()).map_err(Error::io("look at", &file))
        };
        let sizes = Words::collect((0..found.listing.len()).map(size))?;
        cache::store(cache, root, began, traces, &found, &sizes)?;
        let mut reader = Self::of_walk(root, how, Some(found))?;
        reader.cached = Some(Cached { sizes, file: None });
        Ok((reader, Some(why.into())))
    }

    /// A folder that was unpacked with its table.
    fn open_table(root: &Path, how: &Folder) -> Result<Option<Self>> {
        if let Some(found) = sidecar::read(root, &how.limits)? {
            let (table, origin) = (found.table, Named::from("labels.jsonl"));
            let samples = Samples::Listed { table, real: real(root)?, bytes: found.rows, origin };
            let mut reader = Self::new(root, found.schema, samples, how.clone())?;
            reader.provenance = Some(found.provenance);
            reader.division.splits = found.splits;
            return reader.looked_up().map(Some);
        }
        Ok(None)
    }

    fn of_walk(root: &Path, how: Folder, found: Option<Found>) -> Result<Self> {
        let mut found = found.map_or_else(|| walk(root, how.follow_links, None), Ok)?;
        let division = divide(root, &how, &mut found)?;
        let mut fields = vec![FieldSpec::new("image", Kind::Image)];
        if !found.class_names.is_empty() {
            fields.push(FieldSpec::label("label", found.class_names.into()));
        }
        let samples = Samples::Walked(found.listing);
        let mut reader = Self::new(root, Schema::new(fields)?, samples, how)?;
        (reader.ignored, reader.division) = (found.ignored, division);
        Ok(reader)
    }

    pub(crate) fn open_planned(
        root: &Path,
        schema: Schema,
        listing: &[u8],
        fingerprint: [u8; 16],
        how: Folder,
    ) -> Result<Self> {
        let listing = Listing::from_bytes(listing)?.ok_or_else(|| {
            Error::usage("plan", format!("the listing of {} is damaged", root.display()))
        })?;
        let division =
            if how.split_folders { listing.division(root)? } else { Division::default() };
        let mut reader = Self::new(root, schema, Samples::Walked(listing), how)?;
        reader.fingerprint = OnceLock::from(fingerprint);
        // Parts may read copies of the source, written at other times.
        reader.stamp = OnceLock::from(fingerprint);
        reader.division = division;
        Ok(reader)
    }

    pub(crate) fn open_with_labels(root: &Path, file: &Path, how: Folder) -> Result<Self> {
        let (mut schema, mut table, bytes) = labels::read(file, &how.limits)?;
        let walked = match schema.fields.len() {
            1 if is_url(root) => walk_away::walk(root).map(|away| Some(away.found)),
            1 => walk(root, how.follow_links, None).map(Some),
            _ => Ok(None),
        };
        let division = match walked {
            Ok(Some(mut found)) => {
                let mut division = divide(root, &how, &mut found)?;
                let depth = usize::from(!division.splits.is_empty());
                labels::keep_classes(&mut schema, &mut table, found.class_names, depth)?;
                if depth == 1 {
                    division.splits = split_folders::of_paths(&table.paths)?;
                }
                division
            }
            // Without classes there is nothing to keep; missing files are told one by one.
            Ok(None) | Err(Error::Usage { .. }) if how.split_folders => {
                split_folders::of_table(root, &table.paths)?
            }
            Ok(None) | Err(Error::Usage { .. }) => Division::default(),
            Err(error) => return Err(error),
        };
        let samples = Samples::Listed { table, real: real(root)?, bytes, origin: named::LABELS };
        let mut reader = Self::new(root, schema, samples, how)?;
        reader.division = division;
        reader.looked_up()
    }

    /// With what a store says of the files that a table lists.
    fn looked_up(mut self) -> Result<Self> {
        if self.is_away() {
            let paths = (0..self.len()).map(|index| self.path(index).unwrap_or_default());
            let (sizes, stamp) = walk_away::look_up(&self.root, paths)?;
            self.cached = Some(Cached { sizes, file: None });
            self.stamp = OnceLock::from(stamp);
        }
        Ok(self)
    }

    fn new(root: &Path, schema: Schema, samples: Samples, how: Folder) -> Result<Self> {
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
            division: Division::default(),
            how,
            coming: Coming::default(),
            fingerprint: OnceLock::new(),
            stamp: OnceLock::new(),
            cached: None,
        })
    }

    /// With what was ignored when the folder was planned.
    #[must_use]
    pub fn with_ignored(self, ignored: Ignored) -> Self {
        Self { ignored, ..self }
    }

    /// Returns what was seen in the folder and not taken. Empty when a table says what to take.
    #[must_use]
    pub fn ignored(&self) -> &Ignored {
        &self.ignored
    }

    /// Returns what [`Folder::open_planned`](crate::folder::Folder::open_planned) needs to know the
    /// files again; `None` when a table lists them.
    ///
    /// # Errors
    /// `Io` where the files are many and a temporary file cannot be written.
    pub fn listing(&self) -> Result<Option<Bytes>> {
        match &self.samples {
            Samples::Walked(listing) => listing.to_bytes().map(Some),
            Samples::Listed { .. } => Ok(None),
        }
    }

    /// The splits that packing takes the folders for, whether this reader does so or not, and what
    /// it would say about them.
    pub(super) fn walked_division(&self) -> Option<Result<Division>> {
        match &self.samples {
            Samples::Walked(listing) => Some(listing.division(&self.root)),
            Samples::Listed { .. } => None,
        }
    }

    /// The path of a sample's file relative to the root.
    pub(super) fn path(&self, index: u64) -> Option<Cow<'_, [u8]>> {
        match &self.samples {
            Samples::Walked(listing) => Some(listing.get(index)?.path().into()),
            Samples::Listed { table, .. } => Some(table.path(index)?.into()),
        }
    }

    pub(super) fn key_of(&self, path: &[u8]) -> String {
        match self.schema.first_image() {
            Some(_) => key_of_path(path),
            // No file is meant: what stands in for the path is the key itself.
            None => String::from_utf8_lossy(path).into_owned(),
        }
    }

    /// The values of sample `index` before its images are read, with its key.
    pub(super) fn cells(&self, index: u64) -> Result<(String, Vec<Cell<'_>>, Cow<'_, [u8]>)> {
        let missing = || {
            let what = format!("sample {index} of {} does not exist", self.len());
            Error::usage("index", what)
        };
        let path = self.path(index).ok_or_else(missing)?;
        let cells = match &self.samples {
            Samples::Walked(listing) => {
                let label = listing.get(index).ok_or_else(missing)?.label;
                if label == UNLABELLED {
                    let what = "it lies right in the folder of its split and has no class";
                    return Err(Error::sample(self.key_of(&path), what));
                }
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

    /// `size` is what the file has, where that is known.
    fn read_image(
        &self,
        key: &str,
        path: &[u8],
        size: Option<u64>,
    ) -> Result<(ImageHeader, Bytes)> {
        let path = join(&self.root, path);
        if let Samples::Listed { real, origin, .. } = &self.samples
            && !self.how.follow_links
            && !self.is_away()
        {
            let target = fs::canonicalize(&path).map_err(|cause| match cause.kind() {
                io::ErrorKind::NotFound => Error::sample(key, MISSING),
                _ => Error::sample(key, cause.to_string()),
            })?;
            if !target.starts_with(real) {
                let what = message!("{origin} names a link that leads out of the folder");
                return Err(Error::sample(key, what));
            }
        }
        let most = self.how.limits.max_file_bytes;
        let is_away = self.is_away();
        let bytes = match (size, is_away.then(|| self.coming.get(&path)).flatten()) {
            (_, Some(bytes)) => Ok(Some(bytes)),
            // One request.
            (Some(size), None) if is_away && size <= most => {
                Blob::open_with_len(&path, size).and_then(|blob| blob.read(0, size))
            }
            _ => read_file(&path, most).map(Some),
        };
        let bytes = bytes.map_err(|error| of_sample(key, error))?.unwrap_or_default();
        if is_away {
            self.coming.note_read(bytes.len() as u64);
        }
        let header = fdconvert_core::probe::probe(&bytes).map_err(|what| {
            let codec = fdconvert_core::probe::sniff(&bytes);
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

    fn reads_ahead(&self) -> bool {
        self.is_away()
    }

    fn read_ahead(&self, indices: &[u64]) -> Ahead {
        if self.is_away() { self.announce(indices) } else { Ahead::default() }
    }

    fn ahead_bytes(&self, index: u64) -> u64 {
        self.coming_bytes(index)
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

    /// Opens no file: tables have it.
    fn plain_value(&self, index: u64, field: usize) -> Result<Option<Value<Image>>> {
        let (_, cells, _) = self.cells(index)?;
        Ok(match cells.into_iter().nth(field) {
            Some(Cell::Value(Value::Int(int))) => Some(Value::Int(int)),
            Some(Cell::Value(Value::Float(float))) => Some(Value::Float(float)),
            Some(Cell::Value(Value::Text(text))) => Some(Value::Text(text)),
            _ => None,
        })
    }

    /// Asks the system; exact for samples of one image.
    fn image_bytes(&self, index: u64) -> Option<u64> {
        let path = self.path(index)?;
        if let Some(size) = self.cached.as_ref().and_then(|cached| cached.size(index)) {
            return (size != walk_away::MISSING).then_some(size);
        }
        Some(fs::metadata(join(&self.root, &path)).ok()?.len())
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    /// Asks the system for the size of every file, which takes as long as the walk again: on the
    /// first call only. A file that cannot be looked at has the largest size there is.
    fn fingerprint(&self) -> [u8; 16] {
        *self.fingerprint.get_or_init(|| {
            let size = |at, path: &[u8]| Ok(self.file_bytes(at, path).unwrap_or(u64::MAX));
            self.hashed(size).unwrap_or_default()
        })
    }

    /// Asks the system for the time of every file, on the first call only.
    fn stamp(&self) -> Result<[u8; 16]> {
        if let Some(known) = self.stamp.get() {
            return Ok(*known);
        }
        let mut hash = Xxh3Default::new();
        for path in (0..self.len()).filter_map(|index| self.path(index)) {
            let path = join(&self.root, &path);
            let times = match fs::metadata(&path) {
                Ok(metadata) => (metadata.mtime(), metadata.mtime_nsec()),
                // Reading it fails, or leaves it out.
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => (i64::MIN, 0),
                Err(cause) => return Err(Error::io("look at", path)(cause)),
            };
            hash.update(&times.0.to_le_bytes());
            hash.update(&times.1.to_le_bytes());
        }
        Ok(*self.stamp.get_or_init(|| hash.digest128().to_le_bytes()))
    }

    fn checked_fingerprint(&self, spare_samples: bool) -> Result<[u8; 16]> {
        if let Some(known) = self.fingerprint.get() {
            return Ok(*known);
        }
        let hashed = self.hashed(|index, path| match self.file_bytes(index, path) {
            Err(Error::Sample { .. }) if spare_samples => Ok(u64::MAX),
            size => size,
        })?;
        Ok(*self.fingerprint.get_or_init(|| hashed))
    }

    fn planned_bytes(&self, index: u64) -> Result<Option<u64>> {
        self.path(index).map(|path| self.file_bytes(index, &path)).transpose()
    }

    fn splits(&self) -> Splits {
        self.division.splits.clone()
    }

    fn remarks(&self) -> Vec<Message> {
        let mut remarks: Vec<Message> = self.division.remarks.iter().map(Message::from).collect();
        let empty = self.ignored.folders.iter().filter(|folder| split_named(folder).is_some());
        let told = empty.filter(|_| self.how.split_folders);
        remarks.extend(told.map(|folder| message!("the split folder {folder} holds no image")));
        remarks
    }

    fn left_out(&self) -> Ignored {
        self.ignored.clone()
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
            let size = (path == &*own_path).then(|| self.known_size(index)).flatten();
            let (header, bytes) = self.read_image(&key, path, size)?;
            self.check_cached(index, &key, bytes.len() as u64)?;
            let ImageHeader { codec, width, height, .. } = header;
            values.push(Value::Image(Encoded::new(codec, width, height, bytes)));
        }
        Ok(Sample { key, values })
    }

    fn provenance(&self) -> Option<&Provenance> {
        self.provenance.as_ref()
    }

    fn details(&self) -> serde_json::Map<String, serde_json::Value> {
        details(self)
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
            let size = (path == &*own_path).then(|| self.known_size(index)).flatten();
            let (header, bytes) = self.read_image(&key, path, size)?;
            fdconvert_core::probe::check_complete(&bytes, &header).map_err(|what| {
                Error::sample(&key, format!("{}: {what}", header.codec.extension()))
            })?;
        }
        Ok(())
    }
}

fn real(root: &Path) -> Result<PathBuf> {
    if is_url(root) {
        return Ok(root.to_path_buf());
    }
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
        // How `read_file` says that it is not a regular file.
        io::ErrorKind::Other if source.raw_os_error().is_none() => source.to_string(),
        _ => return error,
    };
    Error::sample(key, what)
}
