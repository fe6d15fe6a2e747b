//! The images that a file of COCO annotations lists, and which annotations are theirs.
use super::{
    entries::{Annotation, Picture, entries, entry},
    objects::{Has, Objects, Span},
};
use crate::folder::{
    layout::{check_relative, key_of_path},
    table::Column,
};
use bytes::Bytes;
use serde_json::value::RawValue;

/// The images that the file lists.
pub(super) struct Images {
    pub(super) paths: Vec<Box<[u8]>>,
    pub(super) ids: Vec<i64>,
    sizes: Vec<Option<[u64; 2]>>,
    /// Positions by id.
    by_id: Vec<(i64, u32)>,
}

impl Images {
    pub(super) fn read(text: &str, list: &RawValue) -> Result<Self, String> {
        let (mut paths, mut ids, mut sizes): (Vec<Box<[u8]>>, _, _) =
            (Vec::new(), Vec::new(), Vec::new());
        for (at, raw) in entries("images", list)?.into_iter().enumerate() {
            let picture: Picture<'_> = entry(text, "images", at, raw)?;
            let refuse = |what: &str| Err(format!("`images`, entry {}: {what}", at + 1));
            let Some(id) = picture.id else { return refuse("it has no `id`") };
            let Some(name) = &picture.file_name else { return refuse("it has no `file_name`") };
            let path = name.trim_start_matches("./").as_bytes();
            if let Err(why) = check_relative(path) {
                return refuse(&format!("`file_name` `{}` {why}", key_of_path(path)));
            }
            paths.push(path.into());
            ids.push(id);
            let size = [picture.width.unwrap_or(0), picture.height.unwrap_or(0)];
            sizes.push(size.iter().all(|side| *side > 0).then_some(size));
        }
        if paths.is_empty() {
            return Err("`images` lists no image".to_owned());
        }
        let n_images = u32::try_from(ids.len()).map_err(|_| "it lists 2^32 images".to_owned())?;
        let mut by_id: Vec<(i64, u32)> = ids.iter().copied().zip(0..n_images).collect();
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
        Ok(Self { paths, ids, sizes, by_id })
    }

    fn position(&self, annotation: &Annotation<'_>) -> Result<Option<u32>, String> {
        let id = annotation.image_id.ok_or("it has no `image_id`")?;
        let found = self.by_id.binary_search_by_key(&id, |(id, _)| *id).ok();
        Ok(found.and_then(|at| self.by_id.get(at)).map(|(_, position)| *position))
    }

    /// Checks all annotations, so that none of them can fail when its sample is read.
    pub(super) fn objects(
        &self,
        text: &str,
        bytes: &Bytes,
        list: &[&RawValue],
        categories: Vec<(i64, String)>,
        remarks: &mut Vec<String>,
    ) -> Result<Objects, String> {
        let mut objects = Objects {
            text: bytes.clone(),
            sizes: self.sizes.clone(),
            spans: Vec::with_capacity(list.len()),
            categories,
            has: Has::default(),
        };
        let (mut n_strangers, mut ids) = (0_u64, Vec::with_capacity(list.len()));
        for (at, raw) in list.iter().enumerate() {
            let annotation: Annotation<'_> = entry(text, "annotations", at, raw)?;
            let check = || -> Result<Option<u32>, String> {
                objects.check(&annotation)?;
                self.position(&annotation)
            };
            let image = check().map_err(|what| in_annotation(at, &annotation, &what))?;
            let Some(image) = image else {
                n_strangers += 1;
                continue;
            };
            ids.extend(annotation.id);
            objects.has.note(&annotation);
            let start = raw.get().as_ptr().addr().saturating_sub(bytes.as_ptr().addr()) as u64;
            let len = u32::try_from(raw.get().len())
                .map_err(|_| in_annotation(at, &annotation, "it has more than 2^32 bytes"))?;
            objects.spans.push(Span { image, len, start });
        }
        objects.spans.sort_by_key(|span| span.image);
        tell_strangers(n_strangers, remarks);
        ids.sort_unstable();
        let n_repeated = ids.windows(2).filter(|pair| pair.first() == pair.last()).count();
        if n_repeated > 0 {
            remarks.push(format!("{n_repeated} annotations have the id of another one"));
        }
        Ok(objects)
    }

    /// The captions of each image as one list, in the order of the file.
    pub(super) fn captions(
        &self,
        text: &str,
        list: &[&RawValue],
        remarks: &mut Vec<String>,
    ) -> Result<Column, String> {
        let mut captions: Vec<Vec<String>> = vec![Vec::new(); self.paths.len()];
        let mut n_strangers = 0_u64;
        for (at, raw) in list.iter().enumerate() {
            let annotation: Annotation<'_> = entry(text, "annotations", at, raw)?;
            let refuse = |what: &str| in_annotation(at, &annotation, what);
            let caption = annotation.caption.as_deref();
            let caption = caption.ok_or_else(|| refuse("it has no `caption`, and others have"))?;
            let image = self.position(&annotation).map_err(|what| refuse(&what))?;
            match image.and_then(|image| captions.get_mut(image as usize)) {
                Some(own) => own.push(caption.to_owned()),
                None => n_strangers += 1,
            }
        }
        tell_strangers(n_strangers, remarks);
        let texts = captions.iter().map(|own| serde_json::to_vec(own).map(Bytes::from));
        let texts: Result<Vec<Bytes>, _> = texts.collect();
        Ok(Column::Json(texts.map_err(|error| error.to_string())?))
    }
}

/// A value that two entries have, and which entries these are, counted from 1.
fn repeated<T: Copy + PartialEq>(sorted: &[(T, u32)]) -> Option<(T, u64, u64)> {
    let mut pairs = sorted.iter().zip(sorted.iter().skip(1));
    let ((value, first), (_, second)) = pairs.find(|((a, _), (b, _))| a == b)?;
    Some((*value, u64::from(*first) + 1, u64::from(*second) + 1))
}

fn in_annotation(at: usize, annotation: &Annotation<'_>, what: &str) -> String {
    let id = annotation.id.map_or_else(String::new, |id| format!(" (id {id})"));
    format!("`annotations`, entry {}{id}: {what}", at + 1)
}

fn tell_strangers(n_strangers: u64, remarks: &mut Vec<String>) {
    if n_strangers > 0 {
        let are = if n_strangers == 1 { "annotation is" } else { "annotations are" };
        remarks.push(format!(
            "{n_strangers} {are} of images that `images` does not list, and left out"
        ));
    }
}
