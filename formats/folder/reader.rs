use crate::{
    folder::{
        Folder,
        ahead::Coming,
        annotations::{Made, Notices, Photo},
        archive::Archive,
        beside,
        details::details,
        layout::{join, key_of_path},
        listing::{Listing, UNLABELLED},
        table::{Cell, Column, Table},
        words::Words,
    },
    members,
};
use bytes::Bytes;
use fdconvert_core::{
    Ahead, Amount, Encoded, Error, Image, ImageHeader, Kind, Look, Provenance, Reader, Result,
    Sample, Source, SourceFacts, Value, option,
};
use fdconvert_storage::{Blob, os, read_file, read_start};
use std::{
    borrow::Cow,
    fs, io,
    path::PathBuf,
    sync::{Arc, OnceLock},
};
use xxhash_rust::xxh3::Xxh3Default;

/// Bytes at the start of an image file that have its header, but for exceptions.
const HEADER_BYTES: u64 = 64 << 10;

pub(crate) const MISSING: &str = "the file is missing";

/// An open folder of images, or a zip of one.
#[derive(Debug)]
pub struct FolderReader {
    pub(super) root: PathBuf,
    pub(super) facts: SourceFacts,
    pub(super) samples: Samples,
    pub(super) provenance: Option<Provenance>,
    pub(super) how: Folder,
    pub(super) coming: Coming,
    pub(super) fingerprint: OnceLock<[u8; 16]>,
    pub(super) stamp: OnceLock<[u8; 16]>,
    pub(super) sizes: Option<Words>,
    pub(super) archive: Option<Box<Archive>>,
    /// Samples with remarkable annotations.
    pub(super) notices: Arc<Notices>,
    /// Total size of the files beside the images of each sample, if listed.
    pub(super) beside_sizes: Option<Words>,
}

/// Origin of the list of samples.
#[derive(Debug)]
pub(super) enum Samples {
    /// Found by a walk.
    Walked(Listing),
    /// Listed in a table.
    Listed {
        table: Table,
        /// Resolved path of the root: files must be inside it, links or not.
        real: PathBuf,
        /// The table's bytes.
        bytes: Bytes,
        /// Name of the table in messages.
        origin: &'static str,
    },
}

impl FolderReader {
    /// Returns the listing that [`Folder::open_planned`](crate::folder::Folder::open_planned)
    /// needs; `None` when a table or a zip lists the files.
    ///
    /// # Errors
    /// `Io` if there are many files and a temporary file cannot be written.
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
        match self.facts.schema.first_image() {
            None if self.how.reads_images => {
                // No file corresponds to the sample, so its path is the key itself.
                String::from_utf8_lossy(path).into_owned()
            }
            _ => key_of_path(path),
        }
    }

    /// What is wrong with the annotations of a sample, whatever its image is.
    pub(super) fn fault(&self, index: u64) -> Option<&str> {
        let Samples::Listed { table, .. } = &self.samples else { return None };
        let row = usize::try_from(index).ok()?;
        table.columns.iter().find_map(|column| match column {
            Column::Made(made) => made.fault(row),
            _ => None,
        })
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
        cells.retain(|cell| self.how.reads_images || *cell != Cell::FirstImage);
        let first_beside = self.facts.schema.fields.len().saturating_sub(self.how.beside.len());
        let fields = self.facts.schema.fields.iter().skip(first_beside);
        cells.extend(fields.zip(&self.how.beside).map(|(field, extension)| {
            Cell::Beside(beside::path_beside(&path, extension), &field.kind)
        }));
        Ok((self.key_of(&path), cells, path))
    }

    /// Returns true if the folders are classes.
    pub(super) fn has_classes(&self) -> bool {
        self.facts.schema.fields.iter().any(|field| field.class_names.is_some())
    }

    /// The file extension of a field, if it consists of files beside images.
    pub(super) fn extension_of(&self, field: usize) -> Option<&String> {
        let first = self.facts.schema.fields.len().saturating_sub(self.how.beside.len());
        self.how.beside.get(field.checked_sub(first)?)
    }

    /// The paths of the files beside the image of a sample, in field order.
    pub(super) fn paths_beside(&self, index: u64) -> impl Iterator<Item = Vec<u8>> {
        let path = self.path(index).unwrap_or_default();
        let extensions = self.how.beside.iter();
        extensions.map(move |extension| beside::path_beside(&path, extension))
    }

    /// `size` is the file's size, if known.
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

    /// The header of an image that is left out; `None` if it is not needed, or missing.
    fn unread_photo(&self, key: &str, path: &[u8], has_size: bool) -> Result<Option<Photo>> {
        if has_size && !self.how.reads_headers {
            return Ok(None);
        }
        let read = match self.archive.is_some() || self.facts.reads_ahead {
            true => self.read_bytes(key, path, None)?,
            false => read_start(&join(&self.root, path), HEADER_BYTES)?,
        };
        let Some(start) = read else {
            return match self.how.reads_headers {
                true => Err(Error::sample(key, MISSING)),
                false => Ok(None),
            };
        };
        let header = match fdconvert_core::probe::probe(&start) {
            Ok(header) => header,
            // Its size may be behind more metadata than was read.
            Err(_) => self.read_image(key, path, None)?.0,
        };
        Ok(Some(Photo::new(&header, self.how.boxes)))
    }

    /// Reads the value of the file at `path`, beside the image of a sample.
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

    /// The bytes of a file; `None` if it is missing.
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
            && !self.facts.reads_ahead
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
        let is_away = self.facts.reads_ahead;
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

    /// A hash of the modification times of files.
    fn hashed_times(&self) -> Result<[u8; 16]> {
        let mut hash = Xxh3Default::new();
        let own = |index| self.path(index).map(Cow::into_owned);
        let in_lists = |index| self.in_lists(index).map(<[u8]>::to_vec);
        let paths = (0..self.len())
            .flat_map(|at| own(at).into_iter().chain(self.paths_beside(at)).chain(in_lists(at)));
        for path in paths {
            let path = join(&self.root, &path);
            let times = match fs::metadata(&path) {
                Ok(metadata) => os::modified(&metadata),
                // Reading it fails, or skips it.
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => (i64::MIN, 0),
                Err(cause) => return Err(Error::io("access", path)(cause)),
            };
            hash.update(&times.0.to_le_bytes());
            hash.update(&times.1.to_le_bytes());
        }
        Ok(hash.digest128().to_le_bytes())
    }

    /// Makes the document of a sample, whose first image is `photo`.
    fn document(
        &self,
        index: u64,
        key: &str,
        (made, row): (&Made, usize),
        photo: Option<Photo>,
    ) -> Result<Bytes> {
        let document = made.document(row, photo);
        let (document, notices) = document.map_err(|what| Error::sample(key, what))?;
        let is_turned = photo.is_some_and(|it| it.orientation > 1);
        if self.how.leaves_rotation && is_turned && made.has_places() {
            let what = "EXIF turns it, and its annotations are of the upright image; leave \
                        `no_exif_rotation` out";
            return Err(Error::sample(key, what));
        }
        notices.into_iter().for_each(|notice| self.notices.add(index, notice));
        Ok(document)
    }

    /// Reads a sample, and applies `check` to each of its images.
    fn checked(
        &self,
        index: u64,
        check: impl Fn(&str, &ImageHeader, &Bytes) -> Result<()>,
    ) -> Result<Sample<Encoded>> {
        let (key, cells, own_path) = self.cells(index)?;
        if let Some(what) = self.fault(index) {
            return Err(Error::sample(key, what));
        }
        let mut values = Vec::with_capacity(cells.len());
        let mut photo = None;
        for cell in cells {
            let path = match cell {
                Cell::FirstImage => &*own_path,
                Cell::Image(path) => path,
                Cell::Images(paths) => {
                    let mut images = Vec::with_capacity(paths.len());
                    for path in paths {
                        let (header, bytes) = self.read_further(&key, path)?;
                        check(&key, &header, &bytes)?;
                        images.push(encoded(&header, bytes));
                    }
                    values.push(Value::Images(images));
                    continue;
                }
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
                    if !self.how.reads_images {
                        photo = self.unread_photo(&key, &own_path, made.states_size(row))?;
                    }
                    values.push(Value::Json(self.document(index, &key, (made, row), photo)?));
                    continue;
                }
            };
            let (header, bytes) = match path == &*own_path {
                true => self.read_image(&key, path, self.known_size(index))?,
                false => self.read_further(&key, path)?,
            };
            check(&key, &header, &bytes)?;
            photo = photo.or_else(|| Some(Photo::new(&header, self.how.boxes)));
            values.push(Value::Image(encoded(&header, bytes)));
        }
        Ok(Sample { key, values })
    }

    /// Reads an image that has another name than the sample.
    fn read_further(&self, key: &str, path: &[u8]) -> Result<(ImageHeader, Bytes)> {
        self.read_image(key, path, None).map_err(|error| match error {
            Error::Sample { key, what } => {
                let name = key_of_path(path);
                Error::Sample { key, what: what.reworded(|what| format!("{name}: {what}")) }
            }
            error => error,
        })
    }
}

fn encoded(header: &ImageHeader, bytes: Bytes) -> Encoded {
    Encoded::new(header.codec, header.width, header.height, bytes)
}

impl Source for FolderReader {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        self.get(index).map(Sample::from)
    }

    fn read_ahead(&self, indices: &[u64]) -> Ahead {
        if self.facts.reads_ahead { self.announce(indices) } else { Ahead::default() }
    }

    fn key(&self, index: u64) -> String {
        self.path(index).map_or_else(|| format!("#{index}"), |path| self.key_of(&path))
    }

    /// Opens a file for a field of files beside images, and for annotations, which need the header of
    /// the image; all other values are in tables.
    fn value(&self, index: u64, field: usize) -> Result<Option<Value<Image>>> {
        let (key, cells, own_path) = self.cells(index)?;
        let value = match cells.into_iter().nth(field) {
            Some(Cell::Value(value)) => Some(value),
            Some(Cell::Made(made, row)) => {
                let photo = self.unread_photo(&key, &own_path, made.states_size(row))?;
                Some(Value::Json(self.document(index, &key, (made, row), photo)?))
            }
            Some(Cell::Beside(
                path,
                kind @ (Kind::Int | Kind::Float | Kind::Text | Kind::Json),
            )) => Some(self.read_beside(&key, &path, kind)?),
            _ => None,
        };
        Ok(value.filter(Value::is_plain).map(Into::into))
    }

    /// Queries the file system if no list has the size; exact for samples of one image.
    fn bytes(&self, index: u64, amount: Amount) -> Result<Option<u64>> {
        let Some(path) = self.path(index) else { return Ok(None) };
        match amount {
            Amount::Announced if self.facts.reads_ahead => Ok(Some(self.coming_bytes(index))),
            Amount::Known if self.sizes.is_some() || self.facts.reads_ahead => {
                Ok(self.known_size(index))
            }
            Amount::Known if self.facts.schema.first_image().is_none() => Ok(None),
            _ if self.facts.schema.first_image().is_none() => {
                let sizes = self.sizes_in_lists(index).collect::<Result<Vec<_>>>()?;
                Ok(Some(sizes.iter().filter(|size| **size != u64::MAX).sum()))
            }
            _ => self.file_bytes(index, &path).map(Some),
        }
    }

    /// Queries the size or the time of every file, which takes as long as the walk. Only on the
    /// first call.
    fn fingerprint(&self, look: Look) -> Result<[u8; 16]> {
        let known = if look == Look::Times { &self.stamp } else { &self.fingerprint };
        if let Some(known) = known.get() {
            return Ok(*known);
        }
        let hashed = match look {
            Look::Times => self.hashed_times()?,
            Look::Sizes if self.how.reads_files() => {
                self.hashed(|index, path| self.file_bytes(index, path))?
            }
            // Images that are not read may be missing.
            Look::Sizes | Look::SizesSparing => {
                self.hashed(|index, path| match self.file_bytes(index, path) {
                    Err(Error::Sample { .. }) => Ok(u64::MAX),
                    size => size,
                })?
            }
        };
        Ok(*known.get_or_init(|| hashed))
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

    /// Opening the folder has checked the rules for the whole.
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

/// Turns a failure that concerns one file alone into an error of that sample; a failing disk stays
/// an I/O error.
fn of_sample(key: &str, error: Error) -> Error {
    let Error::Io { source, .. } = &error else { return error };
    let what = match source.kind() {
        io::ErrorKind::PermissionDenied
        | io::ErrorKind::NotADirectory
        | io::ErrorKind::IsADirectory
        | io::ErrorKind::InvalidFilename => source.to_string(),
        // `read_file` returns this for a file that is not regular.
        io::ErrorKind::Other if source.raw_os_error().is_none() => source.to_string(),
        _ => return error,
    };
    Error::sample(key, what)
}
