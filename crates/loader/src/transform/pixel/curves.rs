//! Changes that map a level of a channel to another level, regardless of its neighbours.

use super::{Counts, Pixel};

/// The new level of each level, for red, green and blue.
///
/// Consecutive ones become one with [`then`](Self::then), applied in one pass. Contrast,
/// autocontrast and equalize depend on the image as it is before them: on its
/// [`mean_gray`](super::mean_gray), or on its levels, which [`Counts::after`] knows without a pass.
/// All of them are exactly torchvision's, except where said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Curves(pub(crate) [[u8; 256]; 3]);

impl Curves {
    /// Changes nothing.
    #[cfg(test)]
    pub(crate) fn identity() -> Self {
        Self::of(|level| level)
    }

    /// `adjust_brightness`: the same number as Pillow's.
    pub(crate) fn brightness(factor: f64) -> Self {
        let factor = factor as f32;
        // `as u8` cuts the fraction off, and clamps.
        Self::of(|level| (f32::from(level) * factor) as u8)
    }

    /// `adjust_contrast` of an image with this mean gray. Pillow rounds the mean.
    ///
    /// Exactly torchvision's, but for less than 32 levels of blue in the lower right corner, for
    /// which torch does not fuse the last operation: one in some 10,000 of these differs by one.
    pub(crate) fn contrast(factor: f64, mean_gray: f32) -> Self {
        let (factor, rest) = (factor as f32, (1.0 - factor) as f32);
        Self::of(|level| mean_gray.mul_add(rest, f32::from(level) * factor) as u8)
    }

    /// `solarize`. Nothing is inverted above 255, where torchvision refuses.
    pub(crate) fn solarize(threshold: f64) -> Self {
        let first = super::first_level(threshold);
        Self::of(|level| if u16::from(level) < first { level } else { 255 - level })
    }

    /// `posterize` to this number of upper bits.
    pub(crate) fn posterize(n_bits: u32) -> Self {
        let mask = super::upper_bits(n_bits);
        Self::of(|level| level & mask)
    }

    /// `invert`.
    pub(crate) fn invert() -> Self {
        Self::of(|level| 255 - level)
    }

    /// `autocontrast` of an image with these darkest and brightest levels. Pillow computes it in
    /// double precision.
    pub(crate) fn autocontrast((darkest, brightest): ([u8; 3], [u8; 3])) -> Self {
        Self(std::array::from_fn(|channel| {
            let (low, high) = (darkest[channel], brightest[channel]);
            if high <= low {
                return std::array::from_fn(|level| level as u8);
            }
            let scale = f32::from(high - low) * (1.0 / 255.0);
            std::array::from_fn(|level| ((level as f32 - f32::from(low)) / scale) as u8)
        }))
    }

    /// `equalize` of an image with these levels: the same numbers as Pillow's.
    pub(crate) fn equalize(counts: &Counts) -> Self {
        Self(std::array::from_fn(|channel| {
            let counts = &counts.0[channel];
            let n_pixels: u32 = counts.iter().sum();
            let brightest = counts.iter().rev().find(|&&count| count > 0).copied().unwrap_or(0);
            // Pixels per level in an even histogram. The brightest level is not spread. With a
            // single level, or less than one pixel per level, there is nothing to do.
            let step = (n_pixels - brightest) / 255;
            if step == 0 {
                return std::array::from_fn(|level| level as u8);
            }
            let mut n_darker = step / 2;
            std::array::from_fn(|level| {
                let equalized = (n_darker / step).min(255) as u8;
                n_darker += counts[level];
                equalized
            })
        }))
    }

    /// Returns the curves that do the same as these and then `next`.
    pub(crate) fn then(&self, next: &Self) -> Self {
        let of = |channel: usize| self.0[channel].map(|level| next.0[channel][usize::from(level)]);
        Self(std::array::from_fn(of))
    }

    /// Changes an image.
    pub(crate) fn apply(&self, image: &mut [Pixel]) {
        let [red, green, blue] = &self.0;
        let (fours, rest) = image.as_chunks_mut::<4>();
        for four in fours {
            let [[r0, g0, b0], [r1, g1, b1], [r2, g2, b2], [r3, g3, b3]] =
                four.map(|pixel| pixel.map(usize::from));
            *four = [
                [red[r0], green[g0], blue[b0]],
                [red[r1], green[g1], blue[b1]],
                [red[r2], green[g2], blue[b2]],
                [red[r3], green[g3], blue[b3]],
            ];
        }
        for pixel in rest {
            let [r, g, b] = pixel.map(usize::from);
            *pixel = [red[r], green[g], blue[b]];
        }
    }

    /// Returns the same curve for all channels.
    pub(crate) fn of(curve: impl Fn(u8) -> u8) -> Self {
        Self([std::array::from_fn(|level| curve(level as u8)); 3])
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Counts, Curves};

    #[test]
    fn curves_one_after_the_other_are_one() {
        let image: Vec<[u8; 3]> = (0..300_u32).map(|at| [at as u8, (at * 7) as u8, 90]).collect();
        let mut expected = image.clone();
        let (mut curves, mut counts) = (Curves::identity(), Counts::of(&image));
        for step in 0..6 {
            let next = match step {
                0 => Curves::solarize(200.0),
                1 => Curves::equalize(&counts),
                2 => Curves::posterize(5),
                3 => Curves::brightness(0.7),
                4 => Curves::autocontrast(counts.extremes()),
                _ => Curves::invert(),
            };
            assert_eq!(counts, Counts::of(&expected));
            let levels = |channel: usize| expected.iter().map(move |pixel| pixel[channel]);
            let darkest = std::array::from_fn(|channel| levels(channel).min().unwrap());
            let brightest = std::array::from_fn(|channel| levels(channel).max().unwrap());
            assert_eq!(counts.extremes(), (darkest, brightest));
            next.apply(&mut expected);
            curves = curves.then(&next);
            counts = counts.after(&next);
        }
        let mut result = image;
        curves.apply(&mut result);
        assert_eq!(result, expected);
    }
}
