use crate::{Shape, State, engine::RowFacts};
use fdconvert_core::{Error, Result};
use fdconvert_gpu::Batch as Images;

/// Samples, decoded side by side in the memory of a GPU, which the loader uses again when the
/// batch is dropped.
pub struct DeviceBatch {
    /// `None` for a batch without rows.
    pub(super) images: Option<Images>,
    pub(super) ordinal: u32,
    pub(super) shape: Shape,
    pub(super) rows: Vec<RowFacts>,
    pub(super) has_labels: bool,
    pub(super) epoch: u64,
    pub(super) step: u64,
    pub(super) state: State,
}

impl DeviceBatch {
    /// Where the images lie in the memory of the GPU, row after row, as [`shape`](Self::shape)
    /// says. They are complete. 0 for a batch without rows.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.images.as_ref().map_or(0, Images::address)
    }

    /// The number of the GPU.
    #[must_use]
    pub fn ordinal(&self) -> u32 {
        self.ordinal
    }

    /// Shape and type of the images.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// A copy of the images in the host's memory.
    ///
    /// # Errors
    /// `Device` when the driver fails.
    pub fn to_host(&self) -> Result<Vec<u8>> {
        let Some(images) = &self.images else { return Ok(Vec::new()) };
        let bytes = images.download().map_err(Error::device("copy from"))?;
        Ok(bytes.unwrap_or_default())
    }

    /// What decoded them: for the streams that read the images, which must be named to it before
    /// the batch is dropped.
    pub fn images_mut(&mut self) -> Option<&mut Images> {
        self.images.as_mut()
    }

    /// The label of each row, as in [`Batch::labels`](crate::Batch::labels).
    #[must_use]
    pub fn labels(&self) -> Option<impl ExactSizeIterator<Item = i64>> {
        self.has_labels.then(|| self.rows.iter().map(|row| row.label))
    }

    /// The number of each row's sample in the dataset; of several datasets, counted through them.
    pub fn samples(&self) -> impl ExactSizeIterator<Item = u64> {
        self.rows.iter().map(|row| row.sample)
    }

    /// Whether each row counts: not those that fill up a last batch, or were left out.
    pub fn valid(&self) -> impl ExactSizeIterator<Item = bool> {
        self.rows.iter().map(|row| row.filled)
    }

    /// Whether each row shows another sample than the order says, because that one failed.
    pub fn substituted(&self) -> impl ExactSizeIterator<Item = bool> {
        self.rows.iter().map(|row| row.substituted)
    }

    /// Rows, all of them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row: the share of a rank in a short last batch.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
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
