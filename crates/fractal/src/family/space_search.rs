//! MV-FractalDB's search for categories: random systems of space, kept where their points spread
//! enough along every axis.
//!
//! One stream of random numbers, numpy's with the seed, is drawn from without a break: for every
//! candidate the number of maps (2 to 7), twelve parameters for each from -1 to 1, and then 10,000
//! numbers that choose the maps of its orbit, kept or not. A candidate becomes the next category
//! when the orbit, scaled and centred as models are, has more than the asked variance along each
//! axis. Source: `category_search.py` of ryosuke-yamada/3dfractaldb and fumiyauchiyama/exfractaldb
//! (MIT).
//!
//! The published scripts set no seed, so that there are no categories to be found again; with
//! `--seed S` the program finds those of seed `S` here, to the bit but for the last digits of the
//! probabilities: numpy gets a determinant by way of the logarithms of its factors.

use super::candidate::{Candidate, pass_orbit};
use crate::{Category, MersenneTwister, Shape, SpaceSystem, space};
use fdconvert_core::{Error, Result};
use rayon::prelude::*;

/// Points of the orbit that decides, and of the instances.
pub(super) const POINTS: u32 = 10_000;

/// Candidates that are looked at side by side.
const BATCH: usize = 64;

/// The most candidates tried for one category before the search gives up.
const MAX_TRIES: u64 = 100_000;

/// The search, with what it has found so far. Continues where it is: asking for 10 and then for 20
/// gives the same as asking for 20.
pub struct SpaceSearch {
    variance: f64,
    /// At the first number of the next candidate.
    random: MersenneTwister,
    tried: u64,
    found: Vec<SpaceSystem>,
}

impl SpaceSearch {
    /// The least variance that the published scripts ask for.
    pub const PUBLISHED_VARIANCE: f64 = 0.05;

    /// A search from the first candidate of this seed.
    ///
    /// # Errors
    /// `Usage` for a variance that no points from -1 to 1 have.
    pub fn new(seed: u32, variance: f64) -> Result<Self> {
        if !(0.0..1.0).contains(&variance) {
            return Err(Error::usage("variance", format!("{variance} is not from 0 to below 1")));
        }
        let random = MersenneTwister::numpy(seed);
        Ok(Self { variance, random, tried: 0, found: Vec::new() })
    }

    /// Candidates looked at so far.
    #[must_use]
    pub fn tried(&self) -> u64 {
        self.tried
    }

    /// The systems found so far.
    #[must_use]
    pub fn found(&self) -> &[SpaceSystem] {
        &self.found
    }

    /// The categories found so far, numbered as the original does.
    #[must_use]
    pub fn categories(&self) -> Vec<Category> {
        let category = |(number, system): (usize, &SpaceSystem)| Category {
            name: format!("{number:06}"),
            shape: Shape::Space(system.clone()),
        };
        self.found.iter().enumerate().map(category).collect()
    }

    /// Continues until there are `classes` categories; `progress` is told now and then how many
    /// there are, and stops the search by returning false.
    ///
    /// # Errors
    /// `Usage` when nothing is found for very long, `Cancelled` when `progress` says so.
    pub fn run(&mut self, classes: usize, progress: &mut dyn FnMut(usize) -> bool) -> Result<()> {
        let variance = self.variance;
        let mut last_found = self.tried;
        while self.found.len() < classes {
            let batch = (0..BATCH).map(|_| self.random_candidate()).collect::<Result<Vec<_>>>()?;
            let kept: Vec<bool> = batch.par_iter().map(|it| it.spreads(variance)).collect();
            for (candidate, is_kept) in batch.into_iter().zip(kept) {
                self.tried += 1;
                if !is_kept {
                    continue;
                }
                last_found = self.tried;
                self.found.push(candidate.system);
                if self.found.len() == classes {
                    // What was drawn beyond is given back, for a later call.
                    self.random = candidate.random;
                    pass_orbit(&mut self.random, POINTS as usize);
                    return Ok(());
                }
            }
            if self.tried - last_found > MAX_TRIES {
                let (n, tries) = (self.found.len(), MAX_TRIES);
                let what = format!(
                    "after {n} categories none of {tries} candidates has more than {variance} along \
                     each axis; the published scripts ask for {}",
                    Self::PUBLISHED_VARIANCE
                );
                return Err(Error::usage("variance", what));
            }
            if !progress(self.found.len()) {
                return Err(Error::Cancelled);
            }
        }
        Ok(())
    }

    fn random_candidate(&mut self) -> Result<Candidate<12>> {
        Candidate::draw(&mut self.random, POINTS as usize, SpaceSystem::by_volume)
    }
}

impl Candidate<12> {
    /// Returns whether the points of its orbit have more than this variance along each axis.
    fn spreads(&self, least: f64) -> bool {
        let mut random = vec![0.0; POINTS as usize];
        self.random.clone().fill_f64(&mut random);
        let Some(mut axes) = space::orbit(&self.system, &random) else { return false };
        space::in_place(&mut axes, POINTS) && axes.iter().all(|axis| variance(axis) > least)
    }
}

/// The mean square of what differs from the mean. Sums are in order, numpy's in a tree, so that a
/// last digit may differ.
fn variance(values: &[f64]) -> f64 {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / n
}
