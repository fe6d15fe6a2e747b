//! The parts of the loader, for those who have a loader already: [`Order`] and [`Steps`] say which
//! samples come when, [`Renderer`] and [`Augmenter`] make pixels.

pub use crate::order::{
    Assignment, Batching, Cursor, Moved, Order, Owners, Permutation, Place, Places, Row, Slot,
    Step, Steps, Stratum, Worker, assign,
};
pub use crate::transform::{
    Area, Augmenter, Geometry, Inset, Key, Op, Policy, Purpose, Rect, Region, Renderer, scale_for,
};
