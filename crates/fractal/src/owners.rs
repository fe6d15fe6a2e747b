use crate::bitmap::{Bitmap, Flip, WORD};
use crate::exact::{N_HUES, PALETTE};
use fdconvert_core::Pixels;

/// The point that each pixel shows, for colour draws: the hue follows the number of the last point.
/// Rows are in the order of [`Bitmap`](crate::Bitmap), y upwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owners {
    /// Number of columns.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
    /// Row-major: 0 for a pixel without points, else 1 + the number of its last point.
    pub ordinals: Vec<u32>,
}

impl Owners {
    /// Returns the pixels with points.
    #[must_use]
    pub fn coverage(&self) -> Bitmap {
        let mut bitmap = Bitmap::new(self.width, self.height);
        for (y, row) in (0..self.height).zip(self.rows()) {
            for (x, _) in (0..self.width).zip(row).filter(|&(_, &ordinal)| ordinal != 0) {
                bitmap.set(x, y);
            }
        }
        bitmap
    }

    /// Returns RGB pixels, every point in the hue of its number, as in FractalDB's `point_color`
    /// (hirokatsukataoka16/FractalDB-Pretrained-ResNet-PyTorch, MIT).
    #[must_use]
    pub fn point_color(&self, flip: Flip) -> Pixels {
        // Pixels without points are black, whatever the coin.
        self.paint(flip, |_| std::iter::repeat(u64::MAX))
    }

    /// Returns RGB pixels, every point as a patch of 3x3 random pixels in the hue of its number, in
    /// the manner of FractalDB's `patch_color` (the same source).
    ///
    /// A patch is one to three pixels beyond its point, and overwrites earlier patches. So a pixel
    /// shows the last of the nine points that reach it, if its bit in `coin`, which has the same
    /// size and is not turned, is set. Pixels outside `coin` are black.
    #[must_use]
    pub fn patch_color(&self, coin: &Bitmap, flip: Flip) -> Pixels {
        let row_words = coin.row_words();
        let row = |y: usize| coin.words().get(y * row_words..(y + 1) * row_words).unwrap_or(&[]);
        self.patches().paint(flip, |y| row(y).iter().copied().chain(std::iter::repeat(0)))
    }

    /// Returns the last point with a patch that reaches each pixel: a maximum over the three
    /// columns before, then over the three rows before.
    fn patches(&self) -> Self {
        let width = (self.width as usize).max(1);
        let mut wide = vec![0; self.ordinals.len()];
        for (wide, row) in wide.chunks_exact_mut(width).zip(self.rows()) {
            for reach in 1..=REACH {
                raise(wide.get_mut(reach..).unwrap_or_default(), row);
            }
        }
        let mut ordinals = vec![0; wide.len()];
        for reach in 1..=REACH {
            raise(ordinals.get_mut(reach * width..).unwrap_or_default(), &wide);
        }
        Self { width: self.width, height: self.height, ordinals }
    }

    /// Returns the hues of the owners where the bit of `coin`, which yields the words of a row, is
    /// set.
    fn paint<I: Iterator<Item = u64>>(&self, flip: Flip, coin: impl Fn(usize) -> I) -> Pixels {
        // Ordinals start at 1; 0 is black.
        let mut hues = [[0; 3]; N_HUES + 1];
        for (hue, color) in hues.iter_mut().skip(1).zip(&*PALETTE) {
            *hue = *color;
        }
        let mut data = vec![0; 3 * self.ordinals.len()];
        let (pixels, _) = data.as_chunks_mut::<3>();
        let n_rows = self.rows().len();
        let targets = pixels.chunks_exact_mut((self.width as usize).max(1)).enumerate();
        for (y, target) in targets {
            let y = if flip.top_bottom() { n_rows.saturating_sub(1 + y) } else { y };
            let bits = coin(y).flat_map(|word| (0..WORD).map(move |bit| word >> bit & 1));
            let row = self.rows().nth(y).unwrap_or(&[]);
            // Without a branch, because the coin is random and would be mispredicted.
            let colors = row.iter().zip(bits).map(|(&ordinal, bit)| {
                let shown = ordinal & (bit as u32).wrapping_neg();
                let hue = shown.wrapping_sub(1) as usize % N_HUES + 1;
                hues[if shown == 0 { 0 } else { hue }]
            });
            if flip.left_right() {
                target.iter_mut().rev().zip(colors).for_each(|(pixel, color)| *pixel = color);
            } else {
                target.iter_mut().zip(colors).for_each(|(pixel, color)| *pixel = color);
            }
        }
        Pixels { width: self.width, height: self.height, channels: 3, data }
    }

    fn rows(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.ordinals.chunks_exact((self.width as usize).max(1))
    }
}

/// Distance in columns and rows from a point to the end of its patch.
const REACH: usize = 3;

/// Raises each of `ordinals` to at least that of `others`, up to the shorter length.
fn raise(ordinals: &mut [u32], others: &[u32]) {
    for (ordinal, &other) in ordinals.iter_mut().zip(others) {
        *ordinal = other.max(*ordinal);
    }
}
