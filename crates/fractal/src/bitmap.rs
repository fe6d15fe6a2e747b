use crate::lanes::{Loop, expand, vectorized};
use fdconvert_core::Pixels;

/// A two-level picture. Bit `x % 64` of word `x / 64` of a row is pixel `x`; rows start at a word,
/// and the bits beyond the last column are zero.
///
/// Rows are in the order of computation, y upwards: the original turns its canvas top to bottom
/// before it writes it (see [`Flip`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bitmap {
    width: u32,
    height: u32,
    words: Vec<u64>,
}

pub(crate) const WORD: usize = 64;

impl Bitmap {
    /// Creates an empty bitmap.
    #[must_use]
    pub fn new(width: u32, height: u32) -> Self {
        let words = vec![0; (width as usize).div_ceil(WORD) * height as usize];
        Self { width, height, words }
    }

    /// Returns the number of columns.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Returns the number of words of a row.
    #[must_use]
    pub fn row_words(&self) -> usize {
        (self.width as usize).div_ceil(WORD)
    }

    /// Returns all rows.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns all rows for writing. The caller keeps the bits beyond the last column zero.
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Returns pixel (x, y); false outside.
    #[must_use]
    pub fn get(&self, x: u32, y: u32) -> bool {
        if x >= self.width || y >= self.height {
            return false;
        }
        let word = y as usize * self.row_words() + x as usize / WORD;
        self.words.get(word).is_some_and(|word| word >> (x as usize % WORD) & 1 == 1)
    }

    /// Sets pixel (x, y); does nothing outside.
    pub fn set(&mut self, x: u32, y: u32) {
        if x >= self.width || y >= self.height {
            return;
        }
        let word = y as usize * self.row_words() + x as usize / WORD;
        if let Some(word) = self.words.get_mut(word) {
            *word |= 1 << (x as usize % WORD);
        }
    }

    /// Returns the number of set pixels.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Returns the share of set pixels, 0 to 1.
    #[must_use]
    pub fn fill(&self) -> f64 {
        self.count() as f64 / (f64::from(self.width) * f64::from(self.height)).max(1.0)
    }

    /// Writes the turned bitmap to `out`, which gets the same size.
    pub fn flip_into(&self, flip: Flip, out: &mut Self) {
        out.reshape(self.width, self.height);
        if flip.left_right() {
            vectorized(Reverse { words: &self.words, spare: self.spare(), out: &mut out.words });
        } else {
            out.words.copy_from_slice(&self.words);
        }
        // Reversing all words reverses the rows as well.
        if flip.left_right() != flip.top_bottom() {
            reverse_rows(&mut out.words, self.row_words());
        }
    }

    /// Returns one channel of pixels: `on` where a bit is set, else 0.
    #[must_use]
    pub fn to_gray(&self, on: u8) -> Pixels {
        let mut data = Vec::new();
        self.to_gray_into(on, Flip::Flip1, &mut data);
        Pixels { width: self.width, height: self.height, channels: 1, data }
    }

    /// Writes the turned bitmap as bytes: `on` where a bit is set, else 0. Replaces the content of
    /// `out`.
    pub fn to_gray_into(&self, on: u8, flip: Flip, out: &mut Vec<u8>) {
        self.expand::<1>(on, flip, out);
    }

    /// Writes the turned bitmap as three equal bytes per pixel: `on` where a bit is set, else 0.
    /// Replaces the content of `out`.
    pub fn to_rgb_into(&self, on: u8, flip: Flip, out: &mut Vec<u8>) {
        self.expand::<3>(on, flip, out);
    }

    /// Writes the turned bitmap as PNG stores one bit per pixel: rows of whole bytes, the leftmost
    /// pixel in the highest bit. Replaces the content of `out`.
    pub fn to_msb_rows(&self, flip: Flip, out: &mut Vec<u8>) {
        let row_bytes = (self.width as usize).div_ceil(8);
        out.clear();
        out.reserve(row_bytes * self.height as usize + size_of::<u64>());
        for y in 0..self.height as usize {
            let end = out.len() + row_bytes;
            for i in 0..self.row_words() {
                // Reversed by bits, then by bytes: each byte keeps its place.
                let word = self.flipped_word(flip, y, i).reverse_bits();
                out.extend_from_slice(&word.to_be_bytes());
            }
            out.truncate(end);
        }
    }

    /// Resizes the bitmap. Its content is then undefined, and the caller must clear the bits beyond
    /// the last column.
    pub(crate) fn reshape(&mut self, width: u32, height: u32) {
        (self.width, self.height) = (width, height);
        self.words.resize(self.row_words() * height as usize, 0);
    }

    pub(crate) fn clear_spare(&mut self) {
        let (row_words, spare) = (self.row_words(), self.spare());
        if spare > 0 {
            let last_words = self.words.iter_mut().skip(row_words - 1).step_by(row_words);
            last_words.for_each(|word| *word &= u64::MAX >> spare);
        }
    }

    /// Number of bits of a row beyond the last column.
    fn spare(&self) -> usize {
        self.row_words() * WORD - self.width as usize
    }

    /// Returns word `i` of row `y` of the turned bitmap.
    #[inline(always)]
    fn flipped_word(&self, flip: Flip, y: usize, i: usize) -> u64 {
        let row_words = self.row_words();
        let y = if flip.top_bottom() { self.height as usize - 1 - y } else { y };
        let at = |i: usize| self.words.get(y * row_words + i).copied().unwrap_or(0);
        if !flip.left_right() {
            return at(i);
        }
        let i = row_words - 1 - i;
        reversed(at(i), if i == 0 { 0 } else { at(i - 1) }, self.spare())
    }

    fn expand<const C: usize>(&self, on: u8, flip: Flip, out: &mut Vec<u8>) {
        let row_bytes = self.width as usize * C;
        out.resize(row_bytes * self.height as usize, 0);
        expand::<C>(|y, i| self.flipped_word(flip, y, i), row_bytes, on, out);
    }
}

/// Returns a word of pixels in reverse: `word` without its spare bits, then as much of `before`,
/// the word to its left, as fits.
#[inline(always)]
fn reversed(word: u64, before: u64, spare: usize) -> u64 {
    // In two shifts, because a shift by all 64 bits is not allowed.
    word.reverse_bits() >> spare | before.reverse_bits() << 1 << (WORD - 1 - spare)
}

/// Reverses all words, bit by bit. The spare bits of a row, which are zero, are where the next
/// row's would run over into it.
struct Reverse<'a> {
    words: &'a [u64],
    spare: usize,
    out: &'a mut [u64],
}

impl Loop for Reverse<'_> {
    #[inline(always)]
    fn run(self) {
        let Some((first, others)) = self.words.split_first() else { return };
        let words = others.iter().zip(self.words);
        for (out, (&word, &before)) in self.out.iter_mut().zip(words.rev()) {
            *out = reversed(word, before, self.spare);
        }
        if let Some(last) = self.out.last_mut() {
            *last = reversed(*first, 0, self.spare);
        }
    }
}

fn reverse_rows(words: &mut [u64], row_words: usize) {
    let mut rows = words.chunks_exact_mut(row_words.max(1));
    while let (Some(first), Some(last)) = (rows.next(), rows.next_back()) {
        first.swap_with_slice(last);
    }
}

/// The four files that the original writes for every image, in its order. It turns the canvas top
/// to bottom once before it writes the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flip {
    /// `flip0`: the canvas turned top to bottom.
    Flip0,
    /// `flip1`: turned back.
    Flip1,
    /// `flip2`: turned top to bottom and left to right.
    Flip2,
    /// `flip3`: turned left to right.
    Flip3,
}

impl Flip {
    /// All flips, in order.
    pub const ALL: [Self; 4] = [Self::Flip0, Self::Flip1, Self::Flip2, Self::Flip3];

    /// Returns true if the canvas is turned top to bottom (its y axis points upwards).
    #[must_use]
    pub fn top_bottom(self) -> bool {
        matches!(self, Self::Flip0 | Self::Flip2)
    }

    /// Returns true if it is turned left to right.
    #[must_use]
    pub fn left_right(self) -> bool {
        matches!(self, Self::Flip2 | Self::Flip3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fdconvert_testkit::fixtures::Random;
    use proptest::prelude::*;

    fn random(width: u32, height: u32, seed: u64) -> Bitmap {
        let mut random = Random::new(seed);
        let mut bitmap = Bitmap::new(width, height);
        bitmap.words.fill_with(|| random.next_u64());
        bitmap.clear_spare();
        bitmap
    }

    proptest! {
        #[test]
        fn as_pixel_by_pixel(width in 0_u32..270, height in 0_u32..9, seed: u64) {
            let bitmap = random(width, height, seed);
            let set = |flip: Flip, x, y| {
                let x = if flip.left_right() { width - 1 - x } else { x };
                bitmap.get(x, if flip.top_bottom() { height - 1 - y } else { y })
            };
            let (mut out, mut bytes) = (random(70, 70, seed), vec![1, 2, 3]);
            for flip in Flip::ALL {
                let places = || (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
                let mut expected = Bitmap::new(width, height);
                places().filter(|&(x, y)| set(flip, x, y)).for_each(|(x, y)| expected.set(x, y));
                bitmap.flip_into(flip, &mut out);
                prop_assert_eq!(&out, &expected);

                let gray: Vec<u8> =
                    places().map(|(x, y)| if set(flip, x, y) { 127 } else { 0 }).collect();
                bitmap.to_gray_into(127, flip, &mut bytes);
                prop_assert_eq!(&bytes, &gray);
                if flip == Flip::Flip1 {
                    prop_assert_eq!(bitmap.to_gray(127).data, gray.as_slice());
                }
                bitmap.to_rgb_into(127, flip, &mut bytes);
                prop_assert_eq!(&bytes, &gray.iter().flat_map(|&v| [v; 3]).collect::<Vec<_>>());

                let mut rows = vec![0; (width as usize).div_ceil(8) * height as usize];
                for (x, y) in places().filter(|&(x, y)| set(flip, x, y)) {
                    let byte = y as usize * (width as usize).div_ceil(8) + x as usize / 8;
                    rows[byte] |= 0x80 >> (x % 8);
                }
                bitmap.to_msb_rows(flip, &mut bytes);
                prop_assert_eq!(&bytes, &rows);
            }
        }
    }
}
