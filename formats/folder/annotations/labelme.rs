//! LabelMe: a JSON file for each image, with a list of shapes.
use super::{LeftOut, Shape, ShapedImage, lists::check_name, shapes::Outline};
use serde::Deserialize;
use serde_json::{Map, Value as Json};
use std::collections::BTreeSet;

/// Keys of shapes that are packed, or say nothing beside what is.
const PACKED: [&str; 4] = ["label", "points", "shape_type", "mask"];

/// A file, its categories still texts: numbers are known when all files are.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct LabelMe {
    pub(crate) size: Option<[u64; 2]>,
    /// The path of the image as it is written.
    pub(crate) image_path: Option<String>,
    pub(crate) labels: Vec<String>,
    /// One for each label; its category is not set.
    shapes: Vec<Shape>,
    /// Kinds of shapes that are left out.
    pub(crate) left_out: LeftOut,
    /// Masks, of which only the box is taken.
    pub(crate) n_masks: u64,
    /// Keys of shapes that are not packed.
    pub(crate) unpacked: BTreeSet<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with `shapes`")]
struct Written {
    shapes: Vec<Map<String, Json>>,
    image_path: Option<String>,
    image_width: Option<f64>,
    image_height: Option<f64>,
    flags: Option<Json>,
}

/// Parses a file; the error is a text that follows its name.
pub(crate) fn parse(bytes: &[u8]) -> Result<LabelMe, String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let written: Written = serde_json::from_slice(bytes)
        .map_err(|error| format!("not an annotation of LabelMe: {error}"))?;
    let Written { shapes, image_path, image_width, image_height, flags } = written;
    let side = |side: f64| (1.0..1e9).contains(&side).then_some(side as u64);
    let size = image_width.and_then(side).zip(image_height.and_then(side));
    let size = size.map(|(width, height)| [width, height]);
    let mut read = LabelMe { size, image_path, ..LabelMe::default() };
    if flags.as_ref().is_some_and(says_something) {
        read.unpacked.insert("flags (of images)".to_owned());
    }
    for (at, shape) in shapes.iter().enumerate() {
        read.add(shape).map_err(|what| format!("shape {}: {what}", at + 1))?;
    }
    Ok(read)
}

impl LabelMe {
    fn add(&mut self, shape: &Map<String, Json>) -> Result<(), String> {
        let label = match shape.get("label") {
            Some(Json::String(label)) if !label.trim().is_empty() => label.trim().to_owned(),
            _ => return Err("it has no `label`".to_owned()),
        };
        check_name(&label)?;
        let others = shape
            .iter()
            .filter(|(key, value)| !PACKED.contains(&key.as_str()) && says_something(value));
        self.unpacked.extend(others.map(|(key, _)| key.clone()));
        // Files of old versions have no type, and polygons alone.
        let kind = shape.get("shape_type").and_then(Json::as_str).unwrap_or("polygon");
        let points = points(shape.get("points"))?;
        let found = match (kind, &points[..]) {
            ("polygon", [_, _, _, ..]) => Shape::outlined(0, Outline::Polygon(points)),
            ("polygon", _) => {
                self.left_out.count("polygon with fewer than 3 points");
                return Ok(());
            }
            ("rectangle", [_, _, ..]) => Shape::around(0, &points),
            ("circle", [[x, y], [rim_x, rim_y]]) => {
                let radius = (rim_x - x).hypot(rim_y - y);
                Shape::of_corners(0, [[x - radius, y - radius], [x + radius, y + radius]])
            }
            // Both corners are pixels of the mask.
            ("mask", [[left, top], [right, bottom]]) => {
                self.n_masks += 1;
                let (left, right) = (left.min(*right), left.max(*right));
                let (top, bottom) = (top.min(*bottom), top.max(*bottom));
                Shape::of_corners(0, [[left, top], [right + 1.0, bottom + 1.0]])
            }
            ("rectangle" | "circle" | "mask", points) => {
                let n = points.len();
                return Err(format!("its type is {kind}, which two points define, and it has {n}"));
            }
            (other, _) => {
                let known: String = other.chars().take(40).collect();
                self.left_out.count(&known);
                return Ok(());
            }
        };
        let found = found.filter(|shape| shape.bbox.iter().all(|it| it.is_finite()));
        self.shapes.push(found.ok_or("its points are too large")?);
        self.labels.push(label);
        Ok(())
    }

    /// The annotations, with the numbers of their labels.
    pub(crate) fn numbered(self, number: impl Fn(&str) -> u32) -> ShapedImage {
        let shapes = self.labels.iter().zip(self.shapes);
        let shapes = shapes.map(|(label, shape)| Shape { category: number(label), ..shape });
        ShapedImage { size: self.size, shapes: shapes.collect(), are_shares: false }
    }
}

/// Returns false for values that programs write where there is nothing to say.
fn says_something(value: &Json) -> bool {
    match value {
        Json::Null => false,
        Json::String(text) => !text.is_empty(),
        Json::Array(list) => !list.is_empty(),
        Json::Object(map) => !map.is_empty(),
        Json::Bool(_) | Json::Number(_) => true,
    }
}

fn points(written: Option<&Json>) -> Result<Vec<[f64; 2]>, String> {
    let damaged = || "its `points` are not pairs of numbers".to_owned();
    let Some(Json::Array(list)) = written else { return Err(damaged()) };
    let point = |point: &Json| match point.as_array().map(Vec::as_slice) {
        Some([x, y]) => Some([x.as_f64()?, y.as_f64()?]),
        _ => None,
    };
    let points: Option<Vec<[f64; 2]>> = list.iter().map(point).collect();
    points.ok_or_else(damaged)
}
