//! Fields that follow the image of their sample: they are moved as its pixels are.
//!
//! ```text
//! roles        which of the fields that were asked for follow, and as what
//! placement    Geometry, size of the image -> where its pixels come to lie (RowGeometry), and which
//!              of them each pixel of the row shows, by the nearest neighbour (Nearest)
//! document     the JSON of a sample's objects: its lists, and which of them holds the classes
//! annotations  what it says, checked
//! objects      the same in the pixels of the row, and the objects of all rows of a batch
//! runs         masks of objects that are told as run lengths, by the same nearest neighbour
//! follower     puts them together for one row; each thread that decodes has one
//! ```
//!
//! A crop is drawn once for a sample, for its first image. Everything else is computed from it, so
//! that nothing here draws random numbers, and a loader without such fields has no follower.
//!
//! Deliberately absent: augmentation of the colours of further images, and normalisation.

mod annotations;
mod document;
mod follower;
mod objects;
mod placement;
mod roles;
mod runs;

pub use annotations::Annotations;
pub(crate) use follower::{FollowOptions, Followed, Follower, Leader};
pub use objects::{Keypoints, ObjectOptions, Objects, Polygons};
pub use placement::RowGeometry;
pub(crate) use roles::Role;
pub use runs::RunLengthMasks;
