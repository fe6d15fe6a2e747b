//! MV-FractalDB's search for categories: random three-dimensional systems, kept if their points
//! spread enough along every axis.
//!
//! A single stream of random numbers, numpy's with the seed, gives for every candidate the number
//! of maps (2 to 7), twelve parameters for each from -1 to 1, and then 10,000 numbers that choose
//! the maps of its orbit, kept or not. A candidate becomes the next category when the orbit, scaled
//! and centred as models are, exceeds the requested variance along each axis. Source:
//! `category_search.py` of ryosuke-yamada/3dfractaldb and fumiyauchiyama/exfractaldb (MIT).
//!
//! The published scripts set no seed, so their categories cannot be reproduced; with `--seed S` the
//! program finds those of seed `S` here, identical except for the last digits of the probabilities:
//! numpy computes a determinant from the logarithms of its factors.

use super::candidate::{Candidate, pass_orbit};
use crate::{Category, MersenneTwister, Shape, SpaceSystem, space};
use fdconvert_core::{Error, Result};
use rayon::prelude::*;

/// Points of the orbit that decides about a candidate, and of the instances.
pub(super) const POINTS: u32 = 10_000;

/// Candidates tried in parallel.
const BATCH: usize = 64;

/// Limit of candidates tried for one category.
const MAX_TRIES: u64 = 100_000;

/// The search and its results so far. It continues where it stopped: 10 categories and then 20 are
/// the same as 20 at once.
pub struct SpaceSearch {
    variance: f64,
    /// State at the first number of the next candidate.
    random: MersenneTwister,
    tried: u64,
    found: Vec<SpaceSystem>,
}

impl SpaceSearch {
    /// The least variance in the published scripts.
    pub const PUBLISHED_VARIANCE: f64 = 0.05;

    /// Creates a search from the first candidate of this seed.
    ///
    /// # Errors
    /// `Usage` for a variance that points from -1 to 1 cannot have.
    pub fn new(seed: u32, variance: f64) -> Result<Self> {
        if !(0.0..1.0).contains(&variance) {
            return Err(Error::usage("variance", format!("{variance} is not from 0 to below 1")));
        }
        let random = MersenneTwister::numpy(seed);
        Ok(Self { variance, random, tried: 0, found: Vec::new() })
    }

    /// Returns the number of candidates tried so far.
    #[must_use]
    pub fn tried(&self) -> u64 {
        self.tried
    }

    /// Returns the systems found so far.
    #[must_use]
    pub fn found(&self) -> &[SpaceSystem] {
        &self.found
    }

    /// Returns the categories found so far, numbered as in the original.
    #[must_use]
    pub fn categories(&self) -> Vec<Category> {
        let category = |(number, system): (usize, &SpaceSystem)| Category {
            name: format!("{number:06}"),
            shape: Shape::Space(system.clone()),
        };
        self.found.iter().enumerate().map(category).collect()
    }

    /// Continues until there are `classes` categories. `progress` gets their number now and then,
    /// and stops the search by returning false.
    ///
    /// # Errors
    /// `Usage` when nothing is found for very long, `Cancelled` when `progress` returns false.
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
                    // Unused candidates are returned to the stream, for a later call.
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
    /// Returns true if the points of its orbit exceed this variance along each axis.
    fn spreads(&self, least: f64) -> bool {
        let mut random = vec![0.0; POINTS as usize];
        self.random.clone().fill_f64(&mut random);
        let Some(mut axes) = space::orbit(&self.system, &random) else { return false };
        space::in_place(&mut axes, POINTS) && axes.iter().all(|axis| variance(axis) > least)
    }
}

/// Returns the variance. It sums in order, numpy in a tree, so that the last digit may differ.
fn variance(values: &[f64]) -> f64 {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / n
}
