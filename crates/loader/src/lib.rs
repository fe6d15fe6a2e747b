//! Batches for training: order, prefetch, decoding into the batch, exact resume.
//!
//! [`Datasets`] are one dataset or several of any format; [`Options`] define how their samples
//! become batches; a [`Loader`] makes them ahead on plain threads and delivers them in order. A
//! [`Batch`] is one piece of aligned memory with its decoded rows, labels and flags; when dropped,
//! its memory returns to the loader. [`State`], forty bytes, is a whole checkpoint.
//!
//! ```no_run
//! use fdconvert_loader::{Datasets, Loader, Options, Transform, TransformList};
//!
//! let transform = TransformList::new(vec![
//!     Transform::random_resized_crop(224),
//!     Transform::RandomHorizontalFlip { p: 0.5 },
//! ])?;
//! let options = Options::default().batch_size(256).seed(7).transform(transform);
//! let mut loader = Loader::new(Datasets::open("train.beton")?, options)?;
//! while let Some(batch) = loader.next_batch() {
//!     let batch = batch?;
//!     println!("{:?}: {} bytes", batch.shape().dimensions(), batch.images().len());
//! }
//! # Ok::<(), fdconvert_core::Error>(())
//! ```
//!
//! [`Options::sampling`] says how the samples of an epoch are chosen and ordered. Datasets with
//! images in several codecs are spread codec by codec, so that every batch costs the same. With
//! [`cache_bytes`](Options::cache_bytes) some of the images stay in memory, also evenly spread:
//! every batch then reads the same amount from storage. [`Access::Direct`] bypasses the page cache.
//! With [`locality`](Options::locality) the caches of all ranks act as one, and each rank gets the
//! rows of the samples that it keeps; with an [`Exchange`] the rest comes from the ranks that keep
//! it.
//!
//! All random choices are keyed: a batch follows from seed, epoch and position; what a transform
//! draws from seed, epoch, sample, the number of its occurrence in the epoch, view and place in the
//! list. Threads, ranks, prefetching and
//! failures of other samples change nothing. Programs with a loader can use the parts separately:
//! [`parts`] has the order and the pixels.
//!
//! [`Options::views`] shows several views of an image, of one read and at most one decode.
//!
//! Further images, masks and objects of a sample follow its image, in each view:
//! [`Options::masks`], [`Options::objects`], and images among the [`Options::fields`].
//!
//! Datasets that draw their images have nothing to read: the thread that makes a row draws it,
//! without stored bytes, and without an explicit size so large that they need no resizing.
//!
//! With [`Options::device`] a GPU decodes JPEGs and batches are in its memory, as [`Batch::memory`]
//! shows; all else is the same. This requires the feature `gpu`.
//!
//! Deliberately absent: asynchronous runtimes, and processing of complete batches.
#![forbid(unsafe_code)]

mod batch;
mod buffer;
mod classes;
mod column;
mod dataset;
mod decoding;
mod device;
mod engine;
mod exchange;
mod failure;
mod fields;
mod follow;
mod groups;
mod mix;
mod options;
mod order;
pub mod parts;
pub mod research;
mod sizes;
mod stats;
mod supply;
mod transform;
mod transport;
mod views;

#[cfg(feature = "gpu")]
pub use batch::DeviceImages;
pub use batch::{Batch, GroupImages, Memory, RowImage, Shape};
pub use column::Column;
pub use dataset::{Datasets, Label};
pub use engine::{Loader, Waited};
pub use failure::{Failures, OnError};
pub use follow::{
    Keypoints, MaskOptions, ObjectOptions, Objects, Polygons, RowGeometry, RunLengthMasks,
};
pub use mix::{Blend, Mix};
pub use options::{Builder, DeviceDecoder, DeviceOptions, Options};
pub use order::{Last, SampleList, Sampling, State, Weights, World};
pub use sizes::{Patches, SizeBuckets, Sizes};
pub use stats::{Decoded, Stats, Verdict};
pub use supply::{Access, CachePolicy};
pub use transform::{DType, Layout, Normalise, Output, Transform, TransformList};
pub use transport::{Exchange, ThreadExchange};
pub use views::{ViewGroup, ViewLayout};
