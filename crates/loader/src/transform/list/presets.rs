//! Transforms with torchvision's default arguments, and usual lists.
use super::{
    super::output::{DType, Normalise},
    Interpolation, ResizeTo, Transform, TransformList, defaults,
};
use fdconvert_core::Result;

impl Transform {
    /// Creates [`Resize`](Self::Resize) for a short side.
    #[must_use]
    pub fn resize(short: u32) -> Self {
        let (size, interpolation) = (ResizeTo::Short(short), Interpolation::Bilinear);
        Self::Resize { size, max_size: None, interpolation }
    }

    /// Creates [`Resize`](Self::Resize) for a height and a width.
    #[must_use]
    pub fn squeeze(size: [u32; 2]) -> Self {
        let (size, interpolation) = (ResizeTo::Exact(size), Interpolation::Bilinear);
        Self::Resize { size, max_size: None, interpolation }
    }

    /// Creates [`CenterCrop`](Self::CenterCrop) of a square.
    #[must_use]
    pub fn center_crop(side: u32) -> Self {
        Self::CenterCrop { size: [side; 2] }
    }

    /// Creates [`RandomResizedCrop`](Self::RandomResizedCrop) to a square.
    #[must_use]
    pub fn random_resized_crop(side: u32) -> Self {
        let (scale, ratio) = (defaults::crop_scale(), defaults::crop_ratio());
        Self::RandomResizedCrop { size: [side; 2], scale, ratio }
    }

    /// Creates [`RandomHorizontalFlip`](Self::RandomHorizontalFlip) of every second image.
    #[must_use]
    pub fn random_horizontal_flip() -> Self {
        Self::RandomHorizontalFlip { p: defaults::half() }
    }

    /// Creates [`Letterbox`](Self::Letterbox) into a square, with black around the image.
    #[must_use]
    pub fn letterbox(side: u32) -> Self {
        Self::Letterbox { size: [side; 2], fill: [0; 3] }
    }

    /// Creates [`Normalize`](Self::Normalize) with ImageNet's statistics.
    #[must_use]
    pub fn normalize_imagenet() -> Self {
        let Normalise { mean, std } = Normalise::IMAGENET;
        let (mean, std) = (mean.to_vec(), std.to_vec());
        Self::Normalize { mean, std }
    }

    /// Creates [`ToDtype`](Self::ToDtype).
    #[must_use]
    pub fn to_dtype(dtype: DType) -> Self {
        Self::ToDtype { dtype }
    }
}

impl TransformList {
    /// Creates the usual list for training on photographs: a random resized crop and a flip.
    ///
    /// # Errors
    /// `Usage` for a side of 0 or one that is too large.
    pub fn rrc(side: u32) -> Result<Self> {
        Self::new(vec![Transform::random_resized_crop(side), Transform::random_horizontal_flip()])
    }

    /// Creates the usual list for evaluation on photographs: the short side becomes 256 / 224 of
    /// `side`, and the middle is shown.
    ///
    /// # Errors
    /// As [`rrc`](Self::rrc).
    pub fn center(side: u32) -> Result<Self> {
        let short = (f64::from(side) * 256.0 / 224.0).round() as u32;
        Self::new(vec![Transform::resize(short), Transform::center_crop(side)])
    }
}
