use crate::bitmap::Bitmap;
use fdconvert_core::{Error, Result};

/// The square on which an image is drawn, and its number of points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Frame {
    size: u32,
    pad: u32,
    points: u32,
}

impl Frame {
    /// Padding of the original, in pixels on every side.
    pub const DEFAULT_PAD: u32 = 6;

    /// Smallest padding: patches reach three pixels beyond their point.
    pub const MIN_PAD: u32 = 4;

    /// Longest side: the original's 16-bit coordinates and a 32-bit index allow it with room to
    /// spare.
    pub const MAX_SIZE: u32 = 16_384;

    /// Fewest points: the lead-in of the fast sampler draws this many.
    pub const MIN_POINTS: u32 = 128;

    /// Most points of one image. A point takes 16 bytes of memory, or 44 in three dimensions.
    pub const MAX_POINTS: u32 = 1 << 25;

    /// Creates a frame of `size` by `size` pixels, `pad` of them free on every side, for `points`
    /// points.
    ///
    /// # Errors
    /// `Usage`, naming the value that is out of bounds.
    pub fn new(size: u32, pad: u32, points: u32) -> Result<Self> {
        if !(Self::MIN_PAD..=Self::MAX_SIZE).contains(&pad) {
            let what = format!("{pad} is not from {} to {}", Self::MIN_PAD, Self::MAX_SIZE);
            return Err(Error::usage("pad", what));
        }
        let least = 2 * pad + 1;
        if size < least || size > Self::MAX_SIZE {
            let what =
                format!("{size} is not from {least} (two pads and a pixel) to {}", Self::MAX_SIZE);
            return Err(Error::usage("size", what));
        }
        if !(Self::MIN_POINTS..=Self::MAX_POINTS).contains(&points) {
            let what = format!("{points} is not from {} to {}", Self::MIN_POINTS, Self::MAX_POINTS);
            return Err(Error::usage("points", what));
        }
        Ok(Self { size, pad, points })
    }

    /// Returns the number of columns and of rows.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Returns the number of free pixels on every side.
    #[must_use]
    pub fn pad(&self) -> u32 {
        self.pad
    }

    /// Returns the number of points of the orbit, including the start.
    #[must_use]
    pub fn points(&self) -> u32 {
        self.points
    }

    /// Returns an empty bitmap of this size.
    #[must_use]
    pub fn bitmap(&self) -> Bitmap {
        Bitmap::new(self.size, self.size)
    }
}

/// Style in which points are drawn; the names are the original's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Draw {
    /// One pixel of gray per point.
    PointGray,
    /// One pixel per point, in a hue that follows the point's number.
    PointColor,
    /// A 3x3 patch of random pixels per point, gray.
    PatchGray,
    /// A 3x3 patch of random pixels per point, in a hue that follows the point's number.
    PatchColor,
}

impl Draw {
    /// All draws.
    pub const ALL: [Self; 4] =
        [Self::PointGray, Self::PointColor, Self::PatchGray, Self::PatchColor];

    /// Returns its name in recipes and in the original.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PointGray => "point_gray",
            Self::PointColor => "point_color",
            Self::PatchGray => "patch_gray",
            Self::PatchColor => "patch_color",
        }
    }

    /// Returns the draw of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|draw| draw.name() == name)
    }

    /// Returns true if points become patches.
    #[must_use]
    pub fn is_patch(self) -> bool {
        matches!(self, Self::PatchGray | Self::PatchColor)
    }

    /// Returns true if points have hues.
    #[must_use]
    pub fn is_color(self) -> bool {
        matches!(self, Self::PointColor | Self::PatchColor)
    }
}
