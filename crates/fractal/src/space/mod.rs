//! Fractals of space seen from around them, as MV-FractalDB and ExFractalDB have them.
//!
//! Yamada et al., "MV-FractalDB: formula-driven supervised learning for multi-view image
//! recognition" (IROS 2021), and Kataoka et al., "Replacing labeled real-image datasets with
//! auto-generated contours" (CVPR 2022). Their programs: ryosuke-yamada/3dfractaldb and
//! fumiyauchiyama/exfractaldb (MIT).
//!
//! ```text
//! category   2 to 7 affine maps of space
//! instance   one parameter of all maps times 0.4 to 1.6 -> orbit of n - 1 points
//!            -> -1 to 1 (one range for the three axes) -> centre to the origin -> single precision
//! view       a camera on a circle around the y axis, perspective -> white points on black
//! ```
//!
//! Everything is computed in the programs' order and precision: in doubles up to the model, and in
//! single precision from there to the pixel, as OpenGL does. Two things of theirs cannot be had
//! again: no seed is set for the random numbers that choose the maps, nor for the angles that
//! ExFractalDB adds. Here both come from the seed, the class and the instance; the former are those
//! of numpy after `numpy.random.seed` with a number that the metadata of every image has, so that
//! their program makes the same model.

mod camera;
mod model;
mod sampler;
mod weights;

pub(crate) use model::{in_place, orbit, points_seed};
pub(crate) use sampler::SpaceSampler;
pub use weights::{SpaceWeights, space_weights};
pub(crate) use weights::{base_row, n_rows};

/// The gray of a point, the original's.
pub(crate) const WHITE: u8 = 255;

/// Views of an instance that the original draws.
pub(crate) const VIEWS: u64 = 12;

/// The most degrees that ExFractalDB turns a view by. Its program draws from -pi to pi, and then
/// takes that for degrees.
pub(crate) const EX_TURN: f64 = std::f64::consts::PI;
