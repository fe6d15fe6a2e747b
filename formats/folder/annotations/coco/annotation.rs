//! One annotation, and its validation.
use super::{
    entries::{parsed, shown},
    id::Id,
    shapes,
    unpacked::Key,
};
use fdconvert_core::{
    StoredRunLengths,
    objects::{number, numbers},
};
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt};

#[derive(Debug, Default)]
pub(super) struct Annotation<'a> {
    pub(super) id: Option<Id>,
    pub(super) image_id: Option<Id>,
    pub(super) category_id: Option<Id>,
    bbox: Option<&'a RawValue>,
    pub(super) area: Option<&'a RawValue>,
    pub(super) iscrowd: Option<&'a RawValue>,
    pub(super) segmentation: Option<&'a RawValue>,
    pub(super) keypoints: Option<&'a RawValue>,
    caption: Option<&'a RawValue>,
    /// Only present in panoptic annotations.
    pub(super) segments_info: Option<IgnoredAny>,
    pub(super) others: Vec<Cow<'a, str>>,
}

/// `derive` would skip unknown keys.
impl<'de: 'a, 'a> Deserialize<'de> for Annotation<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Keys)
    }
}

struct Keys;

impl<'de> Visitor<'de> for Keys {
    type Value = Annotation<'de>;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("an annotation with `image_id`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Annotation<'de>, A::Error> {
        fn once<'de, A: MapAccess<'de>, T: Deserialize<'de>>(
            place: &mut Option<T>,
            key: &str,
            map: &mut A,
        ) -> Result<(), A::Error> {
            if place.is_some() {
                return Err(A::Error::custom(format_args!("the key `{key}` occurs twice")));
            }
            *place = map.next_value()?;
            Ok(())
        }
        let mut found = Annotation::default();
        while let Some(Key(key)) = map.next_key()? {
            match &*key {
                "id" => once(&mut found.id, &key, &mut map)?,
                "image_id" => once(&mut found.image_id, &key, &mut map)?,
                "category_id" => once(&mut found.category_id, &key, &mut map)?,
                "bbox" => once(&mut found.bbox, &key, &mut map)?,
                "area" => once(&mut found.area, &key, &mut map)?,
                "iscrowd" => once(&mut found.iscrowd, &key, &mut map)?,
                "segmentation" => once(&mut found.segmentation, &key, &mut map)?,
                "keypoints" => once(&mut found.keypoints, &key, &mut map)?,
                "caption" => once(&mut found.caption, &key, &mut map)?,
                "segments_info" => once(&mut found.segments_info, &key, &mut map)?,
                _ => {
                    let _: IgnoredAny = map.next_value()?;
                    // The keypoints themselves have their number.
                    if key != "num_keypoints" {
                        found.others.push(key);
                    }
                }
            }
        }
        Ok(found)
    }
}

impl<'a> Annotation<'a> {
    /// Returns true if it has a caption and no places; `None` if it has neither.
    pub(super) fn is_caption(&self) -> Option<bool> {
        let has_place = self.bbox.or(self.segmentation).or(self.keypoints).is_some();
        (has_place || self.caption.is_some()).then_some(!has_place)
    }

    /// Its keys that are not packed with objects.
    pub(super) fn beside_objects(&self) -> impl Iterator<Item = &str> {
        let others = self.others.iter().map(|key| &**key);
        others.chain(self.caption.map(|_| "caption"))
    }

    /// Its caption; the error completes a sentence that names the annotation.
    pub(super) fn caption(&self) -> Result<Option<String>, String> {
        self.caption.map(|raw| parsed("caption", "a text", raw)).transpose()
    }

    /// The box as written, or the box around its shape or keypoints.
    pub(super) fn bbox(&self) -> Result<(Cow<'a, str>, [f64; 4]), String> {
        let Some(raw) = self.bbox.filter(|raw| raw.get() != "[]") else {
            let shapes = [
                self.segmentation.map(shapes::around_segmentation),
                self.keypoints.map(shapes::around_keypoints),
            ];
            let around = shapes.into_iter().flatten().find_map(Result::transpose);
            let around = around.transpose()?.ok_or("it has no `bbox`")?;
            return Ok((numbers(&around).into(), around));
        };
        let bbox: [f64; 4] = parsed("bbox", "four numbers", raw)?;
        let [_, _, width, height] = bbox;
        if width < 0.0 || height < 0.0 {
            return Err(format!("its `bbox` is {width} wide and {height} high"));
        }
        Ok((raw.get().into(), bbox))
    }

    /// The area, or that of the box if missing.
    pub(super) fn area(
        &self,
        [_, _, width, height]: [f64; 4],
        is_new: bool,
    ) -> Result<Cow<'a, str>, String> {
        let Some(raw) = self.area else { return Ok(number(width * height).to_string().into()) };
        if is_new {
            let _: f64 = parsed("area", "a number", raw)?;
        }
        Ok(raw.get().into())
    }

    pub(super) fn iscrowd(&self) -> Result<u8, String> {
        let Some(raw) = self.iscrowd else { return Ok(0) };
        let text = raw.get().trim_matches('"');
        match (text, text.parse::<f64>()) {
            ("false", _) => Ok(0),
            ("true", _) => Ok(1),
            (_, Ok(0.0)) => Ok(0),
            (_, Ok(1.0)) => Ok(1),
            _ => Err(format!("its `iscrowd` is neither 0 nor 1: {}", shown(raw))),
        }
    }

    /// Polygons or run lengths, unchanged.
    pub(super) fn segmentation(&self, is_new: bool) -> Result<Option<&'a str>, String> {
        let Some(raw) = self.segmentation else { return Ok(None) };
        if !is_new {
            return Ok(Some(raw.get()));
        }
        if raw.get().starts_with('{') {
            let runs: StoredRunLengths = parsed("segmentation", "run lengths", raw)?;
            runs.decode()?;
        } else {
            let odd = shapes::odd_polygon(raw)?;
            if let Some(odd) = odd {
                return Err(format!("a polygon of its `segmentation` has {odd} numbers, no pairs"));
            }
        }
        Ok(Some(raw.get()))
    }

    /// Numbers, three per keypoint, in one list.
    pub(super) fn keypoints(&self) -> Result<Option<Cow<'a, str>>, String> {
        let Some(raw) = self.keypoints else { return Ok(None) };
        if let Ok(triples) = serde_json::from_str::<Vec<[f64; 3]>>(raw.get())
            && !triples.is_empty()
        {
            return Ok(Some(numbers(triples.as_flattened()).into()));
        }
        let n_numbers = shapes::n_numbers("keypoints", raw)?;
        if n_numbers % 3 != 0 {
            return Err(format!("its `keypoints` are {n_numbers} numbers, no triples"));
        }
        Ok(Some(raw.get().into()))
    }
}
