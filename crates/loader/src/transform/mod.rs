//! Pixels on their way into a batch.
//!
//! A sample passes through these files in this order:
//!
//! ```text
//! keyed      (seed, epoch, sample, purpose) -> random numbers, the same on any thread and rank
//! geometry   size of the encoded image -> the rectangle that becomes the output, and the flip
//! (decoder)  the pixels of at least `Geometry::needed`, perhaps at 1/2, 1/4 or 1/8 (`scale_for`)
//! render     that rectangle, resized to the output size; gray becomes three channels
//! augment    AutoAugment, RandAugment or TrivialAugment on the small 8-bit image
//! output     flip, layout, normalisation and number type in one pass into the row of the batch
//! ```
//!
//! Beside them, `list`, `painter` and `pixel` are lists of transforms as in
//! `torchvision.transforms.v2`, and what carries them out, for single images so far.
//!
//! `pixel` has single operations on small images, with torchvision's results on tensors; `augment`
//! uses some of them, and has Pillow's results.
//!
//! Bytes for channels-last batches that are neither flipped nor augmented are resized directly into
//! their row. Everything else makes one stop in a buffer of a thread's [`Renderer`].
//!
//! The semantics of each step are torchvision's, so that training can switch between the two; where
//! a result is not equal bit for bit, its documentation says so. The order differs in one place
//! that has no effect without augmentation: the flip comes last, where it costs nothing, and
//! augmentations are drawn for the image before the flip.
//!
//! Deliberately absent: files, threads, decoders, and interpolations other than antialiased
//! bilinear for the resize and nearest for the augmentations.

mod augment;
mod geometry;
mod keyed;
mod list;
mod output;
mod painter;
mod pixel;
mod render;

pub(crate) use augment::Step;
pub use augment::{Augment, Augmenter, Op, Policy};
pub(crate) use geometry::resized;
pub use geometry::{Area, Crop, Geometry, Inset, Rect, scale_for};
pub use keyed::{Key, Purpose};
pub use list::{
    Chain, Change, DrawKey, EraseValue, Erased, Fill, Interpolation, PaddingMode, ResizeTo,
    Transform, TransformList, Transformer, Warp,
};
pub use output::{DType, Layout, Normalise, Output};
pub use render::{Region, Renderer};
