//! Writes COCO: one JSON file for the objects of each split, and one for captions.
use crate::folder::{
    annotations::writing::{CAPTIONS, Categories, Labelled, Layout, Loss, Losses},
    output::{LongFile, Output},
};
use fdconvert_core::{
    Error, Kind, Result, Schema, Value,
    objects::{Category, number},
};
use fdconvert_storage::Spool;
use serde::Serialize;
use std::{
    collections::{BTreeMap, HashSet},
    fmt::Write,
};

/// New ids for those that occur twice begin here, far behind those of public datasets.
const FIRST_NEW_ID: i64 = 10_000_000_000;

/// The field of images' ids.
const IMAGE_ID: &str = "image_id";

/// Lists that have their own form in COCO.
const OWN_KEYS: [&str; 6] = ["bbox", "area", "iscrowd", "segmentation", "keypoints", "id"];

pub(in crate::folder) struct CocoWriter {
    categories: Categories,
    image_ids: Ids,
    annotation_ids: Ids,
    caption_ids: Ids,
    /// By kind and split.
    files: BTreeMap<(&'static str, Option<String>), File>,
}

/// A file on its way to the disk.
struct File {
    annotations: LongFile,
    images: Spool,
    has_annotations: bool,
}

/// Ids, each of which is given out once.
#[derive(Default)]
struct Ids {
    used: HashSet<i64>,
    last: i64,
    n_new: i64,
}

#[derive(Serialize)]
struct Picture<'a> {
    id: i64,
    file_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    width: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    height: Option<u64>,
}

impl CocoWriter {
    pub(in crate::folder) fn new(schema: &Schema) -> Self {
        Self {
            categories: Categories::of(schema),
            image_ids: Ids::default(),
            annotation_ids: Ids::default(),
            caption_ids: Ids::default(),
            files: BTreeMap::new(),
        }
    }

    /// The annotations of a sample's objects, each with its own id, without the members for ids.
    fn objects(
        &mut self,
        sample: &Labelled<'_>,
        losses: &mut Losses,
    ) -> Result<Vec<(Option<i64>, String)>, String> {
        let mut annotations = Vec::with_capacity(sample.n_objects());
        for object in 0..sample.n_objects() {
            let id = sample.entry("category_id", object)?;
            let Some(category) = self.categories.number(&sample.classes, object, id)? else {
                losses.add(Loss::Uncategorized);
                continue;
            };
            let category_id = self.categories.id(category, id);
            let mut text = format!("\"category_id\":{category_id}");
            let [left, top, width, height] = sample.bbox(object)?;
            match sample.raw("bbox", object) {
                Some(bbox) => push(&mut text, "bbox", bbox.get()),
                None => push(&mut text, "bbox", &format!("[{left},{top},{width},{height}]")),
            }
            match sample.raw("area", object) {
                Some(area) => push(&mut text, "area", area.get()),
                None => push(&mut text, "area", &number(width * height).to_string()),
            }
            let crowd = if sample.flag("iscrowd", object)? { "1" } else { "0" };
            push(&mut text, "iscrowd", crowd);
            if let Some(shape) = sample.raw("segmentation", object) {
                push(&mut text, "segmentation", shape.get());
            }
            if let Some(points) = sample.raw("keypoints", object) {
                let labelled = sample.keypoints(object)?;
                let n_labelled = labelled.iter().filter(|[.., seen]| *seen > 0.0).count();
                push(&mut text, "keypoints", points.get());
                push(&mut text, "num_keypoints", &n_labelled.to_string());
            }
            let lists = sample.objects.iter().flat_map(|objects| objects.iter());
            for (key, entries) in lists {
                let entry = entries.get(object).copied().flatten();
                let is_other = !OWN_KEYS.contains(&key) && !sample.is_of_classes(key);
                if let Some(entry) = entry.filter(|_| is_other) {
                    let key = serde_json::to_string(key).unwrap_or_default();
                    push(&mut text, key.trim_matches('"'), entry.get());
                }
            }
            annotations.push((sample.entry("id", object)?.filter(|id| *id >= 0), text));
        }
        Ok(annotations)
    }

    fn add(
        &mut self,
        (kind, split): (&'static str, Option<&str>),
        image: &str,
        annotations: &str,
        output: &mut Output,
    ) -> Result<()> {
        let key = (kind, split.map(str::to_owned));
        let file = match self.files.get_mut(&key) {
            Some(file) => file,
            None => {
                let behind = split.map(|split| format!("_{split}")).unwrap_or_default();
                let path = format!("annotations/{kind}{behind}.json");
                let mut annotations = output.long_file(&path)?;
                annotations.push(b"{\"annotations\":[")?;
                let (images, has_annotations) = (Spool::default(), false);
                let file = File { annotations, images, has_annotations };
                self.files.entry(key).or_insert(file)
            }
        };
        if !file.images.is_empty() {
            file.images.push(b",\n")?;
        }
        file.images.push(image.as_bytes())?;
        if annotations.is_empty() {
            return Ok(());
        }
        if std::mem::replace(&mut file.has_annotations, true) {
            file.annotations.push(b",\n")?;
        }
        file.annotations.push(annotations.as_bytes())
    }
}

/// Adds a member; the key needs no escapes.
fn push(text: &mut String, key: &str, json: &str) {
    let _ = write!(text, ",\"{key}\":{json}");
}

impl Ids {
    /// The number of these ids that occur twice, and would be replaced.
    fn n_repeated(&self, ids: impl IntoIterator<Item = i64>) -> u64 {
        let mut seen = HashSet::new();
        let is_repeated = |id: &i64| self.used.contains(id) || !seen.insert(*id);
        ids.into_iter().filter(is_repeated).count() as u64
    }

    /// The id itself if it was not used before, else a new one; without one, the next number.
    fn take(&mut self, id: Option<i64>) -> i64 {
        let mut next = id.unwrap_or(self.last.saturating_add(1));
        if !self.used.insert(next) {
            next = FIRST_NEW_ID.saturating_add(self.n_new);
            self.n_new += 1;
            self.used.insert(next);
            return next;
        }
        self.last = next;
        next
    }
}

impl Layout for CocoWriter {
    fn image_folder(&self, split: Option<&str>) -> String {
        format!("{}/", split.unwrap_or("images"))
    }

    fn holds(&self, schema: &Schema, field: usize) -> bool {
        schema.fields.get(field).is_some_and(|field| match field.name.as_str() {
            IMAGE_ID => field.kind == Kind::Int,
            CAPTIONS => field.kind == Kind::Json,
            _ => false,
        })
    }

    fn write(
        &mut self,
        sample: &Labelled<'_>,
        losses: &mut Losses,
        output: &mut Output,
        check: &mut dyn FnMut(&Losses) -> Result<()>,
    ) -> Result<()> {
        let of_sample = |what: String| Error::sample(sample.key(), what);
        let id = match sample.value(IMAGE_ID) {
            Some(Value::Int(id)) => Some(*id),
            _ => None,
        };
        let captions: Option<Vec<String>> = match sample.value(CAPTIONS) {
            Some(Value::Json(texts)) => {
                let texts = serde_json::from_slice(texts);
                Some(texts.map_err(|error| of_sample(format!("its captions: {error}")))?)
            }
            _ => None,
        };
        let annotations = self.objects(sample, losses).map_err(of_sample)?;
        let own = annotations.iter().filter_map(|(id, _)| *id);
        let n_repeated = self.image_ids.n_repeated(id) + self.annotation_ids.n_repeated(own);
        losses.add_n(Loss::Ids, n_repeated);
        check(losses)?;
        // Ids are taken last, so that a sample that is refused takes none.
        let image_id = self.image_ids.take(id);
        let size = sample.size.map(|size| size.map(|side| side as u64));
        let picture = Picture {
            id: image_id,
            file_name: sample.name,
            width: size.map(|[width, _]| width),
            height: size.map(|[_, height]| height),
        };
        let picture = serde_json::to_string(&picture).unwrap_or_default();
        if sample.objects.is_some() {
            let mut text = String::new();
            for (id, annotation) in annotations {
                let id = self.annotation_ids.take(id);
                let comma = if text.is_empty() { "" } else { ",\n" };
                // Writing to a string cannot fail.
                let _ = write!(text, "{comma}{{\"id\":{id},\"image_id\":{image_id},{annotation}}}");
            }
            self.add(("instances", sample.split), &picture, &text, output)?;
        }
        if let Some(captions) = captions {
            let mut text = String::new();
            for caption in captions {
                let id = self.caption_ids.take(None);
                let caption = serde_json::to_string(&caption).unwrap_or_default();
                let comma = if text.is_empty() { "" } else { ",\n" };
                let _ = write!(
                    text,
                    "{comma}{{\"id\":{id},\"image_id\":{image_id},\"caption\":{caption}}}"
                );
            }
            self.add((CAPTIONS, sample.split), &picture, &text, output)?;
        }
        Ok(())
    }

    fn finish(&mut self, output: &mut Output) -> Result<()> {
        let categories: Vec<String> = self.categories.with_ids().iter().map(category).collect();
        let categories = categories.join(",\n");
        for ((kind, _), file) in std::mem::take(&mut self.files) {
            let File { mut annotations, images, .. } = file;
            annotations.push(b"],\n\"images\":[")?;
            annotations.push(&images.finish()?)?;
            if kind != CAPTIONS {
                annotations.push(format!("],\n\"categories\":[{categories}").as_bytes())?;
            }
            annotations.push(b"]}\n")?;
            output.complete(annotations)?;
        }
        Ok(())
    }
}

/// A category as COCO has it: with an id, and a group.
fn category(category: &Category) -> String {
    serde_json::to_string(category).unwrap_or_default()
}
