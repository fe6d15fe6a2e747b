//! Annotations of objects, and the documents that are made of them.
use super::entries::Annotation;
use crate::folder::annotations::lists::{List, document};
use bytes::Bytes;
use std::borrow::Cow;

/// Annotations of objects. The text of the file stays in memory, and the documents of samples are
/// made of it when they are read: all of them beside it would be as large again.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Objects {
    pub(super) text: Bytes,
    /// Width and height of each image, where the file says them.
    pub(super) sizes: Vec<Option<[u64; 2]>>,
    /// By image, in the order of the file.
    pub(super) spans: Vec<Span>,
    /// In the order of their ids.
    pub(super) categories: Vec<(i64, String)>,
    pub(super) has: Has,
}

/// Place of an annotation in the text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span {
    pub(super) image: u32,
    pub(super) len: u32,
    pub(super) start: u64,
}

/// Lists that some annotation has an entry for; then all documents have the list.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Has {
    area: bool,
    iscrowd: bool,
    segmentation: bool,
    keypoints: bool,
    id: bool,
}

/// An annotation of which everything is known to be what it has to be.
pub(super) struct Checked<'a> {
    category: usize,
    name: &'a str,
    bbox: &'a str,
    area: Cow<'a, str>,
    iscrowd: u8,
    segmentation: Option<&'a str>,
    keypoints: Option<&'a str>,
    id: Option<i64>,
}

impl Objects {
    /// Makes the document of an image.
    pub(crate) fn document(&self, row: usize) -> Result<Bytes, String> {
        let damaged = || "its annotations cannot be found again".to_owned();
        let size = self.sizes.get(row).copied().ok_or_else(damaged)?;
        let image = u32::try_from(row).map_err(|_| damaged())?;
        let first = self.spans.partition_point(|span| span.image < image);
        let own = self.spans.iter().skip(first).take_while(|span| span.image == image);
        let mut lists = Lists::default();
        for span in own {
            let start = usize::try_from(span.start).map_err(|_| damaged())?;
            let text = self.text.get(start..start.saturating_add(span.len as usize));
            let annotation = serde_json::from_slice(text.ok_or_else(damaged)?);
            let annotation: Annotation<'_> = annotation.map_err(|error| error.to_string())?;
            lists.add(&self.check(&annotation)?);
        }
        Ok(document(size, &lists.of(self.has)))
    }

    /// Checks an annotation; the error is the end of a sentence that names it.
    pub(super) fn check<'a>(&'a self, annotation: &Annotation<'a>) -> Result<Checked<'a>, String> {
        let (category, name) = self.category(annotation)?;
        Ok(Checked {
            category,
            name,
            bbox: annotation.bbox()?,
            area: annotation.area()?,
            iscrowd: annotation.iscrowd()?,
            segmentation: annotation.segmentation()?,
            keypoints: annotation.keypoints()?,
            id: annotation.id,
        })
    }

    /// The position of its category among all, and its name.
    fn category(&self, annotation: &Annotation<'_>) -> Result<(usize, &str), String> {
        let id = annotation.category_id.ok_or("it has no `category_id`")?;
        let found = self.categories.binary_search_by_key(&id, |(id, _)| *id).ok();
        let named = found.and_then(|at| Some((at, self.categories.get(at)?.1.as_str())));
        named.ok_or_else(|| format!("its category {id} is not in `categories`"))
    }
}

/// The lists of a document.
struct Lists {
    bbox: List,
    category: List,
    category_name: List,
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
        self.bbox.push_json(object.bbox);
        self.category.push(&object.category);
        self.category_name.push(&object.name);
        self.area.push_json(&object.area);
        self.iscrowd.push(&object.iscrowd);
        self.segmentation.push_json(object.segmentation.unwrap_or("[]"));
        self.keypoints.push_json(object.keypoints.unwrap_or("[]"));
        self.id.push(&object.id);
    }

    fn of(self, has: Has) -> Vec<List> {
        let lists = [
            (true, self.bbox),
            (true, self.category),
            (true, self.category_name),
            (has.area, self.area),
            (has.iscrowd, self.iscrowd),
            (has.segmentation, self.segmentation),
            (has.keypoints, self.keypoints),
            (has.id, self.id),
        ];
        lists.into_iter().filter_map(|(is_there, list)| is_there.then_some(list)).collect()
    }
}

impl Has {
    pub(super) fn note(&mut self, annotation: &Annotation<'_>) {
        self.area |= annotation.area.is_some();
        self.iscrowd |= annotation.iscrowd.is_some();
        self.segmentation |= annotation.segmentation.is_some();
        self.keypoints |= annotation.keypoints.is_some();
        self.id |= annotation.id.is_some();
    }
}
