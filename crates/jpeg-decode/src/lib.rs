//! A decoder of baseline JPEGs that reads several places of a scan at once.
//!
//! [`coefficients`] reads those of baseline and extended sequential Huffman JPEGs of 8 bits, gray or
//! of three components in one scan. Whatever else a JPEG may be, and any sign of damage, is an
//! [`Error`], after which libjpeg-turbo has the word: nothing is repaired.
//!
//! Codes without lengths have to be read one after the other, so that a processor mostly waits.
//! The [entry points](fdconvert_jpeg::EntryPoints) that datasets store, or restart markers, say
//! where more blocks start; up to eight such places are then decoded by turns in one thread, and
//! the waiting of one is the work of another. Each run of blocks must end exactly where the next
//! one starts: so entry points that are wrong cannot change a pixel.
//!
//! All of it is portable code without vectors and without unsafe blocks: the measure for faster
//! loops, not one of them.
//!
//! Deliberately absent: pixels, files, threads, parts of images and reduced ones, progressive and
//! arithmetic JPEGs, CMYK.
#![forbid(unsafe_code)]

mod coefficients;
mod dc;
mod entropy;
mod error;
mod runs;
mod table;

pub use coefficients::coefficients;
pub use error::{Damage, Error, Unsupported};

/// The 64 values of a block in zigzag order.
pub type Block = [i16; 64];
