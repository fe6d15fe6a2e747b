//! Rows that are left to a decoder elsewhere: a GPU.
//!
//! Whoever decodes elsewhere says, sample by sample, what it takes. Such a row is made only as far
//! as the encoded bytes and the geometry, which are a [`Parcel`]; its memory in the batch is left
//! alone. All other rows are made as ever. Where the other decoder fails with a parcel, the row
//! can be [made again](Again) here, with all that a failed sample leads to.

use crate::{
    dataset::Fetched,
    engine::{Again, RowFacts},
    transform::Geometry,
};
use bytes::{Bytes, BytesMut};
use fdconvert_core::{Encoded, Result};
use fdconvert_gpu::{Prepared, Stored};

/// A decoder that is not the loader's own.
pub(crate) trait Elsewhere: Send + Sync {
    /// Whether it decodes such an image, and how.
    fn takes(&self, image: &Encoded, checkpoints: Option<&Bytes>) -> Taken;

    /// What it knows of a sample that it keeps, which then needs not be read.
    fn kept(&self, sample: u64) -> Option<Kept>;
}

/// What becomes of an image.
pub(crate) enum Taken {
    /// It is decoded here.
    No,
    /// By the kernels, for which it was read.
    Prepared(Prepared),
    /// By something that reads it for itself.
    AsItIs,
}

/// A sample that needs not be read again.
#[derive(Clone)]
pub(crate) struct Kept {
    pub(crate) stored: Stored,
    pub(crate) label: i64,
}

/// A row that is to be decoded elsewhere.
pub(crate) struct Parcel {
    pub(crate) content: Content,
    pub(crate) geometry: Geometry,
}

/// What there is of its image.
pub(crate) enum Content {
    Read(Fetched, Option<Prepared>),
    Kept(Kept),
}

impl Parcel {
    /// Width and height of the image, in pixels.
    pub(crate) fn size(&self) -> (u32, u32) {
        match &self.content {
            Content::Read(fetched, _) => (fetched.image.width, fetched.image.height),
            Content::Kept(kept) => (kept.stored.width(), kept.stored.height()),
        }
    }
}

/// The parcels of a batch, one for each row that has one.
pub(crate) struct Parcels {
    pub(crate) rows: Vec<Option<Parcel>>,
    pub(crate) again: Again,
}

impl Parcels {
    /// Makes a row here after all; returns what it turned out to be, and its bytes.
    ///
    /// # Errors
    /// Those of the sample, as the policy says.
    pub(crate) fn make(&mut self, row: usize) -> Result<(RowFacts, BytesMut)> {
        let fetched = match self.rows.get_mut(row).and_then(Option::take) {
            Some(Parcel { content: Content::Read(fetched, _), .. }) => Some(fetched),
            _ => None,
        };
        self.again.make(row, fetched)
    }
}
