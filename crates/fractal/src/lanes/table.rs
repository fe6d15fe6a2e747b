use crate::system::{Map, System};

/// Slots of a table: enough for every system, and chosen by three bits of a random number.
pub(super) const SLOTS: usize = 8;

/// Bits of a random number that choose the slot; the rest is compared with its threshold.
const SLOT_BITS: u32 = 3;
const SLOT_MASK: u32 = (1 << SLOT_BITS) - 1;

/// The threshold above which nothing goes to the alias: all bits of a random number above the
/// slot's.
const FULL: u32 = (1 << (32 - SLOT_BITS)) - 1;

/// A system's maps, and the alias table that chooses each with its probability.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub(super) struct Table {
    /// Parameter `k` of the map in slot `j` is `narrow[k][j]`.
    pub(super) narrow: [[f32; SLOTS]; 6],
    /// See [`slot_of`](Self::slot_of).
    pub(super) words: [u32; SLOTS],
    /// The maps in full precision, by slot.
    pub(super) maps: [Map; SLOTS],
}

impl Table {
    pub(super) fn new(system: &System) -> Self {
        let (words, homes) = alias(system.probabilities());
        let map_at = |home: usize| system.maps().get(home).copied().unwrap_or_default();
        let maps = homes.map(map_at);
        let narrow = std::array::from_fn(|k| maps.map(|map| map[k] as f32));
        Self { narrow, words, maps }
    }

    /// Returns the slot of the map that a random number chooses.
    ///
    /// A word is `threshold << 3 | alias`. The low three bits of the random number are its slot,
    /// the others decide between the slot's own map and its alias; as either answer is in the low
    /// bits of one of the two numbers, the smaller number carries it.
    #[inline(always)]
    pub(super) fn slot_of(&self, random: u32) -> usize {
        let word = self.words[(random & SLOT_MASK) as usize];
        (random.min(word) & SLOT_MASK) as usize
    }

    /// Returns true if all parameters are finite in single precision.
    pub(super) fn is_finite(&self) -> bool {
        self.narrow.as_flattened().iter().all(|parameter| parameter.is_finite())
    }
}

/// Returns the words of the alias table (Alastair J. Walker; the pairing is Michael D. Vose's), and
/// the map of each slot.
///
/// Every slot stands for an eighth. The slot with the least share is closed: what it lacks of an
/// eighth comes from the slot with the most, its alias. A slot with a share of zero holds the map
/// of its alias, so that not even one random number in 2^32 chooses a map of probability zero.
///
/// Probabilities need not sum to 1. Negative and non-finite ones count as zero; if nothing is left,
/// or the sum overflows, all maps are equally likely.
fn alias(probabilities: &[f64]) -> ([u32; SLOTS], [usize; SLOTS]) {
    let mut shares = shares(probabilities);
    let mut words: [u32; SLOTS] = std::array::from_fn(|slot| FULL << SLOT_BITS | slot as u32);
    let mut homes: [usize; SLOTS] = std::array::from_fn(|slot| slot);
    let mut open = [true; SLOTS];
    for _ in 0..SLOTS {
        let open_slots = || (0..SLOTS).filter(|&slot| open[slot]);
        // The first of equals: `reduce` keeps its accumulator.
        let least = open_slots().reduce(|a, b| if shares[b] < shares[a] { b } else { a });
        let most = open_slots().reduce(|a, b| if shares[b] > shares[a] { b } else { a });
        let (Some(least), Some(most)) = (least, most) else { break };
        // Only full slots are left, up to rounding.
        if least == most || shares[least] >= 1.0 {
            break;
        }
        let threshold = (shares[least] * f64::from(FULL + 1) + 0.5) as u32;
        words[least] = threshold.min(FULL) << SLOT_BITS | most as u32;
        if threshold == 0 {
            homes[least] = most;
        }
        shares[most] -= 1.0 - shares[least];
        open[least] = false;
    }
    (words, homes)
}

/// Returns the probabilities in units of an eighth; they sum to 8.
fn shares(probabilities: &[f64]) -> [f64; SLOTS] {
    let mut clean = [0.0; SLOTS];
    for (clean, &probability) in clean.iter_mut().zip(probabilities) {
        *clean = if probability.is_finite() { probability.max(0.0) } else { 0.0 };
    }
    let total = clean.iter().fold(0.0, |sum, share| sum + share);
    if total > 0.0 && total.is_finite() {
        return clean.map(|share| share / total * SLOTS as f64);
    }
    let n_maps = probabilities.len().clamp(1, SLOTS);
    std::array::from_fn(|slot| if slot < n_maps { SLOTS as f64 / n_maps as f64 } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::key::{Hash, Key};
    use proptest::prelude::*;

    /// Returns the exact frequency of each map, by counting out every threshold.
    fn exact(probabilities: &[f64]) -> [f64; SLOTS] {
        let (words, homes) = alias(probabilities);
        let mut taken = [0.0; SLOTS];
        for (slot, word) in words.into_iter().enumerate() {
            let kept = f64::from(word >> SLOT_BITS) / f64::from(FULL + 1);
            taken[homes[slot]] += kept / SLOTS as f64;
            taken[homes[(word & SLOT_MASK) as usize]] += (1.0 - kept) / SLOTS as f64;
        }
        taken
    }

    #[test]
    fn maps_are_taken_as_often_as_their_probability_says() {
        let cases: [&[f64]; 6] = [
            &[0.01, 0.85, 0.07, 0.07],
            &[1.0],
            &[0.5, 0.5],
            &[0.125; 8],
            &[3.0, 0.0, 1.0, 0.0, 1.0],
            &[1e-12, 1.0 - 1e-12],
        ];
        let hash = Hash::new(Key { seed: 1, class: 0, instance: 0 }.words());
        for probabilities in cases {
            let total: f64 = probabilities.iter().sum();
            let maps = (0..probabilities.len()).map(|j| [j as f64; 6]).collect();
            let table = Table::new(&System::new(maps, probabilities.to_vec()).unwrap());
            let n = 1 << 18;
            let mut counts = [0_u32; SLOTS];
            (0..n).for_each(|i| counts[table.maps[table.slot_of(hash.at(i))][0] as usize] += 1);
            for (j, taken) in exact(probabilities).into_iter().enumerate() {
                let share = probabilities.get(j).map_or(0.0, |share| share / total);
                assert!((taken - share).abs() < 1e-8, "{probabilities:?}");
                let deviation = (share * (1.0 - share) * f64::from(n)).sqrt();
                let expected = share * f64::from(n);
                assert!((f64::from(counts[j]) - expected).abs() <= 4.5 * deviation + 1e-3);
            }
        }
    }

    #[test]
    fn useless_probabilities_are_made_equal() {
        for probabilities in
            [&[f64::NAN, f64::NAN][..], &[0.0, -1.0], &[f64::INFINITY, 0.0], &[1e308, 1e308]]
        {
            assert_eq!(exact(probabilities)[..3], [0.5, 0.5, 0.0], "{probabilities:?}");
        }
        assert_eq!(exact(&[f64::NAN, 0.3, -2.0])[..3], [0.0, 1.0, 0.0]);
    }

    proptest! {
        #[test]
        fn any_probabilities_make_a_table(
            probabilities in prop::collection::vec(prop::num::f64::ANY, 1..=8),
        ) {
            let (_, homes) = alias(&probabilities);
            prop_assert!(homes.iter().all(|&home| home < probabilities.len()));
            let taken = exact(&probabilities);
            prop_assert!((taken.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }
}
