use fdconvert_core::{Error, Result};
use fdconvert_gpu::Batch;

/// The images of a batch in the memory of a GPU, which the loader uses again when the batch is
/// dropped.
pub struct DeviceImages {
    /// `None` for a batch without rows.
    pub(crate) images: Option<Batch>,
    pub(crate) ordinal: u32,
}

impl DeviceImages {
    /// Returns where they lie in the memory of the GPU, row after row. They are complete. 0 for a
    /// batch without rows.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.images.as_ref().map_or(0, Batch::address)
    }

    /// The number of the GPU.
    #[must_use]
    pub fn ordinal(&self) -> u32 {
        self.ordinal
    }

    /// A copy of them in the host's memory.
    ///
    /// # Errors
    /// `Device` when the driver fails.
    pub fn to_host(&self) -> Result<Vec<u8>> {
        let Some(images) = &self.images else { return Ok(Vec::new()) };
        let bytes = images.download().map_err(Error::device("copy from"))?;
        Ok(bytes.unwrap_or_default())
    }

    /// Returns what decoded them: for the streams that read the images, which must be named to it
    /// before the batch is dropped.
    pub fn decoded_mut(&mut self) -> Option<&mut Batch> {
        self.images.as_mut()
    }
}
