//! Fields that follow the image of their sample: they are moved as its pixels are.
//!
//! ```text
//! roles        the requested fields that follow, each with its role
//! placement    changes, size of the image -> place of its pixels (RowGeometry), and the nearest one
//!              for each pixel of the row (Nearest)
//! path         points and boxes of the image on their way through its changes
//! classes      the class numbers of a sample's objects
//! objects      the objects in the pixels of the row, and those of all rows of a batch
//! runs         masks of objects as run lengths, by the same nearest neighbour
//! lists        lists of images, decoded for their row; they do not move
//! follower     combines them for one row; each decoding thread has one
//! ```
//!
//! Changes are drawn for a view of a sample's first image. Everything else follows those that move
//! pixels, so that nothing here draws random numbers, and a loader without such fields has no
//! follower. Fields are decoded once for all views.
//!
//! Deliberately absent: changes of the colours of further images, and normalisation.

mod classes;
mod follower;
mod lists;
mod objects;
mod path;
mod placement;
mod roles;
mod runs;

pub(crate) use follower::{FollowOptions, Followed, Follower, Leader};
pub(crate) use lists::Lists;
pub use objects::{Keypoints, MaskOptions, ObjectOptions, Objects, Polygons};
pub use placement::RowGeometry;
pub(crate) use roles::Role;
pub use runs::RunLengthMasks;
