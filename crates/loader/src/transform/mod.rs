//! Pixels on their way into a batch.
//!
//! ```text
//! list       lists of transforms -> the changes of one image, drawn by (seed, epoch, sample, view),
//!            and compiled: cuts, resizes and flips are the rectangle of a `Resample`
//! (decoder)  the pixels of at least `Resample::needed`, perhaps at 1/2, 1/4 or 1/8 (`scale_for`)
//! plan       that rectangle, resized to its size; gray becomes three channels
//! bands      the same for images of bands, whose values are floats until they are in the row
//! painter    the stages of an image, one after the other, in a thread's buffers
//! pixel      single operations on small 8-bit RGB images
//! output     layout, normalisation and number type in one pass into the row of the batch
//! geometry   rectangles
//! ```
//!
//! The results are those of `torchvision.transforms.v2` on tensors, so that training can switch
//! between the two; where a result is not equal bit for bit, its documentation says so. A flip at the
//! end costs nothing: it is part of the pass into the row.
//!
//! Deliberately absent: files, threads, decoders, and interpolations other than antialiased bilinear
//! and nearest.

mod bands;
mod geometry;
mod list;
mod output;
mod painter;
mod pixel;
mod plan;

pub(crate) use bands::{BandPainter, BandPixels};
pub use geometry::Area;
#[cfg(feature = "gpu")]
pub(crate) use geometry::Rect;
pub(crate) use geometry::scale_for;
pub use list::{
    Chain, Change, DrawKey, EraseValue, Erased, Fill, Interpolation, Mix, PaddingMode, Policy,
    ResizeTo, Transform, TransformList, Transformer, Warp,
};
pub(crate) use list::{Resample, Stage, fuse};
pub(crate) use output::Tables;
pub use output::{DType, Layout, Normalise, Output};
pub(crate) use painter::{Painter, check_pixels, pixel_warp};
pub(crate) use pixel::Padding;
#[cfg(feature = "gpu")]
pub(crate) use pixel::{first_level, upper_bits};
pub(crate) use plan::Region;
