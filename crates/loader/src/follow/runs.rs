//! Masks as run lengths in the rows that show them, without a pixel in between.
//!
//! COCO's runs go down the columns of a mask. Each column of a row shows one column of the mask, and
//! of that some rows, in their order: so a run of the mask is a run of what is shown of it, and what
//! is looked at are the runs of the columns that are shown. What this costs depends on the row, and
//! not on the size of the mask, which a hostile document may choose.
use super::placement::Nearest;
use fdconvert_core::RunLengths;

/// The masks of objects as run lengths, in pixels of their rows.
#[derive(Debug, Clone, PartialEq)]
pub struct RunLengthMasks {
    /// Height and width of the rows.
    pub size: [u32; 2],
    /// The runs of each mask, which add up to its pixels: down the columns from the left, in turn
    /// outside and inside of the object, beginning outside.
    pub counts: Vec<u32>,
    /// Offset of the first run of each mask, and at the end the number of runs.
    pub offsets: Vec<i64>,
    /// The object that each mask belongs to, by its place in the boxes.
    pub objects: Vec<i64>,
}

/// Runs that the masks of one row may have: far beyond those of a thousand objects, and less memory
/// than the largest document.
const MAX_RUNS: usize = 1 << 24;

impl RunLengthMasks {
    /// Those of a row that shows an image of that size; the masks have one size.
    ///
    /// # Errors
    /// Why they cannot be shown, in words: too many runs.
    pub(super) fn of_row(
        masks: &[Option<RunLengths>],
        nearest: &Nearest,
        source: (u32, u32),
    ) -> Result<Self, String> {
        let mut all = Self::empty(nearest.size());
        let Some(size) = masks.iter().flatten().map(RunLengths::size).next() else {
            return Ok(all);
        };
        let mut shown = Shown::new(nearest, source, size);
        for (mask, object) in masks.iter().zip(0..) {
            let Some(mask) = mask else { continue };
            shown.append(mask.counts(), &mut all.counts);
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

    /// Puts those of another row behind, of which there are `n_before` objects.
    pub(super) fn push(&mut self, row: &Self, n_before: usize) {
        let begin = self.counts.len() as i64;
        self.counts.extend(&row.counts);
        self.offsets.extend(row.offsets.iter().skip(1).map(|at| at + begin));
        self.objects.extend(row.objects.iter().map(|object| object + n_before as i64));
    }

    /// Those of no row yet.
    pub(super) fn empty(size: [u32; 2]) -> Self {
        Self { size, counts: Vec::new(), offsets: vec![0], objects: Vec::new() }
    }
}

/// Part of masks of one size that a row shows.
struct Shown {
    /// Rows of the masks, from the top.
    height: u32,
    /// By column of the row.
    columns: Vec<Option<u32>>,
    /// Rows without a mask, above it and below.
    margins: [u32; 2],
    /// Rows of the mask that stand between them, in their order.
    rows: Vec<u32>,
    /// Ends of the runs of the mask at hand.
    ends: Vec<u32>,
}

impl Shown {
    fn new(nearest: &Nearest, source: (u32, u32), [height, width]: [u32; 2]) -> Self {
        let [columns, rows] = nearest.lines(source, (width, height));
        let nothing = |rows: &mut dyn Iterator<Item = &Option<u32>>| {
            rows.take_while(|row| row.is_none()).count() as u32
        };
        let margins = [nothing(&mut rows.iter()), nothing(&mut rows.iter().rev())];
        let rows = rows.into_iter().flatten().collect();
        Self { height, columns, margins, rows, ends: Vec::new() }
    }

    /// Appends the runs of what is shown of a mask.
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
            // In a column that one run fills, or in the next run of it, there is nothing to search.
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

/// Runs of pixels that are put together.
struct Runs<'a> {
    counts: &'a mut Vec<u32>,
    /// Of the last one, which is not among the counts yet.
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
