use fdconvert_core::{Error, Result};
use fdconvert_gpu::Batch;

/// Images of a batch in GPU memory, which the loader reuses when the batch is dropped.
pub struct DeviceImages {
    /// `None` for a batch without rows.
    pub(crate) images: Option<Batch>,
    pub(crate) ordinal: u32,
}

impl DeviceImages {
    /// Returns the address of the images in GPU memory, row after row. They are complete. 0 for a
    /// batch without rows.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.images.as_ref().map_or(0, Batch::address)
    }

    /// Returns the number of the GPU.
    #[must_use]
    pub fn ordinal(&self) -> u32 {
        self.ordinal
    }

    /// Copies the images to host memory.
    ///
    /// # Errors
    /// `Device` when the driver fails.
    pub fn to_host(&self) -> Result<Vec<u8>> {
        let Some(images) = &self.images else { return Ok(Vec::new()) };
        let bytes = images.download().map_err(Error::device("copy from"))?;
        Ok(bytes.unwrap_or_default())
    }

    /// Returns the decoded batch, to register the streams that read the images before it is
    /// dropped.
    pub fn decoded_mut(&mut self) -> Option<&mut Batch> {
        self.images.as_mut()
    }
}
