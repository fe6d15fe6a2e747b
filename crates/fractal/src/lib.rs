//! Images made by formulas.
mod bitmap;
mod csv;
mod exact;
mod family;
mod frame;
mod lanes;
mod lines;
mod mt;
mod owners;
mod system;

pub use csv::Category;
pub use bitmap::{Bitmap, Flip};
pub use family::Search;
pub use frame::{Draw, Frame};
pub use mt::MersenneTwister;
pub use owners::Owners;
pub use system::{BASE_ROW, Map, N_WEIGHT_ROWS, NO_WEIGHTS, System, Weights, weights};
