//! Annotations of objects, and the documents made from them.
use super::{annotation::Annotation, id::Id, shapes};
use crate::folder::annotations::{Notice, Photo};
use bytes::Bytes;
use fdconvert_core::{
    Remark, Turn,
    objects::{Category, List, numbers, written},
};
use fdconvert_storage::LargeText;
use std::{borrow::Cow, collections::BTreeMap};

/// Annotations of objects. The text of the file stays in memory, and the documents of samples are
/// made from it on reading: keeping all of them as well would double the memory.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Objects {
    pub(super) text: LargeText,
    /// Width and height of each image, if stated.
    pub(super) sizes: Vec<Option<[u64; 2]>>,
    /// By image, in the order of the file.
    pub(super) spans: Vec<Span>,
    /// Sorted by id.
    pub(super) categories: Vec<(Id, Category)>,
    pub(super) has: Has,
    pub(super) bad: BTreeMap<u32, String>,
}

/// Place of an annotation in the text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span {
    pub(super) image: u32,
    pub(super) len: u32,
    pub(super) start: u64,
}

/// Lists with an entry in some annotation; then all documents have the list.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Has {
    area: bool,
    iscrowd: bool,
    segmentation: bool,
    keypoints: bool,
    id: bool,
    /// True if all categories have numbers.
    category_id: bool,
}

/// A fully validated annotation.
pub(super) struct Checked<'a> {
    category: usize,
    category_id: i64,
    name: &'a str,
    bbox: Cow<'a, str>,
    corners: [f64; 4],
    area: Cow<'a, str>,
    iscrowd: u8,
    segmentation: Option<Cow<'a, str>>,
    keypoints: Option<Cow<'a, str>>,
    id: Option<i64>,
}

impl Objects {
    pub(crate) fn states_size(&self, row: usize) -> bool {
        self.sizes.get(row).is_some_and(Option::is_some)
    }

    pub(super) fn categories(&self) -> Vec<Category> {
        self.categories.iter().map(|(_, category)| category.clone()).collect()
    }

    /// Makes the document of an image.
    pub(crate) fn document(
        &self,
        row: usize,
        photo: Option<Photo>,
    ) -> Result<(Bytes, Vec<Notice>), Remark> {
        let damaged = || "its annotations cannot be found again".to_owned();
        let stated = self.sizes.get(row).copied().ok_or_else(damaged)?;
        let image = u32::try_from(row).map_err(|_| damaged())?;
        if let Some(what) = self.bad.get(&image) {
            return Err(what.as_str().into());
        }
        let first = self.spans.partition_point(|span| span.image < image);
        let own = self.spans.iter().skip(first).take_while(|span| span.image == image);
        let (mut lists, mut buffer) = (Lists::default(), Vec::new());
        let upright = photo.map(|photo| photo.upright().map(u64::from));
        let (mut size, mut frame, mut corners) = (upright.or(stated), None, Vec::new());
        for (number, span) in own.enumerate() {
            if let Some(photo) = photo.filter(|_| number == 0) {
                let found = photo.frame(stated).map_err(|what| {
                    format!(
                        "its `width` and `height` are {what}; correct them in the annotations, or \
                         leave them out"
                    )
                })?;
                (size, frame) = (Some(found.size), Some((found, photo)));
            }
            let text = self.text.piece(span.start, span.len as usize, &mut buffer);
            let text = text.map_err(|cause| cause.to_string())?.ok_or_else(damaged)?;
            let annotation = serde_json::from_slice(text);
            let annotation: Annotation<'_> = annotation.map_err(|error| error.to_string())?;
            // Whatever is wrong was found when the file was opened.
            let object = self.check(&annotation, false)?;
            let [left, top, width, height] = object.corners;
            corners.extend([[left, top], [left + width, top + height]]);
            lists.add(&match frame.and_then(|(frame, _)| frame.turn) {
                Some(turn) => object.turned(turn)?,
                None => object,
            });
        }
        let notices =
            frame.map_or(Ok(Vec::new()), |(frame, photo)| frame.check(&corners, photo))?;
        Ok((written(size, lists.of(self.has)), notices))
    }

    /// Checks an annotation, and all numbers in it if `is_new`; the error completes a sentence that
    /// names it.
    pub(super) fn check<'a>(
        &'a self,
        annotation: &Annotation<'a>,
        is_new: bool,
    ) -> Result<Checked<'a>, String> {
        let (category, id, name) = self.category(annotation)?;
        let (bbox, corners) = annotation.bbox()?;
        Ok(Checked {
            category,
            category_id: id.number().unwrap_or_default(),
            name,
            bbox,
            corners,
            area: annotation.area(corners, is_new)?,
            iscrowd: annotation.iscrowd()?,
            segmentation: annotation.segmentation(is_new)?.map(Cow::from),
            keypoints: annotation.keypoints()?,
            id: annotation.id.as_ref().and_then(Id::number),
        })
    }

    /// Position, id and name of its category.
    fn category(&self, annotation: &Annotation<'_>) -> Result<(usize, &Id, &str), String> {
        let id = annotation.category_id.as_ref().ok_or("it has no `category_id`")?;
        let found = self.categories.binary_search_by_key(&id, |(id, _)| id).ok();
        let named = found.and_then(|at| {
            let (id, category) = self.categories.get(at)?;
            Some((at, id, category.name.as_str()))
        });
        named.ok_or_else(|| format!("its category {id} is not in `categories`"))
    }
}

impl Checked<'_> {
    /// Converts to the coordinates of the upright image.
    fn turned(self, turn: Turn) -> Result<Self, String> {
        let corners = turn.bbox(self.corners);
        let segmentation = self.segmentation.as_deref();
        let segmentation =
            segmentation.map(|it| shapes::turn_segmentation(it, turn)).transpose()?;
        let keypoints = self.keypoints.as_deref();
        let keypoints = keypoints.map(|it| shapes::turn_keypoints(it, turn)).transpose()?;
        Ok(Self {
            bbox: numbers(&corners).into(),
            corners,
            segmentation: segmentation.map(Cow::from),
            keypoints: keypoints.map(Cow::from),
            ..self
        })
    }
}

/// The lists of a document.
struct Lists {
    bbox: List,
    category: List,
    category_name: List,
    category_id: List,
    area: List,
    iscrowd: List,
    segmentation: List,
    keypoints: List,
    id: List,
}

impl Default for Lists {
    fn default() -> Self {
        Self {
            bbox: List::new("bbox"),
            category: List::new("category"),
            category_name: List::new("category_name"),
            category_id: List::new("category_id"),
            area: List::new("area"),
            iscrowd: List::new("iscrowd"),
            segmentation: List::new("segmentation"),
            keypoints: List::new("keypoints"),
            id: List::new("id"),
        }
    }
}

impl Lists {
    fn add(&mut self, object: &Checked<'_>) {
        self.bbox.push_json(&object.bbox);
        self.category.push_int(object.category as i64);
        self.category_name.push(&object.name);
        self.category_id.push_int(object.category_id);
        self.area.push_json(&object.area);
        self.iscrowd.push_int(object.iscrowd.into());
        self.segmentation.push_json(object.segmentation.as_deref().unwrap_or("[]"));
        self.keypoints.push_json(object.keypoints.as_deref().unwrap_or("[]"));
        self.id.push_int(object.id.unwrap_or(-1));
    }

    fn of(self, has: Has) -> [Option<List>; 9] {
        [
            Some(self.bbox),
            Some(self.category),
            Some(self.category_name),
            has.category_id.then_some(self.category_id),
            has.area.then_some(self.area),
            has.iscrowd.then_some(self.iscrowd),
            has.segmentation.then_some(self.segmentation),
            has.keypoints.then_some(self.keypoints),
            has.id.then_some(self.id),
        ]
    }
}

impl Has {
    pub(super) fn new(category_id: bool) -> Self {
        Self { category_id, ..Self::default() }
    }

    /// Adds the lists of another annotation.
    pub(super) fn add(&mut self, other: Self) {
        self.area |= other.area;
        self.iscrowd |= other.iscrowd;
        self.segmentation |= other.segmentation;
        self.keypoints |= other.keypoints;
        self.id |= other.id;
    }

    pub(super) fn note(&mut self, annotation: &Annotation<'_>) {
        self.area |= annotation.area.is_some();
        self.iscrowd |= annotation.iscrowd.is_some();
        self.segmentation |= annotation.segmentation.is_some();
        self.keypoints |= annotation.keypoints.is_some();
        self.id |= annotation.id.as_ref().is_some_and(|id| id.number().is_some());
    }
}
