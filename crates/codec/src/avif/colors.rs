//! From samples to levels of red, green and blue (ITU-T H.273, sections 8.3 and 8.7).
//!
//! Other programs decode AVIFs with libavif, which leaves the common matrices to libyuv. That computes
//! in 64ths of a level with factors of few bits: in the levels of television its blue is up to 14 levels
//! from the exact one in BT.709, and 18 in BT.2020. Here it is as there (`Fixed`), so that a training sees the
//! pixels that it sees through Pillow. Other matrices are exact, as they are in libavif itself.
//!
//! One difference remains: of 12 bits with half the rows and an alpha channel libavif repeats colours,
//! which are interpolated here as everywhere.
use fdconvert_core::probe::AvifColors;

/// Where the levels of samples begin, and how many there are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Range {
    black: f32,
    lumas: f32,
    middle: f32,
    colors: f32,
}

impl Range {
    pub(super) fn of(bits: u8, is_full: bool) -> Self {
        let scale = f32::from(1_u16 << (bits.clamp(8, 12) - 8));
        let middle = 128.0 * scale;
        if is_full {
            let highest = 256.0 * scale - 1.0;
            return Self { black: 0.0, lumas: highest, middle, colors: highest };
        }
        Self { black: 16.0 * scale, lumas: 219.0 * scale, middle, colors: 224.0 * scale }
    }

    /// Returns 0 to 1 for a sample of lumas, and beyond for some.
    pub(super) fn luma(self, sample: u16) -> f32 {
        self.level(sample.into())
    }

    fn level(self, sample: f32) -> f32 {
        (sample - self.black) / self.lumas
    }

    /// Returns -0.5 to 0.5 for a sample of a colour, and beyond for some.
    fn color(self, sample: f32) -> f32 {
        (sample - self.middle) / self.colors
    }
}

/// How lumas and colours become red, green and blue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Matrix {
    /// Samples are green, blue and red.
    Rgb,
    /// YCgCo.
    Ycgco,
    /// By the shares of red and blue in the luma.
    Shares(Shares),
}

/// Shares of red and blue in the luma.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shares {
    red: f32,
    blue: f32,
    /// True if libyuv has factors for it.
    is_common: bool,
}

const BT601: Shares = Shares { red: 0.299, blue: 0.114, is_common: true };
const BT709: Shares = Shares { red: 0.2126, blue: 0.0722, is_common: true };
const BT2020: Shares = Shares { red: 0.2627, blue: 0.0593, is_common: true };
/// Derived from the primaries of Display P3.
const P3: Shares = Shares { red: 0.228_975, blue: 0.079_287, is_common: false };
const FCC: Shares = Shares { red: 0.3, blue: 0.11, is_common: false };
const SMPTE240: Shares = Shares { red: 0.212, blue: 0.087, is_common: false };

impl Matrix {
    pub(super) fn of(colors: AvifColors) -> Result<Self, String> {
        Ok(Self::Shares(match (colors.matrix, colors.primaries) {
            (0, _) => return Ok(Self::Rgb),
            (8, _) => return Ok(Self::Ycgco),
            // 12 follows from the primaries.
            (1, _) | (12, 1 | 2) => BT709,
            (4, _) => FCC,
            // 2 is unspecified: what most images are is assumed.
            (2 | 5 | 6, _) | (12, 5 | 6) => BT601,
            (7, _) => SMPTE240,
            (9, _) | (12, 9) => BT2020,
            (12, 12) => P3,
            (matrix, primaries) => {
                return Err(format!(
                    "its colours are of a kind that is not decoded here (matrix {matrix}, primaries \
                     {primaries} of H.273); convert it first: `avifdec in.avif out.png` (libavif)"
                ));
            }
        }))
    }

    pub(super) fn needs_all_samples(self) -> bool {
        self == Self::Rgb
    }

    /// Returns levels of 0 to 1, and beyond for some samples.
    #[inline]
    pub(super) fn rgb(self, range: Range, luma: u16, blue: f32, red: f32) -> [f32; 3] {
        let y = range.luma(luma);
        match self {
            Self::Rgb => [range.level(red), y, range.level(blue)],
            Self::Ycgco => {
                let (green, orange) = (range.color(blue), range.color(red));
                [y - green + orange, y + green, y - green - orange]
            }
            Self::Shares(shares) => {
                let (blue, red) = (range.color(blue), range.color(red));
                let r = y + 2.0 * (1.0 - shares.red) * red;
                let b = y + 2.0 * (1.0 - shares.blue) * blue;
                let g = (y - shares.red * r - shares.blue * b) / shares.green();
                [r, g, b]
            }
        }
    }
}

impl Shares {
    fn green(self) -> f32 {
        1.0 - self.red - self.blue
    }
}

/// Factors of libyuv (`row_common.cc`), in 64ths of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fixed {
    /// Factor of a luma of 16 bits, in 65536ths.
    gain: u32,
    /// Added to lumas, with the half that rounds.
    offset: i32,
    /// Factors of the blue difference: added to blue, and subtracted from green.
    blue: (i32, i32),
    /// Factors of the red difference: added to red, and subtracted from green.
    red: (i32, i32),
}

impl Fixed {
    /// Returns factors of a matrix; `None` for a matrix without them.
    pub(super) fn of(matrix: Matrix, is_full: bool) -> Option<Self> {
        /// Its vectors have a byte for it.
        const MOST: i32 = 128;
        let Matrix::Shares(shares) = matrix else { return None };
        if !shares.is_common {
            return None;
        }
        let stretch = if is_full { 1.0 } else { 255.0 / 224.0 };
        let factor = |level: f32| (level * stretch * 64.0).round() as i32;
        let (of_blue, of_red) = (2.0 * (1.0 - shares.blue), 2.0 * (1.0 - shares.red));
        Some(Self {
            // 64 * 65536 / 257, and 1.164 times that.
            gain: if is_full { 16_320 } else { 18_997 },
            // 16 lumas of television are black.
            offset: if is_full { 32 } else { -1160 },
            blue: (factor(of_blue).min(MOST), factor(of_blue * shares.blue / shares.green())),
            red: (factor(of_red), factor(of_red * shares.red / shares.green())),
        })
    }

    /// Returns the levels of a luma of 16 bits and two colours of 8 bits.
    #[inline]
    pub(super) fn rgb(self, luma: u16, blue: u8, red: u8) -> [u8; 3] {
        // Below 2^15, as the gain is below 2^15.
        let y = ((u32::from(luma) * self.gain) >> 16) as i32 + self.offset;
        let (blue, red) = (i32::from(blue) - 128, i32::from(red) - 128);
        let levels = [
            y + red * self.red.0,
            y - blue * self.blue.1 - red * self.red.1,
            y + blue * self.blue.0,
        ];
        levels.map(|level| (level >> 6).clamp(0, 255) as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_is_white_and_black_is_black() {
        for matrix in [1, 2, 4, 5, 6, 7, 8, 9] {
            let colors = AvifColors { primaries: 1, matrix, is_full_range: true };
            let matrix = Matrix::of(colors).unwrap();
            for bits in [8, 10, 12] {
                let middle = f32::from(1_u16 << (bits - 1));
                let scale = 1 << (bits - 8);
                for (is_full, black, white) in
                    [(true, 0, (256 << (bits - 8)) - 1), (false, 16 * scale, 235 * scale)]
                {
                    let range = Range::of(bits, is_full);
                    let near = |luma, level: f32| {
                        let rgb = matrix.rgb(range, luma, middle, middle);
                        rgb.iter().all(|it| (it - level).abs() < 1e-5)
                    };
                    assert!(near(black, 0.0) && near(white, 1.0), "{matrix:?} {bits} {is_full}");
                }
            }
        }
        let other = AvifColors { primaries: 9, matrix: 14, is_full_range: true };
        assert!(Matrix::of(other).is_err_and(|what| what.contains("matrix 14")));
    }

    #[test]
    fn factors_are_those_of_libyuv() {
        let of = |matrix, is_full| {
            let colors = AvifColors { primaries: 9, matrix, is_full_range: is_full };
            let fixed = Fixed::of(Matrix::of(colors).unwrap(), is_full)?;
            Some((fixed.blue.0, fixed.blue.1, fixed.red.1, fixed.red.0))
        };
        assert_eq!(of(6, false), Some((128, 25, 52, 102)));
        assert_eq!(of(6, true), Some((113, 22, 46, 90)));
        assert_eq!(of(1, false), Some((128, 14, 34, 115)));
        assert_eq!(of(1, true), Some((119, 12, 30, 101)));
        assert_eq!(of(9, false), Some((128, 12, 42, 107)));
        assert_eq!(of(12, true), Some((120, 11, 37, 94)));
        assert!([0, 4, 7, 8].iter().all(|&matrix| of(matrix, true).is_none()));
        for (is_full, black, white) in [(true, 0, 255), (false, 16, 235)] {
            let fixed = Fixed::of(Matrix::Shares(BT601), is_full).unwrap();
            assert_eq!(fixed.rgb(black * 257, 128, 128), [0; 3]);
            assert_eq!(fixed.rgb(white * 257, 128, 128), [255; 3]);
        }
    }
}
