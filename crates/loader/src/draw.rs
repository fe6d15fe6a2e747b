//! The size of images that are drawn instead of stored.
use crate::transform::Crop;
use fdconvert_core::Drawn;

/// Size of the images of datasets that draw them: recipes and formulas.
///
/// Fractals have as many details at one size as at another, so that drawing them larger than they
/// are shown wastes work. But other sizes give other pixels, so that an explicit size is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DrawSize {
    /// As [`Output`](Self::Output) if the images have no explicit size (a recipe without `size`)
    /// and the crop shows the same part of each; all others at their own size.
    #[default]
    Auto,
    /// The size that needs no resizing: the longer side of the output or, with [`Crop::Center`],
    /// the size before the cut. A random crop is cut out of an image as large as the output.
    Output,
    /// The size in the recipe or file, else the default of the family.
    Own,
}

impl DrawSize {
    /// Returns the side at which to draw images; `None` if it is theirs already.
    pub(crate) fn side(self, crop: Crop, size: (u32, u32), drawn: Drawn) -> Option<u32> {
        let is_fixed = matches!(crop, Crop::None | Crop::Center { .. } | Crop::Letterbox { .. });
        let is_meant = match self {
            Self::Auto => drawn.is_free && is_fixed,
            Self::Output => true,
            Self::Own => false,
        };
        let longer = size.0.max(size.1);
        let side = match crop {
            Crop::Center { resize } => longer.max(resize),
            // Drawn images are square.
            Crop::Letterbox { .. } => size.0.min(size.1),
            Crop::None | Crop::Random { .. } => longer,
        };
        (is_meant && side != drawn.side).then_some(side)
    }
}
