//! Masks as run lengths in their rows, transformed without pixels.
//!
//! COCO's runs go down the columns of a mask. Each column of a row shows one column of the mask,
//! and of that column some rows, in order: so a run of the mask becomes a run of its shown part,
//! and only the runs of shown columns matter. The cost depends on the row, not on the size of the
//! mask, which a hostile document may choose.
use super::{path::Path, placement::Nearest};
use fdconvert_core::RunLengths;

/// Masks of objects as run lengths, in pixels of their rows.
#[derive(Debug, Clone, PartialEq)]
pub struct RunLengthMasks {
    /// Height and width of the rows.
    pub size: [u32; 2],
    /// Runs of each mask, which add up to its pixels: down the columns from the left, alternately
    /// outside and inside the object, beginning outside.
    pub counts: Vec<u32>,
    /// Offset of each mask's first run, followed by the number of runs.
    pub offsets: Vec<i64>,
    /// Object of each mask, as an index into the boxes.
    pub objects: Vec<i64>,
}

/// Limit on the runs of the masks of one row: far beyond those of a thousand objects, and less
/// memory than the largest document.
const MAX_RUNS: usize = 1 << 24;

impl RunLengthMasks {
    /// Transforms the masks, which have one size, to a row.
    ///
    /// # Errors
    /// A description of the error: too many runs.
    pub(super) fn of_row(
        masks: &[&Option<RunLengths>],
        path: &mut Path<'_>,
    ) -> Result<Self, String> {
        let (source, row, changes) = (path.source(), path.size(), path.changes());
        let mut all = Self::empty([row.1, row.0]);
        let Some(size) = masks.iter().copied().flatten().map(RunLengths::size).next() else {
            return Ok(all);
        };
        let nearest = path.nearest();
        nearest.reset(source);
        // Up to the first warp, runs are moved as lines, which takes no pixels.
        let n_lines = changes.iter().take_while(|change| nearest.apply(change)).count();
        let rest = if nearest.is_in_order() {
            changes.get(n_lines..).unwrap_or_default()
        } else {
            nearest.reset(source);
            changes
        };
        let between = nearest.size();
        let mut shown = Shown::new(nearest, source, size);
        for (mask, object) in masks.iter().zip(0..) {
            let Some(mask) = mask else { continue };
            if rest.is_empty() {
                shown.append(mask.counts(), &mut all.counts);
            } else {
                let mut counts = Vec::new();
                shown.append(mask.counts(), &mut counts);
                let pixels = pixels(&counts, between);
                let moved = nearest.moved(&pixels, between, rest, [0]);
                append_runs(&moved, row, &mut all.counts);
            }
            if all.counts.len() > MAX_RUNS {
                return Err(format!(
                    "the masks of its objects have more than {MAX_RUNS} run lengths in a row: show \
                     it without segmentations"
                ));
            }
            all.offsets.push(all.counts.len() as i64);
            all.objects.push(object);
        }
        Ok(all)
    }

    /// Appends the masks of another row, after `n_before` objects.
    pub(super) fn push(&mut self, row: &Self, n_before: usize) {
        let begin = self.counts.len() as i64;
        self.counts.extend(&row.counts);
        self.offsets.extend(row.offsets.iter().skip(1).map(|at| at + begin));
        self.objects.extend(row.objects.iter().map(|object| object + n_before as i64));
    }

    /// Creates masks of no rows.
    pub(super) fn empty(size: [u32; 2]) -> Self {
        Self { size, counts: Vec::new(), offsets: vec![0], objects: Vec::new() }
    }
}

/// Returns a byte for each pixel of a mask of this width and height, row by row.
fn pixels(counts: &[u32], (width, height): (u32, u32)) -> Vec<u8> {
    let (width, height) = (width as usize, height as usize);
    let mut pixels = vec![0; width * height];
    let mut at = 0_usize;
    for (run, is_inside) in counts.iter().zip([false, true].into_iter().cycle()) {
        let end = at.saturating_add(*run as usize).min(width * height);
        for place in if is_inside { at..end } else { 0..0 } {
            // Down the columns.
            if let Some(pixel) = pixels.get_mut(place % height * width + place / height) {
                *pixel = 1;
            }
        }
        at = end;
    }
    pixels
}

/// Appends the runs of a mask of this width and height with a byte for each pixel.
fn append_runs(pixels: &[u8], (width, height): (u32, u32), counts: &mut Vec<u32>) {
    let mut runs = Runs { counts, is_inside: false, length: 0 };
    for column in 0..width as usize {
        for row in 0..height as usize {
            let pixel = pixels.get(row * width as usize + column);
            runs.push(pixel.is_some_and(|pixel| *pixel != 0), 1);
        }
    }
    runs.counts.push(runs.length);
}

/// The part of masks of one size that a row shows.
struct Shown {
    /// Number of rows of the masks.
    height: u32,
    /// Column of the mask for each column of the row.
    columns: Vec<Option<u32>>,
    /// Rows of the row's image without a mask, above it and below.
    margins: [u32; 2],
    /// Rows of the mask between the margins, in order.
    rows: Vec<u32>,
    /// Ends of the current mask's runs.
    ends: Vec<u32>,
}

impl Shown {
    fn new(nearest: &Nearest, source: (u32, u32), [height, width]: [u32; 2]) -> Self {
        let [columns, rows] = nearest.lines(source, (width, height));
        let nothing = |rows: &mut dyn Iterator<Item = &Option<u32>>| {
            rows.take_while(|row| row.is_none()).count() as u32
        };
        let above = nothing(&mut rows.iter());
        // A row without any of the image counts once.
        let is_empty = above as usize == rows.len();
        let below = if is_empty { 0 } else { nothing(&mut rows.iter().rev()) };
        let margins = [above, below];
        let rows = rows.into_iter().flatten().collect();
        Self { height, columns, margins, rows, ends: Vec::new() }
    }

    /// Appends the runs of the shown part of a mask.
    fn append(&mut self, mask: &[u32], counts: &mut Vec<u32>) {
        self.ends.clear();
        self.ends.extend(mask.iter().scan(0_u32, |end, run| {
            *end = end.saturating_add(*run);
            Some(*end)
        }));
        let [above, below] = self.margins;
        let mut runs = Runs { counts, is_inside: false, length: 0 };
        for column in &self.columns {
            runs.push(false, above);
            match column {
                Some(column) => self.column(*column, &mut runs),
                None => runs.push(false, self.rows.len() as u32),
            }
            runs.push(false, below);
        }
        runs.counts.push(runs.length);
    }

    fn column(&self, column: u32, runs: &mut Runs<'_>) {
        let begin = column.saturating_mul(self.height);
        let (mut rows, mut ends, mut run) = (&self.rows[..], &self.ends[..], 0);
        while let Some(first) = rows.first() {
            let at = begin.saturating_add(*first);
            // If one run, or the one after it, fills a column, no search is needed.
            let n_before = match ends {
                [first, ..] if *first > at => 0,
                [_, second, ..] if *second > at => 1,
                _ => ends.partition_point(|end| *end <= at),
            };
            run += n_before;
            ends = ends.get(n_before..).unwrap_or_default();
            let end = ends.first().map_or(u32::MAX, |end| end - begin);
            let n_shown = rows.partition_point(|row| *row < end).max(1);
            runs.push(run % 2 == 1, n_shown as u32);
            rows = rows.get(n_shown..).unwrap_or_default();
        }
    }
}

/// Joins adjacent runs of pixels.
struct Runs<'a> {
    counts: &'a mut Vec<u32>,
    /// State of the last run, which is not among the counts yet.
    is_inside: bool,
    length: u32,
}

impl Runs<'_> {
    fn push(&mut self, is_inside: bool, length: u32) {
        if length > 0 && is_inside != self.is_inside {
            self.counts.push(self.length);
            (self.is_inside, self.length) = (is_inside, 0);
        }
        self.length += length;
    }
}
