use crate::{
    order::State,
    parcel::Parcels,
    transform::{DType, Layout},
};
use bytes::BytesMut;
use std::sync::{Arc, Weak};

/// Who is told that a buffer came back.
pub(crate) trait Home: Send + Sync {
    /// Takes the buffer, and lets threads that wait for one go on.
    fn give_back(&self, buffer: BytesMut);
}

/// The shape of the images of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Rows of the batch, padding included.
    pub rows: usize,
    /// Rows of pixels.
    pub height: u32,
    /// Columns of pixels.
    pub width: u32,
    /// Always 3: red, green, blue.
    pub channels: u32,
    /// Order in memory.
    pub layout: Layout,
    /// Type of the elements.
    pub dtype: DType,
}

impl Shape {
    /// The four sizes in the order in which they lie in memory, the slowest first.
    #[must_use]
    pub fn dimensions(&self) -> [usize; 4] {
        let (height, width, channels) =
            (self.height as usize, self.width as usize, self.channels as usize);
        match self.layout {
            Layout::Nhwc => [self.rows, height, width, channels],
            Layout::Nchw => [self.rows, channels, height, width],
        }
    }

    /// Bytes of one row.
    #[must_use]
    pub fn row_bytes(&self) -> usize {
        let pixels = self.height as usize * self.width as usize;
        pixels * self.channels as usize * self.dtype.n_bytes()
    }
}

/// Samples, decoded side by side in one piece of memory, which goes back to the loader when the
/// batch is dropped.
pub struct Batch {
    pub(crate) images: BytesMut,
    pub(crate) shape: Shape,
    pub(crate) labels: Option<Vec<i64>>,
    pub(crate) samples: Vec<u64>,
    pub(crate) valid: Vec<bool>,
    pub(crate) substituted: Vec<bool>,
    pub(crate) epoch: u64,
    pub(crate) step: u64,
    pub(crate) state: State,
    /// What was left to a decoder elsewhere, if there is one.
    pub(crate) parcels: Option<Box<Parcels>>,
    pub(crate) home: Weak<dyn Home>,
    /// As many of these as there are batches.
    pub(crate) _token: Arc<()>,
}

impl Batch {
    /// The images, row after row, as [`shape`](Self::shape) says; starts at a multiple of 64 in
    /// memory.
    #[must_use]
    pub fn images(&self) -> &[u8] {
        let n_bytes = self.shape.rows * self.shape.row_bytes();
        self.images.get(..n_bytes).unwrap_or(&self.images)
    }

    /// The same for writing: for what is to be done to them in place.
    #[must_use]
    pub fn images_mut(&mut self) -> &mut [u8] {
        let n_bytes = (self.shape.rows * self.shape.row_bytes()).min(self.images.len());
        let (images, _) = self.images.split_at_mut(n_bytes);
        images
    }

    /// Shape and type of the images.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The label of each row, 0 for rows without a sample, which are not
    /// [`valid`](Self::valid); `None` where [`Label::None`](crate::Label::None) was asked for.
    #[must_use]
    pub fn labels(&self) -> Option<&[i64]> {
        self.labels.as_deref()
    }

    /// The number of each row's sample in the dataset; of several datasets, counted through them.
    #[must_use]
    pub fn samples(&self) -> &[u64] {
        &self.samples
    }

    /// Whether each row counts: not those that fill up a last batch, or were left out.
    #[must_use]
    pub fn valid(&self) -> &[bool] {
        &self.valid
    }

    /// Whether each row shows another sample than the order says, because that one failed.
    #[must_use]
    pub fn substituted(&self) -> &[bool] {
        &self.substituted
    }

    /// Rows, all of them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// Whether there is no row: the share of a rank in a short last batch.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// The epoch it belongs to.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Its number in the epoch.
    #[must_use]
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Where to go on after this batch: the whole checkpoint.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        if let Some(home) = self.home.upgrade() {
            home.give_back(std::mem::take(&mut self.images));
        }
    }
}
