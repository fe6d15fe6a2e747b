//! The pass across: tables of where the inputs of each value of a row are, and the loop over them.
#![allow(unsafe_code, reason = "windows of a row at positions that were checked before")]

use super::{taps::Taps, vectors::Vectors};

/// Values computed at a time: a pixel has three.
pub(super) const GROUP: usize = 16;
/// Bytes behind the last start of a window that may be read, with any vectors.
pub(super) const ROOM: usize = 128;
/// Bytes from a window to the one of the next step, where steps have windows of their own: each step
/// takes two pixels.
const STRIDE: usize = 6;
/// Largest number of steps.
const MOST_STEPS: usize = 4;

/// Two inputs of each value of a group.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Step {
    /// The byte of its window that each byte of the vectors is taken from; `NOTHING` for 0.
    pub(super) order: [u8; GROUP * 4],
    /// Of 16-bit numbers, which are these bytes two by two.
    pub(super) weights: [i16; GROUP * 2],
}

/// No byte of a window, for all instructions.
const NOTHING: u8 = 0x80;
const NO_STEP: Step = Step { order: [NOTHING; GROUP * 4], weights: [0; GROUP * 2] };

/// The output columns, in groups.
#[derive(Debug, Default)]
pub(super) struct Columns {
    /// Start of the windows of each group in a row; if fewer than four, in the first places.
    starts: Vec<[u32; 4]>,
    /// A start is at most this.
    last_start: usize,
    steps: Vec<Step>,
    n_steps: usize,
    precision: u32,
}

/// The windows of a group: for each start one, or with a stride one for each step.
pub(super) struct Windows<'a, const STRIDE: usize> {
    /// Has `ROOM` bytes from each start on: only `sum_of` makes windows, and compares.
    row: &'a [u8],
    starts: &'a [u32; 4],
}

impl<const STRIDE: usize> Windows<'_, STRIDE> {
    /// Returns the window of a step at one of the four starts.
    #[inline(always)]
    pub(super) fn get<const WINDOW: usize>(&self, number: usize, step: usize) -> &[u8; WINDOW] {
        const { assert!(WINDOW + (MOST_STEPS - 1) * STRIDE <= ROOM) };
        let at = self.starts[number] as usize + step.min(MOST_STEPS - 1) * STRIDE;
        // SAFETY: the row has `ROOM` bytes from the start on, and by the assertion no window ends
        // behind them.
        unsafe { &*self.row.as_ptr().add(at).cast() }
    }
}

impl Columns {
    /// Makes the tables for rows that start at input `from`. `None` if the inputs of some values do
    /// not fit their window.
    #[inline(always)]
    pub(super) fn set<V: Vectors<BLOCK, WINDOW>, const BLOCK: usize, const WINDOW: usize>(
        &mut self,
        across: &Taps,
        from: usize,
    ) -> Option<()> {
        let most = across.taps.iter().map(|tap| tap.len).max()?.div_ceil(2);
        self.precision = across.precision;
        // Up to a ratio of 2 the same windows serve all steps.
        if most <= 2 && self.fill::<V, BLOCK, WINDOW>(across, from, most, 0).is_some() {
            return Some(());
        }
        self.fill::<V, BLOCK, WINDOW>(across, from, most.max(3), STRIDE)
    }

    #[inline(always)]
    fn fill<V: Vectors<BLOCK, WINDOW>, const BLOCK: usize, const WINDOW: usize>(
        &mut self,
        across: &Taps,
        from: usize,
        n_steps: usize,
        stride: usize,
    ) -> Option<()> {
        let n_values = across.taps.len() * 3;
        let n_groups = n_values.div_ceil(GROUP);
        self.n_steps = n_steps;
        self.last_start = 0;
        self.starts.clear();
        self.starts.resize(n_groups, [0; 4]);
        self.steps.clear();
        self.steps.resize(n_groups * n_steps, NO_STEP);
        let mut values = across.taps.iter().enumerate().flat_map(|(number, tap)| {
            let weights = across.of(number, *tap);
            let first = (tap.first - from) * 3;
            (0..3).map(move |channel| (first + channel, weights))
        });
        for (starts, steps) in self.starts.iter_mut().zip(self.steps.chunks_exact_mut(n_steps)) {
            for (window, start) in starts.iter_mut().enumerate().take(GROUP * 4 / WINDOW) {
                let mut of_window = [(usize::MAX, &[][..]); GROUP];
                let of_window = of_window.get_mut(..WINDOW / 4)?;
                of_window.iter_mut().zip(values.by_ref()).for_each(|(to, value)| *to = value);
                // Not always that of the first value: when enlarging, the next pixel may have the
                // same inputs, from an earlier channel on.
                let first = of_window.iter().map(|(first, _)| *first).min()?;
                if first == usize::MAX {
                    break;
                }
                *start = u32::try_from(first).ok()?;
                self.last_start = self.last_start.max(first);
                for (place, (input, weights)) in of_window.iter().enumerate() {
                    for (tap, weight) in weights.iter().enumerate() {
                        let number = tap / 2;
                        let byte = input - first + tap * 3 - number * stride;
                        if byte >= WINDOW {
                            return None;
                        }
                        let step = steps.get_mut(number)?;
                        let slot = V::slot(window * (WINDOW / 4) + place, tap % 2);
                        *step.order.get_mut(slot * 2)? = byte as u8;
                        *step.weights.get_mut(slot)? = V::weight(*weight, across.precision);
                    }
                }
            }
        }
        Some(())
    }

    /// Writes the weighted means along a row, which has `ROOM` bytes behind its inputs.
    #[inline(always)]
    pub(super) fn sum<V: Vectors<BLOCK, WINDOW>, const BLOCK: usize, const WINDOW: usize>(
        &self,
        vectors: V,
        row: &[u8],
        out: &mut [u8],
    ) {
        match self.n_steps {
            1 => self.sum_of::<V, BLOCK, WINDOW, 1, 0>(vectors, row, out),
            2 => self.sum_of::<V, BLOCK, WINDOW, 2, 0>(vectors, row, out),
            3 => self.sum_of::<V, BLOCK, WINDOW, 3, STRIDE>(vectors, row, out),
            _ => self.sum_of::<V, BLOCK, WINDOW, MOST_STEPS, STRIDE>(vectors, row, out),
        }
    }

    #[inline(always)]
    fn sum_of<
        V: Vectors<BLOCK, WINDOW>,
        const BLOCK: usize,
        const WINDOW: usize,
        const STEPS: usize,
        const STRIDE: usize,
    >(
        &self,
        vectors: V,
        row: &[u8],
        out: &mut [u8],
    ) {
        if row.len() < self.last_start + ROOM {
            return;
        }
        let (steps, _) = self.steps.as_chunks::<STEPS>();
        // No closure calls the vectors: it would be a function of its own, without their
        // instructions.
        for ((starts, steps), out) in self.starts.iter().zip(steps).zip(out.chunks_mut(GROUP)) {
            let windows = Windows::<STRIDE> { row, starts };
            let values = vectors.across(&windows, steps, self.precision);
            match out.first_chunk_mut() {
                Some(out) => *out = values,
                None => out.iter_mut().zip(values).for_each(|(out, value)| *out = value),
            }
        }
    }
}
