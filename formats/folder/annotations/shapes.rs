//! Objects as boxes, polygons and keypoints in pixels: what LabelMe, CVAT and OpenImages have in
//! common.
use super::{Notice, Photo, lists::around};
use bytes::Bytes;
use fdconvert_core::{
    Remark,
    objects::{Category, List, number, numbers, written},
};
use std::collections::BTreeMap;

/// The annotations of all images; an error for each faulty one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shapes {
    images: Vec<Result<ShapedImage, String>>,
    /// Names of categories, by number.
    names: Vec<String>,
    has: Has,
}

/// The annotations of one image.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ShapedImage {
    /// Width and height, if stated.
    pub(crate) size: Option<[u64; 2]>,
    pub(crate) shapes: Vec<Shape>,
    /// True if coordinates are shares of width and height.
    pub(crate) are_shares: bool,
}

/// An object.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Shape {
    pub(crate) category: u32,
    /// Left, top, width and height.
    pub(crate) bbox: [f64; 4],
    /// Most objects are boxes alone, and there are millions of them.
    pub(crate) outline: Option<Box<Outline>>,
    pub(crate) iscrowd: Option<bool>,
    pub(crate) truncated: Option<bool>,
    pub(crate) occluded: Option<bool>,
}

/// What an object is besides its box.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outline {
    Polygon(Vec<[f64; 2]>),
    Keypoints(Vec<[f64; 2]>),
}

/// Lists with an entry in some object; then all documents have the list.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Has {
    iscrowd: bool,
    segmentation: bool,
    keypoints: bool,
    truncated: bool,
    occluded: bool,
}

/// What is left out, counted by kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct LeftOut(BTreeMap<String, u64>);

impl LeftOut {
    pub(crate) fn count(&mut self, what: &str) {
        *self.0.entry(what.to_owned()).or_default() += 1;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (what, n) in &other.0 {
            *self.0.entry(what.clone()).or_default() += n;
        }
    }

    /// A list such as `3 of point, 1 of linestrip`; `None` if nothing was counted.
    pub(crate) fn listed(&self) -> Option<String> {
        const MAX: usize = 8;
        let counts = self.0.iter().map(|(what, n)| format!("{n} of {what}"));
        let counts: Vec<String> = counts.take(MAX).collect();
        let more = if self.0.len() > MAX { ", ..." } else { "" };
        (!counts.is_empty()).then(|| format!("{}{more}", counts.join(", ")))
    }
}

impl Shape {
    /// An object with the box between two corners, in any order.
    pub(crate) fn of_corners(category: u32, corners: [[f64; 2]; 2]) -> Option<Self> {
        Self::around(category, &corners)
    }

    /// An object with the box around points; `None` without points.
    pub(crate) fn around(category: u32, points: &[[f64; 2]]) -> Option<Self> {
        let bbox = around(points.iter().copied())?;
        Some(Self { category, bbox, ..Self::default() })
    }

    /// An object with that outline and the box around it; `None` without points.
    pub(crate) fn outlined(category: u32, outline: Outline) -> Option<Self> {
        let (Outline::Polygon(points) | Outline::Keypoints(points)) = &outline;
        let shape = Self::around(category, points)?;
        Some(Self { outline: Some(Box::new(outline)), ..shape })
    }
}

impl Shapes {
    /// The categories by number.
    pub(crate) fn categories(&self) -> Vec<Category> {
        self.names.iter().map(Category::new).collect()
    }

    /// Returns true if the size of a row's image is stated.
    pub(crate) fn states_size(&self, row: usize) -> bool {
        self.images.get(row).is_some_and(|it| it.as_ref().is_ok_and(|it| it.size.is_some()))
    }

    /// All annotations; `names` are those of the categories by number.
    pub(crate) fn new(images: Vec<Result<ShapedImage, String>>, names: Vec<String>) -> Self {
        let mut has = Has::default();
        for shape in images.iter().flatten().flat_map(|image| &image.shapes) {
            has.iscrowd |= shape.iscrowd.is_some();
            has.truncated |= shape.truncated.is_some();
            has.occluded |= shape.occluded.is_some();
            match shape.outline.as_deref() {
                Some(Outline::Polygon(_)) => has.segmentation = true,
                Some(Outline::Keypoints(_)) => has.keypoints = true,
                None => {}
            }
        }
        Self { images, names, has }
    }

    /// What is wrong with an image's annotations.
    pub(crate) fn fault(&self, row: usize) -> Option<&str> {
        self.images.get(row)?.as_ref().err().map(String::as_str)
    }

    /// Makes the document of an image.
    pub(crate) fn document(
        &self,
        row: usize,
        photo: Option<Photo>,
    ) -> Result<(Bytes, Vec<Notice>), Remark> {
        let image = self.images.get(row).ok_or("its annotations cannot be found again")?;
        let image = image.as_ref().map_err(|what| Remark::from(what.as_str()))?;
        let upright = photo.map(|photo| photo.upright().map(u64::from));
        let (mut size, mut frame) = (upright.or(image.size), None);
        if let Some(photo) = photo.filter(|_| !image.shapes.is_empty()) {
            let found = match image.are_shares {
                true => photo.frame_of_shares(),
                false => photo.frame(image.size),
            };
            let found = found.map_err(|what| {
                format!("the size in its annotations is {what}; correct it there, or leave it out")
            })?;
            (size, frame) = (Some(found.size), Some((found, photo)));
        }
        let turn = frame.and_then(|(frame, _)| frame.turn);
        let scale = match (image.are_shares, size, turn) {
            (false, ..) | (_, None, _) => [1.0; 2],
            (true, Some(size), None) => size.map(|side| side as f64),
            (true, _, Some(turn)) => turn.before(),
        };
        let mut lists = Lists::default();
        let mut corners = Vec::with_capacity(image.shapes.len() * 2);
        for shape in &image.shapes {
            let [left, top, width, height] = shape.bbox;
            let bbox = match image.are_shares {
                true => [left * scale[0], top * scale[1], width * scale[0], height * scale[1]],
                false => shape.bbox,
            };
            let [left, top, width, height] = bbox;
            corners.extend([[left, top], [left + width, top + height]]);
            let bbox = turn.map_or(bbox, |turn| turn.bbox(bbox));
            let turned = |point: &[f64; 2]| turn.map_or(*point, |turn| turn.point(*point));
            let pixel = |point: &[f64; 2]| turn.map_or(*point, |turn| turn.pixel(*point));
            let outline = shape.outline.as_deref();
            let polygon = match outline {
                Some(Outline::Polygon(points)) => {
                    let points: Vec<[f64; 2]> = points.iter().map(turned).collect();
                    format!("[{}]", numbers(points.as_flattened()))
                }
                _ => "[]".to_owned(),
            };
            let keypoints = match outline {
                Some(Outline::Keypoints(points)) => {
                    // Points that are drawn are visible.
                    let points = points.iter().map(pixel).map(|[x, y]| [x, y, 2.0]);
                    numbers(points.collect::<Vec<_>>().as_flattened())
                }
                _ => "[]".to_owned(),
            };
            let name = usize::try_from(shape.category).ok().and_then(|at| self.names.get(at));
            lists.add(shape, bbox, name.map_or("", String::as_str), [&polygon, &keypoints]);
        }
        let notices =
            frame.map_or(Ok(Vec::new()), |(frame, photo)| frame.check(&corners, photo))?;
        Ok((written(size, lists.of(self.has)), notices))
    }
}

/// The lists of a document.
struct Lists {
    bbox: List,
    category: List,
    category_name: List,
    iscrowd: List,
    segmentation: List,
    keypoints: List,
    truncated: List,
    occluded: List,
}

impl Default for Lists {
    fn default() -> Self {
        Self {
            bbox: List::new("bbox"),
            category: List::new("category"),
            category_name: List::new("category_name"),
            iscrowd: List::new("iscrowd"),
            segmentation: List::new("segmentation"),
            keypoints: List::new("keypoints"),
            truncated: List::new("truncated"),
            occluded: List::new("occluded"),
        }
    }
}

impl Lists {
    fn add(&mut self, shape: &Shape, bbox: [f64; 4], name: &str, [polygon, keypoints]: [&str; 2]) {
        let flag = |flag: Option<bool>| u8::from(flag.unwrap_or_default());
        self.bbox.push(&bbox.map(number));
        self.category.push(&shape.category);
        self.category_name.push(&name);
        self.iscrowd.push(&flag(shape.iscrowd));
        self.segmentation.push_json(polygon);
        self.keypoints.push_json(keypoints);
        self.truncated.push(&flag(shape.truncated));
        self.occluded.push(&flag(shape.occluded));
    }

    fn of(self, has: Has) -> [Option<List>; 8] {
        [
            Some(self.bbox),
            Some(self.category),
            Some(self.category_name),
            has.iscrowd.then_some(self.iscrowd),
            has.segmentation.then_some(self.segmentation),
            has.keypoints.then_some(self.keypoints),
            has.truncated.then_some(self.truncated),
            has.occluded.then_some(self.occluded),
        ]
    }
}
