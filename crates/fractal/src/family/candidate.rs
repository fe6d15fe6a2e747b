//! Drawing of candidates, common to the searches of FractalDB and MV-FractalDB.
use crate::{MersenneTwister, System};
use fdconvert_core::Result;

/// A system that may become a category.
pub(super) struct Candidate<const N: usize> {
    pub(super) system: System<N>,
    /// State at the first number of its orbit.
    pub(super) random: MersenneTwister,
}

impl<const N: usize> Candidate<N> {
    /// Draws the next candidate of a stream, 2 to 7 maps with parameters from -1 to 1, and skips
    /// the numbers of its orbit of `n_points` points.
    pub(super) fn draw(
        random: &mut MersenneTwister,
        n_points: usize,
        system: fn(Vec<[f64; N]>) -> Result<System<N>>,
    ) -> Result<Self> {
        let n_maps = 2 + random.below(6);
        let mut parameter = |_| -1.0 + 2.0 * random.next_f64();
        let maps = (0..n_maps).map(|_| std::array::from_fn(&mut parameter)).collect();
        let candidate = Self { system: system(maps)?, random: random.clone() };
        pass_orbit(random, n_points);
        Ok(candidate)
    }
}

/// Skips the numbers of an orbit, each of which takes two words of the stream.
pub(super) fn pass_orbit(random: &mut MersenneTwister, n_points: usize) {
    random.skip(2 * n_points);
}
