use crate::{Error, ImageHeader, Result, option};
use std::path::Path;

/// Limits that protect the machine from hostile or broken input. Each can be raised by its option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// `max_pixels`: width times height of one image.
    pub max_pixels: u64,
    /// `max_file_bytes`: stored bytes of one image file.
    pub max_file_bytes: u64,
}

impl Limits {
    /// 100 megapixels: the largest medium-format photos pass, decompression bombs do not.
    pub const DEFAULT: Self = Self { max_pixels: 100_000_000, max_file_bytes: 1 << 30 };

    /// Refuses an image with a header that claims no pixels or more than the limit.
    ///
    /// # Errors
    /// `Sample` for an empty image, `Limit` for too large a one, both with `key`.
    pub fn check(&self, key: &str, header: &ImageHeader) -> Result<()> {
        let (width, height) = (header.width, header.height);
        if width == 0 || height == 0 {
            return Err(Error::sample(key, format!("the image is {width}x{height}: no pixels")));
        }
        if header.pixels() > self.max_pixels {
            return Err(Error::Limit {
                what: format!("sample `{key}`: the pixel count of {width}x{height}"),
                asked: header.pixels(),
                most: self.max_pixels,
                option: option::MAX_PIXELS,
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

/// `max_decompressed`: limit of decompressed bytes, for all shards of a WebDataset together or for
/// each MDS shard. `None` stands for a default that no set of images exceeds: 4 GiB, and a hundred
/// times the compressed size unless that is below 64 MiB.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MaxDecompressed(pub Option<u64>);

impl MaxDecompressed {
    const BYTES: u64 = 4 << 30;
    const RATIO: u64 = 100;
    /// Harmless at any compression ratio.
    const HARMLESS: u64 = 64 << 20;

    /// Returns the limit for all shards together.
    #[must_use]
    pub fn total(self) -> u64 {
        self.0.unwrap_or(Self::BYTES)
    }

    /// Returns the limit for a shard of that many compressed bytes.
    #[must_use]
    pub fn of(self, stored: u64) -> u64 {
        let plausible = stored.saturating_mul(Self::RATIO).max(Self::HARMLESS);
        self.0.unwrap_or(plausible.min(Self::BYTES))
    }

    /// Creates the error for a file of `stored` bytes that decompresses to `asked` or more.
    #[must_use]
    pub fn refuse(self, path: &Path, stored: u64, asked: u64) -> Error {
        let path = path.display();
        Error::Limit {
            what: format!("the decompressed size of {path}, which has {stored} bytes,"),
            asked,
            most: self.of(stored),
            option: option::MAX_DECOMPRESSED,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_implausible_ratios_are_refused_unless_a_size_is_given() {
        let limit = MaxDecompressed::default();
        assert_eq!(limit.of(7_300_000), 730_000_000);
        assert_eq!(limit.of(134_000), 64 << 20);
        assert_eq!(limit.of(u64::MAX), 4 << 30);
        assert_eq!(MaxDecompressed(Some(5)).of(134_000), 5);
        assert_eq!(MaxDecompressed(Some(5 << 30)).total(), 5 << 30);
    }
}
