//! Views of three-dimensional fractals, as in MV-FractalDB and ExFractalDB.
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
//! single precision from there to the pixel, as OpenGL does. Two parts cannot be reproduced,
//! because the programs set no seed: the random numbers that choose the maps, and the angles that
//! ExFractalDB adds. Here both derive from the seed, the class and the instance; the former are
//! numpy's after `numpy.random.seed` with a number that is in the metadata of every image, so that
//! their program makes the same model.

mod camera;
mod model;
mod sampler;
mod weights;

pub(crate) use model::{in_place, orbit, points_seed};
pub(crate) use sampler::SpaceSampler;
pub use weights::{SpaceWeights, space_weights};
pub(crate) use weights::{base_row, n_rows};

/// Gray of a point, as in the original.
pub(crate) const WHITE: u8 = 255;

/// Views per instance in the original.
pub(crate) const VIEWS: u64 = 12;

/// Largest turn of ExFractalDB's views, in degrees. Its program draws from -pi to pi, and then
/// treats that as degrees.
pub(crate) const EX_TURN: f64 = std::f64::consts::PI;
