//! Writes the files of samples, and rows beside them if the tree of images is not a complete
//! description.
use crate::folder::{
    Folder,
    layout::{META, ROWS, class_folder, extra_image_path, image_path, key_of_path},
    output::{LongFile, Output},
    plain::Plain,
    reader::FolderReader,
    sidecar,
    written_splits::WrittenSplits,
};
use bytes::Bytes;
use fdconvert_core::{
    Codec, Create, Encoded, Error, Provenance, Reader as _, Result, Sample, Schema, ShardSummary,
    ShardWriter, Skipped, Source as _, Splits, Value, option,
};
use fdconvert_storage::ScratchDir;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

pub(crate) struct Writer {
    output: Output,
    rows: LongFile,
    schema: Schema,
    provenance: Provenance,
    plain: Plain,
    splits: WrittenSplits,
    samples: u64,
}

impl Writer {
    pub(crate) fn create(request: &Create<'_>, splits: Splits) -> Result<Self> {
        let schema = request.schema;
        if schema.position(sidecar::PATH).is_some() {
            let what = "a field is called `path`, which is how rows name their file; rename it";
            return Err(Error::usage("schema", what));
        }
        let mut output = Output::create(request)?;
        Ok(Self {
            rows: output.long_file(ROWS)?,
            output,
            schema: schema.clone(),
            provenance: request.provenance.clone(),
            plain: Plain::new(schema),
            splits: WrittenSplits::new(splits),
            samples: 0,
        })
    }

    /// The files of a sample: paths and contents.
    fn files<'a>(&self, sample: &'a Sample<Encoded>) -> Result<Vec<(Vec<u8>, &'a Bytes)>> {
        let refuse = |why: String| Error::sample(&sample.key, format!("the key {why}"));
        let first_image = self.schema.first_image();
        let first = first_image.and_then(|first| sample.values.get(first)?.images().first());
        // Without an image field, the files of lists are where the image would be.
        let codec = first.map_or(Codec::Jpeg, |image| image.codec);
        let first = image_path(&sample.key, codec, self.class_folder(sample).as_deref());
        let mut files: Vec<(Vec<u8>, &Bytes)> = Vec::new();
        for (at, (value, field)) in sample.values.iter().zip(&self.schema.fields).enumerate() {
            for (number, image) in value.images().iter().enumerate() {
                if image.codec == Codec::Raw {
                    let what = format!("field `{}`: raw pixels are no image file", field.name);
                    return Err(Error::sample(&sample.key, what));
                }
                let first = first.clone().map_err(refuse)?;
                let path = match value {
                    _ if Some(at) == first_image => Ok(first),
                    Value::Images(_) => {
                        extra_image_path(&first, &format!("{}.{number}", field.name), image.codec)
                    }
                    _ => extra_image_path(&first, &field.name, image.codec),
                };
                files.push((path.map_err(refuse)?, &image.bytes));
            }
        }
        let mut fresh = BTreeSet::new();
        for (path, _) in &files {
            if self.output.has(path) || !fresh.insert(path) {
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
}

impl ShardWriter for Writer {
    fn found(&self) -> u64 {
        let n_left_out = self.provenance.skipped.len() as u64;
        if self.output.is_there() { self.samples + n_left_out } else { 0 }
    }

    fn write(&mut self, sample: &Sample<Encoded>) -> Result<()> {
        self.schema.check(sample)?;
        let files = self.files(sample)?;
        let paths: Vec<Vec<u8>> = files.iter().map(|(path, _)| path.clone()).collect();
        let row = sidecar::row(&self.schema, sample, &paths)?;
        for (path, bytes) in &files {
            if let Err(error) = self.output.file(&sample.key, path, bytes) {
                // The sample counts as not written, so none of its files may stay.
                self.output.take_back(&paths)?;
                return Err(error);
            }
        }
        self.rows.push(&row)?;
        if let Some(path) = paths.first() {
            self.plain.note(path, self.label(sample));
        }
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
        let Self { mut output, rows, schema, provenance, plain, samples, splits } = *self;
        let splits = splits.into_splits();
        if splits.is_empty() && plain.holds(&schema) {
            rows.discard()?;
        } else {
            output.complete(rows)?;
            let meta = sidecar::meta(&schema, samples, &provenance, splits)?;
            output.file(META, META.as_bytes(), &meta.into())?;
        }
        let (path, bytes) = output.finish()?;
        Ok(ShardSummary { path, samples, bytes, skipped: provenance.skipped })
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

/// Takes the mark off a folder that was finished, but not reported. Nothing in annotations of other
/// tools tells how many samples there are, so that they are compared with its files.
pub(crate) fn confirm_finished(request: &Create<'_>) -> Result<Option<ShardSummary>> {
    let out: PathBuf = request.out.components().collect();
    if ScratchDir::is_finished(&out, request.stamp)? {
        ScratchDir::confirm(&out)?;
    }
    Ok(None)
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
