//! Lines of a YOLO text file: a class, and shares of the image's width and height.
use bytes::Bytes;
use fdconvert_core::{
    Turn,
    objects::{List, number, written},
};
use serde_json::Number;

/// Shares may exceed the image by this much, as in Ultralytics.
const OUTSIDE: f64 = 0.01;
/// Coordinates are rounded to this fraction of a pixel: files have six decimals.
const PER_PIXEL: f64 = 10_000.0;

/// Parameters for reading lines.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::folder::annotations) struct Lines {
    /// Class names by number; `None` if unknown.
    pub(in crate::folder::annotations) names: Option<Vec<String>>,
    /// Keypoints per object, and numbers per keypoint: two, or three with visibility.
    pub(in crate::folder::annotations) keypoints: Option<[usize; 2]>,
}

/// An object in shares of the image.
#[derive(Debug, PartialEq)]
struct Object {
    class: u32,
    /// Left, top, width, height.
    bbox: [f64; 4],
    polygon: Vec<f64>,
    keypoints: Vec<f64>,
}

/// Result of the lines of an image.
pub(in crate::folder::annotations) struct Document {
    pub(in crate::folder::annotations) text: Bytes,
    /// Left upper and right lower corners of the boxes, alternating, in pixels before turning.
    pub(in crate::folder::annotations) corners: Vec<[f64; 2]>,
    /// True if polygons may be a box followed by keypoints.
    pub(in crate::folder::annotations) may_be_keypoints: bool,
}

/// Width and height that shares refer to, and how to turn the image.
#[derive(Debug, Clone, Copy)]
struct Sides([f64; 2], Option<Turn>);

impl Lines {
    /// The document of an image of that upright size. Shares refer to it, or to the stored image if
    /// `turn` is given. The error names the line.
    pub(in crate::folder::annotations) fn document(
        &self,
        text: &[u8],
        size: [u64; 2],
        turn: Option<Turn>,
    ) -> Result<Document, String> {
        let text = std::str::from_utf8(text).map_err(|_| "its annotations are not UTF-8")?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut objects = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            if !text.trim().is_empty() {
                let object = self.object(text);
                objects.push(
                    object.map_err(|what| format!("line {line} of its annotations: {what}"))?,
                );
            }
        }
        let [mut bbox, mut category, mut category_name, mut segmentation, mut keypoints] =
            ["bbox", "category", "category_name", "segmentation", "keypoints"].map(List::new);
        let sides = Sides(turn.map_or(size.map(|side| side as f64), Turn::before), turn);
        let mut corners = Vec::with_capacity(objects.len() * 2);
        for object in &objects {
            let ([left, top, width, height], upright) = sides.bbox(object.bbox);
            corners.extend([[left, top], [left + width, top + height]]);
            bbox.push(&upright.map(number));
            category.push(&object.class);
            category_name.push(&self.name(object.class).unwrap_or_default());
            let points = object.polygon.chunks_exact(2).map(|it| sides.point(it));
            let polygon: Vec<Number> = points.flatten().map(number).collect();
            let polygons: Vec<_> = (!polygon.is_empty()).then_some(polygon).into_iter().collect();
            segmentation.push(&polygons);
            keypoints.push(&self.placed(&object.keypoints, sides));
        }
        let mut polygons = objects.iter().map(|object| &object.polygon).filter(|it| !it.is_empty());
        let may_be_keypoints = polygons.clone().any(|numbers| may_be_keypoints(numbers));
        let lists = [
            Some(bbox),
            Some(category),
            self.names.is_some().then_some(category_name),
            polygons.next().is_some().then_some(segmentation),
            self.keypoints.is_some().then_some(keypoints),
        ];
        Ok(Document { text: written(Some(size), lists), corners, may_be_keypoints })
    }

    fn name(&self, class: u32) -> Option<&str> {
        Some(self.names.as_ref()?.get(class as usize)?.as_str())
    }

    fn object(&self, line: &str) -> Result<Object, String> {
        let mut words = line.split_ascii_whitespace();
        let class = class(words.next().unwrap_or_default())?;
        if let Some(names) = &self.names
            && self.name(class).is_none()
        {
            return Err(format!("class {class} of {}, counted from 0", names.len()));
        }
        let numbers: Result<Vec<f64>, String> = words.map(finite).collect();
        let numbers = numbers?;
        let (bbox, rest) = (numbers.get(..4), numbers.get(4..).unwrap_or_default());
        if let (Some([n, width]), Some(bbox)) = (self.keypoints, bbox)
            && n.checked_mul(width) == Some(rest.len())
        {
            rest.chunks(width.max(1))
                .flat_map(|it| it.iter().take(2))
                .try_for_each(|&it| share(it))?;
            return Ok(Object {
                class,
                bbox: boxed(bbox)?,
                polygon: Vec::new(),
                keypoints: rest.to_vec(),
            });
        }
        match (bbox, self.keypoints) {
            (Some(bbox), _) if rest.is_empty() => {
                Ok(Object { class, bbox: boxed(bbox)?, polygon: Vec::new(), keypoints: Vec::new() })
            }
            (Some(_), None) if numbers.len() >= 6 && numbers.len().is_multiple_of(2) => {
                numbers.iter().try_for_each(|&number| share(number))?;
                Ok(Object {
                    class,
                    bbox: extent(&numbers),
                    polygon: numbers,
                    keypoints: Vec::new(),
                })
            }
            (_, keypoints) => {
                let also = match keypoints {
                    Some([n, width]) => format!("a box and {n} keypoints of {width} numbers"),
                    None => {
                        "the corners of a polygon, two numbers each (keypoints need `kpt_shape` in \
                             data.yaml)"
                            .to_owned()
                    }
                };
                Err(format!(
                    "{} numbers follow the class, which are neither a box (4 numbers) nor {also}",
                    numbers.len()
                ))
            }
        }
    }

    /// Keypoints in pixels with their visibility: without one, they are visible unless outside the
    /// image.
    fn placed(&self, keypoints: &[f64], sides: Sides) -> Vec<Number> {
        let width = self.keypoints.map_or(3, |[_, width]| width.max(1));
        let placed = keypoints.chunks(width).flat_map(|point| {
            let visibility = match point {
                [_, _, visibility] => *visibility,
                [x, y, ..] if *x >= 0.0 && *y >= 0.0 => 2.0,
                _ => 0.0,
            };
            // Unlabelled keypoints stay at 0.
            let [x, y] = match point {
                [0.0, 0.0, ..] if visibility == 0.0 => [0.0; 2],
                point => sides.point(point),
            };
            [x, y, visibility].map(number)
        });
        placed.collect()
    }
}

impl Sides {
    /// A box in pixels, before and after turning.
    fn bbox(self, [left, top, width, height]: [f64; 4]) -> ([f64; 4], [f64; 4]) {
        let Self([x, y], turn) = self;
        let bbox = [left * x, top * y, width * x, height * y].map(rounded);
        (bbox, turn.map_or(bbox, |turn| turn.bbox(bbox)))
    }

    /// The first two numbers as a point in pixels, turned.
    fn point(self, shares: &[f64]) -> [f64; 2] {
        let Self([width, height], turn) = self;
        let [x, y, ..] = *shares else { return [0.0; 2] };
        let point = [x * width, y * height].map(rounded);
        turn.map_or(point, |turn| turn.point(point))
    }
}

fn rounded(pixels: f64) -> f64 {
    (pixels * PER_PIXEL).round() / PER_PIXEL
}

/// Returns true if the numbers of a polygon may be a box and keypoints with visibility, as in pose
/// models: then every third number is 0, 1 or 2.
fn may_be_keypoints(numbers: &[f64]) -> bool {
    let points = numbers.get(4..).unwrap_or_default().chunks(3);
    points.len() > 0 && points.into_iter().all(|it| matches!(it, [_, _, 0.0 | 1.0 | 2.0]))
}

/// Some programs write `3.0` and `3.000e+00`.
fn class(word: &str) -> Result<u32, String> {
    let whole = word.parse::<f64>().ok().filter(|number| number.fract() == 0.0);
    let whole = whole.filter(|number| (0.0..=f64::from(u32::MAX)).contains(number));
    // The check makes the conversion exact.
    let whole = whole.map(|number| number as u32);
    whole.ok_or_else(|| format!("`{}` is not the number of a class", shown(word)))
}

fn finite(word: &str) -> Result<f64, String> {
    let number = word.parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| format!("`{}` is not a number", shown(word)))
}

fn shown(word: &str) -> String {
    word.chars().take(40).collect()
}

/// Refuses numbers that are not shares of the image, such as pixels.
fn share(number: f64) -> Result<(), String> {
    if (-OUTSIDE..=1.0 + OUTSIDE).contains(&number) {
        return Ok(());
    }
    Err(format!("{number} is not a share of the image's size, from 0 to 1"))
}

/// Left, top, width and height of a box given by center and size.
fn boxed(numbers: &[f64]) -> Result<[f64; 4], String> {
    numbers.iter().try_for_each(|&number| share(number))?;
    match *numbers {
        [x, y, width, height] if width >= 0.0 && height >= 0.0 => {
            Ok([x - width / 2.0, y - height / 2.0, width, height])
        }
        _ => Err("the box has a negative width or height".to_owned()),
    }
}

/// The box around a polygon.
fn extent(polygon: &[f64]) -> [f64; 4] {
    let of = |first: usize| {
        let numbers = || polygon.iter().skip(first).step_by(2).copied();
        (numbers().fold(f64::INFINITY, f64::min), numbers().fold(f64::NEG_INFINITY, f64::max))
    };
    let ((left, right), (top, bottom)) = (of(0), of(1));
    [left, top, right - left, bottom - top]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document_of(lines: &Lines, text: &str) -> Result<String, String> {
        let document = lines.document(text.as_bytes(), [640, 480], None)?;
        Ok(String::from_utf8(document.text.to_vec()).unwrap())
    }

    #[test]
    fn boxes_polygons_and_keypoints_become_pixels() {
        let plain = Lines { names: None, keypoints: None };
        let text =
            document_of(&plain, "\u{feff}0 0.5 0.5 0.25 0.1\n\n2.000e+00 0 0 .5 0 0.5 0.5\n")
                .unwrap();
        let expected = r#"{"size":[640,480],"bbox":[[240,216,160,48],[0,0,320,240]],"category":[0,2],"segmentation":[[],[[0,0,320,0,320,240]]]}"#;
        assert_eq!(text, expected);

        let names = Some(vec!["hand".to_owned()]);
        let pose = Lines { names, keypoints: Some([2, 3]) };
        let text = document_of(&pose, "0 0.5 0.5 1 1 0.1 0.25 2 0 0 0").unwrap();
        let expected = r#"{"size":[640,480],"bbox":[[0,0,640,480]],"category":[0],"category_name":["hand"],"keypoints":[[64,120,2,0,0,0]]}"#;
        assert_eq!(text, expected);
        let flat = Lines { keypoints: Some([1, 2]), ..pose };
        let text = document_of(&flat, "0 0.5 0.5 1 1 0.1 0.25").unwrap();
        assert!(text.contains(r#""keypoints":[[64,120,2]]"#), "{text}");
        assert_eq!(
            document_of(&flat, "").unwrap(),
            r#"{"size":[640,480],"bbox":[],"category":[],"category_name":[],"keypoints":[]}"#
        );
    }

    #[test]
    fn what_is_no_line_is_refused_by_number() {
        let lines = Lines { names: Some(vec!["a".to_owned()]), keypoints: None };
        let check = |text: &str, part: &str| {
            let error = document_of(&lines, text).unwrap_err();
            assert!(error.contains("line 2") && error.contains(part), "{error}");
        };
        let good = "0 0.5 0.5 1 1\n";
        for (bad, part) in [
            ("1 0.5 0.5 1 1", "class 1 of 1"),
            ("-1 0.5 0.5 1 1", "`-1`"),
            ("a 0.5 0.5 1 1", "`a`"),
            ("0 0.5 0.5 1", "3 numbers"),
            ("0 0.5 0.5 1 1 0.9", "5 numbers"),
            ("0 0.5 0.5 1 1 0.9 0.1 0.1", "7 numbers"),
            ("0 nan 0.5 1 1", "`nan`"),
            ("0 320 240 10 10", "320"),
            ("0 0.5 0.5 -0.005 1", "negative"),
            ("0", "0 numbers"),
        ] {
            check(&format!("{good}{bad}"), part);
        }
    }
}
