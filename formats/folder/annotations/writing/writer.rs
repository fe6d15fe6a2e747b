use super::{
    Images, Labelled, Layout, Loss, Losses, Written,
    sample::{image_size, rescaled},
};
use crate::folder::{
    layout::{image_path, join, path_of_key, split_extension},
    output::Output,
    split_folders::split_of,
    written_splits::WrittenSplits,
};
use fdconvert_core::{
    Codec, Create, Encoded, Error, Kind, Provenance, Result, Sample, Schema, ShardSummary,
    ShardWriter, Skipped, Splits, Value,
    objects::{FIELD, ObjectLists},
    option,
};
use std::path::PathBuf;

/// Folders in keys that a layout names itself.
const IMAGE_FOLDERS: [&[u8]; 2] = [b"images", b"JPEGImages"];

/// Folder of the masks of samples.
const MASKS: &str = "mask";

/// Writes samples in a layout of another tool.
pub(crate) struct AnnotationWriter {
    written: Written,
    layout: Box<dyn Layout>,
    output: Output,
    schema: Schema,
    provenance: Provenance,
    splits: WrittenSplits,
    losses: Losses,
    samples: u64,
}

impl AnnotationWriter {
    pub(crate) fn create(request: &Create<'_>, splits: Splits, written: Written) -> Result<Self> {
        let schema = request.schema.clone();
        let layout = written.writer(&schema, !splits.is_empty())?;
        if written.images == Images::Link && written.roots.is_empty() {
            let what = "the images are in no folder that a link could lead to";
            return Err(Error::usage(option::IMAGES.with("link"), what)
                .cure("to write them", option::IMAGES.with("keep")));
        }
        let mut losses = Losses::default();
        for (at, field) in schema.fields.iter().enumerate() {
            let is_held = field.kind == Kind::Image || field.name == FIELD;
            if !is_held && !layout.holds(&schema, at) {
                losses.add(Loss::Field(field.name.clone()));
            }
        }
        if let Some(what) = losses.refused(written.name()).filter(|_| written.strict) {
            return Err(Error::usage(option::STRICT, what));
        }
        Ok(Self {
            layout,
            output: Output::create(request)?,
            provenance: request.provenance.clone(),
            splits: WrittenSplits::new(splits),
            losses,
            samples: 0,
            written,
            schema,
        })
    }

    /// The field of the sample's image, which is not one of its further images.
    fn first_image(&self) -> Option<usize> {
        self.schema.first_image().filter(|_| !self.written.lacks_image)
    }

    /// Path of the sample's image relative to the folder of its split: its key without that split
    /// and without folders that only say that they hold images.
    fn name(&self, sample: &Sample<Encoded>, split: Option<&str>) -> Result<String> {
        let refuse = |why: String| Error::sample(&sample.key, format!("the key {why}"));
        let path = match self.first_image().and_then(|at| sample.values.get(at)) {
            Some(Value::Image(image)) if image.codec == Codec::Raw => {
                return Err(Error::sample(&sample.key, "raw pixels are no image file"));
            }
            Some(Value::Image(image)) => image_path(&sample.key, image.codec, None),
            _ => path_of_key(&sample.key),
        };
        let path = path.map_err(refuse)?;
        let mut name = &path[..];
        while let Some(end) = name.iter().position(|&byte| byte == b'/') {
            let (first, rest) = name.split_at(end);
            let is_split = self.layout.has_split_folders()
                && split.is_some_and(|split| split_of(first).as_deref() == Some(split));
            if !is_split && !IMAGE_FOLDERS.contains(&first) {
                break;
            }
            name = rest.get(1..).unwrap_or_default();
        }
        match std::str::from_utf8(name) {
            Ok(name) => Ok(name.to_owned()),
            Err(_) => {
                let what = "its name is not UTF-8, and files of annotations are";
                Err(Error::sample(&sample.key, what))
            }
        }
    }

    /// The images of a sample: paths and contents; further ones are in folders of their fields.
    fn images<'a>(
        &self,
        sample: &'a Sample<Encoded>,
        first: String,
        name: &str,
        split: Option<&str>,
    ) -> Result<Vec<(usize, String, &'a Encoded)>> {
        let images = sample.values.iter().enumerate().filter_map(|(at, value)| match value {
            Value::Image(image) => Some((at, image)),
            _ => None,
        });
        let stem = split_extension(name.as_bytes()).map_or(name.as_bytes(), |(stem, _)| stem);
        let stem = String::from_utf8_lossy(stem);
        let mut found = Vec::new();
        for (at, image) in images {
            let field = self.schema.fields.get(at).map_or("", |field| field.name.as_str());
            if image.codec == Codec::Raw {
                let what = format!("field `{field}`: raw pixels are no image file");
                return Err(Error::sample(&sample.key, what));
            }
            let path = match (self.first_image(), self.written.name(), field) {
                (Some(own), ..) if own == at => first.clone(),
                (_, "voc", MASKS) => {
                    format!("SegmentationClass/{stem}.{}", image.codec.extension())
                }
                _ => {
                    let folder = split.map(|split| format!("{split}/")).unwrap_or_default();
                    let field = field.replace(['/', '\\'], "_");
                    format!("{field}/{folder}{stem}.{}", image.codec.extension())
                }
            };
            found.push((at, path, image));
        }
        Ok(found)
    }

    /// Puts the images of a sample into the folder, and returns their paths.
    fn put_images(
        &mut self,
        sample: &Sample<Encoded>,
        first: &str,
        images: &[(usize, String, &Encoded)],
        placed: &mut Vec<Vec<u8>>,
    ) -> Result<()> {
        let key = &sample.key;
        let is_free = |output: &Output, path: &str| match output.has(path.as_bytes()) {
            false => Ok(()),
            true => {
                let what = format!("its file `{path}` was already written");
                Err(Error::sample(key, what)
                    .cure("to distinguish those of several sources", option::PREFIX.with("auto")))
            }
        };
        match self.written.images {
            Images::Keep => {}
            Images::Link => {
                is_free(&self.output, first)?;
                let file = self.file_of(key)?;
                self.output.link(key, first.as_bytes(), &file)?;
                placed.push(first.to_owned().into_bytes());
            }
            Images::None => return Ok(()),
        }
        for (_, path, image) in images {
            is_free(&self.output, path)?;
            self.output.file(key, path.as_bytes(), &image.bytes)?;
            placed.push(path.clone().into_bytes());
        }
        Ok(())
    }

    /// The file of the source that a key stands for.
    fn file_of(&self, key: &str) -> Result<PathBuf> {
        let path = path_of_key(key).map_err(|why| Error::sample(key, format!("the key {why}")))?;
        let files = self.written.roots.iter().map(|root| join(root, &path));
        let mut files = files.filter(|file| file.is_file());
        match (files.next(), files.next()) {
            (Some(file), None) => Ok(file),
            (None, _) => Err(Error::sample(key, "the file is missing")),
            (Some(one), Some(other)) => {
                let what = format!(
                    "{} and {} have the same key, so that it is not known which one to link to",
                    one.display(),
                    other.display()
                );
                Err(Error::sample(key, what).cure("to write them", option::IMAGES.with("keep")))
            }
        }
    }

    fn put(&mut self, sample: &Sample<Encoded>, placed: &mut Vec<Vec<u8>>) -> Result<()> {
        let of_sample = |what: String| Error::sample(&sample.key, what);
        let split = self.splits.next().map(str::to_owned);
        let split = split.as_deref();
        let name = self.name(sample, split)?;
        let first = self.layout.image_folder(split) + &name;
        let images = self.images(sample, first.clone(), &name, split)?;
        let mut losses = Losses::default();
        let document = self.schema.position(FIELD).and_then(|at| sample.values.get(at));
        let document: Option<&[u8]> = match document {
            Some(Value::Json(document)) => Some(document),
            _ => None,
        };
        let parsed = document.map(ObjectLists::parse).transpose().map_err(of_sample)?;
        let stated = parsed.as_ref().and_then(|objects| objects.size);
        let upright = image_size(sample, self.first_image()).map_err(of_sample)?;
        let scaled = rescaled(document.unwrap_or_default(), stated, upright, &mut losses);
        let scaled = scaled.map_err(of_sample)?;
        let objects = match &scaled {
            Some(scaled) => Some(ObjectLists::parse(scaled).map_err(of_sample)?),
            None => parsed,
        };
        let size = upright.or(stated);
        let classes = objects.as_ref().map_or_else(|| Ok(Default::default()), ObjectLists::classes);
        let is_written = self.written.images != Images::None;
        let others = images.iter().filter(|(at, ..)| is_written && Some(*at) != self.first_image());
        let others = others.map(|(at, path, _)| (*at, path.clone()));
        let others: Vec<_> = others.collect();
        self.put_images(sample, &first, &images, placed)?;
        let labelled = Labelled {
            sample,
            schema: &self.schema,
            split,
            name: &name,
            others: &others,
            size,
            objects,
            classes: classes.map_err(of_sample)?,
        };
        let strict = self.written.strict.then(|| self.written.name());
        let mut check = |losses: &Losses| match strict.and_then(|name| losses.refused(name)) {
            None => Ok(()),
            Some(what) => Err(of_sample(what)),
        };
        check(&losses)?;
        self.layout.write(&labelled, &mut losses, &mut self.output, &mut check)?;
        self.losses.append(losses);
        Ok(())
    }
}

impl ShardWriter for AnnotationWriter {
    fn found(&self) -> u64 {
        let n_left_out = self.provenance.skipped.len() as u64;
        if self.output.is_there() { self.samples + n_left_out } else { 0 }
    }

    fn write(&mut self, sample: &Sample<Encoded>) -> Result<()> {
        self.schema.check(sample)?;
        let mut placed = Vec::new();
        if let Err(error) = self.put(sample, &mut placed) {
            // The sample counts as not written, so none of its files may stay.
            self.output.take_back(&placed)?;
            return Err(error);
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
        let Self { written, mut layout, mut output, provenance, losses, samples, .. } = *self;
        if samples == 0 {
            return Err(Error::usage("source", "no sample was given"));
        }
        layout.finish(&mut output)?;
        written.told.tell(written.name(), losses);
        let (path, bytes) = output.finish()?;
        Ok(ShardSummary { path, samples, bytes, skipped: provenance.skipped })
    }
}
