//! The walk over a scan at several places at once, in one thread.
//!
//! The start of a code is known only after reading the one before, so that a processor mostly
//! waits. Here it does not: several walks start anywhere in the scan, and take turns, a few codes
//! each ([`crate::strides`]). Huffman codes resynchronise, so that a walk soon finds the real
//! blocks. Each records the first block at or after every multiple of the grid; as soon as a walk
//! records the same block as the one that started after it, both would find the same blocks
//! forever, and the results of the later one continue its own. So guesses cost time, but cannot
//! change the result.
//!
//! Nothing here is an error: the plain walk reports any fault.
use crate::{
    Jpeg, Unstuffed,
    strides::{PER_WORD, Place, Stride, Strides, Sums, Word},
    walk::{At, Slot, Tables, walk_span},
};

const MOST_WALKS: u64 = 4;
/// Fewest bits of the scan per walk: the start and the resynchronisation are wasted.
const LEAST_BITS: u64 = 20_000;
/// Bits after the start of the next walk within which most have synchronised with it.
const BITS_TO_MEET: u64 = 4096;
/// Bits before the end of the data in which blocks are counted.
const TAIL_BITS: u64 = 2048;
const WORD_BITS: u64 = 57;

/// Returns the first block at or after each multiple of the grid, and the end of the last block.
/// `None` for scans with restarts, small ones, and those that are not exactly the expected blocks.
pub(crate) fn note(jpeg: &Jpeg, data: &Unstuffed, grid: u64) -> Option<(Vec<At>, u64)> {
    let end = data.bytes().len() as u64 * 8;
    let n_walks = (end / LEAST_BITS).min(MOST_WALKS);
    if n_walks < 2 || jpeg.n_restarts() > 0 {
        return None;
    }
    let tables = Tables::new(jpeg);
    let slots = tables.by_slot(jpeg);
    let strides = Strides::new(jpeg).filter(|_| slots.len() == jpeg.slots.len())?;
    let scan = Scan { data, strides: &strides, slots: &slots, grid };
    let last = end.checked_sub(TAIL_BITS)?;
    let start = |number: u64| end * number / n_walks / grid * grid;
    let walks = (0..n_walks).map(|number| {
        let until = if number + 1 < n_walks { start(number + 1) + BITS_TO_MEET } else { last };
        Walk::new(start(number), until.min(last))
    });
    let mut walks: Vec<_> = walks.collect();
    together(&mut walks, &scan);
    let mut walks = walks.into_iter();
    let mut walk = walks.next().filter(|first| first.n_failed == 0)?;
    for other in walks {
        walk.meet(other, &scan)?;
    }
    while walk.next <= last {
        walk.note_next(&scan)?;
    }
    let mut found = walk.found;
    let end_bit = finish(jpeg, &scan, &mut found)?;
    if let Some(first) = found.first_mut() {
        first.resets = true;
    }
    Some((found, end_bit))
}

/// State shared by all walks.
struct Scan<'a> {
    data: &'a Unstuffed,
    strides: &'a Strides,
    slots: &'a [Slot<'a>],
    grid: u64,
}

/// A walk through a part of the scan.
#[derive(Debug)]
struct Walk {
    bit: u64,
    place: Place,
    sums: Sums,
    /// The next block at or after this bit is recorded.
    next: u64,
    /// From here on the walk that started after this one records.
    until: u64,
    /// The block and predictions relative to which this walk counts.
    before: At,
    /// Recorded blocks, without a gap, each consistent with the next.
    found: Vec<At>,
    /// Number of invalid codes.
    n_failed: u32,
}

/// Runs the walks in turns, each to its end.
fn together(walks: &mut [Walk], scan: &Scan<'_>) {
    let mut busy: Vec<_> = walks.iter_mut().collect();
    while !busy.is_empty() {
        match busy.as_mut_slice() {
            [a, b, c, d, e] => alternate([a, b, c, d, e], scan),
            [a, b, c, d] => alternate([a, b, c, d], scan),
            [a, b, c] => alternate([a, b, c], scan),
            [a, b] => alternate([a, b], scan),
            some => some.iter_mut().for_each(|walk| alternate([walk], scan)),
        }
        busy.retain(|walk| walk.next <= walk.until);
    }
}

/// Advances each walk in turns until one of them has recorded a block: while one waits, the others
/// work.
#[inline(never)]
fn alternate<const N: usize>(mut walks: [&mut Walk; N], scan: &Scan<'_>) {
    let Scan { data, strides, .. } = *scan;
    // Kept in registers.
    let mut bits = std::array::from_fn::<_, N, _>(|i| walks[i].bit);
    let mut places = std::array::from_fn::<_, N, _>(|i| walks[i].place);
    let mut sums = std::array::from_fn::<_, N, _>(|i| walks[i].sums);
    let stops = std::array::from_fn::<_, N, _>(|i| walks[i].next.saturating_sub(WORD_BITS));
    while (0..N).all(|i| bits[i] < stops[i]) {
        let mut words = [Word::NONE; N];
        for i in 0..N {
            words[i] = Word::new(data.peek(bits[i]));
        }
        let mut strides_of = [Stride::NONE; N];
        for _ in 0..PER_WORD {
            for i in 0..N {
                strides_of[i] = strides.step(&mut places[i], &mut words[i], &mut sums[i]);
            }
        }
        let mut is_stuck = false;
        for i in 0..N {
            strides.wrap(&mut places[i]);
            bits[i] += words[i].n_used();
            is_stuck |= strides_of[i] == Stride::NONE;
        }
        if is_stuck {
            for i in 0..N {
                if strides_of[i] == Stride::NONE {
                    let (place, bit) = walks[i].take_code(places[i], &mut sums[i], bits[i], scan);
                    (places[i], bits[i]) = (place, bit);
                }
            }
        }
    }
    for (i, walk) in walks.iter_mut().enumerate() {
        (walk.bit, walk.place, walk.sums) = (bits[i], places[i], sums[i]);
        if bits[i] >= stops[i] {
            walk.reach_next(scan);
        }
    }
}

impl Walk {
    fn new(start: u64, until: u64) -> Self {
        let before = At { block: 0, bit: 0, resets: false, dc: [0; 3] };
        let (bit, next, place) = (start, start, Place::new());
        let (sums, found) = ([0; 4], Vec::new());
        Self { bit, place, sums, next, until, before, found, n_failed: 0 }
    }

    /// Advances to the next block to be recorded, and records it.
    #[inline(never)]
    fn reach_next(&mut self, scan: &Scan<'_>) {
        let Scan { data, strides, .. } = *scan;
        let (mut bit, mut place, mut sums) = (self.bit, self.place, self.sums);
        'reach: loop {
            let mut word = Word::new(data.peek(bit));
            for _ in 0..PER_WORD {
                if bit + word.n_used() >= self.next && place.is_start() {
                    bit += word.n_used();
                    break 'reach;
                }
                let stride = strides.step(&mut place, &mut word, &mut sums);
                strides.wrap(&mut place);
                if stride == Stride::NONE {
                    bit += word.n_used();
                    (place, bit) = self.take_code(place, &mut sums, bit, scan);
                    continue 'reach;
                }
            }
            bit += word.n_used();
        }
        (self.bit, self.place, self.sums) = (bit, place, sums);
        let dc = std::array::from_fn(|component| self.sums[component] as i16);
        let block = strides.block(&self.place);
        let found = At { block, bit: self.bit, resets: false, dc };
        self.found.push(found.behind(&self.before));
        self.next = (self.bit / scan.grid + 1) * scan.grid;
    }

    /// Skips one code by the plain tables; returns the new position.
    #[cold]
    #[inline(never)]
    fn take_code(
        &mut self,
        mut place: Place,
        sums: &mut Sums,
        bit: u64,
        scan: &Scan<'_>,
    ) -> (Place, u64) {
        let word = scan.data.peek(bit);
        let n_bits = scan.strides.take_code(&mut place, sums, scan.slots, word);
        if n_bits.is_none() {
            // A guessed walk may still synchronise; its findings so far are discarded.
            self.found.clear();
            self.n_failed += 1;
        }
        (place, bit + u64::from(n_bits.unwrap_or(1)))
    }

    /// Records one more block. `None` for an invalid code.
    fn note_next(&mut self, scan: &Scan<'_>) -> Option<()> {
        let n_failed = self.n_failed;
        alternate([self], scan);
        (self.n_failed == n_failed).then_some(())
    }

    /// Continues to a block that the other walk has recorded too, and from there with its blocks.
    /// Unchanged if there is no such block. `None` for an invalid code.
    fn meet(&mut self, other: Self, scan: &Scan<'_>) -> Option<()> {
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
            *self = Self { found: std::mem::take(&mut self.found), before, ..other };
            return Some(());
        }
        Some(())
    }
}

impl At {
    /// Adds the block and predictions of `before`, relative to which it was counted.
    fn behind(&self, before: &Self) -> Self {
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
fn finish(jpeg: &Jpeg, scan: &Scan<'_>, found: &mut Vec<At>) -> Option<u64> {
    let last = found.pop()?;
    let (mut next, mut bit) = (last.bit, last.bit);
    walk_span(scan.slots, scan.data, last, jpeg.n_blocks.checked_sub(last.block)?, |at| {
        bit = at.bit;
        if at.bit >= next && at.block < jpeg.n_blocks {
            found.push(*at);
            next = (at.bit / scan.grid + 1) * scan.grid;
        }
        Some(())
    })?;
    let padding = (scan.data.bytes().len() as u64 * 8).checked_sub(bit)?;
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
