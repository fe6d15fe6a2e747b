//! Bits to RGB, eight pixels at a time.

/// Two colours, prepared for [`expand`](Self::expand).
pub(super) struct TwoColors {
    /// Eight pixels of the colour of a bit that is 0.
    zeros: [u64; 3],
    /// Mask that turns them into eight pixels of the other colour by XOR.
    difference: [u64; 3],
}

impl TwoColors {
    /// Prepares the colours of a 0 bit and of a 1 bit: red, green, blue.
    pub(super) fn new([zero, one]: [[u8; 3]; 2]) -> Self {
        let (zeros, ones) = (eight(zero), eight(one));
        let mut difference = zeros;
        difference.iter_mut().zip(ones).for_each(|(word, ones)| *word ^= ones);
        Self { zeros, difference }
    }

    /// Writes the pixels from column `x` of a row of bits, as many as fit into `to`. Pixels beyond
    /// the row are not written.
    pub(super) fn expand(&self, row: &[u8], x: usize, to: &mut [u8]) {
        let mut bytes = row.get(x / 8..).unwrap_or_default().iter();
        let skipped = x % 8 * 3;
        let n_first = if skipped == 0 { 0 } else { to.len().min(24 - skipped) };
        let (first, to) = to.split_at_mut(n_first);
        if !first.is_empty()
            && let Some(byte) = bytes.next()
        {
            let pixels = self.pixels(*byte);
            first.iter_mut().zip(pixels.iter().skip(skipped)).for_each(|(to, from)| *to = *from);
        }
        let (whole, rest) = to.as_chunks_mut::<24>();
        for (to, byte) in whole.iter_mut().zip(bytes.by_ref()) {
            *to = self.pixels(*byte);
        }
        if let Some(byte) = bytes.next() {
            rest.iter_mut().zip(self.pixels(*byte)).for_each(|(to, from)| *to = from);
        }
    }

    fn pixels(&self, bits: u8) -> [u8; 24] {
        let ones = SPREAD.get(usize::from(bits)).unwrap_or(&[0; 3]);
        let mut pixels = [0; 24];
        let words = pixels.as_chunks_mut::<8>().0.iter_mut();
        for (((to, ones), difference), zeros) in
            words.zip(ones).zip(self.difference).zip(self.zeros)
        {
            *to = (ones & difference ^ zeros).to_le_bytes();
        }
        pixels
    }
}

/// Returns the bytes of eight pixels of this colour.
fn eight(color: [u8; 3]) -> [u64; 3] {
    let bytes = [color; 8];
    let words = bytes.as_flattened().as_chunks::<8>().0;
    let mut eight = [0; 3];
    eight.iter_mut().zip(words).for_each(|(word, bytes)| *word = u64::from_le_bytes(*bytes));
    eight
}

/// For every byte: three bytes of ones for each of its bits, starting with the leftmost pixel,
/// which is the highest bit.
static SPREAD: [[u64; 3]; 256] = {
    let mut table = [[0; 3]; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut at = 0;
        while at < 24 {
            if byte >> (7 - at / 3) & 1 == 1 {
                table[byte][at / 8] |= 0xff << (8 * (at % 8));
            }
            at += 1;
        }
        byte += 1;
    }
    table
};
