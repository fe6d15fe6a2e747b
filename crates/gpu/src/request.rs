use crate::{Change, Prepared, Stored};
use fdconvert_core::LanesImage;
use fdconvert_jpeg::{EntryPointError, Refused};

/// One image that is to be decoded.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Its source.
    pub image: Source<'a>,
    /// The part of it that is wanted.
    pub crop: Crop,
    /// True if the pixels around the crop count where the filter reaches them, as when an image is
    /// resized first and cropped then. Otherwise they do not exist.
    pub reach: bool,
    /// True if it is mirrored, left to right; after the changes, if there are any.
    pub flip: bool,
    /// Changes to the resized image, for [`Output::Changed`]; not looked at otherwise, but for an
    /// image that is drawn.
    pub changes: &'a [Change],
}

/// Source of a compressed image.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// In the host's memory: it travels with its batch.
    Bytes {
        /// The bytes of a JPEG.
        bytes: &'a [u8],
        /// Its entry points, as `fdconvert-jpeg` stores them. Without them the image is left
        /// to the caller.
        entry_points: Option<&'a [u8]>,
    },
    /// In the host's memory, and read already.
    Prepared {
        /// The result of reading it.
        image: &'a Prepared,
        /// The bytes that it was read from. Those of another file give a damaged image.
        bytes: &'a [u8],
    },
    /// In the GPU's memory, put there by a [`Store`](crate::Store).
    Stored(&'a Stored),
    /// Nowhere: it is drawn. It is not resized, so that the crop is not looked at; what is shown is
    /// as large as the output. For tensors only.
    Drawn {
        /// The numbers that it is drawn from.
        image: &'a LanesImage,
        /// The first column and row that are shown.
        corner: (u32, u32),
    },
}

impl<'a> Request<'a> {
    /// All of an image that travels with the batch.
    #[must_use]
    pub fn whole(bytes: &'a [u8], entry_points: Option<&'a [u8]>) -> Self {
        let image = Source::Bytes { bytes, entry_points };
        Self::of(image)
    }

    /// All of an image that was read already, from these bytes.
    #[must_use]
    pub fn prepared(image: &'a Prepared, bytes: &'a [u8]) -> Self {
        let image = Source::Prepared { image, bytes };
        Self::of(image)
    }

    /// All of an image that is stored on the GPU.
    #[must_use]
    pub fn stored(image: &'a Stored) -> Self {
        let image = Source::Stored(image);
        Self::of(image)
    }

    /// A request for the part of a drawn image that starts at this column and row.
    #[must_use]
    pub fn drawn(image: &'a LanesImage, corner: (u32, u32)) -> Self {
        Self::of(Source::Drawn { image, corner })
    }

    fn of(image: Source<'a>) -> Self {
        Self { image, crop: Crop::WHOLE, reach: false, flip: false, changes: &[] }
    }
}

impl<'a> Source<'a> {
    pub(crate) fn is_drawn(&self) -> bool {
        matches!(self, Self::Drawn { .. })
    }

    /// The bytes of the JPEG, where the host has them.
    #[must_use]
    pub fn bytes(&self) -> Option<&'a [u8]> {
        match *self {
            Self::Bytes { bytes, .. } | Self::Prepared { bytes, .. } => Some(bytes),
            Self::Stored(_) | Self::Drawn { .. } => None,
        }
    }
}

/// A rectangle in fractions of an image's width and height.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crop {
    /// Its left edge, 0 to 1.
    pub left: f32,
    /// Its upper edge, 0 to 1.
    pub top: f32,
    /// Above 0; `left + width` is at most 1.
    pub width: f32,
    /// Above 0; `top + height` is at most 1.
    pub height: f32,
}

impl Crop {
    /// The whole image.
    pub const WHOLE: Self = Self { left: 0.0, top: 0.0, width: 1.0, height: 1.0 };
}

/// Form of the output of a batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Output {
    /// Every image as it is stored, one after the other: rows of RGB, or of gray, 8 bits each.
    /// Crop and flip are not looked at. Bit for bit what libjpeg-turbo decodes.
    Native,
    /// All images at one size, with three channels each: one array.
    Tensor(Tensor),
    /// The same array, made as augmentations on the CPU are: images are resized to whole levels of
    /// 8 bits each, changed as their requests say, and then flipped and normalised, as torchvision
    /// does it, bit for bit. Places of images that are not decoded hold what becomes of black ones.
    Changed(Tensor),
}

impl Output {
    /// The array that comes out, if it is one.
    pub(crate) fn tensor(&self) -> Option<&Tensor> {
        match self {
            Self::Native => None,
            Self::Tensor(tensor) | Self::Changed(tensor) => Some(tensor),
        }
    }

    /// The output that the decoding kernels, or nvJPEG, have to make: this one, or the one before
    /// changes.
    pub(crate) fn decoded(&self) -> Self {
        match self {
            Self::Changed(tensor) => Self::Tensor(tensor.of_levels()),
            Self::Native | Self::Tensor(_) => *self,
        }
    }
}

/// An array of images: `[n, 3, height, width]` or `[n, height, width, 3]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tensor {
    /// Columns of each image, 1 to 65535.
    pub width: u32,
    /// Rows of each image, 1 to 65535.
    pub height: u32,
    /// Number format of a sample.
    pub sample_type: SampleType,
    /// Which index changes fastest.
    pub order: Order,
    /// Mean to subtract from each channel, samples being 0 to 1. Not for [`SampleType::U8`].
    pub mean: [f32; 3],
    /// Deviation to divide the difference by. Not for [`SampleType::U8`].
    pub deviation: [f32; 3],
}

impl Tensor {
    /// The same images as whole levels, pixel by pixel: what changes are made to.
    pub(crate) fn of_levels(&self) -> Self {
        Self {
            sample_type: SampleType::U8,
            order: Order::Nhwc,
            mean: [0.0; 3],
            deviation: [1.0; 3],
            ..*self
        }
    }

    pub(crate) fn n_samples(&self) -> u64 {
        3 * u64::from(self.width) * u64::from(self.height)
    }

    pub(crate) fn image_bytes(&self) -> u64 {
        self.n_samples() * self.sample_type.n_bytes()
    }
}

/// Number format of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum SampleType {
    /// 0 to 255, rounded, not normalised.
    U8 = 0,
    /// IEEE 754 half precision.
    F16 = 1,
    /// The upper half of single precision.
    Bf16 = 2,
    /// IEEE 754 single precision.
    F32 = 3,
}

impl SampleType {
    /// The bytes of a sample.
    #[must_use]
    pub fn n_bytes(self) -> u64 {
        match self {
            Self::U8 => 1,
            Self::F16 | Self::Bf16 => 2,
            Self::F32 => 4,
        }
    }
}

/// The order of the samples of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Order {
    /// Channel by channel.
    Nchw = 0,
    /// Pixel by pixel.
    Nhwc = 1,
}

/// Outcome for an image.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// Its pixels are there. Of a crop that is only part of the image, no more was decoded than
    /// it needs: damage that lies elsewhere may not have been seen.
    Decoded,
    /// nvJPEG has decoded it, where [`Decoder::use_library`](crate::Decoder::use_library) lets it.
    /// Its pixels are close to libjpeg-turbo's but not equal, and differ from engine to engine and
    /// from version to version. In a native output it has three channels, even if it is gray.
    Library,
    /// It was not decoded; the caller does so by other means. Its place in an [`Output::Tensor`] holds
    /// zeros, or what becomes of a black image if it was to be drawn.
    Fallback(Fallback),
    /// Its data is damaged, or the entry points are not its own. Its place is black.
    Damaged(Damage),
}

/// Why an image is left to the caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fallback {
    /// No entry points came with it.
    #[error("the image has no entry points")]
    NoEntryPoints,
    /// Not a JPEG that can be decoded from entry points.
    #[error(transparent)]
    Jpeg(Refused),
    /// The entry points cannot be read.
    #[error(transparent)]
    EntryPoints(EntryPointError),
    /// A component whose samples do not fit a whole number of times into the largest one's.
    #[error("sampling factors {h}x{v} do not divide {max_h}x{max_v}")]
    Sampling {
        /// The component's horizontal factor.
        h: u32,
        /// Its vertical factor.
        v: u32,
        /// The largest horizontal factor.
        max_h: u32,
        /// The largest vertical factor.
        max_v: u32,
    },
    /// More blocks than [`Limits`](crate::Limits) allow.
    #[error("the image has {n_blocks} blocks, more than {limit}")]
    TooLarge {
        /// Blocks of 8x8 values.
        n_blocks: u32,
        /// Number of blocks that is allowed.
        limit: u32,
    },
    /// The batch has more data than positions of 32 bits can count.
    #[error("the batch is full")]
    BatchFull,
    /// An output without pixels, or of more than 65535 in a row or column.
    #[error("the output cannot have {width}x{height} pixels")]
    OutputSize {
        /// The width that was asked for.
        width: u32,
        /// The height that was asked for.
        height: u32,
    },
    /// nvJPEG was asked for all images, but is not for this one: no JPEG of 8 bits with one or
    /// three components and Huffman codes, or lossless.
    #[error("nvJPEG does not decode images of this kind")]
    NotForLibrary,
    /// nvJPEG was asked and has not decoded it.
    #[error("nvJPEG does not decode the image: {name} ({code})")]
    Library {
        /// nvJPEG's answer.
        code: i32,
        /// nvJPEG's name for it.
        name: &'static str,
    },
    /// An image that is to be drawn at a size that cannot be, smaller than what is shown of it, or
    /// not for a tensor.
    #[error("the image cannot be drawn for this output")]
    Canvas,
    /// An image that only a single orbit draws: a point of it is beyond single precision.
    #[error("the image is drawn as a single orbit")]
    Orbit,
    /// A drawing whose points cover less than they have to: it is drawn with other numbers.
    #[error("the drawing is too empty")]
    Empty,
    /// A crop that is empty, outside of the image, or no numbers.
    #[error("the crop is not inside of the image")]
    Crop,
}

/// Faults that the kernels found in an image, of which there may be several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the image's data does not fit its entry points (flags {flags:#x})")]
pub struct Damage {
    pub(crate) flags: u32,
}

impl Damage {
    /// Bits that are no code, or a run that leaves its block.
    #[must_use]
    pub fn bad_code(self) -> bool {
        self.flags & 1 != 0
    }

    /// A segment that does not end where the next one starts.
    #[must_use]
    pub fn bad_segment(self) -> bool {
        self.flags & 2 != 0
    }

    /// Restart markers that are missing, too many, or elsewhere.
    #[must_use]
    pub fn bad_restart(self) -> bool {
        self.flags & 4 != 0
    }

    /// A scan that is longer or shorter than its entry points say.
    #[must_use]
    pub fn bad_length(self) -> bool {
        self.flags & 8 != 0
    }
}
