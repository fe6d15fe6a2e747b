//! Samples drawn in proportion to weights, with replacement or without.
use super::{
    key::{Purpose, derive},
    weights::Weights,
};
use std::sync::Arc;

/// The weighted draws of one epoch.
#[derive(Debug, Clone)]
pub(crate) enum Weighted {
    /// Every position is a draw of its own.
    With { weights: Weights, seed: u64, epoch: u64 },
    /// The samples of the positions.
    Without(Arc<Vec<u32>>),
}

impl Weighted {
    /// Returns the sample at a position.
    #[inline]
    pub(crate) fn at(&self, position: u64) -> u64 {
        match self {
            Self::With { weights, seed, epoch } => {
                weights.draw(derive(*seed, Purpose::Draw, [*epoch, position]))
            }
            Self::Without(samples) => {
                samples.get(position as usize).copied().unwrap_or_default().into()
            }
        }
    }

    /// As [`at`](Self::at), for several positions together.
    pub(crate) fn at_all(&self, numbers: &mut [u64]) {
        match self {
            Self::With { weights, seed, epoch } => {
                let random = |position| derive(*seed, Purpose::Draw, [*epoch, position]);
                numbers.iter_mut().for_each(|number| *number = random(*number));
                weights.draw_all(numbers);
            }
            Self::Without(_) => numbers.iter_mut().for_each(|number| *number = self.at(*number)),
        }
    }

    /// Returns a number that differs between the occurrences of a sample.
    pub(crate) fn occurrence(&self, position: u64) -> u64 {
        match self {
            // To count the earlier ones would take all earlier draws.
            Self::With { .. } => position,
            Self::Without(_) => 0,
        }
    }
}

/// Draws `n` different samples one after another, each in proportion to its weight among those that
/// are left; `n` is at most the number of positive weights.
///
/// That is the order of `u^(1/w)`, with a uniform `u` for each sample, from the largest on: or of
/// `-ln(u) / w` from the smallest on, of which the first that are left stay distributed as all were.
pub(crate) fn without_replacement(weights: &Weights, n: u64, seed: u64, epoch: u64) -> Vec<u32> {
    let arrival = |sample: u32| {
        let weight = weights.relative().get(sample as usize).copied().unwrap_or_default();
        let random = derive(seed, Purpose::Arrival, [epoch, sample.into()]) >> 11;
        // Never 0 or 1.
        let unit = (random as f64 + 0.5) / (1_u64 << 53) as f64;
        -libm::log(unit) / f64::from(weight)
    };
    // Sorted by the first 32 bits of the arrival, which as bits of a positive number ascend with
    // it, and the sample: half the memory of exact pairs, which are looked at where these tie.
    let coarse = |packed: &u64| packed >> 32;
    let positive = weights.relative().iter().zip(0_u32..).filter(|(weight, _)| **weight > 0.0);
    let pack = |sample| u64::from((arrival(sample) as f32).to_bits()) << 32 | u64::from(sample);
    let mut packed: Vec<u64> = positive.map(|(_, sample)| pack(sample)).collect();
    let Some(last) = (n as usize).min(packed.len()).checked_sub(1) else { return Vec::new() };
    let (_, last_packed, _) = packed.select_nth_unstable(last);
    let most = coarse(last_packed);
    packed.retain(|it| coarse(it) <= most);
    packed.sort_unstable();
    // The lower half is the sample.
    let sample = |packed: &u64| *packed as u32;
    for tied in packed.chunk_by_mut(|a, b| coarse(a) == coarse(b)).filter(|tied| tied.len() > 1) {
        tied.sort_by(|a, b| arrival(sample(a)).total_cmp(&arrival(sample(b))));
    }
    packed.iter().take(last + 1).map(sample).collect()
}

#[cfg(test)]
mod tests {
    use super::{Weighted, Weights, without_replacement};
    use std::collections::BTreeMap;

    fn weights(weights: &[f64]) -> Weights {
        Weights::new(weights.iter().copied()).unwrap()
    }

    #[test]
    fn the_weighted_orders_of_a_seed_never_change() {
        let weights = weights(&[1.0, 0.0, 4.0, 2.0, 0.5]);
        let with = Weighted::With { weights: weights.clone(), seed: 7, epoch: 1 };
        assert_eq!((0..10).map(|position| with.at(position)).collect::<Vec<_>>(), PINNED);
        assert_eq!(without_replacement(&weights, 4, 7, 1), PINNED_WITHOUT);
    }

    const PINNED: [u64; 10] = [0, 2, 2, 2, 2, 3, 2, 2, 2, 3];
    const PINNED_WITHOUT: [u32; 4] = [3, 2, 4, 0];

    /// Chi-square over its degrees of freedom stays within five standard deviations of 1.
    fn assert_fits(counts: &[f64], expected: &[f64]) {
        let degrees = expected.iter().filter(|it| **it > 0.0).count() as f64 - 1.0;
        let mut sum = 0.0;
        for (count, expected) in counts.iter().zip(expected) {
            assert!(*expected > 0.0 || *count == 0.0);
            if *expected > 0.0 {
                sum += (count - expected).powi(2) / expected;
            }
        }
        let limit = 1.0 + 5.0 * (2.0 / degrees).sqrt();
        assert!(sum / degrees < limit, "{} of {limit}", sum / degrees);
    }

    #[test]
    fn a_million_draws_have_the_shares_of_their_weights() {
        let given: Vec<f64> = (0..1000).map(|at| f64::from(at % 50) * f64::from(at % 3)).collect();
        let total: f64 = given.iter().sum();
        let with = Weighted::With { weights: weights(&given), seed: 1, epoch: 2 };
        let n = 1_000_000;
        let mut counts = vec![0.0; given.len()];
        (0..n).for_each(|position| counts[with.at(position) as usize] += 1.0);
        let expected: Vec<f64> = given.iter().map(|weight| weight / total * n as f64).collect();
        assert_fits(&counts, &expected);
    }

    /// Every order of drawing comes as often as by one draw after another.
    #[test]
    fn without_replacement_orders_are_those_of_successive_draws() {
        let given = [1.0, 4.0, 0.0, 2.0, 0.5];
        let weights = weights(&given);
        let n_epochs = 100_000;
        let mut counts = BTreeMap::<Vec<u32>, f64>::new();
        for epoch in 0..n_epochs {
            *counts.entry(without_replacement(&weights, 3, 5, epoch)).or_default() += 1.0;
        }
        let mut expected = BTreeMap::<Vec<u32>, f64>::new();
        successive(&given, &mut Vec::new(), n_epochs as f64, &mut expected);
        assert_eq!(expected.len(), 24);
        assert!(counts.keys().eq(expected.keys()));
        let values = |of: BTreeMap<_, f64>| of.into_values().collect::<Vec<_>>();
        assert_fits(&values(counts), &values(expected));
    }

    fn successive(
        given: &[f64],
        drawn: &mut Vec<u32>,
        share: f64,
        expected: &mut BTreeMap<Vec<u32>, f64>,
    ) {
        if drawn.len() == 3 {
            expected.insert(drawn.clone(), share);
            return;
        }
        let left = |sample: u32| if drawn.contains(&sample) { 0.0 } else { given[sample as usize] };
        let samples = 0..given.len() as u32;
        let total: f64 = samples.clone().map(left).sum();
        let next: Vec<_> = samples.map(|it| (it, left(it))).filter(|it| it.1 > 0.0).collect();
        for (sample, weight) in next {
            drawn.push(sample);
            successive(given, drawn, share * weight / total, expected);
            drawn.pop();
        }
    }

    /// The slow, obvious way: all exact arrivals, sorted. So many equal weights tie in 32 bits.
    #[test]
    fn the_list_is_sorted_exactly() {
        let weights = weights(&vec![1.0; 300_000]);
        let all = without_replacement(&weights, 300_000, 3, 4);
        let arrival = |sample: u32| {
            let random = super::derive(3, super::Purpose::Arrival, [4, sample.into()]) >> 11;
            -libm::log((random as f64 + 0.5) / (1_u64 << 53) as f64)
        };
        assert!(all.is_sorted_by(|a, b| arrival(*a) < arrival(*b)));
        let mut sorted = all.clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..300_000));
        for n in [1, 10, 1000, 150_000] {
            assert_eq!(without_replacement(&weights, n, 3, 4), all[..n as usize]);
        }
        assert!(without_replacement(&weights, 0, 3, 4).is_empty());
    }
}
