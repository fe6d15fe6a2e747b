//! BMPs: those that are written (`write`), and those that are read without a detour (`read`), which
//! are more than the former; of the rest some are rewritten first (`rewrite`). Of two colours a pixel is a bit, in the order of PNG and of
//! [`Bilevel`](fdconvert_core::Bilevel) (`colors`).

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

/// Length of the two headers in front of the palette or the pixels.
const HEADERS: usize = 14 + 40;
