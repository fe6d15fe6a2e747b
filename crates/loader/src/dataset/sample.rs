//! Samples of the datasets: their locations and their data.
use crate::fields::RowValues;
use bytes::Bytes;
use fdconvert_core::{Encoded, Image};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Located {
    pub(crate) dataset: u32,
    pub(crate) index: u64,
}

pub(crate) struct DrawnSample {
    pub(crate) key: String,
    pub(crate) image: Image,
    pub(crate) values: RowValues,
}

#[derive(Clone)]
pub(crate) struct Fetched {
    pub(crate) key: String,
    pub(crate) image: Encoded,
    pub(crate) values: RowValues,
    /// True if the image has separate bytes that are not part of a mapped file.
    pub(crate) is_owned: bool,
}

impl Fetched {
    /// Copies the bytes: those of a reader keep a whole map or block alive.
    pub(crate) fn owned(self) -> Self {
        let copy = |bytes: &Bytes| Bytes::copy_from_slice(bytes);
        let entry_points = self.image.entry_points.as_ref().map(copy);
        let image = Encoded { bytes: copy(&self.image.bytes), entry_points, ..self.image };
        Self { image, is_owned: true, ..self }
    }
}
