//! The random choice of a batch's mixing, drawn from its number.
//!
//! All machines give the same bits: additions, products, quotients and square roots are exact
//! everywhere, and logarithm, exponential and cosine come from `libm`, not from the system. Like
//! the numbers of a key, the order of the draws and their number never change:
//!
//! ```text
//! unit   mixed, if below `mix_prob`
//! unit   CutMix, if below `switch_prob` and both are enabled
//! unit   u, unit v   the share, see `symmetric_beta`
//! below  the column of the box's middle, and the row
//! ```

use super::{Blend, Mix};
use crate::transform::Area;
use fdconvert_core::KeyedRandom;
use std::f64::consts::TAU;

/// Separates these draws from those for a sample, see `transform/keyed.rs`. Must never change.
const PURPOSE: u64 = 4;

impl Mix {
    /// Draws the blend of a step's batch; `size` is width and height of the images. All ranks get
    /// the same.
    #[must_use]
    pub fn draw(&self, seed: u64, epoch: u64, step: u64, size: (u32, u32)) -> Blend {
        let mut random = KeyedRandom::new(&[seed, epoch, step, PURPOSE]);
        let (is_mixed, switches) = (random.chance(self.mix_prob), random.chance(self.switch_prob));
        if !is_mixed {
            return Blend::None;
        }
        let cuts = self.cutmix > 0.0 && (self.mixup <= 0.0 || switches);
        let alpha = if cuts { self.cutmix } else { self.mixup };
        let lambda = symmetric_beta(alpha, random.unit(), random.unit());
        if !cuts {
            return Blend::MixUp { lambda };
        }
        let middle = (random.below(size.0.into()), random.below(size.1.into()));
        Blend::cut(lambda, middle, size)
    }
}

impl Blend {
    /// Returns the box of CutMix that covers `1 - lambda` of an image around that column and row,
    /// cut like torchvision's: halves of its sides are rounded down, the part outside the image is
    /// cut off, and the share becomes that of the remaining pixels.
    #[must_use]
    pub fn cut(lambda: f64, middle: (u64, u64), size: (u32, u32)) -> Self {
        let radius = 0.5 * (1.0 - lambda).max(0.0).sqrt();
        let side = |middle: u64, n_pixels: u32| {
            let half = (radius * f64::from(n_pixels)) as u64;
            let to = middle.saturating_add(half).min(n_pixels.into());
            // Both are at most the side of an image.
            (middle.saturating_sub(half).min(to) as u32, to as u32)
        };
        let ((left, right), (top, bottom)) = (side(middle.0, size.0), side(middle.1, size.1));
        let area = Area { x: left, y: top, width: right - left, height: bottom - top };
        let pixels = |width: u32, height: u32| f64::from(width) * f64::from(height);
        let all = pixels(size.0, size.1).max(1.0);
        Self::CutMix { area, lambda: 1.0 - pixels(area.width, area.height) / all }
    }
}

/// Returns a number of the beta distribution with `alpha` for both parameters, from two of the
/// uniform one.
///
/// The polar method: Ralph W. Bailey, "Polar Generation of Random Variates with the
/// t-Distribution", Mathematics of Computation 62 (1994). `sqrt(2a (u^(-1/a) - 1)) cos(2 pi v)` has
/// Student's distribution with `2a` degrees of freedom, for any `a`, and `t / sqrt(2a + t^2)`,
/// halved and moved to the middle, has this one. No draw is rejected, so that a batch always takes
/// the same number of draws.
fn symmetric_beta(alpha: f64, u: f64, v: f64) -> f64 {
    let cosine = libm::cos(TAU * v);
    // `1 - u` is above 0. For a tiny `alpha` the power is infinite, and the result 0 or 1.
    let power = libm::expm1(-libm::log(1.0 - u) / alpha);
    let quotient = 1.0 / (1.0 + 1.0 / (power * (cosine * cosine)));
    let half = 0.5 * quotient.sqrt();
    if cosine < 0.0 { 0.5 - half } else { 0.5 + half }
}
