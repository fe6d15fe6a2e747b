use fdconvert_core::Pixels;

/// A picture of two values. Bit `x % 64` of word `x / 64` of a row is pixel `x`; rows start at a
/// word, and the bits beyond the last column are zero.
///
/// Rows lie as they are computed, y upwards: the original turns its canvas top to bottom before
/// it writes it (see [`Flip`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bitmap {
    width: u32,
    height: u32,
    words: Vec<u64>,
}

/// Bits of a word.
pub(crate) const WORD: usize = 64;

impl Bitmap {
    /// An empty bitmap.
    #[must_use]
    pub fn new(width: u32, height: u32) -> Self {
        let words = vec![0; (width as usize).div_ceil(WORD) * height as usize];
        Self { width, height, words }
    }

    /// Columns.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Rows.
    #[must_use]
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Words that a row takes.
    #[must_use]
    pub fn row_words(&self) -> usize {
        (self.width as usize).div_ceil(WORD)
    }

    /// All rows.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// All rows, to write. Whoever does leaves the bits beyond the last column zero.
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Pixel (x, y); false outside.
    #[must_use]
    pub fn get(&self, x: u32, y: u32) -> bool {
        if x >= self.width || y >= self.height {
            return false;
        }
        let word = y as usize * self.row_words() + x as usize / WORD;
        self.words.get(word).is_some_and(|word| word >> (x as usize % WORD) & 1 == 1)
    }

    /// Sets pixel (x, y); nothing outside.
    pub fn set(&mut self, x: u32, y: u32) {
        if x >= self.width || y >= self.height {
            return;
        }
        let word = y as usize * self.row_words() + x as usize / WORD;
        if let Some(word) = self.words.get_mut(word) {
            *word |= 1 << (x as usize % WORD);
        }
    }

    /// Pixels that are set.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Share of the pixels that are set, 0 to 1.
    #[must_use]
    pub fn fill(&self) -> f64 {
        self.count() as f64 / (f64::from(self.width) * f64::from(self.height)).max(1.0)
    }

    /// The bitmap turned over into `out`, which is given the same size.
    pub fn flip_into(&self, flip: Flip, out: &mut Self) {
        let row_words = self.row_words();
        (out.width, out.height) = (self.width, self.height);
        out.words.resize(self.words.len(), 0);
        let spare = row_words * WORD - self.width as usize;
        let rows = self.words.chunks_exact(row_words.max(1)).enumerate();
        for (y, row) in rows {
            let y = if flip.top_bottom() { self.height as usize - 1 - y } else { y };
            let Some(target) = out.words.get_mut(y * row_words..(y + 1) * row_words) else {
                return;
            };
            if !flip.left_right() {
                target.copy_from_slice(row);
                continue;
            }
            let mut reversed = row.iter().rev().map(|word| word.reverse_bits()).peekable();
            for word in target {
                let low = reversed.next().unwrap_or(0);
                let high = reversed.peek().copied().unwrap_or(0);
                *word = if spare == 0 { low } else { low >> spare | high << (WORD - spare) };
            }
        }
    }

    /// Pixels of one channel: `on` where a bit is set, else 0.
    #[must_use]
    pub fn to_gray(&self, on: u8) -> Pixels {
        let mut data = Vec::with_capacity(self.width as usize * self.height as usize);
        for row in self.words.chunks_exact(self.row_words().max(1)) {
            let bits = row.iter().flat_map(|word| (0..WORD).map(move |bit| word >> bit & 1 == 1));
            data.extend(bits.take(self.width as usize).map(|bit| if bit { on } else { 0 }));
        }
        Pixels { width: self.width, height: self.height, channels: 1, data }
    }
}

/// The four files that the original writes of every image, in its order. It turns the canvas top
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
    /// All four, in order.
    pub const ALL: [Self; 4] = [Self::Flip0, Self::Flip1, Self::Flip2, Self::Flip3];

    /// Whether the canvas, whose y goes upwards, is turned top to bottom.
    #[must_use]
    pub fn top_bottom(self) -> bool {
        matches!(self, Self::Flip0 | Self::Flip2)
    }

    /// Whether it is turned left to right.
    #[must_use]
    pub fn left_right(self) -> bool {
        matches!(self, Self::Flip2 | Self::Flip3)
    }
}
