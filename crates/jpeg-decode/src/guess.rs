//! Several places of a scan at once without known starts of blocks.
//!
//! Huffman codes resynchronise: reading from an arbitrary position gives nonsense at first, and
//! after some blocks the real codes. (Of 805 starts in ImageNet's JPEGs half were in step after 4
//! blocks, 95 % after 31, and all after 200.) So some streams start at guessed positions, at
//! distances that give all of them the same work:
//!
//! ```text
//! stream 0    |===============|==>|      from the end of the previous blocks
//! stream 1                    |~~~|==========|====>|
//! stream 2                                   |~~~~~|===========|
//! ```
//!
//! Each one records its positions in its first blocks. A stream that has reached the start of the
//! next continues, block by block, until it is at the start of a block where the next one was, too,
//! and at the same block of an MCU. From there on the blocks of the next one are those of the scan:
//! both would read the same codes forever. The earlier blocks of the next one are wiped. If two do
//! not meet, everything read after that is wiped, and the next streams start again from there. So
//! guesses cost time, but cannot change the result.
use crate::{
    interleaved::{MAX_STREAMS, Marks, Stream, finish, finish_block, run},
    plans::{Mark, SLACK},
    tasks::Interleaved,
    window::Window,
};
use fdconvert_jpeg::{Jpeg, Unstuffed};
use std::cmp::Ordering;

/// Bits below which a stream is not worth its start.
const LEAST_BITS: u64 = 8000;
/// Number of positions that a stream records, after 3 to 5 entries each.
const N_MARKS: usize = 400;
/// Number of blocks by which a stream continues to meet the next one.
const MOST_BLOCKS: usize = 96;
/// Cells of a stream relative to the number of expected blocks, to the next stream's start.
const ROOM: u64 = 2;

/// The end of the known blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Guesses {
    bit: u64,
    block: u32,
    /// Number of streams that did not meet the next one.
    n_missed: u32,
    n_met: u32,
}

impl Guesses {
    pub(crate) fn new() -> Self {
        Self { bit: 0, block: 0, n_missed: 0, n_met: 0 }
    }

    /// Decodes more blocks to the end of a window, at least some, and not many beyond `until`.
    /// `None` when they are damaged; the portable decoder finds the fault.
    pub(crate) fn decode(
        &mut self,
        by: &mut Interleaved,
        jpeg: &Jpeg,
        data: &Unstuffed,
        until: u32,
        n_places: usize,
        window: &mut Window,
    ) -> Option<()> {
        let end = data.bytes().len() as u64 * 8;
        let n_left = jpeg.n_blocks.checked_sub(self.block).filter(|n_left| *n_left > 0)?;
        let bits_left = end.checked_sub(self.bit)?;
        let wanted = u64::from(until.saturating_sub(self.block).clamp(1, n_left));
        let n_blocks = wanted.min(by.plans.span_blocks());
        // The last blocks are exactly the counted ones.
        let span = (bits_left * n_blocks / u64::from(n_left)).min(bits_left.saturating_sub(1024));
        let n_streams = (n_places.clamp(1, MAX_STREAMS) as u64).min(span / LEAST_BITS);
        // Data that never resynchronises, if it exists, must not take forever.
        let is_hopeless = self.n_missed > 8 + self.n_met;
        match n_streams >= 2 && !is_hopeless {
            true => self.decode_span(by, data, (span, n_blocks, n_streams), window)?,
            false => self.decode_next(by, data, n_blocks as u32, window)?,
        }
        let padding = end.checked_sub(self.bit)?;
        match self.block.cmp(&jpeg.n_blocks) {
            Ordering::Less => Some(()),
            Ordering::Equal => (padding < 8).then_some(()),
            Ordering::Greater => None,
        }
    }

    /// Decodes the next blocks with one stream.
    fn decode_next(
        &mut self,
        by: &mut Interleaved,
        data: &Unstuffed,
        n_blocks: u32,
        window: &mut Window,
    ) -> Option<()> {
        let cell = self.first_cell(by, n_blocks as usize + SLACK, self.block, window);
        let mut stream = [Stream::new(&by.plans, data, self.bit, cell, n_blocks as usize)];
        if !stream[0].is_near_end() {
            run(by.proof, &mut by.plans, window, &mut stream, &mut []);
        }
        self.bit = finish(by.proof, &mut by.plans, window, &mut stream[0])?;
        window.add_cells(cell..cell + n_blocks as usize);
        self.block += n_blocks;
        Some(())
    }

    /// Returns the first of `n_cells` free cells that has the tables of a block of the scan.
    fn first_cell(&self, by: &Interleaved, n_cells: usize, block: u32, window: &Window) -> usize {
        let per_mcu = by.plans.blocks_per_mcu().max(1);
        let phase = block as usize % per_mcu;
        let free = window.free(n_cells + 2 * per_mcu + SLACK);
        free.next_multiple_of(per_mcu) + phase
    }

    fn decode_span(
        &mut self,
        by: &mut Interleaved,
        data: &Unstuffed,
        (span, n_blocks, n_streams): (u64, u64, u64),
        window: &mut Window,
    ) -> Option<()> {
        let per_mcu = by.plans.blocks_per_mcu().max(1);
        let room = (ROOM * n_blocks / n_streams) as usize + MOST_BLOCKS;
        let distance = (room + SLACK).next_multiple_of(per_mcu);
        let first = self.first_cell(by, distance * n_streams as usize, self.block, window);
        // Guesses assume the start of an MCU.
        let guessed = first.next_multiple_of(per_mcu);
        let start = |number: u64| match number {
            0 => (self.bit, first),
            _ => (self.bit + span * number / n_streams, guessed + number as usize * distance),
        };
        let streams = (0..n_streams).map(|number| {
            let (bit, cell) = start(number);
            Stream::new(&by.plans, data, bit, cell, room).until(start(number + 1).0)
        });
        let mut streams: Vec<_> = streams.collect();
        by.marks.resize(N_MARKS, Marks::default());
        let mut n_marks = by.marks.len();
        let mut busy: Vec<_> = (0..streams.len()).collect();
        while !busy.is_empty() {
            let mut running: Vec<_> = busy.iter().map(|number| streams[*number]).collect();
            let marks = if running.len() == streams.len() { &mut by.marks[..] } else { &mut [] };
            let n_set = run(by.proof, &mut by.plans, window, &mut running, marks);
            if running.len() == streams.len() {
                n_marks = n_set;
            }
            for (number, stream) in busy.iter().zip(running) {
                streams[*number] = stream;
            }
            busy.retain(|number| !streams[*number].is_near_end());
        }
        for stream in &mut streams {
            finish_block(by.proof, &mut by.plans, window, stream, false);
        }
        by.marks.truncate(n_marks);
        let starts: Vec<_> = (0..n_streams).map(|number| start(number).1).collect();
        self.join(by, data, &mut streams, &starts, window)
    }

    /// Joins the blocks of streams that meet, and wipes those of the others. `starts` are the first
    /// cells of the streams.
    fn join(
        &mut self,
        by: &mut Interleaved,
        data: &Unstuffed,
        streams: &mut [Stream<'_>],
        starts: &[usize],
        window: &mut Window,
    ) -> Option<()> {
        let mut from = *starts.first()?;
        for number in 0..streams.len() {
            let (known, guessed) = streams.split_at_mut(number + 1);
            let stream = known.last_mut()?;
            let next = starts.get(number + 1);
            let met = next.and_then(|_| meet(by, data, stream, number + 1, window));
            let (behind, is_start) = stream.cell();
            if !is_start || !stream.is_sound_from(from) || !is_clean(window, behind) {
                return None;
            }
            window.add_cells(from..behind);
            self.block = self.block.checked_add(behind.checked_sub(from)? as u32)?;
            self.bit = stream.bit();
            let (Some(start), Some(met)) = (next, met) else {
                self.n_missed += u32::from(next.is_some());
                // The blocks of the others may not be those of the scan.
                for (start, stream) in starts.iter().skip(number + 1).zip(guessed) {
                    window.cells.wipe(*start..stream.cell().0 + 1);
                }
                return Some(());
            };
            self.n_met += 1;
            window.cells.wipe(*start..met);
            *window.cells.spill_mut(met)? = [0; 64];
            from = met;
        }
        Some(())
    }
}

/// Continues a stream up to a block that the next one has read too, and returns its cell there.
fn meet(
    by: &mut Interleaved,
    data: &Unstuffed,
    stream: &mut Stream<'_>,
    next: usize,
    window: &mut Window,
) -> Option<usize> {
    let per_mcu = by.plans.blocks_per_mcu().max(1);
    let mut path = Path { number: next, at: Mark::default(), n_passed: 0 };
    for _ in 0..MOST_BLOCKS {
        let (cell, is_start) = stream.cell();
        let at = path.reach(by, data, stream.bit()).filter(|_| is_start)?;
        let (next_cell, is_start) = at.cell();
        if at.bit == stream.bit() && is_start && next_cell % per_mcu == cell % per_mcu {
            return Some(next_cell);
        }
        if !finish_block(by.proof, &mut by.plans, window, stream, true) {
            return None;
        }
    }
    None
}

/// Returns true if no values are after the last block before a cell.
fn is_clean(window: &mut Window, cell: usize) -> bool {
    window.cells.spill_mut(cell).is_some_and(|spill| *spill == [0; 64])
}

/// The path of a stream, by its marks.
struct Path {
    number: usize,
    at: Mark,
    n_passed: usize,
}

impl Path {
    /// Continues to the first code at or after a position. `None` after the last mark.
    fn reach(&mut self, by: &Interleaved, data: &Unstuffed, bit: u64) -> Option<Mark> {
        while let Some(mark) = by.marks.get(self.n_passed).and_then(|it| it.get(self.number))
            && mark.bit <= bit
        {
            self.at = *mark;
            self.n_passed += 1;
        }
        if self.n_passed == 0 || self.n_passed >= by.marks.len() {
            return None;
        }
        // After an invalid code, continues with the next mark.
        let nowhere = Mark { bit: u64::MAX, ..self.at };
        self.at = by.plans.skip_to(data, self.at, bit).unwrap_or(nowhere);
        Some(self.at)
    }
}
