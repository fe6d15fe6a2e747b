//! A sample of the datasets: which one it is, and what was read of it.
use crate::fields::RowValues;
use bytes::Bytes;
use fdconvert_core::{Encoded, Image};

/// A sample of the datasets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Located {
    pub(crate) dataset: u32,
    pub(crate) index: u64,
}

/// A sample that was drawn.
pub(crate) struct DrawnSample {
    pub(crate) key: String,
    pub(crate) image: Image,
    pub(crate) values: RowValues,
}

/// A sample before decoding.
#[derive(Clone)]
pub(crate) struct Fetched {
    pub(crate) key: String,
    pub(crate) image: Encoded,
    pub(crate) values: RowValues,
    /// True if the bytes of the image are its own, and no part of a mapped file.
    pub(crate) is_owned: bool,
}

impl Fetched {
    /// The same with bytes of its own: those of a reader hold a whole map or block.
    pub(crate) fn owned(self) -> Self {
        let copy = |bytes: &Bytes| Bytes::copy_from_slice(bytes);
        let entry_points = self.image.entry_points.as_ref().map(copy);
        let image = Encoded { bytes: copy(&self.image.bytes), entry_points, ..self.image };
        Self { image, is_owned: true, ..self }
    }
}
