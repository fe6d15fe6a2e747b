//! Several walks over a scan, in turns.
//!
//! While one waits for an entry of a table, the others work. Each takes the AC codes of a block
//! several at a time ([`crate::strides`]), with one branch for each step: whether the block ends.
//! Only then the DC code is read, and the block recorded if it is the next to be.
use crate::{
    Unstuffed,
    strides::{MOST_BITS, PER_WORD, PLACES, Strides, Taken},
    walk::{self, At, Predictions, difference},
};

/// Number of walks; with more, what a step needs does not fit into the registers.
pub(crate) const N_WALKS: usize = 3;

/// State shared by all walks.
pub(crate) struct Scan<'a> {
    pub(crate) data: &'a Unstuffed,
    /// Of each block of an MCU.
    pub(crate) slots: &'a [Slot<'a>],
    pub(crate) grid: u64,
}

/// The tables of a block of an MCU.
pub(crate) struct Slot<'a> {
    pub(crate) plain: walk::Slot<'a>,
    pub(crate) strides: &'a Strides,
}

/// A walk through a part of the scan, between the codes of a block.
pub(crate) struct Walk<'a> {
    bit: u64,
    /// Number of filled places of the block.
    n_filled: u32,
    slot: &'a Slot<'a>,
    /// Place in its MCU, and number in the walk, of the next block.
    next_slot: usize,
    next_block: u32,
    /// Sums of the differences from the start of the walk.
    dc: Predictions,
    /// The next block at or after this bit is recorded.
    pub(crate) next: u64,
    /// From here on the walk that started after this one records.
    until: u64,
    /// The block and predictions relative to which this walk counts.
    pub(crate) before: At,
    /// Recorded blocks, without a gap, each consistent with the next.
    pub(crate) found: Vec<At>,
    /// Number of invalid codes.
    pub(crate) n_failed: u32,
}

/// Runs the walks in turns, each to its end.
pub(crate) fn together<'a>(walks: &mut [Walk<'a>; N_WALKS], scan: &Scan<'a>) {
    alternate(walks, scan);
    for walk in walks.iter_mut().filter(|walk| !walk.is_over()) {
        alone(walk, scan);
    }
}

/// Advances all walks until one of them is over.
#[inline(never)]
fn alternate<'a>(walks: &mut [Walk<'a>; N_WALKS], scan: &Scan<'a>) {
    // An array would be kept in memory.
    let [mut a, mut b, mut c] = walks.each_mut().map(Lane::new);
    let mut is_over = false;
    while !is_over {
        a.load(scan);
        b.load(scan);
        c.load(scan);
        for _ in 0..PER_WORD {
            a.step(scan, &mut is_over);
            b.step(scan, &mut is_over);
            c.step(scan, &mut is_over);
        }
    }
    a.store();
    b.store();
    c.store();
}

/// Advances a walk until it is over.
#[inline(never)]
fn alone<'a>(walk: &mut Walk<'a>, scan: &Scan<'a>) {
    let mut lane = Lane::new(walk);
    let mut is_over = false;
    while !is_over {
        lane.load(scan);
        for _ in 0..PER_WORD {
            lane.step(scan, &mut is_over);
        }
    }
    lane.store();
}

/// A walk while it advances, word by word.
struct Lane<'a, 'b> {
    walk: &'b mut Walk<'a>,
    strides: &'a Strides,
    /// Start of the word.
    bit: u64,
    /// Bits of the word that are left, the first of them uppermost.
    word: u64,
    /// Taken bits of the word, and filled places of the block.
    taken: Taken,
}

impl<'a, 'b> Lane<'a, 'b> {
    #[inline(always)]
    fn new(walk: &'b mut Walk<'a>) -> Self {
        let (strides, bit, taken) = (walk.slot.strides, walk.bit, Taken::new(0, walk.n_filled));
        Self { walk, strides, bit, word: 0, taken }
    }

    #[inline(always)]
    fn here(&self) -> u64 {
        self.bit + u64::from(self.taken.n_bits())
    }

    /// Starts a word at a bit.
    #[inline(always)]
    fn go_to(&mut self, bit: u64, n_filled: u32, scan: &Scan<'a>) {
        (self.bit, self.word) = (bit, scan.data.peek(bit));
        self.taken = Taken::new(0, n_filled);
    }

    #[inline(always)]
    fn load(&mut self, scan: &Scan<'a>) {
        self.go_to(self.here(), self.taken.n_places(), scan);
    }

    /// Takes the next codes, at most up to the first AC code of the next block. `is_over` is no
    /// returned value, which would cost two instructions in each step.
    #[inline(always)]
    fn step(&mut self, scan: &Scan<'a>, is_over: &mut bool) {
        let taken = self.strides.step(&mut self.word);
        self.taken += taken;
        if !self.taken.fills_block() {
            return;
        }
        if !self.taken.ends_block() {
            self.taken -= taken;
            let (bit, n_filled) = self.walk.take_code(self.here(), self.taken.n_places(), scan);
            self.go_to(bit, n_filled, scan);
            if !self.taken.fills_block() {
                return;
            }
        }
        self.start_block(self.here(), scan);
        *is_over |= self.walk.is_over();
    }

    /// Takes the DC code of the block at a bit.
    #[inline(always)]
    fn start_block(&mut self, mut bit: u64, scan: &Scan<'a>) {
        loop {
            let (slot, word) = (self.walk.start_block(bit, scan), scan.data.peek(bit));
            let code = slot.plain.dc.find(word);
            let n_bits = code.total_bits();
            if !code.is_valid() {
                self.walk.fail();
                bit += u64::from(n_bits);
                continue;
            }
            if let Some(dc) = self.walk.dc.get_mut(slot.plain.component) {
                *dc = dc.wrapping_add(difference(code, word));
            }
            self.strides = slot.strides;
            if n_bits > MOST_BITS {
                self.go_to(bit + u64::from(n_bits), 1, scan);
            } else {
                (self.bit, self.word, self.taken) = (bit, word << n_bits, Taken::new(n_bits, 1));
            }
            return;
        }
    }

    #[inline(always)]
    fn store(self) {
        (self.walk.bit, self.walk.n_filled) = (self.here(), self.taken.n_places());
    }
}

impl<'a> Walk<'a> {
    /// Starts a walk as if an MCU started there. `None` without slots, which the parser does not
    /// allow.
    pub(crate) fn new(start: u64, until: u64, scan: &Scan<'a>) -> Option<Self> {
        let slot = scan.slots.first()?;
        let before = At { block: 0, bit: 0, resets: false, dc: [0; 3] };
        let (n_filled, next_slot, next_block, dc) = (0, 0, 0, [0; 3]);
        let (bit, next, found, n_failed) = (start, start, Vec::new(), 0);
        let mut walk = Self {
            bit,
            n_filled,
            slot,
            next_slot,
            next_block,
            dc,
            next,
            until,
            before,
            found,
            n_failed,
        };
        let mut lane = Lane::new(&mut walk);
        lane.start_block(start, scan);
        lane.store();
        Some(walk)
    }

    #[inline(always)]
    fn is_over(&self) -> bool {
        self.next > self.until
    }

    /// Passes on to the block at a bit, and records it if it is the next to be recorded. Returns
    /// its slot.
    #[inline(always)]
    fn start_block(&mut self, bit: u64, scan: &Scan<'a>) -> &'a Slot<'a> {
        if bit >= self.next {
            self.record(bit, scan);
        }
        if let Some(slot) = scan.slots.get(self.next_slot) {
            self.slot = slot;
        }
        self.next_block = self.next_block.wrapping_add(1);
        let is_last = self.next_slot + 1 >= scan.slots.len();
        self.next_slot = if is_last { 0 } else { self.next_slot + 1 };
        self.slot
    }

    #[inline(never)]
    fn record(&mut self, bit: u64, scan: &Scan<'a>) {
        let found = At { block: self.next_block, bit, resets: false, dc: self.dc };
        self.found.push(found.behind(&self.before));
        self.next = (bit / scan.grid + 1) * scan.grid;
    }

    /// Takes an AC code by the plain tables. Returns the bit after it and the filled places; after
    /// an invalid code, and with too many places, the next block starts.
    #[inline(never)]
    fn take_code(&mut self, bit: u64, n_filled: u32, scan: &Scan<'a>) -> (u64, u32) {
        let code = self.slot.plain.ac.find(scan.data.peek(bit));
        let n_places = if code.ends_block() { PLACES } else { n_filled + code.advance() };
        if !code.is_valid() || n_places > PLACES {
            self.fail();
        }
        (bit + u64::from(code.total_bits()), n_places)
    }

    /// A guessed walk may still synchronise; its findings so far are discarded.
    #[cold]
    fn fail(&mut self) {
        self.found.clear();
        self.n_failed += 1;
    }

    /// Records one more block. `None` for an invalid code.
    pub(crate) fn note_next(&mut self, scan: &Scan<'a>) -> Option<()> {
        let n_failed = self.n_failed;
        let until = std::mem::replace(&mut self.until, self.next);
        alone(self, scan);
        self.until = until;
        (self.n_failed == n_failed).then_some(())
    }
}
