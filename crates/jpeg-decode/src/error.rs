use crate::Region;
use fdconvert_jpeg::{EntryPointError, Refused};

/// Reason for which an image was not decoded. The output is then unspecified.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is left to libjpeg-turbo, which may well decode it.
    #[error("the JPEG is not one for this decoder")]
    Unsupported(#[from] Unsupported),
    /// The scan is not the expected blocks. libjpeg-turbo may still make pixels of it.
    #[error("the JPEG is damaged at block {block}, bit {bit} of its scan: {what}")]
    Damaged {
        /// The block being read, in scan order.
        block: u32,
        /// The position in the un-stuffed scan.
        bit: u64,
        /// The fault found there.
        what: Damage,
    },
    /// The stored entry points cannot be read.
    #[error("the entry points of the JPEG cannot be read")]
    EntryPoints(#[from] EntryPointError),
    /// The entry points belong to another file.
    #[error("segment {segment} of the entry points does not belong to this JPEG")]
    OtherEntryPoints {
        /// The first segment that does not fit.
        segment: usize,
    },
    /// The region is empty, or not inside the image.
    #[error(
        "{} x {} pixels at column {}, row {} are no region of an image of {width} x {height}",
        region.width, region.height, region.x, region.y
    )]
    Region {
        /// The requested region.
        region: Region,
        /// Number of columns of the reduced image.
        width: u32,
        /// Number of rows of the reduced image.
        height: u32,
    },
    /// The memory for the pixels has another size.
    #[error("the pixels take {expected} bytes, and there is room for {found}")]
    Output {
        /// Number of bytes of all pixels.
        expected: u64,
        /// Length of the given memory.
        found: usize,
    },
}

/// Features that this decoder leaves to libjpeg-turbo.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unsupported {
    /// The file is arithmetic, 12 bits, CMYK, of several scans without being progressive, or broken,
    /// by its markers.
    #[error(transparent)]
    File(#[from] Refused),
    /// Luma was requested, but the file stores red, green and blue.
    #[error("the JPEG stores red, green and blue, which has no luma")]
    Luma,
    /// The resolution of a component is not a whole fraction of the image's.
    #[error("the JPEG has a component of sampling {h}x{v} in MCUs of {max_h}x{max_v}")]
    Sampling {
        /// Horizontal factor of the component.
        h: u8,
        /// Vertical factor of the component.
        v: u8,
        /// The largest horizontal factor.
        max_h: u32,
        /// The largest vertical factor.
        max_v: u32,
    },
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        Self::Unsupported(refused.into())
    }
}

/// A fault in a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// Bits are no code of the table, or one without a meaning in a sequential scan.
    #[error("no such code")]
    NoSuchCode,
    /// A value is after the last place of its block.
    #[error("a value after the 63rd place")]
    TooManyValues,
    /// The data ends before the blocks do.
    #[error("the data ends")]
    DataEnds,
    /// A run of blocks does not end where the next one starts.
    #[error("the blocks should end at bit {expected}")]
    WrongEnd {
        /// The expected end; up to 7 bits earlier where padding is allowed.
        expected: u64,
    },
}
