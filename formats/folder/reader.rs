use crate::{
    folder::{
        Folder,
        ahead::Coming,
        annotations::{Notices, Photo},
        archive::Archive,
        beside,
        details::details,
        layout::{join, key_of_path},
        listing::{Listing, UNLABELLED},
        split_folders::{Division, split_of},
        table::{Cell, Table},
        walk_away,
        words::Words,
    },
    members,
};
use bytes::Bytes;
use fdconvert_core::{
    Ahead, Encoded, Error, Ignored, Image, ImageHeader, Kind, Provenance, Reader, Remark, Result,
    Sample, Schema, Source, Splits, Value, option,
};
use fdconvert_storage::{Blob, read_file};
use std::{borrow::Cow, fs, io, os::unix::fs::MetadataExt, path::PathBuf, sync::OnceLock};
use xxhash_rust::xxh3::Xxh3Default;

pub(crate) const MISSING: &str = "the file is missing";

/// An open folder of images, or a zip of one.
#[derive(Debug)]
pub struct FolderReader {
    pub(super) root: PathBuf,
    pub(super) name: String,
    pub(super) schema: Schema,
    pub(super) samples: Samples,
    pub(super) ignored: Ignored,
    pub(super) provenance: Option<Provenance>,
    pub(super) division: Division,
    pub(super) how: Folder,
    pub(super) coming: Coming,
    pub(super) fingerprint: OnceLock<[u8; 16]>,
    pub(super) stamp: OnceLock<[u8; 16]>,
    pub(super) sizes: Option<Words>,
    pub(super) archive: Option<Box<Archive>>,
    /// Samples whose annotations have something to tell.
    pub(super) notices: Notices,
    /// Sizes of the files beside images, those of each sample together, where a list tells them.
    pub(super) beside_sizes: Option<Words>,
}

/// Origin of the list of samples.
#[derive(Debug)]
pub(super) enum Samples {
    /// The walk found them.
    Walked(Listing),
    /// A table lists them.
    Listed {
        table: Table,
        /// Resolved path of the root: files have to lie in it, links or not.
        real: PathBuf,
        /// The table's bytes.
        bytes: Bytes,
        /// Name of the table in messages.
        origin: &'static str,
    },
}

impl FolderReader {
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
    /// files again; `None` when a table or a zip lists them.
    ///
    /// # Errors
    /// `Io` where the files are many and a temporary file cannot be written.
    pub fn listing(&self) -> Result<Option<Bytes>> {
        match &self.samples {
            Samples::Walked(listing) if self.archive.is_none() => listing.to_bytes().map(Some),
            _ => Ok(None),
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
        let mut cells = match &self.samples {
            Samples::Walked(listing) => {
                let label = listing.get(index).ok_or_else(missing)?.label;
                if label == UNLABELLED {
                    let what = "it is directly in the folder of its split and has no class";
                    return Err(Error::sample(self.key_of(&path), what));
                }
                let mut cells = vec![Cell::FirstImage];
                if self.has_classes() {
                    cells.push(Cell::Value(Value::Int(i64::from(label))));
                }
                cells
            }
            Samples::Listed { table, .. } => table.row(index).ok_or_else(missing)?,
        };
        let first_beside = self.schema.fields.len().saturating_sub(self.how.beside.len());
        let fields = self.schema.fields.iter().skip(first_beside);
        cells.extend(fields.zip(&self.how.beside).map(|(field, extension)| {
            Cell::Beside(beside::path_beside(&path, extension), &field.kind)
        }));
        Ok((self.key_of(&path), cells, path))
    }

    /// Returns whether the folders are classes.
    pub(super) fn has_classes(&self) -> bool {
        self.schema.fields.get(1).is_some_and(|field| field.class_names.is_some())
    }

    /// The extension of the files that a field is, where it is one of files beside images.
    fn extension_of(&self, field: usize) -> Option<&String> {
        let first = self.schema.fields.len().saturating_sub(self.how.beside.len());
        self.how.beside.get(field.checked_sub(first)?)
    }

    /// The paths of the files beside the image of a sample, in the order of their fields.
    pub(super) fn paths_beside(&self, index: u64) -> impl Iterator<Item = Vec<u8>> {
        let path = self.path(index).unwrap_or_default();
        let extensions = self.how.beside.iter();
        extensions.map(move |extension| beside::path_beside(&path, extension))
    }

    /// `size` is what the file has, where that is known.
    fn read_image(
        &self,
        key: &str,
        path: &[u8],
        size: Option<u64>,
    ) -> Result<(ImageHeader, Bytes)> {
        let read = self.read_bytes(key, path, size)?;
        let bytes = read.ok_or_else(|| Error::sample(key, MISSING))?;
        let header = fdconvert_core::probe::probe(&bytes).map_err(|what| {
            let codec = fdconvert_core::probe::sniff(&bytes);
            let codec = codec.map_or_else(String::new, |codec| format!("{}: ", codec.extension()));
            Error::sample(key, format!("{codec}{what}"))
        })?;
        Ok((header, bytes))
    }

    /// The value of the file at `path`, beside the image of a sample.
    fn read_beside(&self, key: &str, path: &[u8], kind: &Kind) -> Result<Value<Encoded>> {
        let name = key_of_path(path);
        let bytes = self.read_bytes(key, path, None)?.ok_or_else(|| {
            Error::sample(key, format!("{name} is missing next to it"))
                .cure("to leave out such samples", option::ON_ERROR.with("skip"))
        })?;
        members::decode(kind, bytes).map_err(|what| {
            let is_image = *kind == Kind::Image;
            Error::sample(key, format!("{name}{} {what}", if is_image { ":" } else { "" }))
        })
    }

    /// The bytes of a file; `None` where it is missing.
    pub(super) fn read_bytes(
        &self,
        key: &str,
        path: &[u8],
        size: Option<u64>,
    ) -> Result<Option<Bytes>> {
        if let Some(archive) = &self.archive {
            return archive.read(key, path, &self.how.limits);
        }
        let path = join(&self.root, path);
        if let Samples::Listed { real, origin, .. } = &self.samples
            && !self.how.follow_links
            && !self.is_away()
        {
            let target = match fs::canonicalize(&path) {
                Ok(target) => target,
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(cause) => return Err(Error::sample(key, cause.to_string())),
            };
            if !target.starts_with(real) {
                let what = format!("`{origin}` names a link that leads out of the folder");
                return Err(Error::sample(key, what));
            }
        }
        let most = self.how.limits.max_file_bytes;
        let is_away = self.is_away();
        let bytes = match (size, is_away.then(|| self.coming.get(&path)).flatten()) {
            (_, Some(bytes)) => Ok(bytes),
            // One request.
            (Some(size), None) if is_away && size <= most => {
                let bytes = Blob::open_with_len(&path, size).and_then(|blob| blob.read(0, size));
                bytes.map(Option::unwrap_or_default)
            }
            _ => read_file(&path, most),
        };
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Ok(None);
            }
            Err(error) => return Err(of_sample(key, error)),
        };
        if is_away {
            self.coming.note_read(bytes.len() as u64);
        }
        Ok(Some(bytes))
    }

    /// A sample, each of whose images passes this check.
    fn checked(
        &self,
        index: u64,
        check: impl Fn(&str, &ImageHeader, &Bytes) -> Result<()>,
    ) -> Result<Sample<Encoded>> {
        let (key, cells, own_path) = self.cells(index)?;
        let mut values = Vec::with_capacity(cells.len());
        let mut photo = None;
        for cell in cells {
            let path = match cell {
                Cell::FirstImage => &*own_path,
                Cell::Image(path) => path,
                Cell::Beside(path, kind) => {
                    let value = self.read_beside(&key, &path, kind)?;
                    if let Value::Image(image) = &value {
                        let header = fdconvert_core::probe::probe(&image.bytes);
                        let header = header.map_err(|what| Error::sample(&key, what))?;
                        check(&key, &header, &image.bytes)?;
                    }
                    values.push(value);
                    continue;
                }
                Cell::Value(value) => {
                    values.push(value);
                    continue;
                }
                Cell::Made(made, row) => {
                    let document = made.document(row, photo);
                    let (document, notices) = document.map_err(|what| Error::sample(&key, what))?;
                    let is_turned = photo.is_some_and(|it| it.orientation > 1);
                    if self.how.leaves_rotation && is_turned && made.has_places() {
                        let what = "EXIF turns it, and its annotations are of the upright image; \
                                    leave `no_exif_rotation` out";
                        return Err(Error::sample(&key, what));
                    }
                    notices.into_iter().for_each(|notice| self.notices.add(index, notice));
                    values.push(Value::Json(document));
                    continue;
                }
            };
            let size = (path == &*own_path).then(|| self.known_size(index)).flatten();
            let (header, bytes) = self.read_image(&key, path, size)?;
            check(&key, &header, &bytes)?;
            photo = photo.or_else(|| Some(Photo::new(&header, self.how.boxes)));
            let ImageHeader { codec, width, height, .. } = header;
            let image = Encoded::new(codec, width, height, bytes);
            values.push(Value::Image(image));
        }
        Ok(Sample { key, values })
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
        let (key, cells, _) = self.cells(index)?;
        Ok(match cells.get(field) {
            Some(Cell::Value(Value::Int(label))) => Some(*label),
            Some(Cell::Beside(path, kind)) => match self.read_beside(&key, path, kind)? {
                Value::Int(label) => Some(label),
                _ => None,
            },
            _ => None,
        })
    }

    /// Images beside others are their masks.
    fn keeps_pixels(&self, field: usize) -> bool {
        self.extension_of(field).is_some()
    }

    fn member_name(&self, field: usize) -> Option<String> {
        let is_image = self.schema.fields.get(field).is_some_and(|it| it.kind == Kind::Image);
        let extension = self.extension_of(field).filter(|_| !is_image)?;
        Some(extension.clone())
    }

    /// Opens no file: tables have it.
    fn knows_plain_values(&self) -> bool {
        true
    }

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
        if let Some(size) = self.sizes.as_ref().and_then(|sizes| sizes.get(index)) {
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
        let own = |index| self.path(index).map(Cow::into_owned);
        let paths = (0..self.len()).flat_map(|at| own(at).into_iter().chain(self.paths_beside(at)));
        for path in paths {
            let path = join(&self.root, &path);
            let times = match fs::metadata(&path) {
                Ok(metadata) => (metadata.mtime(), metadata.mtime_nsec()),
                // Reading it fails, or leaves it out.
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => (i64::MIN, 0),
                Err(cause) => return Err(Error::io("access", path)(cause)),
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

    fn remarks(&self) -> Vec<Remark> {
        let mut remarks = self.division.remarks.clone();
        let is_split = |folder: &&String| split_of(folder.as_bytes()).is_some();
        let empty = self.ignored.folders.iter().filter(is_split);
        let told = empty.filter(|_| self.how.split_folders);
        remarks
            .extend(told.map(|folder| format!("the split folder {folder} holds no image").into()));
        remarks.extend(self.notices.remarks());
        remarks
    }

    fn label_origin(&self) -> Option<String> {
        self.division.labels.clone()
    }

    fn left_out(&self) -> Ignored {
        self.ignored.clone()
    }
}

impl Reader for FolderReader {
    fn get(&self, index: u64) -> Result<Sample<Encoded>> {
        self.checked(index, |_, _, _| Ok(()))
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
        let check = |key: &str, header: &ImageHeader, bytes: &Bytes| {
            let complete = fdconvert_core::probe::check_complete(bytes, header);
            complete
                .map(|_| ())
                .map_err(|what| Error::sample(key, format!("{}: {what}", header.codec.extension())))
        };
        self.checked(index, check).map(|_| ())
    }
}

/// A failure that concerns one file and says nothing about the others becomes that sample's; a
/// failing disk stays what it is.
fn of_sample(key: &str, error: Error) -> Error {
    let Error::Io { source, .. } = &error else { return error };
    let what = match source.kind() {
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
