use super::fallback;
use super::key::{Hash, Key};
use super::level::Level;
use super::points::{Bounds, Mapping, Step, lead_in, n_steps};
use super::system::LanesSystem;
use crate::bitmap::{Bitmap, WORD};
use crate::frame::Frame;
use crate::owners::Owners;

/// The sampler `lanes64-v1` for images of one frame.
#[derive(Debug, Clone)]
pub struct LanesSampler {
    frame: Frame,
    level: Level,
}

/// Buffers for the points of an image, reused for the next: one per thread. No call depends on an
/// earlier one.
#[derive(Debug, Clone, Default)]
pub struct LanesScratch {
    steps: Vec<Step>,
    canvas: Vec<u8>,
    orbit: Vec<[f64; 2]>,
}

impl LanesSampler {
    /// Creates a sampler for this frame, with the fastest instructions of the machine.
    #[must_use]
    pub fn new(frame: Frame) -> Self {
        Self { frame, level: Level::best() }
    }

    /// Uses other instructions, for tests and measurements. The images do not change.
    #[doc(hidden)]
    #[must_use]
    pub fn with_level(self, level: Level) -> Self {
        Self { level, ..self }
    }

    /// Returns the frame.
    #[must_use]
    pub fn frame(&self) -> Frame {
        self.frame
    }

    /// Sets the pixels of `out` that contain a point of the image. `out` gets the frame's size; its
    /// rows are in the order of computation, y upwards.
    pub fn coverage(
        &self,
        system: &LanesSystem,
        key: Key,
        scratch: &mut LanesScratch,
        out: &mut Bitmap,
    ) {
        let size = self.frame.size();
        out.reshape(size, size);
        let stride = out.row_words() * WORD;
        if let Some(mapping) = self.iterate(system, key, scratch, stride) {
            let canvas = &mut scratch.canvas;
            canvas.clear();
            canvas.resize(stride * size as usize, 0);
            self.level.plot(&scratch.steps, &mapping, canvas, |_| 1);
            self.level.pack(canvas, out.words_mut());
        } else {
            out.words_mut().fill(0);
            self.exact_orbit(system, key, scratch, |x, y, _| out.set(x, y));
        }
    }

    /// Returns the last point of each pixel. Points are numbered in canonical order: the 128 of the
    /// lead-in, then step by step those of the lanes 0 to 63.
    #[must_use]
    pub fn owners(&self, system: &LanesSystem, key: Key, scratch: &mut LanesScratch) -> Owners {
        let size = self.frame.size();
        let row = size as usize;
        let mut ordinals = vec![0; row * row];
        if let Some(mapping) = self.iterate(system, key, scratch, row) {
            self.level.plot(&scratch.steps, &mapping, &mut ordinals, |ordinal| ordinal);
        } else {
            self.exact_orbit(system, key, scratch, |x, y, ordinal| {
                if let Some(owner) = ordinals.get_mut(y as usize * row + x as usize) {
                    *owner = ordinal;
                }
            });
        }
        Owners { width: size, height: size, ordinals }
    }

    /// Computes the points of the lanes and their mapping to a canvas of this stride. `None` if the
    /// system, or this image of it, needs the single orbit.
    fn iterate(
        &self,
        system: &LanesSystem,
        key: Key,
        scratch: &mut LanesScratch,
        stride: usize,
    ) -> Option<Mapping> {
        if system.exact_orbit() {
            return None;
        }
        let hash = Hash::new(key.words());
        let steps = &mut scratch.steps;
        steps.resize(n_steps(&self.frame), Step::ORIGIN);
        let [first, second, ..] = steps.as_mut_slice() else { return None };
        lead_in(&system.table, hash, first, second);
        let mut lead_bounds = Bounds::ORIGIN;
        lead_bounds.add_step(first);
        lead_bounds.add_step(second);
        let lanes = steps.get_mut(1..)?;
        let bounds = self.level.iterate(&system.table, hash, lanes).join(&lead_bounds);
        Mapping::new(&bounds, &self.frame, stride)
    }

    /// Calls `draw(x, y, ordinal)` for the points of the single orbit, in order.
    fn exact_orbit(
        &self,
        system: &LanesSystem,
        key: Key,
        scratch: &mut LanesScratch,
        mut draw: impl FnMut(u32, u32, u32),
    ) {
        let points = &mut scratch.orbit;
        fallback::orbit(&system.table, Hash::new(key.words()), self.frame.points(), points);
        let mut ordinal = 0;
        fallback::draw(points, &self.frame, |x, y| {
            ordinal += 1;
            draw(x, y, ordinal);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::System;

    /// Small enough for Miri, which checks every access to memory; the thorough tests use the
    /// public interface.
    #[test]
    fn tiny_pictures_are_the_same_at_every_level() {
        let maps = vec![[0.5, 0.1, -0.2, 0.5, 0.3, 0.1], [0.4, 0.0, 0.1, -0.6, -0.5, 0.7]];
        let contracting = System::new(maps, vec![0.4, 0.6]);
        let far = vec![[1e30, 0.0, 0.0, 1e30, 1.0, 1.0], [1e-35, 0.0, 0.0, 1e-35, 0.5, 0.5]];
        let overflowing = System::new(far, vec![0.5, 0.5]);
        let frame = Frame::new(67, 4, 300).unwrap();
        for system in [contracting.unwrap(), overflowing.unwrap()] {
            let system = LanesSystem::new(&system);
            assert!(!system.exact_orbit());
            let key = Key { seed: 1, class: 2, instance: 3 };
            let (mut scratch, mut expected) = (LanesScratch::default(), frame.bitmap());
            let scalar = LanesSampler::new(frame).with_level(Level::Scalar);
            scalar.coverage(&system, key, &mut scratch, &mut expected);
            let owners = scalar.owners(&system, key, &mut scratch);
            assert!(expected.count() > 1);
            for level in Level::available() {
                let mut out = Bitmap::new(1, 1);
                let sampler = scalar.clone().with_level(level);
                sampler.coverage(&system, key, &mut LanesScratch::default(), &mut out);
                assert_eq!(out, expected, "{level:?}");
                assert_eq!(sampler.owners(&system, key, &mut scratch), owners, "{level:?}");
            }
        }
    }
}
