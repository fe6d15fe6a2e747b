//! A decoder of baseline JPEGs that reads several places of a scan at once.
//!
//! [`Decoder`] makes RGB of baseline and extended sequential Huffman JPEGs of 8 bits, gray or of
//! three components in one scan, with exactly the pixels of libjpeg-turbo (accurate DCT, smooth
//! upsampling). Whatever else a JPEG may be, and any sign of damage, is an [`Error`], after which
//! libjpeg-turbo has the word: this decoder repairs nothing and warns of nothing.
//!
//! Codes without lengths have to be read one after the other, so that a processor mostly waits.
//! The [entry points](fdconvert_jpeg::EntryPoints) that datasets store, or restart markers, say
//! where more blocks start; up to eight such places are then decoded by turns in one thread, and
//! the waiting of one is the work of another. Each run of blocks must end exactly where the next
//! one starts: so entry points that are wrong cannot change a pixel.
//!
//! ```no_run
//! use fdconvert_jpeg_decode::{Decoder, Header, Options};
//!
//! let (bytes, stored) = (std::fs::read("image.jpg")?, std::fs::read("image.entry-points")?);
//! let mut pixels = vec![0; Header::read(&bytes)?.n_bytes() as usize];
//! let options = Options { entry_points: Some(&stored), ..Options::default() };
//! let header = Decoder::new().decode(&bytes, &options, &mut pixels)?;
//! println!("{} x {} pixels", header.width, header.height);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! All of it is portable code without vectors and without unsafe blocks: the measure for faster
//! loops, not one of them. It is slower than libjpeg-turbo, and several places at once are mostly no
//! faster in it than one, because their state is in memory and ends of blocks are branches.
//!
//! Deliberately absent: files, threads, parts of images and reduced ones, progressive and
//! arithmetic JPEGs, CMYK.
#![forbid(unsafe_code)]

mod coefficients;
mod color;
mod dc;
mod decoder;
mod entropy;
mod error;
mod idct;
mod plane;
mod runs;
mod table;
mod upsample;

pub use coefficients::coefficients;
pub use decoder::{Decoder, Header, Options};
pub use error::{Damage, Error, Unsupported};

/// The 64 values of a block in zigzag order.
pub type Block = [i16; 64];
