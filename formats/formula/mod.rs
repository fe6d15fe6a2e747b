//! Datasets defined by a formula: a small file, with images that are rendered when they are read.
//!
//! [`write`](fn@write) makes one of a [`Formula`](fdconvert_fractal::Formula); [`FormulaFormat`] opens it as a
//! [`FormulaReader`]. [`spec`] specifies the bytes.
//!
//! ```
//! use fdconvert_core::{Format, Source};
//! use fdconvert_fractal::Recipe;
//! # let folder = tempfile::tempdir().unwrap();
//! # let out = &folder.path().join("tiny.formula");
//! let recipe = Recipe::parse("fractal:svd?classes=10&instances=1000&size=64")?;
//! let formula = recipe.resolve(&mut |_| true)?;
//! fdconvert_formats::formula::write(out, &formula, &Default::default(), false)?;
//! assert!(std::fs::metadata(out).unwrap().len() < 10_000);
//!
//! let reader = fdconvert_formats::formula::FormulaFormat.open(out)?;
//! assert_eq!(reader.len(), 10_000);
//! assert_eq!(reader.get(7)?.key, "00000/00000_00_count_7_flip0.png");
//! # Ok::<(), fdconvert_core::Error>(())
//! ```
//!
//! Deliberately absent: other samples. Other formats store the samples they get; this one stores
//! the formula, so that only formulas can be written.

mod format;
mod layout;
mod reader;
mod writer;

pub use format::FormulaFormat;
pub use reader::FormulaReader;
pub use writer::write;

#[doc = include_str!("SPEC.md")]
pub mod spec {}

#[cfg(test)]
mod tests;
