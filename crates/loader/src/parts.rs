//! The parts of the loader, for programs with a loader already: [`Order`] and [`Steps`] order the
//! samples, [`Renderer`] and [`Augmenter`] make pixels, and a [`TransformList`] changes images as
//! `torchvision.transforms.v2` does.

pub use crate::order::{
    Assignment, Batching, Classes, Cursor, Moved, Order, Owners, Permutation, Place, Places, Row,
    Slot, Step, Steps, Stratum, Worker, assign,
};
pub use crate::transform::{
    Area, Augmenter, Chain, Change, DrawKey, EraseValue, Erased, Fill, Geometry, Inset,
    Interpolation, Key, Op, PaddingMode, Policy, Purpose, Rect, Region, Renderer, ResizeTo,
    Transform, TransformList, Transformer, Warp, scale_for,
};
