//! Lists of transforms, with the names, arguments and results of `torchvision.transforms.v2`.
//!
//! ```text
//! Transform   what the user writes: RandomResizedCrop with its ranges; the same in a checkpoint
//! Change      what it does to one image of a size: numbers are drawn, nothing is random any more
//! Stage       the changes, compiled: cuts, resizes and flips are one rectangle
//! ```
//!
//! A [`Change`] is one of torchvision's functional forms, and a list means its changes one after the
//! other; compiling changes nothing but the time that it takes.
mod apply;
mod batches;
mod change;
mod check;
mod draw;
mod fuse;
mod mix;
mod op;
mod policies;
mod policy;
mod presets;

pub use apply::Transformer;
pub use change::{Chain, Change, Erased, Warp};
pub use check::TransformList;
pub use draw::DrawKey;
pub(crate) use fuse::{Resample, Stage, fuse};
pub use mix::Mix;

use super::{
    output::{DType, Layout},
    pixel::Padding,
};
use serde::{Deserialize, Serialize};

/// Red, green and blue.
pub type Fill = [u8; 3];

/// Transform of an image, of its masks and objects, or of the form of its row.
///
/// The names and arguments are those of `torchvision.transforms.v2`; sizes are height and width,
/// paddings left, top, right and bottom, and ranges the smallest and the largest value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub enum Transform {
    /// Resizes; a single number is the short side, and the long one is at most `max_size`.
    Resize {
        /// The short side, or height and width.
        size: ResizeTo,
        /// Most pixels of the long side.
        #[serde(default)]
        max_size: Option<u32>,
        /// Which neighbours make a pixel.
        #[serde(default = "defaults::bilinear")]
        interpolation: Interpolation,
    },
    /// Cuts out the middle; an image that is too small gets black around it.
    CenterCrop {
        /// Height and width.
        size: [u32; 2],
    },
    /// Cuts out a part at a random place.
    RandomCrop {
        /// Height and width.
        size: [u32; 2],
        /// Padding before the cut.
        #[serde(default)]
        padding: Option<[u32; 4]>,
        /// Whether to pad an image that is too small, on all sides.
        #[serde(default)]
        pad_if_needed: bool,
        /// Colour of the padding.
        #[serde(default)]
        fill: Fill,
        /// Kind of the padding.
        #[serde(default)]
        padding_mode: PaddingMode,
    },
    /// Cuts out a part of random area and shape, and resizes it; Szegedy et al., "Going Deeper with
    /// Convolutions", 2015.
    RandomResizedCrop {
        /// Height and width.
        size: [u32; 2],
        /// Share of the area.
        #[serde(default = "defaults::crop_scale")]
        scale: [f64; 2],
        /// Width divided by height.
        #[serde(default = "defaults::crop_ratio")]
        ratio: [f64; 2],
    },
    /// Resizes so that the image fits a size times a random factor; Ghiasi et al., "Simple
    /// Copy-Paste is a Strong Data Augmentation Method for Instance Segmentation", 2021.
    ScaleJitter {
        /// Height and width.
        target_size: [u32; 2],
        /// The factor.
        #[serde(default = "defaults::jitter_scale")]
        scale_range: [f64; 2],
    },
    /// Fits the whole image into a size, in the middle, with one colour around it; not torchvision's.
    Letterbox {
        /// Height and width.
        size: [u32; 2],
        /// Colour around the image.
        #[serde(default)]
        fill: Fill,
    },
    /// Resizes so that the image covers a size, and cuts out the middle; not torchvision's.
    Cover {
        /// Height and width.
        size: [u32; 2],
        /// Whether to cut at a random place instead.
        #[serde(default)]
        random: bool,
    },
    /// Adds rows and columns.
    Pad {
        /// Columns and rows on the sides.
        padding: [u32; 4],
        /// Their colour.
        #[serde(default)]
        fill: Fill,
        /// Kind of the padding.
        #[serde(default)]
        padding_mode: PaddingMode,
    },
    /// Exchanges left and right.
    RandomHorizontalFlip {
        /// Probability.
        #[serde(default = "defaults::half")]
        p: f64,
    },
    /// Exchanges top and bottom.
    RandomVerticalFlip {
        /// Probability.
        #[serde(default = "defaults::half")]
        p: f64,
    },
    /// Rotates counter-clockwise.
    RandomRotation {
        /// The angle, in degrees.
        degrees: [f64; 2],
        /// Which neighbours make a pixel.
        #[serde(default)]
        interpolation: Interpolation,
        /// Whether the result is large enough to hold all of the rotated image.
        #[serde(default)]
        expand: bool,
        /// Column and row of the centre; the middle of the image by default.
        #[serde(default)]
        center: Option<[f64; 2]>,
        /// Colour outside the image.
        #[serde(default)]
        fill: Fill,
    },
    /// Rotates, shifts, scales and shears.
    RandomAffine {
        /// The angle, in degrees.
        degrees: [f64; 2],
        /// Most of the shift to either side, as shares of width and height.
        #[serde(default)]
        translate: Option<[f64; 2]>,
        /// The factor.
        #[serde(default)]
        scale: Option<[f64; 2]>,
        /// The angles of the shear along the rows, and along the columns, in degrees.
        #[serde(default)]
        shear: Option<[f64; 4]>,
        /// Which neighbours make a pixel.
        #[serde(default)]
        interpolation: Interpolation,
        /// Colour outside the image.
        #[serde(default)]
        fill: Fill,
        /// Column and row of the centre; the middle of the image by default.
        #[serde(default)]
        center: Option<[f64; 2]>,
    },
    /// Moves the corners inwards, as if seen from the side.
    RandomPerspective {
        /// Most of the move, as a share of half the image.
        #[serde(default = "defaults::half")]
        distortion_scale: f64,
        /// Probability.
        #[serde(default = "defaults::half")]
        p: f64,
        /// Which neighbours make a pixel.
        #[serde(default = "defaults::bilinear")]
        interpolation: Interpolation,
        /// Colour outside the image.
        #[serde(default)]
        fill: Fill,
    },
    /// Changes brightness, contrast, saturation and hue, in random order.
    ColorJitter {
        /// The factor.
        #[serde(default)]
        brightness: Option<[f64; 2]>,
        /// The factor.
        #[serde(default)]
        contrast: Option<[f64; 2]>,
        /// The factor.
        #[serde(default)]
        saturation: Option<[f64; 2]>,
        /// The turn, -0.5 to 0.5.
        #[serde(default)]
        hue: Option<[f64; 2]>,
    },
    /// Makes an image gray; it keeps three channels.
    Grayscale {},
    /// As `Grayscale`, sometimes.
    RandomGrayscale {
        /// Probability.
        #[serde(default = "defaults::tenth")]
        p: f64,
    },
    /// Blurs.
    GaussianBlur {
        /// Width and height of the kernel: odd.
        kernel_size: [u32; 2],
        /// Standard deviation, in pixels.
        #[serde(default = "defaults::sigma")]
        sigma: [f64; 2],
    },
    /// Inverts the levels.
    RandomInvert {
        /// Probability.
        #[serde(default = "defaults::half")]
        p: f64,
    },
    /// Keeps the upper bits of the levels.
    RandomPosterize {
        /// Number of bits.
        bits: u8,
        /// Probability.
        #[serde(default = "defaults::half")]
        p: f64,
    },
    /// Inverts the levels from a threshold on.
    RandomSolarize {
        /// The threshold.
        threshold: f64,
        /// Probability.
        #[serde(default = "defaults::half")]
        p: f64,
    },
    /// Sharpens, or blurs with a factor below 1.
    RandomAdjustSharpness {
        /// The factor.
        sharpness_factor: f64,
        /// Probability.
        #[serde(default = "defaults::half")]
        p: f64,
    },
    /// Stretches the levels of each channel to 0 to 255.
    RandomAutocontrast {
        /// Probability.
        #[serde(default = "defaults::half")]
        p: f64,
    },
    /// Evens out the histogram of each channel.
    RandomEqualize {
        /// Probability.
        #[serde(default = "defaults::half")]
        p: f64,
    },
    /// Erases a rectangle; Zhong et al., "Random Erasing Data Augmentation", 2017.
    RandomErasing {
        /// Probability.
        #[serde(default = "defaults::half")]
        p: f64,
        /// Share of the area.
        #[serde(default = "defaults::erased_scale")]
        scale: [f64; 2],
        /// Height divided by width.
        #[serde(default = "defaults::erased_ratio")]
        ratio: [f64; 2],
        /// Contents of the rectangle.
        #[serde(default)]
        value: EraseValue,
    },
    /// One of 25 learned pairs of changes; Cubuk et al., "AutoAugment: Learning Augmentation
    /// Strategies from Data", 2019.
    AutoAugment {
        /// Data that they were learned on.
        #[serde(default)]
        policy: Policy,
        /// Which neighbours make a pixel.
        #[serde(default)]
        interpolation: Interpolation,
        /// Colour outside the image.
        #[serde(default)]
        fill: Fill,
    },
    /// Changes of one strength; Cubuk et al., "RandAugment: Practical automated data augmentation
    /// with a reduced search space", 2020.
    RandAugment {
        /// Number of changes.
        #[serde(default = "defaults::num_ops")]
        num_ops: u32,
        /// Their strength, below `num_magnitude_bins`.
        #[serde(default = "defaults::magnitude")]
        magnitude: u32,
        /// Number of strengths.
        #[serde(default = "defaults::bins")]
        num_magnitude_bins: u32,
        /// Which neighbours make a pixel.
        #[serde(default)]
        interpolation: Interpolation,
        /// Colour outside the image.
        #[serde(default)]
        fill: Fill,
    },
    /// One change of any strength; Müller and Hutter, "TrivialAugment: Tuning-free Yet
    /// State-of-the-Art Data Augmentation", 2021.
    TrivialAugmentWide {
        /// Number of strengths.
        #[serde(default = "defaults::bins")]
        num_magnitude_bins: u32,
        /// Which neighbours make a pixel.
        #[serde(default)]
        interpolation: Interpolation,
        /// Colour outside the image.
        #[serde(default)]
        fill: Fill,
    },
    /// A mixture of the image and of chains of changes of it; Hendrycks et al., "AugMix: A Simple
    /// Data Processing Method to Improve Robustness and Uncertainty", 2020.
    AugMix {
        /// Strength, 1 to 10.
        #[serde(default = "defaults::severity")]
        severity: u32,
        /// Number of chains.
        #[serde(default = "defaults::width")]
        mixture_width: u32,
        /// Number of changes in a chain; -1 for 1 to 3.
        #[serde(default = "defaults::depth")]
        chain_depth: i32,
        /// Parameter of the weights' distributions.
        #[serde(default = "defaults::one")]
        alpha: f64,
        /// Whether brightness, colour, contrast and sharpness are among the changes.
        #[serde(default = "defaults::yes")]
        all_ops: bool,
        /// Which neighbours make a pixel.
        #[serde(default = "defaults::bilinear")]
        interpolation: Interpolation,
        /// Colour outside the image.
        #[serde(default)]
        fill: Fill,
    },
    /// Applies all of a list, or nothing.
    RandomApply {
        /// The list.
        transforms: Vec<Transform>,
        /// Probability.
        #[serde(default = "defaults::half")]
        p: f64,
    },
    /// Applies one of a list.
    RandomChoice {
        /// The list.
        transforms: Vec<Transform>,
        /// Their probabilities, or numbers in proportion to them; equal by default.
        #[serde(default)]
        p: Option<Vec<f64>>,
    },
    /// Applies a list in random order.
    RandomOrder {
        /// The list.
        transforms: Vec<Transform>,
    },
    /// Converts levels to numbers: `(level / 255 - mean) / std`; of bands `(value - mean) / std`.
    Normalize {
        /// Means per channel, on the scale of 0 to 1; of bands on that of their values.
        mean: Vec<f32>,
        /// Standard deviations per channel, on the same scale.
        std: Vec<f32>,
    },
    /// Takes the image as bands, as they are stored: not as RGB of 8 bits.
    Bands {
        /// Number of bands, which all images have.
        n: u16,
        /// Type of their values: `u8`, `u16`, `i16` or `f32`.
        dtype: DType,
    },
    /// Type of the numbers of a row; floats are from 0 to 1 unless normalised, and those of bands the
    /// stored values.
    ToDtype {
        /// The type.
        dtype: DType,
    },
    /// Memory order of a row.
    ToLayout {
        /// The order.
        layout: Layout,
    },
    /// Mixes the rows of a batch; Zhang et al., "mixup: Beyond Empirical Risk Minimization", 2018.
    MixUp {
        /// Parameter of the share's beta distribution.
        #[serde(default = "defaults::one")]
        alpha: f64,
        /// Length of each row of labels; by default the number of the label's classes.
        #[serde(default)]
        num_classes: Option<u32>,
    },
    /// Puts rectangles of the rows of a batch into each other; Yun et al., "CutMix: Regularization
    /// Strategy to Train Strong Classifiers with Localizable Features", 2019.
    CutMix {
        /// Parameter of the share's beta distribution.
        #[serde(default = "defaults::one")]
        alpha: f64,
        /// Length of each row of labels; by default the number of the label's classes.
        #[serde(default)]
        num_classes: Option<u32>,
    },
}

/// Data that AutoAugment's pairs of changes were learned on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// Photographs.
    #[default]
    ImageNet,
    /// Small photographs.
    Cifar10,
    /// House numbers.
    Svhn,
}

/// Size to resize to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ResizeTo {
    /// Length of the short side.
    Short(u32),
    /// Height and width.
    Exact([u32; 2]),
}

/// Which neighbours make a pixel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Interpolation {
    /// The nearest one.
    #[default]
    Nearest,
    /// The four around it, or in a resize all within the filter.
    Bilinear,
}

/// Contents of rows and columns that are added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PaddingMode {
    /// One colour.
    #[default]
    Constant,
    /// The pixels of the edge.
    Edge,
    /// The image mirrored, without its edge.
    Reflect,
    /// The image mirrored, with its edge.
    Symmetric,
}

impl PaddingMode {
    /// Returns the padding of this kind; a constant one of that value.
    pub(crate) fn padding<P>(self, constant: P) -> Padding<P> {
        match self {
            Self::Constant => Padding::Constant(constant),
            Self::Edge => Padding::Edge,
            Self::Reflect => Padding::Reflect,
            Self::Symmetric => Padding::Symmetric,
        }
    }
}

/// Contents of an erased rectangle.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EraseValue {
    /// One colour.
    Constant(Fill),
    /// Random pixels: normally distributed around these means with these deviations, on the scale of
    /// 0 to 255, rounded and clamped. timm's `mode="pixel"`, before the normalisation.
    Pixels {
        /// Means per channel.
        mean: [f64; 3],
        /// Standard deviations per channel.
        std: [f64; 3],
    },
}

impl Default for EraseValue {
    fn default() -> Self {
        Self::Constant([0; 3])
    }
}

/// torchvision's default arguments.
mod defaults {
    use super::Interpolation;

    macro_rules! defaults {
        ($($name:ident: $type:ty = $value:expr;)+) => {
            $(pub(super) fn $name() -> $type { $value })+
        };
    }
    defaults! {
        half: f64 = 0.5;
        tenth: f64 = 0.1;
        one: f64 = 1.0;
        yes: bool = true;
        crop_scale: [f64; 2] = [0.08, 1.0];
        crop_ratio: [f64; 2] = [3.0 / 4.0, 4.0 / 3.0];
        jitter_scale: [f64; 2] = [0.1, 2.0];
        sigma: [f64; 2] = [0.1, 2.0];
        erased_scale: [f64; 2] = [0.02, 0.33];
        erased_ratio: [f64; 2] = [0.3, 3.3];
        bilinear: Interpolation = Interpolation::Bilinear;
        num_ops: u32 = 2;
        magnitude: u32 = 9;
        bins: u32 = 31;
        severity: u32 = 3;
        width: u32 = 3;
        depth: i32 = -1;
    }
}

#[cfg(test)]
mod tests;
