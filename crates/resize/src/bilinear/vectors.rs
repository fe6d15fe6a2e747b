//! What the passes need of a set of instructions: each set is a file next to this one.

use super::{
    Job,
    columns::{GROUP, Step, Windows},
};

/// What the two passes need of a set of instructions.
///
/// A value proves that the processor has them, so that all methods are safe to call. They are fast
/// only within [`run`](Self::run): every one is inlined into it, and so gets its instructions.
///
/// `BLOCK` bytes of rows are added up at a time, and a window of a row has `WINDOW` bytes, four for
/// each value whose inputs it has.
pub(super) trait Vectors<const BLOCK: usize, const WINDOW: usize>: Copy {
    /// The sums of each byte of a block.
    type Sums: Copy;
    /// Two weights, for every byte of a block.
    type Weights: Copy;

    /// Does the work with these instructions.
    fn run(self, job: Job<'_>) -> Option<()>;

    /// Returns the weights of two rows.
    fn weights(self, weights: [i16; 2], precision: u32) -> Self::Weights;

    /// Returns the sums before the first row.
    fn none(self, precision: u32) -> Self::Sums;

    /// Adds two rows.
    fn add_two(
        self,
        sums: Self::Sums,
        first: &[u8; BLOCK],
        second: &[u8; BLOCK],
        weights: Self::Weights,
    ) -> Self::Sums;

    /// Adds a row, times the first of the weights. The second is 0.
    fn add_one(self, sums: Self::Sums, row: &[u8; BLOCK], weights: Self::Weights) -> Self::Sums;

    /// Divides sums by `1 << precision`, and rounds.
    fn means(self, sums: Self::Sums, precision: u32) -> [u8; BLOCK];

    /// Returns the place, among the 16-bit numbers of a step, of an input of a value of a group:
    /// its first or second one of the step.
    fn slot(value: usize, input: usize) -> usize;

    /// Returns a weight as the table has it.
    fn weight(weight: i16, precision: u32) -> i16;

    /// Returns the weighted means of a group's inputs.
    fn across<const STEPS: usize, const STRIDE: usize>(
        self,
        windows: &Windows<'_, STRIDE>,
        steps: &[Step; STEPS],
        precision: u32,
    ) -> [u8; GROUP];
}
