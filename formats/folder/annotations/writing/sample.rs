use super::losses::{Loss, Losses};
use crate::folder::layout::split_extension;
use bytes::Bytes;
use fdconvert_core::{
    Encoded, Result, RunLengths, Sample, Schema, StoredRunLengths, Value,
    objects::{ObjectClasses, ObjectLists, scaled},
    probe::probe,
};
use serde_json::value::RawValue;

/// A sample on its way into a layout.
pub(crate) struct Labelled<'a> {
    pub(in crate::folder) sample: &'a Sample<Encoded>,
    pub(in crate::folder) schema: &'a Schema,
    pub(in crate::folder) split: Option<&'a str>,
    /// Path of the image relative to the folder of the images of its split.
    pub(in crate::folder) name: &'a str,
    /// Further images: their fields, and paths relative to the root.
    pub(in crate::folder) others: &'a [(usize, String)],
    /// Width and height of the upright image, if known.
    pub(in crate::folder) size: Option<[f64; 2]>,
    /// Objects in pixels of that size.
    pub(in crate::folder) objects: Option<ObjectLists<'a>>,
    pub(in crate::folder) classes: ObjectClasses,
}

/// The shape of an object besides its box.
pub(in crate::folder) enum Shape {
    None,
    Polygons(Vec<Vec<[f64; 2]>>),
    Mask(RunLengths),
}

impl<'a> Labelled<'a> {
    /// Key of the sample.
    pub(in crate::folder) fn key(&self) -> &'a str {
        &self.sample.key
    }

    /// Name of the image without its extension.
    pub(in crate::folder) fn stem(&self) -> &'a str {
        let stem = split_extension(self.name.as_bytes()).map_or(self.name.len(), |it| it.0.len());
        self.name.get(..stem).unwrap_or(self.name)
    }

    /// The value of the field of that name.
    pub(in crate::folder) fn value(&self, name: &str) -> Option<&'a Value<Encoded>> {
        self.sample.values.get(self.schema.position(name)?)
    }

    pub(in crate::folder) fn n_objects(&self) -> usize {
        self.objects.as_ref().map_or(0, |objects| objects.n_objects)
    }

    /// Left, top, width and height of an object.
    pub(in crate::folder) fn bbox(&self, object: usize) -> Result<[f64; 4], String> {
        let objects = self.objects.as_ref();
        let bbox = objects.map_or(Ok(None), |objects| objects.entry("bbox", object))?;
        let bbox: [f64; 4] = bbox.ok_or_else(|| format!("object {object} has no box"))?;
        let is_sound = bbox.iter().all(|value| value.abs() <= MAX_COORDINATE);
        is_sound.then_some(bbox).ok_or_else(|| format!("object {object} has a box of {bbox:?}"))
    }

    /// An entry of an object's list as it is written.
    pub(in crate::folder) fn raw(&self, key: &str, object: usize) -> Option<&'a RawValue> {
        self.objects.as_ref()?.raw(key, object)
    }

    /// An entry of an object's list.
    pub(in crate::folder) fn entry<T: serde::Deserialize<'a>>(
        &self,
        key: &str,
        object: usize,
    ) -> Result<Option<T>, String> {
        self.objects.as_ref().map_or(Ok(None), |objects| objects.entry(key, object))
    }

    /// The entry of an object's list as a number: 0 where there is none; truth values count.
    pub(in crate::folder) fn flag(&self, key: &str, object: usize) -> Result<bool, String> {
        match self.raw(key, object).map(RawValue::get) {
            None | Some("0") => return Ok(false),
            Some("1") => return Ok(true),
            Some(_) => {}
        }
        let value: Option<serde_json::Value> = self.entry(key, object)?;
        Ok(value.is_some_and(|value| value.as_f64().is_some_and(|it| it != 0.0) || value == true))
    }

    /// The polygons or run lengths of an object.
    pub(in crate::folder) fn shape(&self, object: usize) -> Result<Shape, String> {
        let raw = self.raw("segmentation", object);
        let Some(raw) = raw else { return Ok(Shape::None) };
        let wrong = |error: serde_json::Error| format!("object {object}: its shape: {error}");
        if raw.get().starts_with('{') {
            let stored: StoredRunLengths = serde_json::from_str(raw.get()).map_err(wrong)?;
            return stored
                .decode()
                .map(Shape::Mask)
                .map_err(|what| format!("object {object}: {what}"));
        }
        let lists: Vec<Vec<f64>> = serde_json::from_str(raw.get()).map_err(wrong)?;
        let polygons = lists.iter().map(|list| match list.as_chunks::<2>() {
            (points, []) => Ok(points.to_vec()),
            _ => Err(format!("object {object} has a polygon of {} numbers", list.len())),
        });
        let polygons: Vec<_> = polygons.collect::<Result<_, _>>()?;
        let has_any = polygons.iter().any(|polygon| !polygon.is_empty());
        Ok(if has_any { Shape::Polygons(polygons) } else { Shape::None })
    }

    /// Counts the shape of an object that the layout does not hold.
    pub(in crate::folder) fn count_shape(&self, object: usize, losses: &mut Losses) {
        let raw = self.raw("segmentation", object);
        match raw.map(RawValue::get) {
            None => {}
            Some(text) if text.starts_with('{') => losses.add(Loss::Masks),
            // `[[]]` is a polygon without points.
            Some(text) if text.bytes().any(|byte| byte.is_ascii_digit()) => {
                losses.add(Loss::Polygons);
            }
            Some(_) => {}
        }
    }

    /// Points of the object's keypoints: x, y, visibility.
    pub(in crate::folder) fn keypoints(&self, object: usize) -> Result<Vec<[f64; 3]>, String> {
        let numbers: Option<Vec<f64>> = self.entry("keypoints", object)?;
        match numbers.unwrap_or_default().as_chunks::<3>() {
            (points, []) => Ok(points.to_vec()),
            (_, rest) => {
                Err(format!("object {object} has keypoints of {} numbers more", rest.len()))
            }
        }
    }

    /// Counts the lists that the layout has no place for: all but `kept`, and those of classes.
    pub(in crate::folder) fn count_keys(&self, kept: &[&str], losses: &mut Losses) {
        for (key, entries) in self.objects.iter().flat_map(ObjectLists::iter) {
            if kept.contains(&key) || self.is_of_classes(key) {
                continue;
            }
            let says =
                entries.iter().flatten().filter(|it| !matches!(it.get(), "[]" | "null" | "\"\""));
            losses.add_n(Loss::Key(key.to_owned()), says.count() as u64);
        }
    }

    /// Returns true if a list has the categories of the objects.
    pub(in crate::folder) fn is_of_classes(&self, key: &str) -> bool {
        let classes = &self.classes;
        ["category", "category_name", "category_id"].contains(&key)
            || classes.keys.iter().any(|own| own == key)
            || classes.names_key == key
    }
}

/// Far beyond any image.
const MAX_COORDINATE: f64 = 1e9;

/// Width and height of the upright image of a sample, if it has one.
pub(super) fn image_size(
    sample: &Sample<Encoded>,
    first_image: Option<usize>,
) -> Result<Option<[f64; 2]>, String> {
    let image = first_image.and_then(|at| sample.values.get(at));
    let Some(Value::Image(image)) = image else { return Ok(None) };
    let orientation = probe(&image.bytes)?.orientation;
    let size = [image.width, image.height].map(f64::from);
    Ok(Some(if orientation >= 5 { [size[1], size[0]] } else { size }))
}

/// The document of a sample's objects in pixels of its image, if that was stored at another size
/// than coordinates are of; `None` if it stays as it is.
pub(super) fn rescaled(
    document: &[u8],
    stated: Option<[f64; 2]>,
    upright: Option<[f64; 2]>,
    losses: &mut Losses,
) -> Result<Option<Bytes>, String> {
    match (stated, upright) {
        (Some(stated), Some(upright)) if stated != upright => {
            let (document, n_masks) = scaled(document, stated, upright)?;
            losses.add_n(Loss::ResizedMasks, n_masks);
            Ok(Some(document))
        }
        _ => Ok(None),
    }
}
