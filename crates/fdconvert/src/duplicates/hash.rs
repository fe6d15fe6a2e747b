//! The visible content of an image, as 32 x 32 levels and as a hash of 64 bits.
use fdconvert_codec::{Decoder, Reduced, orient, shrink_while};
use fdconvert_core::{Encoded, Limits, Pixels, Result};
use std::sync::LazyLock;

/// Number of rows and columns of levels.
const SIDE: usize = 32;
/// Frequencies in each direction that contribute to the hash: it has the 64 lowest, without the
/// mean, in the order of the diagonals.
const FREQUENCIES: usize = 11;
/// Frequencies computed in parallel.
const LANES: usize = 16;
/// An image with a smaller standard deviation of its levels shows noise or nothing.
const MIN_CONTRAST: f32 = 2.0;

/// Number of rows and columns of compared levels: blocks of different sizes average to them alike.
const COMPARED: usize = 16;

/// Levels of an image at 16 x 16, from 0 to 4080: sums of 16 parts of a level.
pub(super) type Levels = [u16; COMPARED * COMPARED];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// No hash, because the image has no detail.
    Flat,
    /// The signs of its lowest frequencies.
    Hash(u64),
}

/// Decodes and hashes; keeps its memory from image to image.
#[derive(Default)]
pub(super) struct Looker {
    decoder: Decoder,
    memory: Vec<u8>,
    /// Rows of 32 columns each.
    rows: Vec<[f32; SIDE]>,
    luma: Vec<f32>,
}

impl Looker {
    /// Returns the hash of an image's content.
    pub(super) fn hash(&mut self, key: &str, image: &Encoded, limits: &Limits) -> Result<Seen> {
        Ok(hash(&self.means(key, image, limits)?))
    }

    /// Returns the levels of an image for a comparison.
    pub(super) fn levels(&mut self, key: &str, image: &Encoded, limits: &Limits) -> Result<Levels> {
        let means = self.means(key, image, limits)?;
        let mut levels = [0; COMPARED * COMPARED];
        let pairs = means.chunks_exact(SIDE / COMPARED);
        for (line, pair) in levels.chunks_exact_mut(COMPARED).zip(pairs) {
            for (column, level) in line.iter_mut().enumerate() {
                let columns = column * SIDE / COMPARED..(column + 1) * SIDE / COMPARED;
                let parts = pair.iter().filter_map(|line| line.get(columns.clone())).flatten();
                *level = (parts.sum::<f32>() * 4.0).round().clamp(0.0, 4080.0) as u16;
            }
        }
        Ok(levels)
    }

    /// Returns the mean luma in each of 32 x 32 equal parts of the upright image.
    fn means(
        &mut self,
        key: &str,
        image: &Encoded,
        limits: &Limits,
    ) -> Result<[[f32; SIDE]; SIDE]> {
        let least = image.width.min(image.height);
        let shrink = shrink_while(|by| least / by >= SIDE as u32);
        let memory = std::mem::take(&mut self.memory);
        let found = self.decoder.decode_reduced_luma(key, image, limits, shrink, memory)?;
        let orientation = found.header.orientation;
        let means = self.average(&found);
        self.memory = found.pixels.data;
        Ok(if orientation == 1 { means } else { turned(&means, orientation) })
    }

    fn average(&mut self, found: &Reduced) -> [[f32; SIDE]; SIDE] {
        let Pixels { width, height, channels, data } = &found.pixels;
        let by = f32::from(found.shrink);
        let columns = spans(*width as usize, found.header.width as f32 / by);
        self.rows.clear();
        let n_channels = usize::from(*channels).max(1);
        for row in data.chunks_exact((*width as usize * n_channels).max(1)) {
            self.luma.clear();
            if n_channels < 3 {
                self.luma.extend(row.iter().map(|level| f32::from(*level)));
            } else {
                self.luma.extend(row.chunks_exact(n_channels).map(luma));
            }
            self.rows.push(columns.map(|span| span.mean(|at| self.luma.get(at).copied())));
        }
        let lines = spans(*height as usize, found.header.height as f32 / by);
        let mut means = [[0.0; SIDE]; SIDE];
        for (line, span) in means.iter_mut().zip(lines) {
            for (column, mean) in line.iter_mut().enumerate() {
                *mean = span.mean(|at| self.rows.get(at)?.get(column).copied());
            }
        }
        means
    }
}

/// Returns the luma of JPEG, in whole parts of 256.
fn luma(pixel: &[u8]) -> f32 {
    match pixel {
        [red, green, blue, ..] => {
            let sum = 77 * u32::from(*red) + 150 * u32::from(*green) + 29 * u32::from(*blue);
            sum as f32 / 256.0
        }
        _ => 0.0,
    }
}

/// The cells that one of 32 equal parts covers, the first and the last in part.
#[derive(Debug, Clone, Copy)]
struct Span {
    first: usize,
    last: usize,
    first_weight: f32,
    last_weight: f32,
    length: f32,
}

/// Returns the parts of `n_cells` cells; the last may extend beyond the image, like the edge of a
/// block.
fn spans(n_cells: usize, length: f32) -> [Span; SIDE] {
    let step = length / SIDE as f32;
    std::array::from_fn(|part| {
        let (from, to) = (part as f32 * step, ((part + 1) as f32 * step).min(n_cells as f32));
        let first = (from as usize).min(n_cells.saturating_sub(1));
        let last = ((to.ceil() as usize).max(1) - 1).clamp(first, n_cells.saturating_sub(1));
        let first_weight = to.min((first + 1) as f32) - from;
        let last_weight = if last > first { to - last as f32 } else { 0.0 };
        Span { first, last, first_weight, last_weight, length: to - from }
    })
}

impl Span {
    fn mean(&self, cell: impl Fn(usize) -> Option<f32>) -> f32 {
        let cell = |at: usize| cell(at).unwrap_or(0.0);
        let mut sum = cell(self.first) * self.first_weight;
        if self.last > self.first {
            (self.first + 1..self.last).for_each(|at| sum += cell(at));
            sum += cell(self.last) * self.last_weight;
        }
        sum / self.length.max(f32::MIN_POSITIVE)
    }
}

/// Turns the levels of an image by its EXIF orientation.
fn turned(means: &[[f32; SIDE]; SIDE], orientation: u8) -> [[f32; SIDE]; SIDE] {
    // Positions are turned instead, because there are too many levels for one byte.
    let side = SIDE as u32;
    let upright = |place: fn(usize) -> usize| {
        let data = (0..SIDE * SIDE).map(|at| place(at) as u8).collect();
        orient(Pixels { width: side, height: side, channels: 1, data }, orientation)
    };
    let (rows, columns) = (upright(|at| at / SIDE), upright(|at| at % SIDE));
    let at = |x: usize, y: usize| {
        let place = y * SIDE + x;
        let row = rows.data.get(place).copied().map_or(0, usize::from);
        let column = columns.data.get(place).copied().map_or(0, usize::from);
        means.get(row).and_then(|line| line.get(column)).copied().unwrap_or(0.0)
    };
    std::array::from_fn(|y| std::array::from_fn(|x| at(x, y)))
}

/// The DCT of type 2 without its scale, which would change all frequencies alike.
static COSINES: LazyLock<[[f32; LANES]; SIDE]> = LazyLock::new(|| {
    std::array::from_fn(|place| {
        std::array::from_fn(|frequency| {
            let angle =
                std::f64::consts::PI * (place as f64 + 0.5) * frequency as f64 / SIDE as f64;
            angle.cos() as f32
        })
    })
});

fn hash(means: &[[f32; SIDE]; SIDE]) -> Seen {
    let n_levels = (SIDE * SIDE) as f32;
    let mean = means.as_flattened().iter().sum::<f32>() / n_levels;
    let square = |level: &f32| (level - mean) * (level - mean);
    let variance = means.as_flattened().iter().map(square).sum::<f32>() / n_levels;
    if variance < MIN_CONTRAST * MIN_CONTRAST {
        return Seen::Flat;
    }
    let cosines = &*COSINES;
    // By row and frequency of the columns, then by both frequencies.
    let mut across = [[0.0_f32; LANES]; SIDE];
    for (sums, line) in across.iter_mut().zip(means) {
        for (level, cosines) in line.iter().zip(cosines) {
            sums.iter_mut().zip(cosines).for_each(|(sum, cosine)| *sum += (level - mean) * cosine);
        }
    }
    let mut both = [[0.0_f32; LANES]; FREQUENCIES];
    for (down, sums) in both.iter_mut().enumerate() {
        for (line, cosines) in across.iter().zip(cosines) {
            sums.iter_mut().zip(line).for_each(|(sum, value)| *sum += value * cosines[down]);
        }
    }
    let mut lowest = [0.0_f32; 64];
    let diagonals = (1..FREQUENCIES).flat_map(|sum| (0..=sum).map(move |down| (down, sum - down)));
    for (value, (down, across)) in lowest.iter_mut().zip(diagonals) {
        *value = both[down][across];
    }
    let mut sorted = lowest;
    sorted.sort_unstable_by(f32::total_cmp);
    let median = sorted[31];
    // Neighbouring frequencies go to different bands of the hash, which are used to find others.
    let bits = lowest
        .iter()
        .enumerate()
        .map(|(number, value)| u64::from(*value > median) << (number % 4 * 16 + number / 4));
    Seen::Hash(bits.fold(0, |all, bit| all | bit))
}

/// Parts of a level in [`Levels`].
const LEVEL: i64 = 16;
/// Largest difference between levels of the same image after re-encoding and resizing, as a root
/// mean square.
const MAX_DIFFERENCE: f64 = 8.0;
/// The same as a share of the standard deviation of its levels.
const MAX_SHARE: f64 = 0.2;

/// Returns true if two images have the same content, at any brightness.
pub(super) fn is_same(a: &Levels, b: &Levels) -> bool {
    let (difference, share) = differences(a, b);
    difference <= MAX_DIFFERENCE && share <= MAX_SHARE
}

/// Returns the root mean square of the difference of two images, without that of their means, and
/// its share of the smaller of their standard deviations.
pub(super) fn differences(a: &Levels, b: &Levels) -> (f64, f64) {
    let (mut sums, mut squares, mut squared_differences) = ([0_i64; 2], [0_i64; 2], 0_i64);
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (i64::from(*a), i64::from(*b));
        sums = [sums[0] + a, sums[1] + b];
        squares = [squares[0] + a * a, squares[1] + b * b];
        squared_differences += (a - b) * (a - b);
    }
    let n = (COMPARED * COMPARED) as i64;
    let spread = |sum: i64, square: i64| ((n * square - sum * sum) as f64).max(0.0).sqrt();
    let difference = spread(sums[0] - sums[1], squared_differences);
    let contrast = spread(sums[0], squares[0]).min(spread(sums[1], squares[1]));
    (difference / (n * LEVEL) as f64, difference / contrast.max(1.0))
}
