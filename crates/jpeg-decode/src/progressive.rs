//! The coefficients of progressive JPEGs (ITU-T T.81, annex G), scan by scan.
//!
//! Most of the time goes into refinement scans of AC values. There, correction bits of the nonzero
//! values stand between the codes of new ones, and the value that a bit belongs to depends on which
//! values are nonzero. A decoder that tests each value mispredicts about half of these branches, so
//! each block has a mask of its nonzero values instead:
//!
//! ```text
//! a code gives a run of r zeros, and then a new value
//!     zeros   = positions of the band that are zero, from the current one on
//!     place   = the position in `zeros` after the first r
//!     between = nonzero positions before `place`
//!     a correction bit follows for each position of `between`, in order
//! ```
//!
//! The correction bits of a block are collected with their positions, and added at its end. Between
//! scans, the blocks of the whole image are in memory, in the order of a scan of all components.
#![allow(unsafe_code, reason = "a call that needs a proof of the instructions")]

use crate::{
    Block, Damage, Error,
    entropy::load,
    instructions::Loops,
    table::{Codes, Table, extend},
    window::{Cells, Window},
};
use fdconvert_jpeg::{Class, HuffmanTable, Jpeg, ProgressiveScan, ProgressiveScans, Unstuffed};

/// Bits of a loaded word that are left after a code and a sign.
const LEAST_IN_WORD: u32 = 57 - 16 - 1;

/// Fills a window with all blocks of an image.
///
/// # Errors
/// `Damaged` when a scan is not exactly the expected codes; `Unsupported` when the scans are not
/// those of a whole image.
pub(crate) fn decode(
    loops: Loops,
    jpeg: &Jpeg,
    scans: &mut ProgressiveScans<'_>,
    data: &mut Unstuffed,
    masks: &mut Vec<u64>,
    window: &mut Window,
) -> Result<(), Error> {
    let n_blocks = jpeg.n_blocks as usize;
    window.half_of.clear();
    masks.clear();
    let mut orders = Vec::<(Vec<u8>, Vec<u32>)>::new();
    while let Some(header) = scans.next(data)? {
        if masks.is_empty() {
            // The first scan has a code for each block of at least one component: a header may claim
            // any size, and memory is taken only for what may be there.
            let bit = data.bytes().len() as u64 * 8;
            if 16 * bit < n_blocks as u64 {
                return Err(Error::Damaged { block: 0, bit, what: Damage::DataEnds });
            }
            window.in_order(0, n_blocks);
            window.cells.has_sums = true;
            masks.resize(n_blocks, 0);
        }
        let known = orders.iter().position(|(components, _)| *components == header.components);
        let known = known.unwrap_or_else(|| {
            orders.push((header.components.clone(), order_of(jpeg, &header.components)));
            orders.len() - 1
        });
        let order = orders.get(known).map_or(&[][..], |(_, order)| order);
        let scan = Scan { header: &header, order, numbers: numbers_of(jpeg, &header.components) };
        let mut bits = Bits { data: data.bytes(), at: 0 };
        let decoded = by_instructions(loops, &scan, &mut bits, masks, &mut window.cells);
        // Padding follows the last code.
        let expected = data.bytes().len() as u64 * 8;
        let what = match decoded {
            Err(what) if bits.at <= expected => what,
            Ok(()) if bits.at <= expected && expected - bits.at < 8 => continue,
            Ok(()) if bits.at <= expected => Damage::WrongEnd { expected },
            _ => Damage::DataEnds,
        };
        return Err(Error::Damaged { block: 0, bit: bits.at, what });
    }
    Ok(())
}

/// Decodes a scan with the instructions that count and find bits, where they are.
fn by_instructions(
    loops: Loops,
    scan: &Scan<'_>,
    bits: &mut Bits<'_>,
    masks: &mut [u64],
    cells: &mut Cells,
) -> Result<(), Damage> {
    #[cfg(target_arch = "x86_64")]
    if loops.base().is_some() {
        // SAFETY: the proof of AVX2 is one of these, too.
        return unsafe { decode_bmi(scan, bits, masks, cells) };
    }
    let _ = loops;
    decode_scan(scan, bits, masks, cells, |places, n| {
        let drop = |places: u64, _| places & places.wrapping_sub(1);
        (0..n).fold(places, drop).trailing_zeros()
    })
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2,popcnt")]
fn decode_bmi(
    scan: &Scan<'_>,
    bits: &mut Bits<'_>,
    masks: &mut [u64],
    cells: &mut Cells,
) -> Result<(), Damage> {
    decode_scan(scan, bits, masks, cells, |places, n| {
        std::arch::x86_64::_pdep_u64(1 << n, places).trailing_zeros()
    })
}

/// Decodes a scan. `nth(bits, n)` returns the position of the set bit after the first `n`, or 64.
#[inline(always)]
fn decode_scan(
    scan: &Scan<'_>,
    bits: &mut Bits<'_>,
    masks: &mut [u64],
    cells: &mut Cells,
    nth: impl Fn(u64, u32) -> u32,
) -> Result<(), Damage> {
    // A copy, which stays in registers.
    let mut here = *bits;
    let decoded = match (scan.header.band.0, scan.header.refines) {
        (0, false) => dc_first(scan, &mut here, cells),
        (0, true) => dc_bit(scan, &mut here, cells),
        (_, false) => ac_first(scan, &mut here, masks, cells),
        (_, true) => ac_bit(scan, &mut here, masks, cells, nth),
    };
    bits.at = here.at;
    decoded
}

/// A place in the data of a scan, behind the end of which there are zeros.
#[derive(Clone, Copy)]
struct Bits<'a> {
    data: &'a [u8],
    at: u64,
}

impl Bits<'_> {
    /// Returns at least 57 bits, in the upper bits.
    #[inline(always)]
    fn peek(&self) -> u64 {
        load(self.data, self.at)
    }

    /// Returns the bits before this place, at most 57, in the upper bits.
    #[cold]
    fn last(self, n_bits: u32) -> u64 {
        load(self.data, self.at - u64::from(n_bits)) & !(u64::MAX >> n_bits)
    }

    /// Takes up to 16 bits as a number.
    #[inline(always)]
    fn take(&mut self, n_bits: u32) -> u32 {
        let number = self.peek() >> 1 >> (63 - n_bits);
        self.at += u64::from(n_bits);
        number as u32
    }
}

/// The codes of AC values: symbols alone, because those of two kinds of scans mean different things.
struct Symbols {
    /// By the next bits, a symbol and the bits of its code; 0 bits for longer codes.
    short: Box<[(u8, u8); 1 << SHORT_BITS]>,
    codes: Codes,
}

const SHORT_BITS: u32 = 9;

impl Symbols {
    fn new(source: &HuffmanTable) -> Self {
        let mut short = Box::new([(0, 0); 1 << SHORT_BITS]);
        for (code, n_bits, symbol) in source.codes() {
            let Some(rest) = SHORT_BITS.checked_sub(n_bits) else { break };
            let places = (code << rest) as usize..((code + 1) << rest) as usize;
            short.get_mut(places).unwrap_or_default().fill((symbol, n_bits as u8));
        }
        Self { short, codes: Codes::new(source, Class::Ac) }
    }

    /// Takes the next code, which leaves at least 41 bits of `word` for what follows; returns its
    /// zeros, its size, and these bits.
    #[inline(always)]
    fn take(&self, bits: &mut Bits<'_>) -> Result<(u32, u32, u64), Damage> {
        let word = bits.peek();
        let (symbol, n_bits) = match self.short[(word >> (64 - SHORT_BITS)) as usize] {
            (_, 0) => self.codes.symbol(word).ok_or(Damage::NoSuchCode)?,
            (symbol, n_bits) => (symbol, n_bits.into()),
        };
        bits.at += u64::from(n_bits);
        Ok((u32::from(symbol >> 4), u32::from(symbol & 15), word << n_bits))
    }
}

/// A scan and its blocks.
struct Scan<'a> {
    header: &'a ProgressiveScan,
    order: &'a [u32],
    /// The component of each block, as a position among those of the scan, again and again.
    numbers: Vec<usize>,
}

/// Returns the component of each block of an MCU.
fn numbers_of(jpeg: &Jpeg, components: &[u8]) -> Vec<usize> {
    let [_] = *components else {
        let numbers = (0..).zip(components).flat_map(|(number, component)| {
            let slots = jpeg.slots.iter().filter(move |it| it.component == *component);
            slots.map(move |_| number)
        });
        return numbers.collect();
    };
    vec![0]
}

/// Returns the positions of the blocks of a scan, in its order.
fn order_of(jpeg: &Jpeg, components: &[u8]) -> Vec<u32> {
    let slots_of = |component: u8| {
        let slots = (0..).zip(&jpeg.slots);
        slots.filter_map(move |(slot, it)| (it.component == component).then_some(slot))
    };
    let n_slots = jpeg.blocks_per_mcu();
    let mut order = Vec::new();
    let [only] = *components else {
        let slots: Vec<u32> = components.iter().copied().flat_map(slots_of).collect();
        for mcu in 0..jpeg.mcus_x * jpeg.mcus_y {
            order.extend(slots.iter().map(|slot| mcu * n_slots + slot));
        }
        return order;
    };
    // Row by row, without the blocks that only fill MCUs (T.81, A.2.2).
    let Some(component) = jpeg.components.get(usize::from(only)) else { return order };
    let (h, v) = (u32::from(component.h), u32::from(component.v));
    let (max_h, max_v) = jpeg.max_sampling();
    let columns = (jpeg.width * h).div_ceil(8 * max_h);
    let rows = (jpeg.height * v).div_ceil(8 * max_v);
    let slots: Vec<u32> = slots_of(only).collect();
    for y in 0..rows {
        let slots = slots.get((y % v * h) as usize..).unwrap_or_default();
        for mcu in 0..jpeg.mcus_x {
            let first = (y / v * jpeg.mcus_x + mcu) * n_slots;
            let n_columns = h.min(columns.saturating_sub(mcu * h));
            order.extend(slots.iter().take(n_columns as usize).map(|slot| first + slot));
        }
    }
    order
}

#[inline(always)]
fn dc_first(scan: &Scan<'_>, bits: &mut Bits<'_>, cells: &mut Cells) -> Result<(), Damage> {
    let tables: Vec<_> = scan.header.tables.iter().map(|it| Table::new(it, Class::Dc)).collect();
    let mut sums = [0_i16; 3];
    for (at, number) in scan.order.iter().zip(scan.numbers.iter().cycle()) {
        let word = bits.peek();
        let entry = tables.get(*number).and_then(|it| it.find(word)).ok_or(Damage::NoSuchCode)?;
        bits.at += u64::from(entry.total_bits());
        let sum = sums.get_mut(*number).ok_or(Damage::NoSuchCode)?;
        *sum = sum.wrapping_add(entry.value(word));
        if let Some(block) = cells.half_mut(*at) {
            block[0] = *sum << scan.header.low;
        }
    }
    Ok(())
}

#[inline(always)]
fn dc_bit(scan: &Scan<'_>, bits: &mut Bits<'_>, cells: &mut Cells) -> Result<(), Damage> {
    for at in scan.order {
        let bit = bits.take(1) as i16;
        if let Some(block) = cells.half_mut(*at) {
            block[0] |= bit << scan.header.low;
        }
    }
    Ok(())
}

#[inline(always)]
fn ac_first(
    scan: &Scan<'_>,
    bits: &mut Bits<'_>,
    masks: &mut [u64],
    cells: &mut Cells,
) -> Result<(), Damage> {
    let symbols = Symbols::new(scan.header.tables.first().ok_or(Damage::NoSuchCode)?);
    let (first, last) = (u32::from(scan.header.band.0), u32::from(scan.header.band.1));
    // Blocks without values, after the current one.
    let mut n_empty = 0;
    for at in scan.order {
        if n_empty > 0 {
            n_empty -= 1;
            continue;
        }
        let Some(block) = cells.half_mut(*at) else { continue };
        let (mut place, mut mask) = (first, 0);
        while place <= last {
            let (zeros, size, word) = symbols.take(bits)?;
            match (zeros, size) {
                (0..=14, 0) => {
                    n_empty = (1 << zeros) - 1 + bits.take(zeros);
                    break;
                }
                (_, 0) => place += 16,
                _ => {
                    bits.at += u64::from(size);
                    place += zeros;
                    if place > last {
                        return Err(Damage::TooManyValues);
                    }
                    let value = extend(word, size) << scan.header.low;
                    block[place as usize % 64] = value;
                    mask |= u64::from(value != 0) << place;
                    place += 1;
                }
            }
        }
        if let Some(place) = masks.get_mut(*at as usize) {
            *place |= mask;
        }
    }
    Ok(())
}

#[inline(always)]
fn ac_bit(
    scan: &Scan<'_>,
    bits: &mut Bits<'_>,
    masks: &mut [u64],
    cells: &mut Cells,
    nth: impl Fn(u64, u32) -> u32,
) -> Result<(), Damage> {
    let symbols = Symbols::new(scan.header.tables.first().ok_or(Damage::NoSuchCode)?);
    let band = u64::MAX << scan.header.band.0 & u64::MAX >> (63 - scan.header.band.1);
    let bit = 1 << scan.header.low;
    // Blocks without new values, with the current one.
    let mut n_without = 0;
    for at in scan.order {
        let (Some(mask), Some(block)) = (masks.get_mut(*at as usize), cells.half_mut(*at)) else {
            continue;
        };
        let (mut rest, mut new, mut added) = (band, 0, Added::default());
        while n_without == 0 && rest != 0 {
            let (zeros, size, word) = symbols.take(bits)?;
            let value = match (zeros, size) {
                (0..=14, 0) => {
                    n_without = (1 << zeros) + bits.take(zeros);
                    break;
                }
                // Sixteen zeros, the last of which is the place.
                (_, 0) => 0,
                (_, 1) if word >> 63 == 1 => bit,
                (_, 1) => -bit,
                _ => return Err(Damage::NoSuchCode),
            };
            bits.at += u64::from(size);
            let place = nth(rest & !*mask, zeros);
            if place > 63 {
                return Err(Damage::TooManyValues);
            }
            let before = (1 << place) - 1;
            added.take(rest & *mask & before, word << size, bits);
            block[place as usize % 64] = value;
            new |= u64::from(value != 0) << place;
            rest &= !before << 1;
        }
        if n_without > 0 {
            n_without -= 1;
            added.take(rest & *mask, bits.peek(), bits);
        }
        added.add(block, bit);
        *mask |= new;
    }
    Ok(())
}

/// Bits of a block, and the values that they belong to.
#[derive(Default)]
struct Added {
    places: u64,
    /// The bits in the order of their places, the first one uppermost.
    bits: u64,
    n_bits: u32,
}

impl Added {
    /// Takes the next bits, one for each of these places behind the ones before. The first ones are
    /// in `word`.
    #[inline(always)]
    fn take(&mut self, places: u64, word: u64, bits: &mut Bits<'_>) {
        let n_bits = places.count_ones();
        let n_first = n_bits.min(LEAST_IN_WORD);
        self.bits |= (word & !(u64::MAX >> n_first)) >> self.n_bits;
        bits.at += u64::from(n_bits);
        if n_bits > n_first {
            self.bits |= bits.last(n_bits - n_first) >> (self.n_bits + n_first);
        }
        self.places |= places;
        self.n_bits += n_bits;
    }

    /// Adds them to the values.
    #[inline(always)]
    fn add(mut self, block: &mut Block, bit: i16) {
        while self.places != 0 {
            let value = &mut block[self.places.trailing_zeros() as usize % 64];
            let (sign, is_set) = (*value >> 15, (self.bits as i64 >> 63) as i16);
            *value = value.wrapping_add(((bit ^ sign) - sign) & is_set);
            self.places &= self.places - 1;
            self.bits <<= 1;
        }
    }
}
