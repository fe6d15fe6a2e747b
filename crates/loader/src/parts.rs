//! The parts of the loader, for programs with a loader already: [`Order`] and [`Steps`] order the
//! samples, [`Renderer`] and [`Augmenter`] make pixels.

pub use crate::order::{
    Assignment, Batching, Cursor, Moved, Order, Owners, Permutation, Place, Places, Row, Slot,
    Step, Steps, Stratum, Worker, assign,
};
pub use crate::transform::{
    Area, Augmenter, Geometry, Inset, Key, Op, Policy, Purpose, Rect, Region, Renderer, scale_for,
};
