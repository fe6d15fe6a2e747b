//! BMPs: writing (`write`), and a fast path for reading (`read`), which covers more than the
//! written ones; some of the rest are rewritten first (`rewrite`). A pixel of two colours is a bit,
//! in the order of PNG and of [`Bilevel`](fdconvert_core::Bilevel) (`colors`).

mod colors;
mod read;
mod rewrite;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use read::PlainBmp;
pub use read::stored_bilevel;
pub(crate) use rewrite::rewritten;
pub(crate) use write::{Depth, bmp_len, encode_bilevel, encode_bmp};

/// Length of the two headers before the palette or the pixels.
const HEADERS: usize = 14 + 40;
