use std::path::PathBuf;

/// Options for decoding images on a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceOptions {
    /// The number of the GPU, from 0.
    pub ordinal: u32,
    /// Decoder of the images.
    pub decoder: DeviceDecoder,
    /// Memory of the GPU for encoded images, in bytes. Images are kept there from their first use
    /// on, as long as there is room, and are not read again: neither from storage nor over the
    /// bus. Another 3 % of it is taken in the memory of the host, for where decoding may start.
    /// 0 for none. Of formulas and the like, whose samples change with the epoch, none are kept.
    pub device_cache_bytes: u64,
    /// Batches that are on their way on the GPU at the same time; at least one.
    pub in_flight: usize,
    /// The library of the driver, if it is not the installed one.
    pub driver: Option<PathBuf>,
    /// The library of nvJPEG, if it is not the installed one.
    pub nvjpeg: Option<PathBuf>,
}

impl Default for DeviceOptions {
    fn default() -> Self {
        Self {
            ordinal: 0,
            decoder: DeviceDecoder::Auto,
            device_cache_bytes: 0,
            in_flight: 2,
            driver: None,
            nvjpeg: None,
        }
    }
}

/// Decoder of the images of a batch that is made on a GPU. An image that one cannot decode is left
/// to the next one: the last is always the CPU, whose rows are uploaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DeviceDecoder {
    /// The kernels for JPEGs with entry points, nvJPEG for other JPEGs where it is installed.
    #[default]
    Auto,
    /// The kernels for JPEGs with entry points. Their pixels are those of libjpeg-turbo.
    Index,
    /// nvJPEG for all JPEGs; to compare, since its pixels depend on its version and the GPU.
    NvJpeg,
    /// The CPU for all images.
    Cpu,
}

impl DeviceDecoder {
    /// Its name in options and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Index => "index",
            Self::NvJpeg => "nvjpeg",
            Self::Cpu => "cpu",
        }
    }
}
