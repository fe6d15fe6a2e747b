//! Objects in pixels of their rows.
use super::{RunLengthMasks, path::Path};
use fdconvert_core::{Error, Result, RunLengths, objects::Annotations};

/// Image field with pixel labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaskOptions {
    /// Name of the field.
    pub field: String,
    /// Value where the image was padded or turned away from.
    pub fill: u16,
}

impl MaskOptions {
    /// Creates options for a field, with 0 around the image.
    #[must_use]
    pub fn of(field: impl Into<String>) -> Self {
        Self { field: field.into(), fill: 0 }
    }
}

/// Choice of the field with the objects of a sample's image, and their treatment.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectOptions {
    /// Name of a JSON field in the form of [`Annotations`].
    pub field: String,
    /// Smallest side of a box in pixels of the row. Objects with smaller boxes are left out with
    /// all their annotations, like torchvision's `SanitizeBoundingBoxes(min_size=...)`.
    pub min_box: f32,
    /// For each keypoint, the one that replaces it when left and right are exchanged: left and
    /// right eyes, for example. Empty to keep their order.
    pub keypoint_flip: Vec<usize>,
    /// Show polygons, and masks stored as run lengths.
    pub segmentations: bool,
}

impl ObjectOptions {
    /// Creates options for the objects of a field, with boxes of at least one pixel.
    #[must_use]
    pub fn of(field: impl Into<String>) -> Self {
        let (field, keypoint_flip) = (field.into(), Vec::new());
        Self { field, min_box: 1.0, keypoint_flip, segmentations: true }
    }

    /// Refuses options that do not work for rows of that size.
    ///
    /// # Errors
    /// `Usage`, with the name of the option.
    pub(crate) fn check(&self, (width, height): (u32, u32)) -> Result<()> {
        if !(0.0..=width.min(height) as f32).contains(&self.min_box) {
            let what = format!(
                "{} is not the side of a box in rows of {width}x{height} pixels",
                self.min_box
            );
            return Err(Error::usage("min_box", what));
        }
        let mut sorted = self.keypoint_flip.clone();
        sorted.sort_unstable();
        if !sorted.iter().copied().eq(0..sorted.len()) {
            let what = format!("{:?} does not name each keypoint once", self.keypoint_flip);
            return Err(Error::usage("keypoint_flip", what));
        }
        Ok(())
    }
}

/// Objects of all rows of a batch, one after the other, in pixels of the rows.
///
/// If a document lacks a list that another document of the batch has, its objects have -1 for
/// `category` and `id`, 0 for `iscrowd`, NaN for `area`, and zero, invisible keypoints.
#[derive(Debug, Clone, PartialEq)]
pub struct Objects {
    /// Offset of each row's first object, followed by the number of objects.
    pub offsets: Vec<i64>,
    /// Left, top, right and bottom, within the row.
    pub boxes: Vec<[f32; 4]>,
    /// Class of each object.
    pub category: Vec<i64>,
    /// Areas as stored, not those of the shown part.
    pub area: Option<Vec<f32>>,
    /// 1 for groups that are not annotated separately.
    pub iscrowd: Option<Vec<i64>>,
    /// Annotation numbers as stored.
    pub id: Option<Vec<i64>>,
    /// Keypoints of each object.
    pub keypoints: Option<Keypoints>,
    /// Polygons of all objects.
    pub polygons: Option<Polygons>,
    /// Masks of the objects with run lengths.
    pub run_lengths: Option<RunLengthMasks>,
}

/// Keypoints, the same number for each object.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Keypoints {
    /// Number of keypoints of each object.
    pub per_object: usize,
    /// x, y and visibility, object by object; the visibility is 0 for keypoints outside the row,
    /// which keep their coordinates.
    pub points: Vec<[f32; 3]>,
}

/// Polygons, which may extend beyond their row.
#[derive(Debug, Clone, PartialEq)]
pub struct Polygons {
    /// x and y, polygon by polygon.
    pub points: Vec<[f32; 2]>,
    /// Offset of each polygon's first point, followed by the number of points.
    pub offsets: Vec<i64>,
    /// Object of each polygon, as an index into the boxes.
    pub objects: Vec<i64>,
}

/// Limit on the keypoint numbers in a batch: beyond it, they would take too much memory.
const MAX_KEYPOINTS: usize = 1 << 28;

impl Default for Objects {
    fn default() -> Self {
        Self {
            offsets: vec![0],
            boxes: Vec::new(),
            category: Vec::new(),
            area: None,
            iscrowd: None,
            id: None,
            keypoints: None,
            polygons: None,
            run_lengths: None,
        }
    }
}

impl Default for Polygons {
    fn default() -> Self {
        Self { points: Vec::new(), offsets: vec![0], objects: Vec::new() }
    }
}

/// Transforms objects to a row; the result has this one row.
///
/// # Errors
/// The reason why they cannot be shown: a number of keypoints that does not fit the exchange,
/// or masks that do not fit the image.
pub(super) fn in_row(
    objects: &Annotations,
    path: &mut Path<'_>,
    options: &ObjectOptions,
) -> Result<Objects, String> {
    let source = path.source();
    let (width, height) = (f64::from(source.0), f64::from(source.1));
    let scale = objects.size.map_or([1.0; 2], |size| [width / size[0], height / size[1]]);
    let scaled = |[x, y]: [f64; 2]| [x * scale[0], y * scale[1]];
    let boxes: Vec<_> = objects
        .boxes
        .iter()
        .map(|&[x, y, width, height]| {
            path.rectangle(scaled([x, y]), scaled([x + width, y + height]))
        })
        .collect();
    let kept: Vec<bool> = boxes
        .iter()
        .map(|[left, top, right, bottom]| {
            let smallest = (right - left).min(bottom - top);
            smallest >= options.min_box && smallest > 0.0
        })
        .collect();
    let n_kept = kept.iter().filter(|is| **is).count();
    let keypoints = match &objects.keypoints {
        Some(lists) => {
            let moved = |[x, y, visibility]: [f64; 3]| {
                let [x, y] = scaled([x, y]);
                path.keypoint([x, y, visibility])
            };
            let flip = &options.keypoint_flip;
            Some(keypoints(only(lists, &kept), flip, path.is_mirrored(), moved)?)
        }
        None => None,
    };
    let polygons = objects.polygons.as_ref().map(|lists| {
        let moved = |point| path.point(scaled(point)).map(|at| at as f32);
        polygons(only(lists, &kept), moved)
    });
    let run_lengths = match &objects.run_lengths {
        Some(masks) => {
            if objects.size.is_none() {
                check_size(masks, source)?;
            }
            let masks: Vec<_> = only(masks, &kept).collect();
            Some(RunLengthMasks::of_row(&masks, path)?)
        }
        None => None,
    };
    Ok(Objects {
        offsets: vec![0, n_kept as i64],
        boxes: only(&boxes, &kept).copied().collect(),
        category: match &objects.classes.numbers {
            Some(numbers) => only(numbers, &kept).copied().collect(),
            None => vec![-1; n_kept],
        },
        area: objects.area.as_ref().map(|it| only(it, &kept).map(|it| *it as f32).collect()),
        iscrowd: objects.iscrowd.as_ref().map(|flags| only(flags, &kept).copied().collect()),
        id: objects.id.as_ref().map(|ids| only(ids, &kept).copied().collect()),
        keypoints,
        polygons,
        run_lengths,
    })
}

/// Refuses masks of another size than the image, because they consist of its pixels.
fn check_size(masks: &[Option<RunLengths>], (width, height): (u32, u32)) -> Result<(), String> {
    match masks.iter().flatten().map(RunLengths::size).find(|size| *size != [height, width]) {
        Some([high, wide]) => Err(format!(
            "it has run lengths of {wide}x{high} pixels next to an image of {width}x{height}: if \
             the image was resized, give the size of its coordinates as `size`"
        )),
        None => Ok(()),
    }
}

fn only<'a, T>(all: &'a [T], kept: &'a [bool]) -> impl Iterator<Item = &'a T> + Clone {
    all.iter().zip(kept).filter_map(|(it, kept)| kept.then_some(it))
}

fn keypoints<'a>(
    lists: impl Iterator<Item = &'a Vec<[f64; 3]>> + Clone,
    flip: &[usize],
    is_mirrored: bool,
    moved: impl Fn([f64; 3]) -> [f32; 3],
) -> Result<Keypoints, String> {
    let per_object = lists.clone().map(Vec::len).max().unwrap_or_default();
    if !flip.is_empty() && per_object > 0 && per_object != flip.len() {
        let n_named = flip.len();
        return Err(format!(
            "an object has {per_object} keypoints, and `keypoint_flip` names {n_named}"
        ));
    }
    let mut points = Vec::new();
    for list in lists {
        let begin = points.len();
        if is_mirrored && !flip.is_empty() {
            points.extend(flip.iter().filter_map(|at| list.get(*at).copied().map(&moved)));
        } else {
            points.extend(list.iter().copied().map(&moved));
        }
        points.resize(begin + per_object, [0.0; 3]);
    }
    Ok(Keypoints { per_object, points })
}

fn polygons<'a>(
    lists: impl Iterator<Item = &'a Vec<Vec<[f64; 2]>>>,
    moved: impl Fn([f64; 2]) -> [f32; 2],
) -> Polygons {
    let mut all = Polygons::default();
    for (object, list) in lists.enumerate() {
        for polygon in list {
            all.points.extend(polygon.iter().copied().map(&moved));
            all.offsets.push(all.points.len() as i64);
            all.objects.push(object as i64);
        }
    }
    all
}

impl Objects {
    /// Returns the number of rows in the batch.
    #[must_use]
    pub fn n_rows(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Joins the objects of rows; `None` is a row without a sample.
    ///
    /// # Errors
    /// `Usage` if they take too much memory.
    pub(crate) fn of_rows<'a>(
        rows: impl Iterator<Item = Option<&'a Self>> + Clone,
    ) -> Result<Self> {
        let mut all = Self::default();
        let keypoints = rows.clone().flatten().filter_map(|row| row.keypoints.as_ref());
        if let Some(per_object) = keypoints.map(|row| row.per_object).max() {
            let n_objects: usize = rows.clone().flatten().map(|row| row.boxes.len()).sum();
            if n_objects.checked_mul(per_object).is_none_or(|n| n > MAX_KEYPOINTS) {
                let what = format!("{n_objects} objects of {per_object} keypoints are too many");
                return Err(Error::usage("objects", what));
            }
            all.keypoints = Some(Keypoints { per_object, points: Vec::new() });
        }
        for row in rows {
            if let Some(row) = row {
                all.push(row);
            }
            all.offsets.push(all.boxes.len() as i64);
        }
        Ok(all)
    }

    fn push(&mut self, row: &Self) {
        let (n_before, n_more) = (self.boxes.len(), row.boxes.len());
        append(&mut self.area, row.area.as_deref(), n_before, n_more, f32::NAN);
        append(&mut self.iscrowd, row.iscrowd.as_deref(), n_before, n_more, 0);
        append(&mut self.id, row.id.as_deref(), n_before, n_more, -1);
        self.category.extend(&row.category);
        if let Some(Keypoints { per_object, points }) = &mut self.keypoints {
            match &row.keypoints {
                Some(row) if row.per_object > 0 => {
                    for object in row.points.chunks_exact(row.per_object) {
                        let begin = points.len();
                        points.extend(object);
                        points.resize(begin + *per_object, [0.0; 3]);
                    }
                }
                _ => points.resize(points.len() + n_more * *per_object, [0.0; 3]),
            }
        }
        if let Some(row) = &row.polygons {
            let all = self.polygons.get_or_insert_default();
            let begin = all.points.len() as i64;
            all.points.extend(&row.points);
            all.offsets.extend(row.offsets.iter().skip(1).map(|at| at + begin));
            all.objects.extend(row.objects.iter().map(|object| object + n_before as i64));
        }
        if let Some(row) = &row.run_lengths {
            let empty = || RunLengthMasks::empty(row.size);
            self.run_lengths.get_or_insert_with(empty).push(row, n_before);
        }
        self.boxes.extend(&row.boxes);
    }
}

/// Appends a list of a row's objects, if this row or an earlier one has the list.
fn append<T: Copy>(
    all: &mut Option<Vec<T>>,
    row: Option<&[T]>,
    n_before: usize,
    n_more: usize,
    missing: T,
) {
    if row.is_none() && all.is_none() {
        return;
    }
    let all = all.get_or_insert_with(|| vec![missing; n_before]);
    match row {
        Some(row) => all.extend(row),
        None => all.resize(n_before + n_more, missing),
    }
}
