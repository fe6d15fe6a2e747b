//! The steps of torchvision, one after the other and pixel by pixel, for fields that follow an
//! image.
use super::shapes::Stored;
use fdconvert_core::DType;
use fdconvert_loader::{
    Batch, Column, Crop, Objects, RowGeometry,
    parts::{Area, Rect},
};

/// Values in rows, for torchvision's operations on masks.
#[derive(Clone)]
struct Plane {
    width: usize,
    height: usize,
    values: Vec<u16>,
}

impl Plane {
    fn map(
        &self,
        width: usize,
        height: usize,
        at: impl Fn(usize, usize) -> Option<(usize, usize)>,
        fill: u16,
    ) -> Self {
        let mut values = Vec::new();
        for y in 0..height {
            for x in 0..width {
                let from = at(x, y).map(|(x, y)| self.values[y * self.width + x]);
                values.push(from.unwrap_or(fill));
            }
        }
        Self { width, height, values }
    }

    fn crop(&self, x: usize, y: usize, width: usize, height: usize) -> Self {
        self.map(width, height, |at_x, at_y| Some((at_x + x, at_y + y)), 0)
    }

    /// `interpolate(mode="nearest")`.
    fn resize(&self, width: usize, height: usize) -> Self {
        let near = |at: usize, from: usize, to: usize| {
            ((at as f32 * (from as f32 / to as f32)).floor() as usize).min(from - 1)
        };
        let at = |x, y| Some((near(x, self.width, width), near(y, self.height, height)));
        self.map(width, height, at, 0)
    }

    fn pad(&self, x: usize, y: usize, width: usize, height: usize, fill: u16) -> Self {
        let within =
            |at: usize, begin: usize, len: usize| at.checked_sub(begin).filter(|at| *at < len);
        let at = |at_x, at_y| Some((within(at_x, x, self.width)?, within(at_y, y, self.height)?));
        self.map(width, height, at, fill)
    }

    fn flip(&self) -> Self {
        self.map(self.width, self.height, |x, y| Some((self.width - 1 - x, y)), 0)
    }
}

/// Returns the size after `Resize(side)`.
fn resized(side: u32, (width, height): (u32, u32)) -> (u32, u32) {
    let long = |long: u32, short: u32| side * long / short;
    if width <= height { (side, long(height, width)) } else { (long(width, height), side) }
}

/// Returns the area of the image in a letterbox.
fn inner((width, height): (u32, u32), size: (u32, u32)) -> Area {
    let (inner_width, inner_height) = if width * size.1 >= height * size.0 {
        (size.0, (size.0 * height / width).max(1))
    } else {
        ((size.1 * width / height).max(1), size.1)
    };
    let (x, y) = ((size.0 - inner_width) / 2, (size.1 - inner_height) / 2);
    Area { x, y, width: inner_width, height: inner_height }
}

/// Applies the steps that lead to a row to a mask, and returns those for a point.
fn steps(crop: Crop, row: &RowGeometry, plane: &Plane) -> (Plane, impl Fn([f64; 2]) -> [f64; 2]) {
    let RowGeometry { source, size, crop: Rect { x, y, width, height }, .. } = *row;
    let (scale, offset, plane) = match crop {
        Crop::Center { resize } => {
            let (wide, high) = resized(resize, source);
            let half = |long: u32, short: u32| (f64::from(long - short) / 2.0).round_ties_even();
            let (left, top) = (half(wide, size.0), half(high, size.1));
            let whole = plane.resize(wide as usize, high as usize);
            let plane = whole.crop(left as usize, top as usize, size.0 as usize, size.1 as usize);
            let scale =
                [f64::from(wide) / f64::from(source.0), f64::from(high) / f64::from(source.1)];
            (scale, [-left, -top], plane)
        }
        Crop::Letterbox { .. } => {
            let area = inner(source, size);
            let whole = plane.resize(area.width as usize, area.height as usize);
            let plane =
                whole.pad(area.x as usize, area.y as usize, size.0 as usize, size.1 as usize, 255);
            let scale = [
                f64::from(area.width) / f64::from(source.0),
                f64::from(area.height) / f64::from(source.1),
            ];
            (scale, [f64::from(area.x), f64::from(area.y)], plane)
        }
        _ => {
            let part = plane.crop(x as usize, y as usize, width as usize, height as usize);
            let scale = [f64::from(size.0) / width, f64::from(size.1) / height];
            let plane = part.resize(size.0 as usize, size.1 as usize);
            (scale, [-x * scale[0], -y * scale[1]], plane)
        }
    };
    let plane = if row.flipped { plane.flip() } else { plane };
    (plane, move |[x, y]: [f64; 2]| [x * scale[0] + offset[0], y * scale[1] + offset[1]])
}

/// Returns the values of a row.
pub(crate) fn row_of(column: &Column, row: usize) -> Vec<u16> {
    let Column::Array { spec, bytes } = column else { panic!("{column:?}") };
    let n_bytes = bytes.len() / column.len();
    let bytes = &bytes[row * n_bytes..][..n_bytes];
    match spec.dtype {
        DType::U8 => bytes.iter().copied().map(u16::from).collect(),
        DType::U16 => bytes.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect(),
        other => panic!("{other:?}"),
    }
}

fn numbers(document: &serde_json::Value, name: &str) -> Vec<Vec<f64>> {
    fn flat(value: &serde_json::Value, into: &mut Vec<f64>) {
        match value {
            serde_json::Value::Array(values) => values.iter().for_each(|it| flat(it, into)),
            number => into.push(number.as_f64().unwrap()),
        }
    }
    let objects = document[name].as_array().unwrap().iter();
    objects
        .map(|object| {
            let mut all = Vec::new();
            flat(object, &mut all);
            all
        })
        .collect()
}

fn is_near(found: &[f32], expected: &[f64]) -> bool {
    found.len() == expected.len()
        && found.iter().zip(expected).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-3)
}

/// Compares the objects of a row; returns their number.
fn check_objects(
    objects: &Objects,
    row: usize,
    stored: &Stored,
    geometry: &RowGeometry,
    to_row: impl Fn([f64; 2]) -> [f64; 2],
) -> usize {
    let document: serde_json::Value = serde_json::from_str(&stored.objects).unwrap();
    let scale = match document.get("size") {
        Some(_) => [0.5, 1.0 / 3.0],
        None => [1.0, 1.0],
    };
    let (width, height) = (f64::from(geometry.size.0), f64::from(geometry.size.1));
    let to_row = |point: &[f64]| to_row([point[0] * scale[0], point[1] * scale[1]]);
    let mirrored = |x: f64, by: f64| if geometry.flipped { width - by - x } else { x };
    let mut at = objects.offsets[row] as usize;
    let boxes = numbers(&document, "bbox");
    let (points, polygons) = (numbers(&document, "keypoints"), numbers(&document, "segmentation"));
    for (object, it) in boxes.iter().enumerate() {
        let [left, top] = to_row(&it[..2]);
        let [right, bottom] = to_row(&[it[0] + it[2], it[1] + it[3]]);
        let (left, right) = match geometry.flipped {
            true => (mirrored(right, 0.0), mirrored(left, 0.0)),
            false => (left, right),
        };
        let clipped = [
            left.clamp(0.0, width),
            top.clamp(0.0, height),
            right.clamp(0.0, width),
            bottom.clamp(0.0, height),
        ];
        let smallest = (clipped[2] - clipped[0]).min(clipped[3] - clipped[1]);
        // Rounding decides on the border, which is not tested here.
        let is_border = (smallest - 1.0).abs() < 1e-5;
        let is_next = || objects.boxes.get(at).is_some_and(|found| is_near(found, &clipped));
        if smallest < 1.0 - 1e-5 || is_border && !is_next() {
            continue;
        }
        assert!(is_near(&objects.boxes[at], &clipped), "{:?} {clipped:?}", objects.boxes[at]);
        assert_eq!(objects.category[at], object as i64);
        let areas = objects.area.as_ref().unwrap();
        assert!(is_near(&areas[at..=at], &[it[2] * it[3]]));
        let keypoints = objects.keypoints.as_ref().unwrap();
        assert_eq!(keypoints.per_object, 2);
        for (found, expected) in
            keypoints.points[at * 2..][..2].iter().zip(points[object].chunks(3))
        {
            let [x, y] = to_row(&expected[..2]);
            let x = mirrored(x, 1.0);
            let inside = x >= 0.0 && x < width && y >= 0.0 && y < height;
            let visibility = if inside { expected[2] } else { 0.0 };
            assert!(is_near(found, &[x, y, visibility]), "{found:?} {x} {y} {visibility}");
        }
        let all = objects.polygons.as_ref().unwrap();
        let polygon = all.objects.iter().position(|of| *of == at as i64).unwrap();
        let begin = all.offsets[polygon] as usize;
        let end = all.offsets[polygon + 1] as usize;
        assert_eq!(end - begin, 3);
        for (found, expected) in all.points[begin..end].iter().zip(polygons[object].chunks(2)) {
            let [x, y] = to_row(expected);
            assert!(is_near(found, &[mirrored(x, 0.0), y]));
        }
        at += 1;
    }
    assert_eq!(at as i64, objects.offsets[row + 1]);
    boxes.len()
}

/// Compares all fields that follow in a batch; returns the number of flipped rows and of objects.
pub(crate) fn check(batch: &Batch, crop: Crop, stored: &[Stored]) -> (usize, usize) {
    let geometry = batch.geometry().unwrap();
    assert_eq!(geometry.len(), batch.len());
    let Some(Column::Objects(objects)) = batch.field("objects") else { panic!() };
    let (mut n_flipped, mut n_objects) = (0, 0);
    for (row, (sample, geometry)) in batch.samples().iter().zip(geometry).enumerate() {
        let stored = &stored[*sample as usize];
        assert_eq!(geometry.source, stored.size);
        for (name, values) in [("mask", &stored.mask), ("depth", &stored.depth)] {
            let (width, height) = (stored.size.0 as usize, stored.size.1 as usize);
            let plane = Plane { width, height, values: values.clone() };
            let (expected, to_row) = steps(crop, geometry, &plane);
            assert_eq!(row_of(batch.field(name).unwrap(), row), expected.values, "{name} {crop:?}");
            if name == "mask" {
                n_objects += check_objects(objects, row, stored, geometry, to_row);
            }
        }
        n_flipped += usize::from(geometry.flipped);
    }
    (n_flipped, n_objects)
}
