//! FractalDB to the bit: the images of
//! `hirokatsukataoka16/FractalDB-Pretrained-ResNet-PyTorch` (MIT), pixel for pixel.
//!
//! One image is made as follows. Numbers are drawn from `numpy.random` seeded with 100, the same
//! for every image. Each chooses a map: the first whose cumulative probability is not below the
//! number. From the start (0, 0), which counts as a point, the maps move the point on; if no map is
//! chosen the point is repeated (`orbit`). Points with a NaN coordinate are removed, with a hundred
//! before them; the rest is moved and scaled to fill the frame, and truncated to 16 bits
//! (`rescale`). Every point then becomes a pixel or a patch (`draw`), in gray or in a hue that
//! follows its number (`color`).
//!
//! This costs a few nanoseconds per point, nearly all of it latency of the previous sum. But all
//! images of a category choose the same maps in the same order, whatever the weights. So the fast
//! path (`coverage`) chooses once per category and puts one instance in each lane of the vectors
//! (`simd`); a step is then plain arithmetic, with the coefficients of the lanes in adjacent
//! elements (`kernel`). It traverses the orbit twice, first for the bounds, then for the pixels,
//! because computing a point again is cheaper than keeping it. Lanes with overflowing numbers or
//! points without extent are drawn again by the reference; there are few.
mod color;
mod coverage;
mod draw;
mod kernel;
mod orbit;
mod rescale;
mod simd;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::bitmap::Bitmap;
use crate::frame::{Draw, Frame};
use crate::mt::MersenneTwister;
use crate::owners::Owners;
use crate::system::{System, Weights};
pub(crate) use color::{N_HUES, PALETTE};
pub use coverage::ExactScratch;
use fdconvert_core::Pixels;
pub use simd::Level;
use std::sync::Arc;

/// Draws the images of the original FractalDB renderer
/// (`hirokatsukataoka16/FractalDB-Pretrained-ResNet-PyTorch`, MIT), bit for bit.
///
/// Holds the random numbers that all images share, eight bytes per point of the frame; clones share
/// them, so each thread may have one.
#[derive(Debug, Clone)]
pub struct ExactSampler {
    frame: Frame,
    random: Arc<[f64]>,
    level: Level,
}

impl ExactSampler {
    /// The seed that the original gives `numpy.random` before every image.
    const SEED: u32 = 100;

    /// Creates a sampler for images of this frame.
    #[must_use]
    pub fn new(frame: Frame) -> Self {
        let mut random = vec![0.0; frame.points() as usize];
        MersenneTwister::numpy(Self::SEED).fill_f64(&mut random);
        Self { frame, random: random.into(), level: Level::best() }
    }

    /// Uses other vector instructions, or the portable code if the machine does not have them, for
    /// tests and measurements. The images do not change.
    #[doc(hidden)]
    #[must_use]
    pub fn with_level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    /// Returns the frame of the images.
    #[must_use]
    pub fn frame(&self) -> Frame {
        self.frame
    }

    /// Returns the places of the points, (column, row) with rows upwards, in the order of drawing.
    /// Points outside the frame are not drawn.
    #[must_use]
    pub fn points(&self, system: &System) -> Vec<(u16, u16)> {
        let orbit = orbit::Orbit::new(system, &self.random);
        rescale::pixels(orbit, self.frame)
    }

    /// Draws the original's image of a system, turned as its file `flip0`: one channel of 0 and 127
    /// for the gray draws, RGB for the colour draws.
    ///
    /// Patches take a mask per point from `masks`. The original takes them from Python's `random`,
    /// so [`MersenneTwister::python`] gives its images of a known seed. The draws of points take
    /// none. This draws one point at a time and is the reference for [`coverage`](Self::coverage).
    #[must_use]
    pub fn render(&self, system: &System, draw: Draw, masks: &mut MersenneTwister) -> Pixels {
        draw::render(&self.points(system), self.frame, draw, masks)
    }

    /// Draws the hit pixels for every row of `weights`: exactly those that `render` with
    /// [`Draw::PointGray`] makes gray for the weighted system.
    ///
    /// `out` gets one bitmap per row, not turned (rows upwards); its memory is reused, as is
    /// `scratch`. Rows are drawn 16 or 32 at a time, depending on the machine, so one call with
    /// many rows costs far less than many calls.
    pub fn coverage(
        &self,
        system: &System,
        weights: &[Weights],
        out: &mut Vec<Bitmap>,
        scratch: &mut ExactScratch,
    ) {
        scratch.choose(self.level, system, &self.random);
        out.retain(|bitmap| [bitmap.width(), bitmap.height()] == [self.frame.size(); 2]);
        out.truncate(weights.len());
        out.resize_with(weights.len(), || self.frame.bitmap());
        let n_rows = coverage::rows_at_once(self.level);
        let rows = weights.chunks(n_rows).zip(out.chunks_mut(n_rows));
        for (weights, out) in rows {
            let failed = scratch.cover(self.level, self.frame, system, weights, out);
            let again = weights.iter().zip(out).enumerate();
            for (_, (weights, out)) in again.filter(|(row, _)| failed >> row & 1 == 1) {
                draw::cover(&self.points(&system.weighted(weights)), out);
            }
        }
    }

    /// Returns the point that each pixel shows, not turned (rows upwards).
    #[must_use]
    pub fn owners(&self, system: &System) -> Owners {
        draw::owners(&self.points(system), self.frame)
    }
}

/// Counts the pixels that the points of a system light, by the reference, with random numbers of
/// the caller, as FractalDB's search does.
pub(crate) fn lit_pixels(system: &System, random: &[f64], frame: Frame) -> u64 {
    let mut lit = frame.bitmap();
    draw::cover(&rescale::pixels(orbit::Orbit::new(system, random), frame), &mut lit);
    lit.count()
}
