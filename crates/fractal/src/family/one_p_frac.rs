//! 1p-frac (Nakamura et al., "Scaling backwards: minimal synthetic pre-training?", ECCV 2024; their
//! code: SUPER-TADORY/1p-frac, MIT): one system, and classes that differ from it by a little noise.

use super::svd;
use crate::{
    Coin, ExactSampler, ExactScratch, Frame, Key, Map, NO_WEIGHTS, PatchScratch, System, patch,
    random::keyed,
};
use fdconvert_core::{Error, Result};
use rayon::prelude::*;

/// Separates these streams from others of the same seed.
const PURPOSE: u64 = 0x3150;

/// Number of maps of the base.
const MAPS: usize = 2;

/// Half the width of the range of the sum of the base's singular values.
const WIDTH: f64 = 0.1;

/// A class is drawn again until its patches light more than this share.
const MIN_FILL: f64 = 0.05;

const MAX_TRIES: u32 = 1000;

/// Class number used to draw the base; no class has it.
const BASE: u32 = u32::MAX;

/// Number of classes between two calls of the progress function.
const BATCH: usize = 64;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OnePFrac {
    pub(super) seed: u32,
    pub(super) sigma: f64,
    pub(super) delta: f64,
}

impl OnePFrac {
    /// Creates the family. `sigma` is the sum of the base's singular values, `delta` the largest
    /// noise.
    ///
    /// # Errors
    /// `Usage` for values that allow no system.
    pub(super) fn new(seed: u32, sigma: f64, delta: f64) -> Result<Self> {
        // Two maps with singular values from 0 to 1 sum to 6 at most.
        if !(0.5..=5.5).contains(&sigma) {
            return Err(Error::usage("sigma", format!("{sigma} is not from 0.5 to 5.5")));
        }
        if !(0.0..=1.0).contains(&delta) {
            return Err(Error::usage("delta", format!("{delta} is not from 0 to 1")));
        }
        Ok(Self { seed, sigma, delta })
    }

    /// Draws `classes` systems.
    ///
    /// # Errors
    /// `Usage` when a class stays too empty, `Cancelled` when `progress` returns false.
    pub(super) fn systems(
        &self,
        classes: usize,
        progress: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Vec<System>> {
        let sampler = ExactSampler::new(Frame::new(512, Frame::DEFAULT_PAD, 100_000)?);
        let base = self.base(&sampler)?;
        let mut systems = Vec::with_capacity(classes);
        while systems.len() < classes {
            let from = systems.len();
            let batch = from as u32..classes.min(from + BATCH) as u32;
            let found = batch.into_par_iter().map(|class| self.class(&base, class, &sampler));
            systems.extend(found.collect::<Result<Vec<_>>>()?);
            if !progress(systems.len()) {
                return Err(Error::Cancelled);
            }
        }
        Ok(systems)
    }

    /// Draws the system that all classes are made from: the first that is full enough itself. The
    /// original takes the first one of any kind, and may then never find a class.
    fn base(&self, sampler: &ExactSampler) -> Result<System> {
        for attempt in 0..MAX_TRIES {
            let mut random = keyed(self.seed.into(), PURPOSE, BASE, attempt);
            let alpha = random.between(self.sigma - WIDTH, self.sigma + WIDTH);
            let system = System::by_area(svd::maps(&mut random, MAPS, alpha))?;
            if self.is_full(&system, BASE, attempt, sampler) {
                return Ok(system);
            }
        }
        let what = format!("{} gives no system that fills enough; try 3.5", self.sigma);
        Err(Error::usage("sigma", what))
    }

    /// Returns the base with the noise of one class.
    fn class(&self, base: &System, class: u32, sampler: &ExactSampler) -> Result<System> {
        for attempt in 0..MAX_TRIES {
            let mut random = keyed(self.seed.into(), PURPOSE, class, attempt);
            let mut noise =
                |value: &f64| value * random.between(1.0 - self.delta, 1.0 + self.delta);
            let mut noisy = |map: &Map| -> Map { std::array::from_fn(|i| noise(&map[i])) };
            let maps = base.maps().iter().map(&mut noisy).collect();
            let system = System::new(maps, base.probabilities().to_vec())?;
            if self.is_full(&system, class, attempt, sampler) {
                return Ok(system);
            }
        }
        let what = format!("class {class} stays too empty; another category_seed may do better");
        Err(Error::usage("delta", what))
    }

    /// Returns true if patches on the points of the system light enough pixels.
    fn is_full(&self, system: &System, class: u32, attempt: u32, sampler: &ExactSampler) -> bool {
        let mut bitmaps = Vec::new();
        sampler.coverage(system, &[NO_WEIGHTS], &mut bitmaps, &mut ExactScratch::default());
        let Some(points) = bitmaps.first() else { return false };
        let coin = Coin::new(Key { seed: self.seed.into(), class, instance: attempt }.words());
        let mut patches = sampler.frame().bitmap();
        patch(points, coin, &mut patches, &mut PatchScratch::default());
        patches.fill() > MIN_FILL
    }
}
