//! Images made by formulas: categories, samplers that draw them, and datasets of them.
//!
//! A [`Category`] is a class: a two- or three-dimensional iterated function system, or a figure of
//! lines. [`Recipe`] reads `fractal:FAMILY?key=value&...` and finds the categories of its family;
//! with the way they are drawn they make a [`Formula`], which determines every pixel of every
//! image. [`FractalSource`] is the dataset of a formula: a [`Source`](fdconvert_core::Source) like
//! a folder, which makes images on demand, the same in any order and on any number of threads.
//!
//! ```
//! use fdconvert_core::Source;
//! use fdconvert_fractal::{FractalSource, Recipe};
//!
//! let recipe = Recipe::parse("fractal:fractaldb?classes=3&instances=100&size=64&draw=point_gray")?;
//! let formula = recipe.resolve(&mut |_found| true)?;
//! let source = FractalSource::new(formula, recipe.name())?;
//! assert_eq!(source.len(), 300);
//! assert_eq!(source.read(101)?.key, "00001/00001_00_count_0_flip1.png");
//! # Ok::<(), fdconvert_core::Error>(())
//! ```
//!
//! Two samplers draw points: [`ExactSampler`] the original FractalDB's, bit for bit, and
//! [`LanesSampler`] many times faster. [`patch`] puts patches of random pixels on the points, with
//! the same distribution as the original. Three-dimensional fractals are drawn as views, as
//! MV-FractalDB's programs and OpenGL do.
//!
//! Deliberately absent: files of images, codecs, and anything that waits for a GPU.

mod bitmap;
mod cache;
mod category;
mod csv;
mod exact;
mod family;
mod formula;
mod frame;
mod lanes;
mod lines;
mod mt;
mod owners;
mod patch;
mod random;
mod recipe;
mod recipe_help;
mod source;
mod space;
mod system;

pub use bitmap::{Bitmap, Flip};
pub use category::{Category, Shape};
#[doc(hidden)]
pub use exact::Level as ExactLevel;
pub use exact::{ExactSampler, ExactScratch};
pub use family::{FAMILIES, FamilyHelp, Search, SpaceSearch};
pub use formula::{Formula, Place, Sampler};
pub use frame::{Draw, Frame};
#[doc(hidden)]
pub use lanes::Level as LanesLevel;
pub use lanes::{Key, LanesSampler, LanesScratch, LanesSystem};
pub use lines::{LineClass, LineFamily, RcdbClass, VisualAtomClass};
pub use mt::MersenneTwister;
pub use owners::Owners;
pub use patch::{Coin, PatchScratch, coin_bitmap, patch};
pub use recipe::Recipe;
pub use recipe_help::{RECIPE_KEYS, RecipeKey};
pub use source::{DEGENERATE_FILL, Facts, FractalSource, GRAY};
pub use space::{SpaceWeights, space_weights};
pub use system::{
    BASE_ROW, Map, N_WEIGHT_ROWS, NO_WEIGHTS, SpaceMap, SpaceSystem, System, Weights, weights,
};
