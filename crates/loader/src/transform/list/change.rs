use super::{
    super::{painter::pixel_warp, pixel},
    Fill, Interpolation, PaddingMode,
};
use serde::{Deserialize, Serialize};

/// Change of one image: a functional form of torchvision's v2 and its arguments. Lengths and places
/// are in pixels of the image at that point of the list; top and left may be outside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Change {
    /// `resize`, antialiased unless by the nearest neighbour.
    Resize {
        /// Height and width.
        size: [u32; 2],
        /// Which neighbours make a pixel.
        interpolation: Interpolation,
    },
    /// `crop`: what is outside the image is black.
    Crop {
        /// First row.
        top: i64,
        /// First column.
        left: i64,
        /// Number of rows.
        height: u32,
        /// Number of columns.
        width: u32,
    },
    /// `pad`.
    Pad {
        /// Columns and rows to the left, at the top, to the right, and at the bottom.
        padding: [u32; 4],
        /// Their colour, with a constant padding.
        fill: Fill,
        /// Kind of the padding.
        padding_mode: PaddingMode,
    },
    /// `horizontal_flip`.
    HorizontalFlip,
    /// `vertical_flip`.
    VerticalFlip,
    /// `rotate`, `affine` and `perspective`.
    Warp {
        /// Movement of the pixels.
        warp: Warp,
        /// Which neighbours make a pixel.
        interpolation: Interpolation,
        /// Colour outside the image.
        fill: Fill,
    },
    /// `adjust_brightness`.
    AdjustBrightness(f64),
    /// `adjust_contrast`.
    AdjustContrast(f64),
    /// `adjust_saturation`.
    AdjustSaturation(f64),
    /// `adjust_hue`.
    AdjustHue(f64),
    /// `rgb_to_grayscale` with three channels.
    Grayscale,
    /// `gaussian_blur`.
    GaussianBlur {
        /// Width and height of the kernel.
        kernel_size: [u32; 2],
        /// Standard deviations.
        sigma: [f64; 2],
    },
    /// `invert`.
    Invert,
    /// `posterize`: number of bits.
    Posterize(u8),
    /// `solarize`: the threshold.
    Solarize(f64),
    /// `adjust_sharpness`.
    AdjustSharpness(f64),
    /// `autocontrast`.
    Autocontrast,
    /// `equalize`.
    Equalize,
    /// `erase`.
    Erase {
        /// First row.
        top: u32,
        /// First column.
        left: u32,
        /// Number of rows.
        height: u32,
        /// Number of columns.
        width: u32,
        /// New contents.
        value: Erased,
    },
    /// The mixture of AugMix: `weight` of the image, and of each chain.
    Mix {
        /// Weight of the image.
        weight: f64,
        /// The chains.
        chains: Vec<Chain>,
    },
}

/// Changes of a copy of the image, one after the other, and its weight in the mixture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chain {
    /// Weight.
    pub weight: f64,
    /// Changes.
    pub changes: Vec<Change>,
}

/// Movement of the pixels of an image.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Warp {
    /// `rotate`.
    Rotate {
        /// Degrees counter-clockwise.
        angle: f64,
        /// Whether the result holds all of the image.
        expand: bool,
        /// Column and row of the centre; `None` for the middle.
        center: Option<[f64; 2]>,
    },
    /// `affine`.
    Affine {
        /// Degrees.
        angle: f64,
        /// Columns and rows.
        translate: [f64; 2],
        /// Factor.
        scale: f64,
        /// Degrees along the rows, and along the columns.
        shear: [f64; 2],
        /// Column and row of the centre; `None` for the middle.
        center: Option<[f64; 2]>,
    },
    /// `perspective`: places of the four corners, clockwise from the upper left, as column and row.
    Perspective {
        /// In the image.
        startpoints: [[i64; 2]; 4],
        /// In the result.
        endpoints: [[i64; 2]; 4],
    },
}

/// New contents of a rectangle.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Erased {
    /// One colour.
    Constant(Fill),
    /// Normally distributed pixels, drawn with this key.
    Pixels {
        /// Key of the random numbers.
        key: u64,
        /// Means per channel.
        mean: [f64; 3],
        /// Standard deviations per channel.
        std: [f64; 3],
    },
}

impl Change {
    /// Returns width and height of the changed image, given those of the image.
    #[must_use]
    pub fn size(&self, (width, height): (u32, u32)) -> (u32, u32) {
        match self {
            Self::Resize { size: [height, width], .. } | Self::Crop { height, width, .. } => {
                (*width, *height)
            }
            Self::Pad { padding: [left, top, right, bottom], .. } => (
                width.saturating_add(*left).saturating_add(*right),
                height.saturating_add(*top).saturating_add(*bottom),
            ),
            Self::Warp { warp: Warp::Rotate { angle, expand: true, center }, .. } => {
                pixel::Warp::rotation((width, height), *angle, true, *center).output_size()
            }
            _ => (width, height),
        }
    }

    /// Returns true if each pixel depends on its own levels, and on others only through counts and
    /// means of the whole image, so that a flip may come before or after.
    pub(crate) fn is_pixel_by_pixel(&self) -> bool {
        matches!(
            self,
            Self::AdjustBrightness(_)
                | Self::AdjustContrast(_)
                | Self::AdjustSaturation(_)
                | Self::AdjustHue(_)
                | Self::Grayscale
                | Self::Invert
                | Self::Posterize(_)
                | Self::Solarize(_)
                | Self::Autocontrast
                | Self::Equalize
        )
    }

    /// Returns true for cuts, resizes and flips.
    pub(crate) fn is_cut_resize_or_flip(&self) -> bool {
        matches!(
            self,
            Self::Resize { .. } | Self::Crop { .. } | Self::HorizontalFlip | Self::VerticalFlip
        )
    }

    /// Returns true for changes that masks and objects follow.
    pub(crate) fn moves_pixels(&self) -> bool {
        self.is_cut_resize_or_flip() || matches!(self, Self::Pad { .. } | Self::Warp { .. })
    }

    /// Returns the matrix that takes points of an image of this width and height to the changed one,
    /// in homogeneous coordinates: column and row, counted from the upper left corner of the upper
    /// left pixel, and 1.
    #[must_use]
    pub fn matrix(&self, size: (u32, u32)) -> [[f64; 3]; 3] {
        let (width, height) = (f64::from(size.0), f64::from(size.1));
        let scaled = |[by_x, x]: [f64; 2], [by_y, y]: [f64; 2]| {
            [[by_x, 0.0, x], [0.0, by_y, y], [0.0, 0.0, 1.0]]
        };
        let identity = scaled([1.0, 0.0], [1.0, 0.0]);
        match self {
            Self::Resize { size: [new_height, new_width], .. } => {
                scaled([f64::from(*new_width) / width, 0.0], [f64::from(*new_height) / height, 0.0])
            }
            Self::Crop { top, left, .. } => scaled([1.0, -*left as f64], [1.0, -*top as f64]),
            Self::Pad { padding: [left, top, ..], .. } => {
                scaled([1.0, f64::from(*left)], [1.0, f64::from(*top)])
            }
            Self::HorizontalFlip => scaled([-1.0, width], [1.0, 0.0]),
            Self::VerticalFlip => scaled([1.0, 0.0], [-1.0, height]),
            Self::Warp { warp, .. } => {
                pixel_warp(warp, size).map_or(identity, |warp| warp.forward().matrix())
            }
            _ => identity,
        }
    }
}
