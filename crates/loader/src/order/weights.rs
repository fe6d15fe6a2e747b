//! Draws with replacement in proportion to weights.
//!
//! Only the sum up to the end of each piece of 16 weights is kept, and for equal parts of the whole
//! sum the piece that a part begins in. A draw looks its part up, searches among the pieces of it,
//! mostly one or two, and adds up one piece.
use fdconvert_core::{Error, Result};
use std::{fmt, sync::Arc};
use xxhash_rust::xxh3::Xxh3;

/// Weights that are in one line of a processor's cache.
type Piece = [f32; 16];

/// Parts of the whole sum, as a power of two: the piece of a part is then exact in floating point.
const MAX_PART_BITS: u32 = 28;

/// One non-negative weight for each sample, for [`Sampling::Weighted`](crate::Sampling::Weighted).
///
/// A weight is kept relative to the largest one, rounded to 24 bits. Sums take less than a byte
/// more for each sample. A clone shares them.
///
/// ```
/// use fdconvert_loader::{Sampling, Weights};
///
/// # fn main() -> fdconvert_core::Result<()> {
/// let weights = Weights::new([1.0, 0.0, 2.5].into_iter())?;
/// assert_eq!(weights.len(), 3);
/// let sampling = Sampling::Weighted { weights, n: Some(1000), replacement: true };
/// # let _ = sampling;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Weights(Arc<Sums>);

struct Sums {
    /// The weights, and zeros that fill the last piece.
    pieces: Vec<Piece>,
    n_samples: u64,
    /// Sum of the weights up to the end of each piece.
    ends: Vec<f64>,
    /// The piece in which each part of the whole sum begins, and the last piece with a weight.
    parts: Vec<u32>,
    part_bits: u32,
    n_positive: u64,
    fingerprint: u64,
}

impl Weights {
    /// Prepares weights.
    ///
    /// # Errors
    /// `Usage`, with the number of the sample, for a weight that is negative or not finite; if none
    /// is positive, and for 2^32 samples and more.
    pub fn new(weights: impl Iterator<Item = f64> + Clone) -> Result<Self> {
        let refuse = |what: String| Err(Error::usage("sampling", what));
        let (mut largest, mut n_samples) = (0.0_f64, 0_u64);
        for (weight, sample) in weights.clone().zip(0_u64..) {
            if !(weight.is_finite() && weight >= 0.0) {
                let what = format!("weight {weight} of sample {sample} is not a number from 0 on");
                return refuse(what);
            }
            if sample >= u32::MAX.into() {
                return refuse("at most 2^32 - 1 samples have weights".into());
            }
            largest = largest.max(weight);
            n_samples = sample + 1;
        }
        if largest == 0.0 {
            return refuse("no weight is positive, so no sample can be drawn".into());
        }
        let relative = |weight: f64| match (weight / largest) as f32 {
            // So that no positive weight is lost. The lost ones are too small to be ever drawn, but
            // without replacement their turn comes.
            0.0 if weight > 0.0 => f32::MIN_POSITIVE,
            weight => weight,
        };
        let mut weights = weights.map(relative);
        let mut piece = |_| std::array::from_fn(|_| weights.next().unwrap_or_default());
        let pieces: Vec<Piece> = (0..n_samples.div_ceil(16)).map(&mut piece).collect();
        let mut hash = Xxh3::new();
        let (mut sum, mut n_positive) = (0.0, 0);
        let mut ends = Vec::with_capacity(pieces.len());
        for piece in &pieces {
            for weight in piece {
                sum += f64::from(*weight);
                n_positive += u64::from(*weight > 0.0);
                hash.update(&weight.to_le_bytes());
            }
            ends.push(sum);
        }
        hash.update(&n_samples.to_le_bytes());
        let (parts, part_bits) = parts(&ends, sum);
        let fingerprint = hash.digest();
        Ok(Self(Arc::new(Sums {
            pieces,
            n_samples,
            ends,
            parts,
            part_bits,
            n_positive,
            fingerprint,
        })))
    }

    /// Returns the number of samples.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.0.n_samples
    }

    /// Returns true if there is no sample, which never happens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.n_samples == 0
    }

    /// Returns the number of samples with a positive weight.
    pub(crate) fn n_positive(&self) -> u64 {
        self.0.n_positive
    }

    /// Returns a hash of the relative weights.
    pub(crate) fn fingerprint(&self) -> u64 {
        self.0.fingerprint
    }

    /// Returns the weights, relative to the largest one.
    pub(crate) fn relative(&self) -> &[f32] {
        let weights = self.0.pieces.as_flattened();
        weights.get(..self.0.n_samples as usize).unwrap_or_default()
    }

    /// Replaces random numbers by the samples that they draw. Memory is asked for what all of them
    /// need before the first one is drawn: that takes a fraction of the time of waiting for each.
    pub(crate) fn draw_all(&self, numbers: &mut [u64]) {
        let Sums { pieces, parts, .. } = &*self.0;
        for random in &*numbers {
            std::hint::black_box(parts.get(self.part(*random)).copied());
        }
        for random in &*numbers {
            let (_, piece) = self.piece(*random);
            std::hint::black_box(pieces.get(piece).map(|piece| piece[0]));
        }
        numbers.iter_mut().for_each(|number| *number = self.draw(*number));
    }

    /// Returns the sample that a random number draws.
    #[inline]
    pub(crate) fn draw(&self, random: u64) -> u64 {
        let Sums { pieces, ends, .. } = &*self.0;
        let (target, number) = self.piece(random);
        let before = number.checked_sub(1).and_then(|before| ends.get(before)).copied();
        let mut sum = before.unwrap_or_default();
        // Where sums are rounded below the target, the last one with a weight is drawn.
        let mut drawn = 0;
        for (weight, at) in pieces.get(number).unwrap_or(&[0.0; 16]).iter().zip(0..) {
            if *weight > 0.0 {
                drawn = at;
                sum += f64::from(*weight);
                if sum > target {
                    break;
                }
            }
        }
        16 * number as u64 + drawn
    }

    /// Returns the part of the whole sum that a random number is in.
    #[inline]
    fn part(&self, random: u64) -> usize {
        random.checked_shr(u64::BITS - self.0.part_bits).unwrap_or_default() as usize
    }

    /// Returns the share of the whole sum that a random number stands for, and the piece of it.
    #[inline]
    fn piece(&self, random: u64) -> (f64, usize) {
        let Sums { ends, parts, .. } = &*self.0;
        let target = unit(random) * ends.last().copied().unwrap_or_default();
        let part = self.part(random);
        let bound = |part: usize| parts.get(part).map_or(0, |piece| *piece as usize);
        let (from, to) = (bound(part), bound(part + 1));
        let among = ends.get(from..to).unwrap_or_default();
        (target, from + among.partition_point(|end| *end <= target))
    }
}

/// Returns a random number as a fraction below 1.
#[inline]
fn unit(random: u64) -> f64 {
    (random >> 11) as f64 / (1_u64 << 53) as f64
}

/// Returns the piece in which each of 2^bits equal parts of a sum begins, then the last piece with a
/// weight, and the bits. Part `random >> (64 - bits)` begins at or before the target of that
/// number: all factors but the sum are exact, and a rounded product with it ascends.
fn parts(ends: &[f64], total: f64) -> (Vec<u32>, u32) {
    let bits = (ends.len().max(2) as u64 - 1).ilog2() + 1;
    let bits = bits.min(MAX_PART_BITS);
    let n_parts = 1_u64 << bits;
    let mut parts = Vec::with_capacity(n_parts as usize + 1);
    let mut piece = 0;
    for part in 0..n_parts {
        let begin = part as f64 / n_parts as f64 * total;
        while ends.get(piece as usize).is_some_and(|end| *end <= begin) {
            piece += 1;
        }
        parts.push(piece);
    }
    let last = ends.partition_point(|end| *end < total);
    parts.push(last as u32);
    (parts, bits)
}

impl fmt::Debug for Weights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Weights of {} samples", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::{Weights, unit};
    use fdconvert_core::KeyedRandom;

    fn weights(weights: &[f64]) -> Weights {
        Weights::new(weights.iter().copied()).unwrap()
    }

    /// The slow, obvious way: all weights added up until the target is reached.
    fn slow(weights: &Weights, random: u64) -> u64 {
        let all = weights.relative();
        let total: f64 = all.iter().map(|weight| f64::from(*weight)).sum();
        let mut sum = 0.0;
        for (weight, sample) in all.iter().zip(0..) {
            sum += f64::from(*weight);
            if sum > unit(random) * total {
                return sample;
            }
        }
        all.iter().rposition(|weight| *weight > 0.0).unwrap() as u64
    }

    #[test]
    fn draws_are_those_of_the_whole_sum() {
        let mut random = KeyedRandom::new(&[1]);
        let skewed =
            |at: u32| if at.is_multiple_of(7) { 0.0 } else { 1.1_f64.powi(at.cast_signed() % 300) };
        for n in [1, 2, 15, 16, 17, 33, 128, 129, 1000, 5000] {
            for of in [
                (0..n).map(|at| f64::from(at + 1)).collect(),
                (0..n).map(|at| skewed(at + 1)).collect(),
                (0..n).map(|at| f64::from(at == n / 2)).collect(),
                (0..n).map(|at| if at + 1 == n { 1.0 } else { 1e-300 }).collect::<Vec<f64>>(),
            ] {
                let weights = weights(&of);
                let edges = [0, 1, u64::MAX, u64::MAX - 1, u64::MAX << 11, 1 << 63];
                let random = (0..2000).map(|_| random.next_u64());
                let random: Vec<u64> = edges.into_iter().chain(random).collect();
                let mut drawn = random.clone();
                weights.draw_all(&mut drawn);
                for (random, drawn) in random.into_iter().zip(drawn) {
                    assert_eq!(drawn, slow(&weights, random), "n {n} random {random}");
                    assert_eq!(drawn, weights.draw(random));
                    assert!(of[drawn as usize] > 0.0);
                }
            }
        }
    }

    #[test]
    fn impossible_weights_are_refused() {
        for (given, words) in [
            (&[1.0, -1.0][..], "weight -1 of sample 1"),
            (&[f64::NAN], "weight NaN of sample 0"),
            (&[1.0, 2.0, f64::INFINITY], "weight inf of sample 2"),
            (&[0.0, 0.0], "no weight is positive"),
            (&[], "no weight is positive"),
        ] {
            let refused = Weights::new(given.iter().copied()).unwrap_err().to_string();
            assert!(refused.contains(words), "{refused}");
        }
    }

    #[test]
    fn weights_are_relative_and_small_ones_are_kept() {
        let one = weights(&[1.0, 2.0, 0.0]);
        assert_eq!(one.fingerprint(), weights(&[1e300, 2e300, 0.0]).fingerprint());
        assert_ne!(one.fingerprint(), weights(&[1.0, 2.0, 0.1]).fingerprint());
        assert_eq!(weights(&[1e-300, 1.0, 0.0]).n_positive(), 2);
    }
}
