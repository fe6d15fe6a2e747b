//! Rectangles of an image that are replaced: by a colour or by noise.

use super::Pixel;
use fdconvert_core::KeyedRandom;
use std::hint::select_unpredictable;

/// What a rectangle is replaced by.
#[derive(Debug)]
pub(crate) enum Content<'a> {
    /// One colour.
    Colour(Pixel),
    /// Noise, as timm's `RandomErasing(mode="pixel")`.
    Noise(&'a Noise, &'a mut KeyedRandom),
}

/// `erase`: replaces the part inside the image of a rectangle of (left, top, width, height);
/// exactly torchvision's.
pub(crate) fn erase(
    image: &mut [Pixel],
    image_width: u32,
    (left, top, width, height): (u32, u32, u32, u32),
    mut content: Content<'_>,
) {
    let (image_width, width) = (image_width as usize, width as usize);
    let start = (left as usize).min(image_width);
    let end = start.saturating_add(width).min(image_width);
    let rows = image.chunks_exact_mut(image_width.max(1)).skip(top as usize).take(height as usize);
    for row in rows {
        let row = &mut row[start..end];
        match &mut content {
            Content::Colour(pixel) => row.fill(*pixel),
            Content::Noise(noise, random) => noise.fill(random, row),
        }
    }
}

/// Normal noise: of a mean and a standard deviation per channel, rounded to whole levels and
/// limited to 0 to 255.
///
/// That is a distribution over 256 levels. One is drawn with a single comparison from a table of
/// 256 bins of equal probability, each of which holds at most two levels, with 13 bits of precision
/// in each: Alastair J. Walker, "An Efficient Method for Generating Discrete Random Variables with
/// General Distributions", ACM TOMS 3 (1977).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Noise([[Bin; 256]; 3]);

/// Part of a bin, of 2^13, that belongs to the level of its number, and the level of the rest.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bin {
    own: u16,
    other: u8,
}

impl Noise {
    /// Creates noise from means and standard deviations in levels; these are not negative.
    pub(crate) fn new(mean: [f64; 3], deviation: [f64; 3]) -> Self {
        Self(std::array::from_fn(|channel| bins(&probabilities(mean[channel], deviation[channel]))))
    }

    /// Draws pixels, one number of the stream for each.
    pub(crate) fn fill(&self, random: &mut KeyedRandom, pixels: &mut [Pixel]) {
        for pixel in pixels {
            let bits = random.next_u64();
            for (number, (level, bins)) in pixel.iter_mut().zip(&self.0).enumerate() {
                let bits = bits >> (21 * number);
                let bin = bits as u8;
                let Bin { own, other } = bins[usize::from(bin)];
                // Not `if`: the branch could not be predicted.
                *level = select_unpredictable((bits >> 8) as u16 & 0x1fff < own, bin, other);
            }
        }
    }
}

/// Returns how probable each level is.
fn probabilities(mean: f64, deviation: f64) -> [f64; 256] {
    // Probability of a number below the upper end of a level.
    let below = |level: usize| {
        if level == 255 {
            return 1.0;
        }
        // Without any deviation all is at the mean.
        let distance = (level as f64 + 0.5 - mean) / deviation.max(1e-9);
        0.5 * libm::erfc(-distance / std::f64::consts::SQRT_2)
    };
    std::array::from_fn(|level| below(level) - if level == 0 { 0.0 } else { below(level - 1) })
}

/// Fills the bins of levels with less than their share from those with more.
fn bins(probabilities: &[f64; 256]) -> [Bin; 256] {
    const WHOLE: f64 = 8192.0;
    let mut left = probabilities.map(|probability| probability * 256.0);
    let mut bins: [Bin; 256] =
        std::array::from_fn(|level| Bin { own: WHOLE as u16, other: level as u8 });
    let (mut small, mut large): (Vec<usize>, Vec<usize>) =
        (0..256).partition(|&level| left[level] < 1.0);
    while let (Some(level), Some(&other)) = (small.pop(), large.last()) {
        bins[level] = Bin { own: (left[level] * WHOLE).round() as u16, other: other as u8 };
        left[other] -= 1.0 - left[level];
        if left[other] < 1.0 {
            large.pop();
            small.push(other);
        }
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::{Noise, probabilities};
    use fdconvert_core::KeyedRandom;

    #[test]
    fn noise_has_the_normal_distribution() {
        let (mean, deviation) = ([124.0, 0.0, 250.3], [58.0, 20.0, 0.0]);
        let noise = Noise::new(mean, deviation);
        let mut pixels = vec![[0; 3]; 400_000];
        noise.fill(&mut KeyedRandom::new(&[1]), &mut pixels);
        for channel in 0..3 {
            let mut counts = [0_u32; 256];
            pixels.iter().for_each(|pixel| counts[usize::from(pixel[channel])] += 1);
            let expected = probabilities(mean[channel], deviation[channel]);
            for (count, expected) in counts.iter().zip(expected.map(|it| it * 400_000.0)) {
                let difference = (f64::from(*count) - expected).abs();
                assert!(difference <= 5.5 * expected.sqrt() + 1.0, "{channel} {count} {expected}");
            }
        }
        assert!(pixels.iter().all(|pixel| pixel[2] == 250));
    }
}
