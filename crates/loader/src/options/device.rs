use std::path::PathBuf;

/// Options for decoding images on a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceOptions {
    /// Number of the GPU, from 0.
    pub ordinal: u32,
    /// Decoder of the images.
    pub decoder: DeviceDecoder,
    /// GPU memory for encoded images, in bytes. Images are kept there from their first use on,
    /// while there is room, and are not read again: neither from storage nor over the bus. Another
    /// 3 % of it is used in host memory, for the places where decoding may start. 0 for none.
    /// Datasets with samples that change with the epoch, such as formulas, keep none.
    pub device_cache_bytes: u64,
    /// Number of batches in flight on the GPU; at least one.
    pub in_flight: usize,
    /// Library of the driver, if not the installed one.
    pub driver: Option<PathBuf>,
    /// Library of nvJPEG, if not the installed one.
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

/// Decoder of the images of a batch on a GPU. An image that one decoder cannot decode is left to
/// the next one; the last is always the CPU, with uploaded rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DeviceDecoder {
    /// The kernels for JPEGs with entry points; nvJPEG, if installed, for other JPEGs.
    #[default]
    Auto,
    /// The kernels for JPEGs with entry points. Their pixels equal those of libjpeg-turbo.
    Index,
    /// nvJPEG for all JPEGs, for comparisons: its pixels depend on its version and the GPU.
    NvJpeg,
    /// The CPU for all images.
    Cpu,
}

impl DeviceDecoder {
    /// Returns its name in options and reports.
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
