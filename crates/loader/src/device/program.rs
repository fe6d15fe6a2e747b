use crate::transform::{Change, Resample, Stage};

/// What a GPU does to an image: a rectangle is resized and perhaps mirrored, and then its levels
/// are mapped.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DeviceProgram {
    pub(super) resample: Resample,
    pub(super) changes: Vec<Change>,
}

impl DeviceProgram {
    /// Returns the program of an image's stages; `None` if kernels lack any of them.
    pub(crate) fn of(stages: &[Stage]) -> Option<Self> {
        let (Stage::Resample(resample), rest) = stages.split_first()? else { return None };
        let change = |stage: &Stage| match stage {
            Stage::Change(change) if is_in_kernels(change) => Some(change.clone()),
            _ => None,
        };
        let changes = rest.iter().map(change).collect::<Option<_>>()?;
        (!resample.upside_down).then_some(Self { resample: *resample, changes })
    }

    /// Returns the corner of the rectangle if its pixels become the row unchanged: it has the row's
    /// size, begins at a pixel, and lies in an image of that size.
    pub(crate) fn as_is(&self, source: (u32, u32)) -> Option<(u32, u32)> {
        let Resample { rect, size, .. } = self.resample;
        let corner = |at: f64, length: f64, size: u32, n_pixels: u32| {
            let fits = length == f64::from(size)
                && at >= 0.0
                && at == at.trunc()
                && at + length <= f64::from(n_pixels);
            fits.then_some(at as u32)
        };
        let x = corner(rect.x, rect.width, size.0, source.0)?;
        Some((x, corner(rect.y, rect.height, size.1, source.1)?))
    }
}

/// Returns true if the kernels make the same bytes of equal bytes.
fn is_in_kernels(change: &Change) -> bool {
    matches!(
        change,
        Change::AdjustBrightness(_)
            | Change::Posterize(_)
            | Change::Solarize(_)
            | Change::Invert
            | Change::Equalize
    )
}
