//! How large images are drawn that are stored nowhere.
use crate::transform::Crop;
use fdconvert_core::Drawn;

/// Size at which images are drawn, of datasets that draw them: recipes and formulas.
///
/// Fractals have as many details at one size as at another, so that to draw them larger than they
/// are shown is wasted work. But other sizes are other pixels, so a size that was given is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DrawSize {
    /// As for [`Output`](Self::Output) where no one says how large images are (a recipe without
    /// `size`), and the crop shows the same part of each of them; all others at their own size.
    #[default]
    Auto,
    /// So large that nothing is resized: as the longer side of the output, or, with
    /// [`Crop::Center`], as large as the image is made before it is cut. A random crop is cut out of
    /// an image as large as the output.
    Output,
    /// At their own size: what the recipe or the file says, else the default of the family.
    Own,
}

impl DrawSize {
    /// The side at which images are drawn; `None` where it is theirs already.
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
            // What is drawn has equal sides.
            Crop::Letterbox { .. } => size.0.min(size.1),
            Crop::None | Crop::Random { .. } => longer,
        };
        (is_meant && side != drawn.side).then_some(side)
    }
}
