use crate::Region;
use fdconvert_jpeg::{EntryPointError, Refused};

/// Why an image was not decoded. What was written by then is unspecified.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is left to libjpeg-turbo, which may well decode it.
    #[error("the JPEG is not one for this decoder")]
    Unsupported(#[from] Unsupported),
    /// The scan is not what its blocks need. libjpeg-turbo may still make pixels of it.
    #[error("the JPEG is damaged at block {block}, bit {bit} of its scan: {what}")]
    Damaged {
        /// The block that was being read, in the order of the scan.
        block: u32,
        /// The position in the un-stuffed scan.
        bit: u64,
        /// The fault that was found there.
        what: Damage,
    },
    /// The stored entry points cannot be read.
    #[error("the entry points of the JPEG cannot be read")]
    EntryPoints(#[from] EntryPointError),
    /// The entry points are those of another file.
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
        /// The region that was asked for.
        region: Region,
        /// Columns of the reduced image.
        width: u32,
        /// Rows of the reduced image.
        height: u32,
    },
    /// The memory for the pixels is not of their size.
    #[error("the pixels take {expected} bytes, and there is room for {found}")]
    Output {
        /// The bytes of all pixels.
        expected: u64,
        /// The length of what was given.
        found: usize,
    },
}

/// Features that this decoder leaves to libjpeg-turbo.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unsupported {
    /// The markers say so: progressive, arithmetic, 12 bits, CMYK, several scans, or broken.
    #[error(transparent)]
    File(#[from] Refused),
    /// The file stores red, green and blue, and luma was asked for.
    #[error("the JPEG stores red, green and blue, which has no luma")]
    Luma,
    /// A component has a resolution that is not a whole part of the image's.
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
    /// The bits are no code of the table, or one without a meaning in a sequential scan.
    #[error("no such code")]
    NoSuchCode,
    /// A value lies behind the last place of its block.
    #[error("a value behind the 63rd place")]
    TooManyValues,
    /// The data is over before the blocks are.
    #[error("the data ends")]
    DataEnds,
    /// A run of blocks does not end where the next one starts.
    #[error("the blocks should end at bit {expected}")]
    WrongEnd {
        /// The bit at which they should end; up to 7 bits before it where padding is allowed.
        expected: u64,
    },
}
