//! Figures of closed lines, drawn one inside the other: the families RCDB and VisualAtom.
//!
//! A class has a few parameters; an instance draws the noise that moves the vertices. The originals
//! seed one random generator per process, so that their images depend on the number of processes.
//! Here every image has a separate generator, keyed by seed, class and instance; given the same
//! random numbers, the images are the originals', pixel by pixel.
mod contour;
mod family;
mod params;
mod perlin;
mod polyline;
mod rcdb;
mod visual_atom;

pub use family::{LineClass, LineFamily};
pub use rcdb::RcdbClass;
pub use visual_atom::VisualAtomClass;
