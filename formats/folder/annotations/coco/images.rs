//! Images listed in a file of COCO annotations, and their annotations.
use super::{
    annotation::Annotation,
    captions::Captions,
    entries::{Owner, Picture, entry},
    id::Id,
    objects::{Has, Objects, Span},
    unpacked::Unpacked,
};
use crate::folder::{annotations::files, layout::key_of_path, names, table::Column};
use bytes::Bytes;
use fdconvert_core::{Kind, objects::Category};
use fdconvert_storage::{LargeText, on_threads};
use serde_json::value::RawValue;
use std::{collections::BTreeMap, num::NonZero, thread};

/// Annotations that a thread takes at a time.
const CHUNK: usize = 4096;

/// What an annotation says of the whole file.
struct Looked {
    image_id: Option<Id>,
    /// Keys that are not packed.
    others: Vec<String>,
    /// Its length in bytes, the lists that it has entries for, and its id; or what is wrong with it.
    checked: Result<(u32, Has, Option<Id>), String>,
}

impl Objects {
    /// Checks an annotation. The error is one of the file.
    fn look(&self, text: &[u8], at: usize, raw: &RawValue) -> Result<Looked, String> {
        let (image_id, read) = annotation_of(text, at, raw)?;
        let mut others = Vec::new();
        let checked = read.and_then(|annotation| {
            others.extend(annotation.beside_objects().map(str::to_owned));
            let in_entry = |what: String| in_annotation(at, &annotation, &what);
            self.check(&annotation, true).map_err(in_entry)?;
            let len = u32::try_from(raw.get().len());
            let len = len.map_err(|_| in_entry("it has more than 2^32 bytes".to_owned()))?;
            let mut has = Has::default();
            has.note(&annotation);
            Ok((len, has, annotation.id))
        });
        Ok(Looked { image_id, others, checked })
    }
}

pub(super) struct Images {
    pub(super) paths: Vec<Box<[u8]>>,
    ids: Vec<Id>,
    sizes: Vec<Option<[u64; 2]>>,
    /// Positions by id.
    by_id: Vec<(Id, u32)>,
    /// Problems with the stated sizes.
    bad: BTreeMap<u32, String>,
}

/// Annotations of images that are not listed.
#[derive(Default)]
struct Strangers {
    n_annotations: u64,
    /// The first id that no image has.
    first: Option<Id>,
    /// Number of annotations without an image.
    n_without: u64,
}

impl Images {
    pub(super) fn read(
        text: &[u8],
        list: &[&RawValue],
        unpacked: &mut Unpacked,
    ) -> Result<Self, String> {
        let (mut paths, mut ids, mut sizes): (Vec<Box<[u8]>>, _, _) =
            (Vec::new(), Vec::new(), Vec::new());
        let mut bad = BTreeMap::new();
        for (at, raw) in list.iter().copied().enumerate() {
            unpacked.look("images", raw);
            let picture: Picture<'_> = entry(text, "images", at, raw)?;
            let refuse = |what: &str| Err(format!("`images`, entry {}: {what}", at + 1));
            let Some(id) = picture.id.clone() else { return refuse("it has no `id`") };
            let (key, name) = match (&picture.file_name, &picture.coco_url) {
                (Some(name), _) => ("file_name", &**name),
                (None, Some(url)) => ("coco_url", last_parts(url)),
                (None, None) => return refuse("it has no `file_name`"),
            };
            match names::listed(name) {
                Ok(path) => paths.push(path),
                Err(why) => {
                    let name = key_of_path(name.as_bytes());
                    return refuse(&format!("`{key}` `{name}` {why}"));
                }
            }
            ids.push(id);
            sizes.push(picture.size().unwrap_or_else(|what| {
                // There are fewer than 2^32, or they are refused below.
                bad.insert(at as u32, format!("`images`, entry {}: {what}", at + 1));
                None
            }));
        }
        if paths.is_empty() {
            return Err("`images` lists no image".to_owned());
        }
        let n_images = u32::try_from(ids.len()).map_err(|_| "it lists 2^32 images".to_owned())?;
        let mut by_id: Vec<(Id, u32)> = ids.iter().cloned().zip(0..n_images).collect();
        by_id.sort_unstable();
        if let Some((id, first, second)) = repeated(&by_id) {
            return Err(format!("`images`, entries {first} and {second} both have the id {id}"));
        }
        let mut by_path: Vec<(&[u8], u32)> = paths.iter().map(|it| &**it).zip(0..).collect();
        by_path.sort_unstable();
        if let Some((path, first, second)) = repeated(&by_path) {
            let path = key_of_path(path);
            return Err(format!("`images`, entries {first} and {second} both are `{path}`"));
        }
        drop(by_path);
        Ok(Self { paths, ids, sizes, by_id, bad })
    }

    /// The ids as a column: of numbers, or of texts if some are not numbers.
    pub(super) fn id_column(&self) -> (Kind, Column) {
        match self.ids.iter().map(Id::number).collect() {
            Some(numbers) => (Kind::Int, Column::Int(numbers)),
            None => {
                let text = |id: &Id| match id {
                    Id::Number(number) => number.to_string(),
                    Id::Text(text) => text.to_string(),
                };
                (Kind::Text, Column::Text(self.ids.iter().map(text).collect()))
            }
        }
    }

    fn position(&self, id: &Id) -> Option<u32> {
        let found = self.by_id.binary_search_by_key(&id, |(id, _)| id).ok();
        found.and_then(|at| self.by_id.get(at)).map(|(_, position)| *position)
    }

    /// The image of an annotation, if it is listed.
    fn owner(&self, id: Option<&Id>, strangers: &mut Strangers) -> Option<u32> {
        let position = id.and_then(|id| self.position(id));
        match (id, position) {
            (None, _) => strangers.n_without += 1,
            (Some(id), None) => {
                strangers.n_annotations += 1;
                strangers.first.get_or_insert_with(|| id.clone());
            }
            _ => {}
        }
        position
    }

    /// Checks all annotations: a faulty one is an error of its image.
    pub(super) fn objects(
        &self,
        text: &[u8],
        file: &LargeText,
        list: &[&RawValue],
        categories: Vec<(Id, Category)>,
        unpacked: &mut Unpacked,
        remarks: &mut Vec<String>,
    ) -> Result<Objects, String> {
        let category_id = categories.iter().all(|(id, _)| id.number().is_some());
        let mut objects = Objects {
            text: file.clone(),
            sizes: self.sizes.clone(),
            spans: Vec::with_capacity(list.len()),
            categories,
            has: Has::new(category_id),
            bad: self.bad.clone(),
        };
        let (mut strangers, mut ids) = (Strangers::default(), Vec::with_capacity(list.len()));
        let (mut is_owner, mut n_text_ids) = (vec![false; self.paths.len()], 0_u64);
        // Parsing all numbers takes seconds, and the rest is quick.
        let chunks: Vec<_> = (0..).step_by(CHUNK).zip(list.chunks(CHUNK)).collect();
        let n_threads = thread::available_parallelism().map_or(1, NonZero::get);
        let looked = on_threads(n_threads, &chunks, |(start, chunk)| {
            let look = |(at, raw): (usize, &&RawValue)| {
                file.used(raw.get().len());
                objects.look(text, at, raw)
            };
            (*start..).zip(chunk.iter()).map(look).collect::<Vec<_>>()
        });
        for (looked, raw) in looked.into_iter().flatten().zip(list) {
            let Looked { image_id, others, checked } = looked?;
            unpacked.add("annotations", others.iter().map(String::as_str));
            let Some(image) = self.owner(image_id.as_ref(), &mut strangers) else { continue };
            if let Some(is_owner) = is_owner.get_mut(image as usize) {
                *is_owner = true;
            }
            match checked {
                Ok((len, has, id)) => {
                    objects.has.add(has);
                    n_text_ids += u64::from(id.as_ref().is_some_and(|it| it.number().is_none()));
                    ids.extend(id);
                    let start =
                        raw.get().as_ptr().addr().saturating_sub(file.bytes().as_ptr().addr());
                    objects.spans.push(Span { image, len, start: start as u64 });
                }
                Err(what) => {
                    objects.bad.entry(image).or_insert(what);
                }
            }
        }
        objects.spans.sort_by_key(|span| span.image);
        self.tell_strangers(&strangers, list.len(), remarks)?;
        ids.sort_unstable();
        let n_repeated = ids.windows(2).filter(|pair| pair.first() == pair.last()).count();
        if n_repeated > 0 {
            remarks.push(format!("{n_repeated} annotations have the id of another one"));
        }
        if n_text_ids > 0 {
            remarks.push(format!(
                "ids of annotations that are texts are not packed: {n_text_ids} of them"
            ));
        }
        files::tell_alone(is_owner.iter().filter(|is| !**is).count(), 0, remarks);
        Ok(objects)
    }

    /// The captions of each image as one list, in the order of the file.
    pub(super) fn captions(
        &self,
        text: &[u8],
        list: &[&RawValue],
        unpacked: &mut Unpacked,
        remarks: &mut Vec<String>,
    ) -> Result<Captions, String> {
        let mut captions: Vec<Vec<String>> = vec![Vec::new(); self.paths.len()];
        let mut bad: BTreeMap<u32, String> = BTreeMap::new();
        let mut strangers = Strangers::default();
        let mut n_wordless = 0_u64;
        for (at, raw) in list.iter().enumerate() {
            let (image_id, read) = annotation_of(text, at, raw)?;
            let caption = read.and_then(|annotation| {
                unpacked.add("annotations", annotation.others.iter().map(|key| &**key));
                annotation.caption().map_err(|what| in_annotation(at, &annotation, &what))
            });
            if matches!(caption, Ok(None)) {
                n_wordless += 1;
                continue;
            }
            let Some(image) = self.owner(image_id.as_ref(), &mut strangers) else { continue };
            match (caption, captions.get_mut(image as usize)) {
                (Ok(caption), Some(own)) => own.extend(caption),
                (Err(what), _) => _ = bad.entry(image).or_insert(what),
                _ => {}
            }
        }
        if n_wordless > 0 {
            let have = if n_wordless == 1 { "annotation has" } else { "annotations have" };
            remarks.push(format!("{n_wordless} {have} no `caption`, and are left out"));
        }
        self.tell_strangers(&strangers, list.len(), remarks)?;
        let n_without = captions.iter().filter(|own| own.is_empty()).count();
        if n_without > 0 {
            let have = if n_without == 1 { "image has" } else { "images have" };
            remarks.push(format!("{n_without} {have} no caption"));
        }
        let texts = captions.iter().map(|own| serde_json::to_vec(own).map(Bytes::from));
        let texts: Result<Vec<Bytes>, _> = texts.collect();
        Ok(Captions { texts: texts.map_err(|error| error.to_string())?, bad })
    }

    /// Reports annotations of unlisted images; if all annotations are such, it is an error.
    fn tell_strangers(
        &self,
        strangers: &Strangers,
        n_annotations: usize,
        remarks: &mut Vec<String>,
    ) -> Result<(), String> {
        let Strangers { n_annotations: n, first, n_without } = strangers;
        if let (Some(first), Some(id)) = (first, self.ids.first())
            && *n == n_annotations as u64
        {
            return Err(format!(
                "not one of its {n} annotations is of an image that `images` lists: the first is of \
                 the image {first}, and ids there are such as {id}; are they of another part of the \
                 dataset?"
            ));
        }
        if *n > 0 {
            let are = if *n == 1 { "annotation is" } else { "annotations are" };
            remarks.push(format!("{n} {are} of images that `images` does not list, and left out"));
        }
        if *n_without > 0 {
            let have = if *n_without == 1 { "annotation has" } else { "annotations have" };
            remarks.push(format!("{n_without} {have} no `image_id`, and are left out"));
        }
        Ok(())
    }
}

/// Folder and file name at the end of an image's URL.
fn last_parts(url: &str) -> &str {
    let mut slashes = url.rmatch_indices('/').skip(1);
    slashes.next().and_then(|(at, _)| url.get(at + 1..)).unwrap_or(url)
}

/// A duplicate value, with the numbers of the two entries, counted from 1.
fn repeated<T: Clone + PartialEq>(sorted: &[(T, u32)]) -> Option<(T, u64, u64)> {
    let mut pairs = sorted.iter().zip(sorted.iter().skip(1));
    let ((value, first), (_, second)) = pairs.find(|((a, _), (b, _))| a == b)?;
    Some((value.clone(), u64::from(*first) + 1, u64::from(*second) + 1))
}

/// The image of an annotation, and the annotation or its fault. Without its image, a faulty
/// annotation could not be skipped together with it.
fn annotation_of<'a>(
    text: &[u8],
    at: usize,
    raw: &'a RawValue,
) -> Result<(Option<Id>, Result<Annotation<'a>, String>), String> {
    match entry::<Annotation<'_>>(text, "annotations", at, raw) {
        Ok(annotation) => Ok((annotation.image_id.clone(), Ok(annotation))),
        Err(what) => match entry::<Owner>(text, "annotations", at, raw) {
            Ok(owner) => Ok((owner.image_id, Err(what))),
            Err(_) => Err(what),
        },
    }
}

fn in_annotation(at: usize, annotation: &Annotation<'_>, what: &str) -> String {
    let id = annotation.id.as_ref().map_or_else(String::new, |id| format!(" (id {id})"));
    format!("`annotations`, entry {}{id}: {what}", at + 1)
}
