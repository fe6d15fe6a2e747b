use crate::{Error, ImageHeader, Result};

/// Bounds that keep hostile or broken input from taking the machine down. Each has a name on the
/// command line and can be raised there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// `--max-pixels`: width times height of one image.
    pub max_pixels: u64,
    /// `--max-file-bytes`: stored bytes of one image file.
    pub max_file_bytes: u64,
}

impl Limits {
    /// 100 megapixels: the largest medium-format photos pass, decompression bombs do not.
    pub const DEFAULT: Self = Self { max_pixels: 100_000_000, max_file_bytes: 1 << 30 };

    /// Refuses an image whose header claims no pixels or more than the limit.
    ///
    /// # Errors
    /// `Sample` for an empty image, `Limit` for too large a one, both naming `key`.
    pub fn check(&self, key: &str, header: &ImageHeader) -> Result<()> {
        let (width, height) = (header.width, header.height);
        if width == 0 || height == 0 {
            return Err(Error::sample(key, format!("the image is {width}x{height}: no pixels")));
        }
        if header.pixels() > self.max_pixels {
            return Err(Error::Limit {
                what: format!("sample `{key}`: the pixel count of {width}x{height}"),
                limit: format!("--max-pixels {}", self.max_pixels),
                asked: header.pixels(),
            });
        }
        Ok(())
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
