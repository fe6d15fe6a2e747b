use crate::Pixels;

/// A gray image of two levels, one bit per pixel, as formulas draw them.
///
/// Rows are padded to whole bytes, the leftmost pixel is the most significant bit, and the bits
/// beyond the last column are zero. This is PNG's order, so a 1-bit PNG compresses these bytes
/// directly. It also takes an eighth of the memory traffic of one byte per pixel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bilevel {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Gray levels of bits 0 and 1.
    pub levels: [u8; 2],
    /// [`byte_len`](Self::byte_len) bytes.
    pub bits: Vec<u8>,
}

impl Bilevel {
    /// Returns the bytes of an image of this size, without overflow on 64-bit machines.
    #[must_use]
    pub fn byte_len(width: u32, height: u32) -> u64 {
        u64::from(width.div_ceil(8)) * u64::from(height)
    }

    /// Refuses bits of the wrong length, and bits set beyond the last column: they would be stored
    /// without being pixels.
    ///
    /// # Errors
    /// A description of the fault.
    pub fn check(&self) -> Result<(), String> {
        let Self { width, height, .. } = *self;
        let (found, expected) = (self.bits.len() as u64, Self::byte_len(width, height));
        if found != expected {
            return Err(format!("{width}x{height} bits are {expected} bytes, not {found}"));
        }
        let beyond = if width.is_multiple_of(8) { 0 } else { 0xff_u8 >> (width % 8) };
        if self.rows().filter_map(<[u8]>::last).any(|last| last & beyond != 0) {
            return Err("bits beyond the last column are set".into());
        }
        Ok(())
    }

    /// Expands to one byte per pixel, in one channel.
    #[must_use]
    pub fn to_pixels(&self) -> Pixels {
        let mut data = Vec::new();
        self.expand_into(&mut data);
        Pixels { width: self.width, height: self.height, channels: 1, data }
    }

    /// Writes the data of [`to_pixels`](Self::to_pixels) to `out`, replacing its contents. Rows
    /// that are missing from `bits` become zeros.
    ///
    /// Works by byte, through a table: 5 us for 362x362, compared with 93 us bit by bit.
    pub fn expand_into(&self, out: &mut Vec<u8>) {
        let width = self.width as usize;
        let [zero, one] = self.levels;
        let zeros = u64::from_be_bytes([zero; 8]);
        let difference = zeros ^ u64::from_be_bytes([one; 8]);
        let expand = |bits: &u8| {
            let ones = SPREAD.get(usize::from(*bits)).copied().unwrap_or(0);
            (ones & difference ^ zeros).to_be_bytes()
        };
        out.clear();
        out.resize(width * self.height as usize, 0);
        for (bits, row) in self.rows().zip(out.chunks_exact_mut(width.max(1))) {
            let (whole, rest) = row.as_chunks_mut::<8>();
            for (pixels, bits) in whole.iter_mut().zip(bits) {
                *pixels = expand(bits);
            }
            if let Some(pixels) = bits.get(whole.len()).map(expand) {
                rest.iter_mut().zip(pixels).for_each(|(to, from)| *to = from);
            }
        }
    }

    fn rows(&self) -> impl Iterator<Item = &[u8]> {
        // `chunks_exact` needs a positive size.
        self.bits.chunks_exact((self.width.div_ceil(8) as usize).max(1))
    }
}

/// Maps every byte to eight bytes, one per bit from the highest on: 1 for a set bit.
static SPREAD: [u64; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                table[byte] |= 0xff << (8 * bit);
            }
            bit += 1;
        }
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The simple implementation, as a reference for the fast one.
    fn slow(image: &Bilevel) -> Vec<u8> {
        let row_bytes = image.width.div_ceil(8);
        let pixel = |x: u32, y: u32| {
            let byte = image.bits[(y * row_bytes + x / 8) as usize];
            image.levels[usize::from(byte >> (7 - x % 8) & 1)]
        };
        (0..image.height).flat_map(|y| (0..image.width).map(move |x| pixel(x, y))).collect()
    }

    proptest! {
        #[test]
        fn expanding_agrees_with_the_obvious_way(
            (width, height) in (1u32..90, 1u32..9),
            levels: [u8; 2],
            noise in proptest::collection::vec(any::<u8>(), 12 * 8),
        ) {
            let bits = noise[..Bilevel::byte_len(width, height) as usize].to_vec();
            let image = Bilevel { width, height, levels, bits };
            let pixels = image.to_pixels();
            prop_assert_eq!((pixels.width, pixels.height, pixels.channels), (width, height, 1));
            prop_assert_eq!(&pixels.data, &slow(&image));
            // Old contents of the buffer must not matter.
            let mut out = vec![1; 999];
            image.expand_into(&mut out);
            prop_assert_eq!(out, pixels.data);
        }
    }

    #[test]
    fn length_and_spare_bits_are_checked() {
        let check = |width, bits: &[u8]| {
            Bilevel { width, height: 2, levels: [0, 1], bits: bits.into() }.check()
        };
        assert_eq!(check(3, &[0xe0, 0xe0]), Ok(()));
        assert_eq!(check(8, &[0xff, 0xff]), Ok(()));
        assert_eq!(check(9, &[0xff, 0x80, 0xff, 0x80]), Ok(()));
        assert_eq!(check(0, &[]), Ok(()));
        assert!(check(3, &[0xe0, 0xf0]).unwrap_err().contains("beyond"));
        assert!(check(9, &[0xff, 0x80, 0xff, 0x01]).unwrap_err().contains("beyond"));
        assert_eq!(check(9, &[0; 3]).unwrap_err(), "9x2 bits are 4 bytes, not 3");
    }
}
