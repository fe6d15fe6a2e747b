use crate::folder::{
    Folder,
    layout::{META, ROWS, class_folder, extra_image_path, image_path, join, key_of_path},
    plain::Plain,
    reader::FolderReader,
    sidecar,
    there::There,
    written_splits::WrittenSplits,
};
use bytes::Bytes;
use fdconvert_core::{
    Codec, Create, Encoded, Error, Provenance, Reader as _, Result, Sample, Schema, ShardSummary,
    ShardWriter, Skipped, Source as _, Splits, Value, option,
};
use fdconvert_storage::{Scratch, ScratchDir, create_new, partial_path, read_file};
use std::{
    collections::{BTreeSet, HashSet},
    ffi::OsStr,
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};
use xxhash_rust::xxh3::xxh3_128;

/// Bytes of rows per write, approximately.
const FLUSH_BYTES: usize = 1 << 20;

/// Writes the files of samples below a scratch folder, with rows beside them. The rows are kept
/// only if the tree of images is not a complete description.
pub(crate) struct Writer {
    place: Place,
    out: PathBuf,
    schema: Schema,
    provenance: Provenance,
    plain: Plain,
    /// Hashes of the paths of all files written: 16 bytes each instead of about 50 for a path.
    written: HashSet<u128>,
    folders: BTreeSet<Vec<u8>>,
    splits: WrittenSplits,
    samples: u64,
    bytes: u64,
}

/// Destination of the files.
enum Place {
    /// Below a scratch folder, with the rows beside them.
    New(Rows, ScratchDir),
    /// The finished folder of the same run exists: files are only compared.
    There(There),
}

impl Writer {
    pub(crate) fn create(request: &Create<'_>, splits: Splits) -> Result<Self> {
        let schema = request.schema;
        if request.shard.of > 1 {
            return Err(Error::usage(option::SHARDS, "a folder is written in one piece"));
        }
        if schema.position(sidecar::PATH).is_some() {
            let what = "a field is called `path`, which is how rows name their file; rename it";
            return Err(Error::usage("schema", what));
        }
        // Without a trailing slash or dots, so that the scratch folder is beside it.
        let out: PathBuf = request.out.components().collect();
        if out.file_name().is_none() {
            let what = format!("{} is not a name for a new folder", request.out.display());
            return Err(Error::usage("output", what));
        }
        let there = if request.overwrite { None } else { There::look(&out) };
        let place = match there {
            Some(there) => Place::There(there),
            None => {
                check_free(&out, request.overwrite)?;
                let folder = ScratchDir::open(&out, request.stamp, request.overwrite)?;
                Place::New(Rows::create(&folder)?, folder)
            }
        };
        Ok(Self {
            place,
            out,
            schema: schema.clone(),
            provenance: request.provenance.clone(),
            plain: Plain::new(schema),
            written: HashSet::new(),
            folders: BTreeSet::new(),
            splits: WrittenSplits::new(splits),
            samples: 0,
            bytes: 0,
        })
    }

    /// The files of a sample: paths and contents.
    fn files<'a>(&self, sample: &'a Sample<Encoded>) -> Result<Vec<(Vec<u8>, &'a Bytes)>> {
        let refuse = |why: String| Error::sample(&sample.key, format!("the key {why}"));
        let images = sample.values.iter().zip(&self.schema.fields);
        let mut files: Vec<(Vec<u8>, &Bytes)> = Vec::new();
        for (value, field) in images {
            let Value::Image(image) = value else { continue };
            if image.codec == Codec::Raw {
                let what = format!("field `{}`: raw pixels are no image file", field.name);
                return Err(Error::sample(&sample.key, what));
            }
            let path = match files.first() {
                Some((first, _)) => extra_image_path(first, &field.name, image.codec),
                None => image_path(&sample.key, image.codec, self.class_folder(sample).as_deref()),
            };
            files.push((path.map_err(refuse)?, &image.bytes));
        }
        let mut fresh = BTreeSet::new();
        for (path, _) in &files {
            if self.written.contains(&xxh3_128(path)) || !fresh.insert(path) {
                let what = format!(
                    "its file `{}` was already written; a beton or mds can hold both samples",
                    key_of_path(path)
                );
                return Err(Error::sample(&sample.key, what)
                    .cure("to distinguish those of several sources", option::PREFIX.with("auto")));
            }
        }
        Ok(files)
    }

    fn label(&self, sample: &Sample<Encoded>) -> Option<i64> {
        match sample.values.get(self.schema.label()?)? {
            Value::Int(label) => Some(*label),
            _ => None,
        }
    }

    fn class_folder(&self, sample: &Sample<Encoded>) -> Option<Vec<u8>> {
        let label = self.label(sample)?;
        let field = self.schema.fields.get(self.schema.label()?)?;
        let name = field
            .class_names
            .as_deref()
            .and_then(|names| names.get(usize::try_from(label).ok()?).map(String::as_str));
        Some(class_folder(name, label))
    }

    /// Writes one file; the error belongs to the sample if only the file's name causes it.
    fn write_file(&mut self, key: &str, path: &[u8], bytes: &Bytes) -> Result<()> {
        let blame = |error: Error| match &error {
            Error::Io { source, .. } => match source.kind() {
                io::ErrorKind::AlreadyExists
                | io::ErrorKind::NotADirectory
                | io::ErrorKind::IsADirectory => {
                    let what = format!("`{}` is in the way of another name", key_of_path(path));
                    Error::sample(key, what)
                }
                io::ErrorKind::InvalidFilename => Error::sample(key, source.to_string()),
                _ => error,
            },
            _ => error,
        };
        let folder = match &self.place {
            Place::New(_, folder) => folder,
            Place::There(there) => return there.check_file(path, bytes).map_err(blame),
        };
        let target = join(folder.path(), path);
        let resumed = folder.resumed();
        let parent = path.iter().rposition(|&byte| byte == b'/').and_then(|end| path.get(..end));
        if let Some(parent) = parent.filter(|parent| !self.folders.contains(*parent)) {
            let above = join(folder.path(), parent);
            let created = fs::create_dir_all(&above);
            created.map_err(|cause| blame(Error::io("create the folder", &above)(cause)))?;
            self.folders.insert(parent.to_vec());
        }
        if resumed && target.is_file() {
            let same = read_file(&target, bytes.len() as u64).is_ok_and(|found| found == bytes);
            if same {
                return Ok(());
            }
            fs::remove_file(&target).map_err(Error::io("remove", &target))?;
        }
        create_new(&target, bytes).map_err(blame)
    }

    /// Returns true if a file was written into this folder or one below it.
    fn has_folder(&self, mut path: Vec<u8>) -> bool {
        if self.folders.contains(&path) {
            return true;
        }
        path.push(b'/');
        let next = self.folders.range(path.clone()..).next();
        next.is_some_and(|folder| folder.starts_with(&path))
    }

    /// Removes files that a killed run wrote and this one did not: it had the same plan, but a file
    /// of the source may have become unreadable since.
    fn remove_stale(&self, rows: &Path, folder: &Path, path: &[u8]) -> Result<()> {
        for entry in fs::read_dir(folder).map_err(Error::io("list", folder))? {
            let entry = entry.map_err(Error::io("list", folder))?;
            let name = entry.file_name();
            let target = entry.path();
            let kind = entry.file_type().map_err(Error::io("access", &target))?;
            let is_root = path.is_empty();
            let path = if is_root {
                name.as_bytes().to_vec()
            } else {
                [path, b"/", name.as_bytes()].concat()
            };
            if kind.is_dir() {
                self.remove_stale(rows, &target, &path)?;
                if !self.has_folder(path) {
                    fs::remove_dir(&target).map_err(Error::io("remove", &target))?;
                }
                continue;
            }
            let is_mark = name == OsStr::new(ScratchDir::MARK) || target == rows;
            let is_ours = (is_root && is_mark) || self.written.contains(&xxh3_128(&path));
            if !is_ours {
                fs::remove_file(&target).map_err(Error::io("remove", &target))?;
            }
        }
        Ok(())
    }
}

impl ShardWriter for Writer {
    fn found(&self) -> u64 {
        let n_left_out = self.provenance.skipped.len() as u64;
        if matches!(self.place, Place::There(_)) { self.samples + n_left_out } else { 0 }
    }

    fn write(&mut self, sample: &Sample<Encoded>) -> Result<()> {
        self.schema.check(sample)?;
        let files = self.files(sample)?;
        let paths: Vec<Vec<u8>> = files.iter().map(|(path, _)| path.clone()).collect();
        let row = sidecar::row(&self.schema, sample, &paths)?;
        for (n_done, (path, bytes)) in files.iter().enumerate() {
            if let Err(error) = self.write_file(&sample.key, path, bytes) {
                // The sample counts as not written, so none of its files may stay.
                let Place::New(_, folder) = &self.place else { return Err(error) };
                for path in paths.iter().take(n_done) {
                    let target = join(folder.path(), path);
                    fs::remove_file(&target).map_err(Error::io("remove", &target))?;
                }
                return Err(error);
            }
        }
        match &mut self.place {
            Place::New(rows, _) => rows.push(&row)?,
            Place::There(there) => there.push_row(&row),
        }
        if let Some(path) = paths.first() {
            self.plain.note(path, self.label(sample));
        }
        self.written.extend(paths.iter().map(|path| xxh3_128(path)));
        self.bytes += files.iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>();
        self.samples += 1;
        self.splits.note(true);
        Ok(())
    }

    fn skip(&mut self, skipped: Skipped) -> Result<()> {
        self.splits.note(false);
        self.provenance.skipped.push(skipped);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<ShardSummary> {
        if self.samples == 0 {
            return Err(Error::usage("source", "no sample was given"));
        }
        if let Place::New(rows, folder) = &self.place
            && folder.resumed()
        {
            self.remove_stale(rows.file.path(), folder.path(), b"")?;
        }
        let Self { place, out, schema, provenance, plain, samples, mut bytes, written, .. } = *self;
        let splits = self.splits.into_splits();
        let meta = match splits.is_empty() && plain.holds(&schema) {
            true => None,
            false => Some(sidecar::meta(&schema, samples, &provenance, splits)?),
        };
        bytes += meta.as_ref().map_or(0, |meta| meta.len() as u64);
        match place {
            Place::New(rows, folder) => {
                match &meta {
                    None => rows.discard()?,
                    Some(meta) => {
                        bytes += rows.commit(&folder.path().join(ROWS))?;
                        create_new(&folder.path().join(META), meta)?;
                    }
                }
                folder.commit(&out)?;
            }
            Place::There(there) => {
                let is_ours = |path: &[u8]| written.contains(&xxh3_128(path));
                bytes += there.finish(meta.as_deref(), &is_ours)?;
            }
        }
        Ok(ShardSummary { path: out, samples, bytes, skipped: provenance.skipped })
    }
}

/// The folder that the same run has finished, if it was stopped before it could report it.
pub(crate) fn finished(request: &Create<'_>) -> Result<Option<ShardSummary>> {
    let out: PathBuf = request.out.components().collect();
    if !ScratchDir::is_finished(&out, request.stamp)? {
        return Ok(None);
    }
    let reader = FolderReader::open(&out, Folder::default())?;
    let skipped = reader.provenance().map_or_else(Vec::new, |made| made.skipped.clone());
    let samples = reader.len();
    ScratchDir::confirm(&out)?;
    Ok(Some(ShardSummary { bytes: size_below(&out)?, path: out, samples, skipped }))
}

/// Bytes of all files below a folder.
fn size_below(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder).map_err(Error::io("list", folder))? {
        let entry = entry.map_err(Error::io("list", folder))?;
        let metadata = entry.metadata().map_err(Error::io("access", entry.path()))?;
        bytes += if metadata.is_dir() { size_below(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}

/// The rows on their way to the disk.
struct Rows {
    file: Scratch,
    pending: Vec<u8>,
    offset: u64,
}

impl Rows {
    fn create(folder: &ScratchDir) -> Result<Self> {
        let file = Scratch::start(&partial_path(&folder.path().join(ROWS)), folder.resumed())?;
        Ok(Self { file, pending: Vec::new(), offset: 0 })
    }

    fn push(&mut self, row: &[u8]) -> Result<()> {
        self.pending.extend_from_slice(row);
        if self.pending.len() >= FLUSH_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        self.file.write_all_at(&self.pending, self.offset)?;
        self.offset += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }

    /// Removes the file: it would become part of the dataset.
    fn discard(self) -> Result<()> {
        let path = self.file.path();
        fs::remove_file(path).map_err(Error::io("remove", path))
    }

    /// Renames the file to its final name and returns its size.
    fn commit(mut self, path: &Path) -> Result<u64> {
        self.flush()?;
        self.file.commit(path, true)?;
        Ok(self.offset)
    }
}

/// Replaces nothing that this run did not make, except an empty folder.
fn check_free(out: &Path, overwrite: bool) -> Result<()> {
    let refused = |why: &str| Error::usage("output", format!("{} {why}", out.display()));
    let refuse = |why: &str| Err(refused(why));
    match fs::symlink_metadata(out) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(cause) => Err(Error::io("access", out)(cause)),
        Ok(metadata) if !metadata.is_dir() => refuse("exists and is not a folder; move it away"),
        Ok(_) => {
            let mut entries = fs::read_dir(out).map_err(Error::io("list", out))?;
            match entries.next() {
                Some(_) if overwrite => refuse(
                    "has files in it, and `overwrite` does not delete folders: move it away or \
                     name another",
                ),
                Some(_) => refuse("exists; name another folder or move it away"),
                None if overwrite => Ok(()),
                None => {
                    Err(refused("exists")
                        .cure("to replace it, as it is empty", option::OVERWRITE.on()))
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_empty_folder_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        check_free(&out, false).unwrap();
        fs::create_dir(&out).unwrap();
        assert!(check_free(&out, false).is_err());
        check_free(&out, true).unwrap();
        fs::write(out.join("precious"), b"x").unwrap();
        assert!(check_free(&out, true).is_err());
        assert!(check_free(&out.join("precious"), true).is_err());
    }
}
