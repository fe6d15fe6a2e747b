use crate::{Change, Prepared, Stored};
use fdconvert_core::LanesImage;
use fdconvert_jpeg::{EntryPointError, Refused};

/// One image to decode.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Source of the image.
    pub image: Source<'a>,
    /// The wanted part.
    pub crop: Crop,
    /// True to let the filter read pixels around the crop, as when an image is resized before it is
    /// cropped. Otherwise they are ignored.
    pub reach: bool,
    /// True to mirror left to right, after any changes.
    pub flip: bool,
    /// Changes to the resized image, for [`Output::Changed`]; otherwise ignored, except for a drawn
    /// image.
    pub changes: &'a [Change],
}

/// Source of a compressed image.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// In the host's memory, uploaded with its batch.
    Bytes {
        /// The bytes of a JPEG.
        bytes: &'a [u8],
        /// Its entry points, as `fdconvert-jpeg` stores them. Without them the image is left
        /// to the caller.
        entry_points: Option<&'a [u8]>,
    },
    /// In the host's memory, already parsed.
    Prepared {
        /// The parsed image.
        image: &'a Prepared,
        /// The bytes it was parsed from. Those of another file give a damaged image.
        bytes: &'a [u8],
    },
    /// In the GPU's memory, put there by a [`Store`](crate::Store).
    Stored(&'a Stored),
    /// Drawn from numbers. It is not resized, and the crop is ignored: the visible part has the
    /// size of the output. For tensors only.
    Drawn {
        /// The numbers to draw from.
        image: &'a LanesImage,
        /// The first visible column and row.
        corner: (u32, u32),
    },
}

impl<'a> Request<'a> {
    /// Requests all of an image that travels with the batch.
    #[must_use]
    pub fn whole(bytes: &'a [u8], entry_points: Option<&'a [u8]>) -> Self {
        let image = Source::Bytes { bytes, entry_points };
        Self::of(image)
    }

    /// Requests all of an image that was parsed from these bytes.
    #[must_use]
    pub fn prepared(image: &'a Prepared, bytes: &'a [u8]) -> Self {
        let image = Source::Prepared { image, bytes };
        Self::of(image)
    }

    /// Requests all of an image that is stored on the GPU.
    #[must_use]
    pub fn stored(image: &'a Stored) -> Self {
        let image = Source::Stored(image);
        Self::of(image)
    }

    /// Requests the part of a drawn image that starts at this column and row.
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

    /// Returns the bytes of the JPEG, if the host has them.
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
    /// The left edge, 0 to 1.
    pub left: f32,
    /// The upper edge, 0 to 1.
    pub top: f32,
    /// Width above 0; `left + width` is at most 1.
    pub width: f32,
    /// Height above 0; `top + height` is at most 1.
    pub height: f32,
}

impl Crop {
    /// The whole image.
    pub const WHOLE: Self = Self { left: 0.0, top: 0.0, width: 1.0, height: 1.0 };
}

/// Form of the output of a batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Output {
    /// Every image at its stored size, one after the other: rows of RGB, or of gray, 8 bits each,
    /// bit for bit as libjpeg-turbo decodes them. Crop and flip are ignored.
    Native,
    /// One array of all images, at one size, with three channels each.
    Tensor(Tensor),
    /// The same array, made as augmentations on the CPU are: images are resized to 8 bits, changed
    /// as requested, and then flipped and normalised, bit for bit as torchvision does it. Undecoded
    /// images are processed as black ones.
    Changed(Tensor),
}

impl Output {
    pub(crate) fn tensor(&self) -> Option<&Tensor> {
        match self {
            Self::Native => None,
            Self::Tensor(tensor) | Self::Changed(tensor) => Some(tensor),
        }
    }

    /// Returns the output that the decoding kernels, or nvJPEG, must make: this one, or the one
    /// before changes.
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
    /// The order of the dimensions.
    pub order: Order,
    /// Mean to subtract from each channel, with samples from 0 to 1. Not for [`SampleType::U8`].
    pub mean: [f32; 3],
    /// Deviation to divide the difference by. Not for [`SampleType::U8`].
    pub deviation: [f32; 3],
}

impl Tensor {
    /// Returns the same images in 8 bits and NHWC order, to which changes are applied.
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
    /// bfloat16: the upper half of single precision.
    Bf16 = 2,
    /// IEEE 754 single precision.
    F32 = 3,
}

impl SampleType {
    /// Returns the number of bytes of a sample.
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
    /// The pixels are complete. Only the part that a crop needs was decoded: damage elsewhere may
    /// be unnoticed.
    Decoded,
    /// nvJPEG has decoded it, as [`Decoder::use_library`](crate::Decoder::use_library) allows. Its
    /// pixels are close to libjpeg-turbo's but not equal, and differ between engines and versions.
    /// In a native output it has three channels, even if it is gray.
    Library,
    /// It was not decoded; the caller must decode it by other means. Its place in an
    /// [`Output::Tensor`] holds zeros, or the processed black image of a failed drawing.
    Fallback(Fallback),
    /// Its data is damaged, or the entry points belong to another image. Its place is black.
    Damaged(Damage),
}

/// Why an image is left to the caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fallback {
    /// It came without entry points.
    #[error("the image has no entry points")]
    NoEntryPoints,
    /// Not a JPEG that can be decoded from entry points.
    #[error(transparent)]
    Jpeg(Refused),
    /// The entry points cannot be read.
    #[error(transparent)]
    EntryPoints(EntryPointError),
    /// The sampling factors of a component do not divide the largest ones.
    #[error("sampling factors {h}x{v} do not divide {max_h}x{max_v}")]
    Sampling {
        /// The component's horizontal factor.
        h: u32,
        /// The component's vertical factor.
        v: u32,
        /// The largest horizontal factor.
        max_h: u32,
        /// The largest vertical factor.
        max_v: u32,
    },
    /// More blocks than [`Limits`](crate::Limits) allow.
    #[error("the image has {n_blocks} blocks, more than {limit}")]
    TooLarge {
        /// Number of blocks of 8x8 values.
        n_blocks: u32,
        /// Number of allowed blocks.
        limit: u32,
    },
    /// The batch has more data than 32-bit positions can count.
    #[error("the batch is full")]
    BatchFull,
    /// An output without pixels, or with a side of more than 65535.
    #[error("the output cannot have {width}x{height} pixels")]
    OutputSize {
        /// Requested width.
        width: u32,
        /// Requested height.
        height: u32,
    },
    /// nvJPEG was to decode all images but cannot decode this one: it is lossless, or no JPEG of 8
    /// bits with one or three components and Huffman codes.
    #[error("nvJPEG does not decode images of this kind")]
    NotForLibrary,
    /// nvJPEG has failed to decode it.
    #[error("nvJPEG does not decode the image: {name} ({code})")]
    Library {
        /// Number of nvJPEG's status.
        code: i32,
        /// nvJPEG's name for the status.
        name: &'static str,
    },
    /// A drawing of an invalid size, smaller than its visible part, or not for a tensor.
    #[error("the image cannot be drawn for this output")]
    Canvas,
    /// An image that needs a single orbit: a point of it exceeds single precision.
    #[error("the image is drawn as a single orbit")]
    Orbit,
    /// The points of a drawing cover too little: it must be drawn with other random numbers.
    #[error("the drawing is too empty")]
    Empty,
    /// A crop that is empty, outside the image, or not finite.
    #[error("the crop is not inside the image")]
    Crop,
}

/// Faults that the kernels found in an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the image's data does not fit its entry points (flags {flags:#x})")]
pub struct Damage {
    pub(crate) flags: u32,
}

impl Damage {
    /// Returns true if bits were no code, or a run left its block.
    #[must_use]
    pub fn bad_code(self) -> bool {
        self.flags & 1 != 0
    }

    /// Returns true if a segment did not end where the next one starts.
    #[must_use]
    pub fn bad_segment(self) -> bool {
        self.flags & 2 != 0
    }

    /// Returns true if restart markers were missing, additional, or misplaced.
    #[must_use]
    pub fn bad_restart(self) -> bool {
        self.flags & 4 != 0
    }

    /// Returns true if the scan had another length than its entry points say.
    #[must_use]
    pub fn bad_length(self) -> bool {
        self.flags & 8 != 0
    }
}
