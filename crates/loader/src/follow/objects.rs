//! Objects in pixels of their rows.
use super::{RowGeometry, RunLengthMasks, placement::Nearest};
use fdconvert_core::{Error, Result, RunLengths, objects::Annotations};

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
    objects: Annotations,
    (row, nearest): (&RowGeometry, &Nearest),
    options: &ObjectOptions,
) -> Result<Objects, String> {
    let (width, height) = (f64::from(row.source.0), f64::from(row.source.1));
    let [x_scale, y_scale] =
        objects.size.map_or([1.0; 2], |size| [width / size[0], height / size[1]]);
    let moved = Moved { row, scale: [x_scale, y_scale] };
    let boxes: Vec<_> = objects.boxes.iter().map(|it| moved.bounding_box(*it)).collect();
    let kept: Vec<bool> = boxes
        .iter()
        .map(|[left, top, right, bottom]| {
            let smallest = (right - left).min(bottom - top);
            smallest >= options.min_box && smallest > 0.0
        })
        .collect();
    let n_kept = kept.iter().filter(|is| **is).count();
    let keypoints = match objects.keypoints {
        Some(lists) => Some(moved.keypoints(&only(lists, &kept), &options.keypoint_flip)?),
        None => None,
    };
    let run_lengths = match objects.run_lengths {
        Some(masks) => {
            if objects.size.is_none() {
                check_size(&masks, row.source)?;
            }
            Some(RunLengthMasks::of_row(&only(masks, &kept), nearest, row.source)?)
        }
        None => None,
    };
    Ok(Objects {
        offsets: vec![0, n_kept as i64],
        boxes: only(boxes, &kept),
        category: match objects.classes.numbers {
            Some(numbers) => only(numbers, &kept),
            None => vec![-1; n_kept],
        },
        area: objects.area.map(|it| only(it, &kept).into_iter().map(|it| it as f32).collect()),
        iscrowd: objects.iscrowd.map(|flags| only(flags, &kept)),
        id: objects.id.map(|ids| only(ids, &kept)),
        keypoints,
        polygons: objects.polygons.map(|polygons| moved.polygons(&only(polygons, &kept))),
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

fn only<T>(all: Vec<T>, kept: &[bool]) -> Vec<T> {
    all.into_iter().zip(kept).filter_map(|(it, kept)| kept.then_some(it)).collect()
}

/// Moves coordinates of an image into a row.
struct Moved<'a> {
    row: &'a RowGeometry,
    /// From the pixels of the coordinates to those of the image.
    scale: [f64; 2],
}

impl Moved<'_> {
    fn unflipped(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        self.row.unflipped([x * self.scale[0], y * self.scale[1]])
    }

    fn bounding_box(&self, [x, y, width, height]: [f64; 4]) -> [f32; 4] {
        let RowGeometry { size, flipped, .. } = *self.row;
        let (row_width, row_height) = (f64::from(size.0), f64::from(size.1));
        let [mut left, top] = self.unflipped([x, y]);
        let [mut right, bottom] = self.unflipped([x + width, y + height]);
        if flipped {
            (left, right) = (row_width - right, row_width - left);
        }
        let clipped = |at: f64, side: f64| at.clamp(0.0, side) as f32;
        [
            clipped(left, row_width),
            clipped(top, row_height),
            clipped(right, row_width),
            clipped(bottom, row_height),
        ]
    }

    fn keypoints(&self, lists: &[Vec<[f64; 3]>], flip: &[usize]) -> Result<Keypoints, String> {
        let RowGeometry { size, flipped, .. } = *self.row;
        let (width, height) = (f64::from(size.0), f64::from(size.1));
        let per_object = lists.iter().map(Vec::len).max().unwrap_or_default();
        if !flip.is_empty() && per_object > 0 && per_object != flip.len() {
            let n_named = flip.len();
            return Err(format!(
                "an object has {per_object} keypoints, and `keypoint_flip` names {n_named}"
            ));
        }
        let moved = |[x, y, visibility]: [f64; 3]| {
            let [x, y] = self.unflipped([x, y]);
            // Keypoints are pixel indices, not edges between pixels.
            let x = if flipped { width - 1.0 - x } else { x };
            let is_inside = (0.0..width).contains(&x) && (0.0..height).contains(&y);
            [x as f32, y as f32, if is_inside { visibility as f32 } else { 0.0 }]
        };
        let mut points = Vec::new();
        for list in lists {
            let begin = points.len();
            if flipped && !flip.is_empty() {
                points.extend(flip.iter().filter_map(|at| list.get(*at).copied().map(moved)));
            } else {
                points.extend(list.iter().copied().map(moved));
            }
            points.resize(begin + per_object, [0.0; 3]);
        }
        Ok(Keypoints { per_object, points })
    }

    fn polygons(&self, lists: &[Vec<Vec<[f64; 2]>>]) -> Polygons {
        let RowGeometry { size, flipped, .. } = *self.row;
        let mut all = Polygons::default();
        for (object, list) in lists.iter().enumerate() {
            for polygon in list {
                all.points.extend(polygon.iter().map(|point| {
                    let [x, y] = self.unflipped(*point);
                    let x = if flipped { f64::from(size.0) - x } else { x };
                    [x as f32, y as f32]
                }));
                all.offsets.push(all.points.len() as i64);
                all.objects.push(object as i64);
            }
        }
        all
    }
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
