//! The walk over a scan at several places at once, in one thread.
//!
//! The start of a code is known only after reading the one before, so that a processor mostly
//! waits. Here it does not: several walks start anywhere in the scan, and take turns
//! ([`crate::turns`]). Huffman codes resynchronise, so that a walk soon finds the real blocks. Each
//! records the first block at or after every multiple of the grid; as soon as a walk records the
//! same block as the one that started after it, both would find the same blocks forever, and the
//! results of the later one continue its own. So guesses cost time, but cannot change the result.
//!
//! Nothing here is an error: the plain walk reports any fault.
use crate::{
    Jpeg, Unstuffed,
    strides::Strides,
    turns::{self, N_WALKS, Scan, Slot, Walk},
    walk::{self, At, Tables, walk_span},
};

/// Fewest bits of the scan: the start of a walk and the resynchronisation are wasted.
const LEAST_BITS: u64 = 36_000;
/// Bits after the start of the next walk within which most have synchronised with it.
const BITS_TO_MEET: u64 = 4096;
/// Bits before the end of the data in which blocks are counted.
const TAIL_BITS: u64 = 2048;

/// Returns the first block at or after each multiple of the grid, and the end of the last block.
/// `None` for scans with restarts, small ones, and those that are not exactly the expected blocks.
pub(crate) fn note(jpeg: &Jpeg, data: &Unstuffed, grid: u64) -> Option<(Vec<At>, u64)> {
    let end = data.bytes().len() as u64 * 8;
    if end < LEAST_BITS || jpeg.n_restarts() > 0 {
        return None;
    }
    let tables = Tables::new(jpeg);
    let strides: Vec<_> = tables.ac.iter().map(|ac| ac.as_ref().map(Strides::new)).collect();
    let plain = tables.by_slot(jpeg);
    let slots = jpeg.slots.iter().zip(&plain).map(|(slot, &plain)| {
        let component = jpeg.components.get(usize::from(slot.component))?;
        let strides = strides.get(usize::from(component.ac_table))?.as_ref()?;
        Some(Slot { plain, strides })
    });
    let slots = slots.collect::<Option<Vec<_>>>()?;
    let scan = Scan { data, slots: &slots, grid };
    let last = end.checked_sub(TAIL_BITS)?;
    let start = |number: u64| end * number / N_WALKS as u64 / grid * grid;
    let mut walks = Vec::new();
    for number in 0..N_WALKS as u64 {
        let until = (start(number + 1) + BITS_TO_MEET).min(last);
        walks.push(Walk::new(start(number), until, &scan)?);
    }
    let mut walks: [_; N_WALKS] = walks.try_into().ok()?;
    turns::together(&mut walks, &scan);
    let mut walks = walks.into_iter();
    let mut walk = walks.next().filter(|first| first.n_failed == 0)?;
    for other in walks {
        walk.meet(other, &scan)?;
    }
    while walk.next <= last {
        walk.note_next(&scan)?;
    }
    let mut found = walk.found;
    let end_bit = finish(jpeg, (&plain, data), grid, &mut found)?;
    if let Some(first) = found.first_mut() {
        first.resets = true;
    }
    Some((found, end_bit))
}

impl<'a> Walk<'a> {
    /// Continues to a block that the other walk has recorded too, and from there with its blocks.
    /// Unchanged if there is no such block. `None` for an invalid code.
    fn meet(&mut self, other: Self, scan: &Scan<'a>) -> Option<()> {
        let n_slots = scan.slots.len().max(1) as u32;
        let is_same = |own: &At, other: &At| {
            own.bit == other.bit && own.block % n_slots == other.block % n_slots
        };
        for (number, theirs) in other.found.iter().enumerate() {
            while self.found.last().is_none_or(|own| own.bit < theirs.bit) {
                self.note_next(scan)?;
            }
            let behind = self.found.partition_point(|own| own.bit < theirs.bit);
            let Some(own) = self.found.get(behind).filter(|own| is_same(own, theirs)) else {
                continue;
            };
            let before = own.before(theirs);
            self.found.truncate(behind);
            let rest = other.found.get(number..).unwrap_or_default();
            self.found.extend(rest.iter().map(|it| it.behind(&before)));
            let found = std::mem::take(&mut self.found);
            *self = other;
            (self.found, self.before) = (found, before);
            return Some(());
        }
        Some(())
    }
}

impl At {
    /// Adds the block and predictions of `before`, relative to which it was counted.
    pub(crate) fn behind(&self, before: &Self) -> Self {
        let dc = std::array::from_fn(|i| before.dc[i].wrapping_add(self.dc[i]));
        Self { block: before.block.wrapping_add(self.block), dc, ..*self }
    }

    /// Subtracts `other`, which gives the base of its count if both are the same block.
    fn before(&self, other: &Self) -> Self {
        let dc = std::array::from_fn(|i| self.dc[i].wrapping_sub(other.dc[i]));
        Self { block: self.block.wrapping_sub(other.block), dc, ..*self }
    }
}

/// Counts the last blocks, and records the remaining ones. Returns their end.
fn finish(
    jpeg: &Jpeg,
    (slots, data): (&[walk::Slot<'_>], &Unstuffed),
    grid: u64,
    found: &mut Vec<At>,
) -> Option<u64> {
    let last = found.pop()?;
    let (mut next, mut bit) = (last.bit, last.bit);
    walk_span(slots, data, last, jpeg.n_blocks.checked_sub(last.block)?, |at| {
        bit = at.bit;
        if at.bit >= next && at.block < jpeg.n_blocks {
            found.push(*at);
            next = (at.bit / grid + 1) * grid;
        }
        Some(())
    })?;
    let padding = (data.bytes().len() as u64 * 8).checked_sub(bit)?;
    (padding < 8 && !found.is_empty()).then_some(bit)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::{GRIDS_BITS, parse, unstuff, walk};
    use fdconvert_testkit::fixtures::Random;
    use jpeg_encoder::{ColorType, Encoder, SamplingFactor};

    /// Slopes with noise: blocks with few values and with many.
    fn picture(side: u16, random: &mut Random) -> Vec<u8> {
        let pixels = (0..u32::from(side)).flat_map(|y| (0..u32::from(side)).map(move |x| (x, y)));
        let values = pixels.flat_map(|(x, y)| [x + y, 2 * x, 3 * y].map(|value| (value, x * y)));
        let noisy = values.map(|(value, place)| {
            let noise = random.below(1 + u64::from(place / 700 % 97)) as u32;
            (value / 3 + noise) as u8
        });
        noisy.collect()
    }

    fn jpeg(side: u16, sampling: Option<SamplingFactor>, quality: u8, seed: u64) -> Vec<u8> {
        let pixels = picture(side, &mut Random::new(seed));
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, quality);
        match sampling {
            Some(sampling) => {
                encoder.set_sampling_factor(sampling);
                encoder.encode(&pixels, side, side, ColorType::Rgb).unwrap();
            }
            None => {
                let gray = pixels.get(..usize::from(side).pow(2)).unwrap();
                encoder.encode(gray, side, side, ColorType::Luma).unwrap();
            }
        }
        bytes
    }

    fn same(found: &[At], expected: &[At]) -> bool {
        let all = |at: &At| (at.block, at.bit, at.resets, at.dc);
        found.iter().map(all).eq(expected.iter().map(all))
    }

    /// Returns true if several walks have recorded the same as one; they must never record anything
    /// else.
    fn check(bytes: &[u8]) -> bool {
        let Ok(jpeg) = parse(bytes) else { return false };
        let Ok(data) = unstuff(&jpeg, bytes) else { return false };
        let mut have_met = true;
        for grid in GRIDS_BITS {
            let plain = walk::note(&jpeg, &data, grid.into());
            let Some((noted, end)) = note(&jpeg, &data, grid.into()) else {
                have_met = false;
                continue;
            };
            let (expected, expected_end) = plain.unwrap();
            assert!(same(&noted, &expected) && end == expected_end, "{grid} bits");
        }
        have_met
    }

    #[test]
    fn several_walks_note_what_one_does() {
        let samplings = [SamplingFactor::F_1_1, SamplingFactor::F_2_1, SamplingFactor::F_2_2];
        for sampling in samplings.into_iter().map(Some).chain([None]) {
            for (seed, (side, quality)) in
                [(400, 30), (300, 75), (260, 90), (150, 100)].iter().enumerate()
            {
                let bytes = jpeg(*side, sampling, *quality, seed as u64);
                assert!(check(&bytes), "{sampling:?} {side} {quality}");
            }
        }
    }

    /// Damaged scans are left to the plain walk, or recorded as by it.
    #[test]
    fn damage_is_not_overlooked() {
        let mut random = Random::new(5);
        let mut n_same = 0;
        for number in 0..200 {
            let mut bytes = jpeg(230, Some(SamplingFactor::F_2_2), 85, number % 4);
            let start = parse(&bytes).unwrap().scan.start;
            let n_changes = 1 + random.below(3);
            for _ in 0..n_changes {
                let at = start + random.below((bytes.len() - start) as u64) as usize;
                *bytes.get_mut(at).unwrap() = random.below(255) as u8;
            }
            n_same += u32::from(check(&bytes));
        }
        // If a scan resynchronises with the same number of blocks, codes alone cannot tell.
        assert!((1..200).contains(&n_same), "{n_same} are sound");
    }
}
