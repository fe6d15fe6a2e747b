//! A decoder of baseline and progressive JPEGs; of baseline ones it reads several places of a scan
//! at once.
//!
//! [`Decoder`] makes RGB or luma of baseline, extended sequential and progressive Huffman JPEGs of 8
//! bits, gray or with three components, which a sequential one has in one scan, with exactly the pixels of libjpeg-turbo (accurate DCT,
//! smooth upsampling): whole images, [regions](Region) of them, and [reduced](Scale) ones. Any
//! other JPEG, and any sign of damage, is an [`Error`], after which libjpeg-turbo should be used:
//! this decoder repairs nothing and warns of nothing.
//!
//! Codes without lengths must be read one after the other, so that a processor mostly waits. The
//! [entry points](fdconvert_jpeg::EntryPoints) stored in datasets, or restart markers, give the
//! starts of more blocks; without these, streams start anywhere and soon resynchronise. Several
//! such places are decoded at once in one thread, by one of two kinds of [`Entropy`] decoding:
//! _streams_ take codes in turns, so that one works while another waits; _lanes_ of vectors take a
//! code of 32 places each at a time. The pixels are the same; which one is faster depends on how
//! fast the processor gathers, and is [measured](fastest_entropy).
//!
//! A progressive JPEG has all blocks in memory until its last scan has completed them (128 bytes
//! each), and no entry points: `--baseline` of `fdconvert pack` rewrites such files without loss.
//!
//! Each run of blocks must end exactly where the next one starts, so wrong entry points cannot
//! change a pixel of a whole image. The first run of a region starts at a stored place with stored
//! DC predictions, which their owner checks by a checksum.
//!
//! ```no_run
//! use fdconvert_jpeg_decode::{Decoder, Header, Options};
//!
//! let (bytes, stored) = (std::fs::read("image.jpg")?, std::fs::read("image.entry-points")?);
//! let options = Options { entry_points: Some(&stored), ..Options::default() };
//! let mut pixels = vec![0; Header::read(&bytes)?.n_bytes(&options) as usize];
//! let header = Decoder::new().decode(&bytes, &options, &mut pixels)?;
//! println!("{} x {} pixels", header.width, header.height);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Instructions`] are chosen when a decoder is made: AVX2 or AVX-512 on x86-64, NEON on aarch64,
//! or portable code without vectors and without unsafe blocks, which is the reference for the
//! others, value by value. It is three times slower than libjpeg-turbo, and used on all other
//! processors.
//!
//! Deliberately absent: files, threads, arithmetic JPEGs, CMYK, progressive JPEGs with restart
//! markers or without the last bits.

mod choice;
mod coefficients;
mod color;
mod dc;
mod decoder;
mod entropy;
mod error;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod guess;
mod idct;
mod instructions;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod interleaved;
#[cfg(target_arch = "x86_64")]
mod lanes;
mod options;
mod part;
mod plane;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod plans;
mod progressive;
mod reduced;
mod renderer;
mod rows;
mod runs;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod simd;
mod table;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod tasks;
mod upsample;
mod window;

pub use choice::fastest_entropy;
pub use coefficients::coefficients;
pub use decoder::Decoder;
pub use error::{Damage, Error, Unsupported};
pub use instructions::Instructions;
pub use options::{Entropy, Header, Options, PixelFormat, Region, Scale};

/// The 64 values of a block in zigzag order.
pub type Block = [i16; 64];
