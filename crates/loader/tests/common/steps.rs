//! Compares the fields that follow an image with the steps of torchvision, one after the other.
use super::{
    changes::{Plane, Point, applied, matrix},
    shapes::Stored,
};
use fdconvert_core::DType;
use fdconvert_loader::{
    Batch, Column, Objects, Options, RowGeometry,
    parts::{Change, DrawKey},
};
use std::iter;

/// The changes of one view of an image.
struct Steps {
    changes: Vec<Change>,
    source: (u32, u32),
}

impl Steps {
    /// Yields each change with the size of the image before it.
    fn each(&self) -> impl Iterator<Item = (&Change, (u32, u32))> {
        self.changes.iter().scan(self.source, |size, change| {
            let before = std::mem::replace(size, change.size(*size));
            Some((change, before))
        })
    }

    fn mask(&self, values: &[u16], fill: u16) -> Plane {
        let (width, height) = (self.source.0 as usize, self.source.1 as usize);
        let values = values.iter().copied().map(Some).collect();
        let plane = Plane { width, height, values };
        self.changes.iter().fold(plane, |plane, change| plane.changed(change, fill))
    }

    fn point(&self, point: Point) -> Point {
        self.each().fold(point, |point, (change, size)| applied(&matrix(change, size), point))
    }

    /// A keypoint is a pixel.
    fn keypoint(&self, point: Point) -> Point {
        self.each().fold(point, |point, (change, size)| {
            let [x, y] = applied(&matrix(change, size), point);
            match change {
                Change::HorizontalFlip => [x - 1.0, y],
                Change::VerticalFlip => [x, y - 1.0],
                _ => [x, y],
            }
        })
    }

    /// Moves a box: left, top, right and bottom. It is the one around its moved corners, cut where
    /// torchvision cuts it, and in the row.
    fn rectangle(&self, mut edges: [f64; 4], row: (u32, u32)) -> [f64; 4] {
        let cut = |[left, top, right, bottom]: [f64; 4], (width, height): (u32, u32)| {
            let (width, height) = (f64::from(width), f64::from(height));
            [
                left.clamp(0.0, width),
                top.clamp(0.0, height),
                right.clamp(0.0, width),
                bottom.clamp(0.0, height),
            ]
        };
        for (change, size) in self.each() {
            let [left, top, right, bottom] = edges;
            let corners = [[left, top], [right, top], [left, bottom], [right, bottom]];
            let corners = corners.map(|corner| applied(&matrix(change, size), corner));
            let end = |axis: usize, pick: fn(f64, f64) -> f64| {
                corners.iter().map(|corner| corner[axis]).reduce(pick).unwrap()
            };
            edges = [end(0, f64::min), end(1, f64::min), end(0, f64::max), end(1, f64::max)];
            if matches!(change, Change::Crop { .. } | Change::Pad { .. } | Change::Warp { .. }) {
                edges = cut(edges, change.size(size));
            }
        }
        cut(edges, row)
    }
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
fn check_objects(objects: &Objects, row: usize, stored: &Stored, steps: &Steps) -> usize {
    let document: serde_json::Value = serde_json::from_str(&stored.objects).unwrap();
    let scale = match document.get("size") {
        Some(_) => [0.5, 1.0 / 3.0],
        None => [1.0, 1.0],
    };
    let size = steps.changes.iter().fold(steps.source, |size, change| change.size(size));
    let scaled = |point: &[f64]| [point[0] * scale[0], point[1] * scale[1]];
    let mut at = objects.offsets[row] as usize;
    let boxes = numbers(&document, "bbox");
    let (points, polygons) = (numbers(&document, "keypoints"), numbers(&document, "segmentation"));
    for (object, it) in boxes.iter().enumerate() {
        let [left, top] = scaled(&it[..2]);
        let [right, bottom] = scaled(&[it[0] + it[2], it[1] + it[3]]);
        let expected = steps.rectangle([left, top, right, bottom], size);
        let smallest = (expected[2] - expected[0]).min(expected[3] - expected[1]);
        // Rounding decides on the border, which is not tested here.
        let is_border = (smallest - 1.0).abs() < 1e-4;
        let is_next = || objects.boxes.get(at).is_some_and(|found| is_near(found, &expected));
        if smallest < 1.0 - 1e-4 || is_border && !is_next() {
            continue;
        }
        assert!(is_near(&objects.boxes[at], &expected), "{:?} {expected:?}", objects.boxes[at]);
        assert_eq!(objects.category[at], object as i64);
        let areas = objects.area.as_ref().unwrap();
        assert!(is_near(&areas[at..=at], &[it[2] * it[3]]));
        let keypoints = objects.keypoints.as_ref().unwrap();
        assert_eq!(keypoints.per_object, 2);
        for (found, expected) in
            keypoints.points[at * 2..][..2].iter().zip(points[object].chunks(3))
        {
            let [x, y] = steps.keypoint(scaled(&expected[..2]));
            let inside =
                (0.0..f64::from(size.0)).contains(&x) && (0.0..f64::from(size.1)).contains(&y);
            let visibility = if inside { expected[2] } else { 0.0 };
            // On the edge, rounding decides.
            let is_edge = [(x, size.0), (y, size.1)]
                .iter()
                .any(|(at, side)| at.abs() < 1e-6 || (at - f64::from(*side)).abs() < 1e-6);
            let visibility = if is_edge { found[2].into() } else { visibility };
            assert!(is_near(found, &[x, y, visibility]), "{found:?} {x} {y} {visibility}");
        }
        let all = objects.polygons.as_ref().unwrap();
        let polygon = all.objects.iter().position(|of| *of == at as i64).unwrap();
        let begin = all.offsets[polygon] as usize;
        let end = all.offsets[polygon + 1] as usize;
        assert_eq!(end - begin, 3);
        for (found, expected) in all.points[begin..end].iter().zip(polygons[object].chunks(2)) {
            assert!(is_near(found, &steps.point(scaled(expected))));
        }
        at += 1;
    }
    assert_eq!(at as i64, objects.offsets[row + 1]);
    boxes.len()
}

/// What a comparison saw.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) rows: usize,
    /// Rows with left and right exchanged.
    pub(crate) flipped: usize,
    /// Rows that are turned, or seen from the side.
    pub(crate) warped: usize,
    pub(crate) objects: usize,
    pixels: usize,
    /// Pixels of masks that depend on rounding.
    undecided: usize,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.rows += other.rows;
        self.flipped += other.flipped;
        self.warped += other.warped;
        self.objects += other.objects;
        self.pixels += other.pixels;
        self.undecided += other.undecided;
    }
}

/// Compares all fields that follow, in all views of a batch of one dataset.
pub(crate) fn check(batch: &Batch, options: &Options, stored: &[Stored]) -> Counts {
    let mut counts = Counts::default();
    let views = options.views.iter();
    let lists = views.flat_map(|group| iter::repeat_n(&group.transform, group.n_views as usize));
    for (view, list) in lists.enumerate() {
        let geometry = batch.geometry(view).unwrap();
        assert_eq!(geometry.len(), batch.len());
        let Some(Column::Objects(objects)) = batch.view_field(view, "objects") else { panic!() };
        for (row, (sample, geometry)) in batch.samples().iter().zip(geometry).enumerate() {
            let stored = &stored[*sample as usize];
            let (seed, epoch, sample) = (options.seed, batch.epoch(), *sample);
            let key = DrawKey { seed, epoch, sample, occurrence: 0, view: view as u64 };
            let steps =
                Steps { changes: list.draw(stored.size, key).unwrap(), source: stored.size };
            check_geometry(geometry, &steps);
            counts.rows += 1;
            let any = |is: fn(&Change) -> bool| usize::from(steps.changes.iter().any(is));
            counts.flipped += any(|change| matches!(change, Change::HorizontalFlip));
            counts.warped += any(|change| matches!(change, Change::Warp { .. }));
            for (name, values) in [("mask", &stored.mask), ("depth", &stored.depth)] {
                let fill = options.masks.iter().find(|it| it.field == name).map_or(0, |it| it.fill);
                let expected = steps.mask(values, fill);
                assert_eq!(expected.size(), geometry.size);
                let found = row_of(batch.view_field(view, name).unwrap(), row);
                assert_eq!(found.len(), expected.values.len());
                let differs = |(found, expected): (&u16, &Option<u16>)| {
                    expected.is_some_and(|it| it != *found)
                };
                let n_other = found.iter().zip(&expected.values).filter(|it| differs(*it)).count();
                assert_eq!(n_other, 0, "{name} of {:?}: {:?}", steps.source, steps.changes);
                counts.pixels += found.len();
                counts.undecided += expected.values.iter().filter(|it| it.is_none()).count();
            }
            counts.objects += check_objects(objects, row, stored, &steps);
        }
    }
    assert!(counts.undecided * 50 <= counts.pixels, "{counts:?}");
    counts
}

fn check_geometry(geometry: &RowGeometry, steps: &Steps) {
    assert_eq!(geometry.source, steps.source);
    let (width, height) = (f64::from(steps.source.0), f64::from(steps.source.1));
    for corner in [[0.0, 0.0], [width, 0.0], [width / 3.0, height], [width, height / 2.0]] {
        let (found, expected) = (applied(&geometry.matrix, corner), steps.point(corner));
        let is_near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-3);
        assert!(is_near, "{found:?} {expected:?} {:?}", steps.changes);
    }
}
