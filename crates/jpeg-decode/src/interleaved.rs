//! Entropy decoding of several runs of blocks at once, without branches at the ends of blocks.
//!
//! Every stream is a state machine that takes one code per step; the steps of up to eight streams
//! alternate, so that the processor works on one while it waits for another. The steps are short
//! because a stream's place is a single number:
//!
//! ```text
//! place      bytes from the first cell; a cell has 256, the upper 128 are the values of its block
//! place >> 7 even: a DC code comes next; odd: an AC code. It indexes the plans: the table, and
//!            a mask, 126 for DC and 0 for AC
//! a step     entry = entries[plan.table + next bits]
//!            place = (place | plan.mask) + entry.advance
//!            the value is written to the 2 bytes before place
//! ```
//!
//! A DC code leads from anywhere in the lower half to the second value: `(place | 126) + 4`. An AC
//! code advances by its zeros and its value. The end of a block advances by 128, from anywhere in
//! the values to the lower half of the next cell, where a zero is written; so does the 63rd value
//! by itself. Values of a damaged scan after the 63rd one go to that lower half, too, which is
//! checked afterwards.
//!
//! The next bits are the upper ones of a word. The last bit that was loaded is replaced by a one,
//! so that the number of trailing zeros is that of the bits that were used since the start of the
//! first loaded byte. Nothing is counted per code.
//!
//! # Bounds
//!
//! A code advances a place by at least 2 bytes, so that everything terminates, and by at most a
//! cell: a DC code by 130 bytes at most, an AC code by 128, an invalid code to the next cell. A
//! stream is stopped when it is within a margin of 2 or 3 cells of its end, which is checked every
//! 3 to 5 entries, or after as many as cannot lead there. So it never gets further than that many
//! cells after a place outside the margin: [`SLACK`] cells after its end belong to it. Bytes are
//! loaded from at most `limit`, with 8 of the padding after it.
//!
//! The last blocks of a run are taken one code at a time, and end exactly. If values are not
//! needed, [`crate::plans`] takes several codes at a time.
#![allow(unsafe_code, reason = "places and tables are indexed without checks, see Bounds")]
mod code;

use crate::{
    instructions::Base,
    plans::{Aim, Averages, CELL, LongValues, Mark, Plan, Plans, SLACK, Values, Way},
    table::{Codes, Entry},
    window::Window,
};
use code::{load, step};
use fdconvert_jpeg::Unstuffed;
use std::slice::IterMut;

pub(crate) const MAX_STREAMS: usize = 8;

/// A place of the scan that is being decoded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stream<'a> {
    now: Now,
    /// Last place before a check, with a margin before the end.
    stop: u64,
    end: u64,
    /// Byte of the scan at which the stream is stopped too.
    stop_byte: u64,
    /// The place after an invalid code; 0 if all were valid.
    failed: u64,
    /// The scan, with its padding: the same for all streams of a call.
    data: &'a [u8],
}

/// The state that changes with every code, kept in registers.
#[derive(Debug, Clone, Copy)]
struct Now {
    /// The bits, as in the module's documentation.
    bits: u64,
    /// Byte of the scan from which they were loaded.
    byte: u64,
    /// Place relative to the first cell; an address while streams run.
    place: u64,
}

impl Now {
    #[inline(always)]
    fn bit(&self) -> u64 {
        self.byte * 8 + u64::from(self.bits.trailing_zeros())
    }
}

impl<'a> Stream<'a> {
    /// Creates a stream for `n_blocks` blocks from a position in the scan, in cells from `cell` on.
    pub(crate) fn new(
        plans: &Plans,
        data: &'a Unstuffed,
        bit: u64,
        cell: usize,
        n_blocks: usize,
    ) -> Self {
        let place = cell as u64 * CELL;
        let end = place + n_blocks as u64 * CELL;
        let stop = end.saturating_sub(plans.aim.margin() * CELL).max(place);
        // No bits are left of those before the position.
        let now = Now { bits: 1 << (bit % 8), byte: bit / 8, place };
        Self { now, stop, end, stop_byte: u64::MAX, failed: 0, data: data.padded() }
    }

    /// Also stops the stream after a position.
    pub(crate) fn until(self, stop_bit: u64) -> Self {
        Self { stop_byte: stop_bit.div_ceil(8), ..self }
    }

    /// Returns true if all codes of the blocks from a cell on were valid.
    pub(crate) fn is_sound_from(&self, cell: usize) -> bool {
        self.failed <= cell as u64 * CELL
    }

    /// Returns its cell, and whether it is at the start of the block.
    pub(crate) fn cell(&self) -> (usize, bool) {
        ((self.now.place / CELL) as usize, self.now.place & 128 == 0)
    }

    pub(crate) fn bit(&self) -> u64 {
        self.now.bit()
    }

    pub(crate) fn is_near_end(&self) -> bool {
        self.now.place >= self.stop || self.now.byte >= self.stop_byte
    }
}

/// Marks of all streams at a time.
pub(crate) type Marks = [Mark; MAX_STREAMS];

/// Decodes until one of the streams is near its end; returns the number of set marks. There are at
/// most [`MAX_STREAMS`] streams, and none of them is near its end before.
pub(crate) fn run(
    _: Base,
    plans: &mut Plans,
    window: &mut Window,
    streams: &mut [Stream<'_>],
    marks: &mut [Marks],
) -> usize {
    let at = &Bases::new(plans, window, streams);
    let mut free = marks.iter_mut();
    // SAFETY: `Bases::new` has checked the bounds of these streams, as the functions require, and
    // the proof of AVX2 includes BMI1 and BMI2.
    unsafe {
        match plans.aim {
            Aim::Values => alternate::<Values>(at, &mut free, streams),
            Aim::LongValues => alternate::<LongValues>(at, &mut free, streams),
            Aim::Averages => alternate::<Averages>(at, &mut free, streams),
        }
    }
    let n_free = free.len();
    marks.len() - n_free
}

/// Takes the last blocks of a stream, code by code. Returns their end; `None` when there are values
/// after the last block, which only damaged data has.
pub(crate) fn finish(
    _: Base,
    plans: &mut Plans,
    window: &mut Window,
    stream: &mut Stream<'_>,
) -> Option<u64> {
    let at = &Bases::new(plans, window, std::slice::from_ref(stream));
    // SAFETY: as above.
    unsafe { finish_one(plans.aim, at, stream, stream.end) }
    let spill = window.cells.spill_mut((stream.end / CELL) as usize)?;
    let is_sound = *spill == [0; 64] && stream.failed == 0;
    is_sound.then(|| stream.bit())
}

/// Takes codes one by one up to the start of a block: the next one, or the one after it. Returns
/// whether there was room for that.
pub(crate) fn finish_block(
    _: Base,
    plans: &mut Plans,
    window: &mut Window,
    stream: &mut Stream<'_>,
    and_next: bool,
) -> bool {
    let is_start = stream.now.place & 128 == 0;
    let n_blocks = u64::from(!is_start) + u64::from(and_next);
    let end = (stream.now.place / CELL + n_blocks) * CELL;
    if end > stream.end {
        return false;
    }
    let at = &Bases::new(plans, window, std::slice::from_ref(stream));
    // SAFETY: as above; the end is at or before that of the stream.
    unsafe { finish_one(plans.aim, at, stream, end) }
    true
}

/// Base addresses of cells, plans, entries and codes. They are passed by reference: a copy for each
/// call that might be made would take more than the rest of a step.
struct Bases {
    /// The address of the first cell, a multiple of [`CELL`].
    cells: u64,
    /// Offset so that addresses index it: the plan of a part of a cell is as many plans after this
    /// as the part has before it in all memory.
    plans: *const Plan,
    entries: *const Entry,
    codes: *const Codes,
    data: *const u8,
    /// The last byte of the scan to load from.
    limit: u64,
}

impl Bases {
    /// # Panics
    /// When a stream has no room. That would be a bug of this crate; it is checked because memory
    /// safety depends on it.
    fn new(plans: &mut Plans, window: &mut Window, streams: &[Stream<'_>]) -> Self {
        let mut n_cells = 0;
        let data = streams.first().map_or(&[][..], |stream| stream.data);
        let limit = data.len().saturating_sub(16);
        for stream in streams {
            n_cells = n_cells.max((stream.end / CELL) as usize + SLACK);
            // After its end no code is taken.
            assert!(stream.stop <= stream.end);
            assert!(std::ptr::eq(stream.data, data) && limit + 8 <= data.len());
        }
        window.cells.reach(n_cells);
        plans.reach(n_cells);
        assert!(plans.plans.len() >= plans.aim.n_plans() * n_cells);
        assert!(plans.entries.len() == plans.codes.len() << plans.aim.index_bits());
        // Exposed, because the streams make pointers of addresses.
        let cells = window.cells.as_mut_ptr().expose_provenance() as u64;
        assert!(cells.is_multiple_of(CELL));
        Self {
            cells,
            plans: plans.plans.as_ptr().wrapping_sub((cells >> plans.aim.plan_shift()) as usize),
            entries: plans.entries.as_ptr(),
            codes: plans.codes.as_ptr(),
            data: data.as_ptr(),
            limit: limit as u64,
        }
    }

    #[inline(always)]
    fn address(&self, place: u64) -> u64 {
        place + self.cells
    }

    #[inline(always)]
    fn place(&self, address: u64) -> u64 {
        address - self.cells
    }

    /// Returns the state of a stream for its registers.
    #[inline(always)]
    fn enter(&self, stream: &Stream<'_>) -> Now {
        Now { place: self.address(stream.now.place), ..stream.now }
    }

    /// Returns how often a round of entries can be taken before a stream may be near its end; 0 if
    /// it is.
    #[inline(always)]
    fn n_rounds<W: Way>(&self, now: Now, stop: u64, stop_byte: u64) -> u64 {
        if now.place >= stop || now.byte >= stop_byte {
            return 0;
        }
        // An entry leads at most a cell further, and a round uses at most 8 bytes, or some more if
        // it has long codes, which does no harm.
        let by_cells = (stop - now.place) / (W::N_ENTRIES as u64 * CELL);
        by_cells.min((stop_byte - now.byte) / 8).max(1)
    }

    /// Writes the state back.
    #[inline(always)]
    fn leave(&self, now: Now, stream: &mut Stream<'_>) {
        stream.now = Now { place: self.place(now.place), ..now };
    }
}

/// For this and all functions below: the pointers are those of [`Bases::new`] for these streams,
/// and an x86-64 processor has BMI1 and BMI2.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "bmi1,bmi2"))]
unsafe fn alternate<W: Way>(
    at: &Bases,
    marks: &mut IterMut<'_, Marks>,
    streams: &mut [Stream<'_>],
) {
    // SAFETY: passed on.
    unsafe {
        match streams {
            [a] => one::<W>(at, marks, a),
            [a, b] => two::<W>(at, marks, a, b),
            [a, b, c] => three::<W>(at, marks, a, b, c),
            [a, b, c, d] => four::<W>(at, marks, a, b, c, d),
            [a, b, c, d, e] => five::<W>(at, marks, a, b, c, d, e),
            [a, b, c, d, e, f] => six::<W>(at, marks, a, b, c, d, e, f),
            [a, b, c, d, e, f, g] => seven::<W>(at, marks, a, b, c, d, e, f, g),
            [a, b, c, d, e, f, g, h, ..] => eight::<W>(at, marks, a, b, c, d, e, f, g, h),
            [] => {}
        }
    }
}

macro_rules! alternate {
    ($name:ident: $($stream:ident $number:literal)+) => {
        #[inline(never)]
        #[allow(clippy::too_many_arguments, reason = "each is a name for registers")]
        #[cfg_attr(target_arch = "x86_64", target_feature(enable = "bmi1,bmi2"))]
        unsafe fn $name<W: Way>(
            at: &Bases,
            marks: &mut IterMut<'_, Marks>,
            $($stream: &mut Stream<'_>),+
        ) {
            // The state in registers, the rest, and the address at which to stop.
            $(let mut $stream = (at.enter($stream), at.address($stream.stop), $stream);)+
            macro_rules! step_each {
                () => { $(step::<W>(at, &mut $stream.0, $stream.2);)+ };
            }
            loop {
                let mut n_rounds = u64::MAX;
                $(n_rounds = n_rounds.min(
                    at.n_rounds::<W>($stream.0, $stream.1, $stream.2.stop_byte)
                );)+
                if n_rounds == 0 {
                    break;
                }
                for _ in 0..n_rounds {
                    // SAFETY: passed on.
                    unsafe {
                        $(load(at, &mut $stream.0);)+
                        if let Some(marks) = marks.next() {
                            $(marks[$number] = Mark {
                                bit: $stream.0.bit(),
                                place: at.place($stream.0.place),
                            };)+
                        }
                        step_each!();
                        step_each!();
                        step_each!();
                        if W::N_ENTRIES > 3 {
                            step_each!();
                        }
                        if W::N_ENTRIES > 4 {
                            step_each!();
                        }
                    }
                }
            }
            $(at.leave($stream.0, $stream.2);)+
        }
    };
}
alternate!(one: a 0);
alternate!(two: a 0 b 1);
alternate!(three: a 0 b 1 c 2);
alternate!(four: a 0 b 1 c 2 d 3);
alternate!(five: a 0 b 1 c 2 d 3 e 4);
alternate!(six: a 0 b 1 c 2 d 3 e 4 f 5);
alternate!(seven: a 0 b 1 c 2 d 3 e 4 f 5 g 6);
alternate!(eight: a 0 b 1 c 2 d 3 e 4 f 5 g 6 h 7);

#[cfg_attr(target_arch = "x86_64", target_feature(enable = "bmi1,bmi2"))]
unsafe fn finish_one(aim: Aim, at: &Bases, stream: &mut Stream<'_>, end: u64) {
    // SAFETY: passed on.
    unsafe {
        match aim {
            Aim::Values => finish_by::<Values>(at, stream, end),
            Aim::LongValues => finish_by::<LongValues>(at, stream, end),
            Aim::Averages => finish_by::<Averages>(at, stream, end),
        }
    }
}

#[cfg_attr(target_arch = "x86_64", target_feature(enable = "bmi1,bmi2"))]
unsafe fn finish_by<W: Way>(at: &Bases, stream: &mut Stream<'_>, end: u64) {
    let mut now = at.enter(stream);
    let end = at.address(end);
    while now.place < end {
        // SAFETY: passed on; the place is before the end.
        unsafe {
            load(at, &mut now);
            step::<W>(at, &mut now, stream);
        }
    }
    at.leave(now, stream);
}
