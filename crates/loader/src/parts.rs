//! The parts of the loader, for programs with a loader already: [`Order`] and [`Steps`] order the
//! samples, and a [`TransformList`] changes images as `torchvision.transforms.v2` does.

pub use crate::order::{
    Assignment, Batching, BucketNumbers, Classes, Cursor, Moved, Order, Owners, Permutation, Place,
    Places, Row, Slot, Step, Steps, Stratum, Worker, assign,
};
pub use crate::transform::{
    Area, Chain, Change, DrawKey, EraseValue, Erased, Fill, Interpolation, PaddingMode, Policy,
    ResizeTo, Transform, TransformList, Transformer, Warp,
};
