//! From the rows of a component with fewer samples to rows of the image, as in libjpeg-turbo
//! (`jdsample.c`).
//!
//! If the factor is 2 across, 2 down or both, each new sample is 3/4 of the nearer and 1/4 of the
//! farther old one ("fancy" upsampling), with halves rounded up and down alternately, except across
//! components of one or two columns. Any other whole factor repeats samples.

/// Method that makes the rows of the image from the rows of a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// The resolutions are equal.
    Keep,
    /// As in 4:2:2.
    SmoothAcross,
    /// As in 4:4:0.
    SmoothDown,
    /// As in 4:2:0.
    SmoothBoth,
    /// As in 4:1:1 and others, by the number of columns.
    Repeat(usize),
}

impl Method {
    /// Chooses the method as `jinit_upsampler` does, by the factors across and down, and the
    /// component's width.
    pub(crate) fn new(across: u32, down: u32, width: u32) -> Self {
        match (across, down) {
            (1, 1) => Self::Keep,
            (2, 1) if width > 2 => Self::SmoothAcross,
            (1, 2) => Self::SmoothDown,
            (2, 2) if width > 2 => Self::SmoothBoth,
            _ => Self::Repeat(across as usize),
        }
    }

    /// Returns true if a row of the image also depends on the second nearest row of the component.
    pub(crate) fn looks_down(self) -> bool {
        matches!(self, Self::SmoothDown | Self::SmoothBoth)
    }

    /// Returns true if a column of the image also depends on the second nearest column of the
    /// component.
    pub(crate) fn looks_aside(self) -> bool {
        self.bias().is_some()
    }

    /// Returns the rounding of the sums, if the method blends adjacent columns.
    pub(crate) fn bias(self) -> Option<Bias> {
        match self {
            Self::SmoothAcross => Some(ACROSS),
            Self::SmoothBoth => Some(BOTH),
            Self::Keep | Self::SmoothDown | Self::Repeat(_) => None,
        }
    }

    /// Makes a row of the image from the nearest row of the component and the second nearest, which
    /// is below for odd rows, both without padding. The row is cut off at the end of `out`.
    pub(crate) fn row(self, near: &[u8], far: &[u8], is_odd: bool, out: &mut [u8]) {
        match self {
            Self::Keep => out.iter_mut().zip(near).for_each(|(out, sample)| *out = *sample),
            Self::SmoothAcross => {
                let columns = near.iter().map(|sample| u32::from(*sample));
                across(columns, ACROSS, out);
            }
            Self::SmoothDown => {
                let bias = if is_odd { 2 } else { 1 };
                for (out, sum) in out.iter_mut().zip(sums(near, far)) {
                    *out = ((sum + bias) >> 2) as u8;
                }
            }
            Self::SmoothBoth => {
                across(sums(near, far), BOTH, out);
            }
            Self::Repeat(n) => {
                for (out, sample) in out.chunks_mut(n.max(1)).zip(near) {
                    out.fill(*sample);
                }
            }
        }
    }
}

/// Yields three parts of the near sample plus one of the far one.
fn sums(near: &[u8], far: &[u8]) -> impl Iterator<Item = u32> + Clone {
    near.iter().zip(far).map(|(near, far)| u32::from(*near) * 3 + u32::from(*far))
}

/// Rounding of results: the addends of the left and the right one of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bias {
    pub(crate) shift: u32,
    pub(crate) left: u32,
    pub(crate) right: u32,
}

/// Of one neighbour across.
const ACROSS: Bias = Bias { shift: 2, left: 1, right: 2 };
/// Of one neighbour across, for sums of two rows.
const BOTH: Bias = Bias { shift: 4, left: 8, right: 7 };

/// Writes two samples for each column, blended with its neighbours; the outer columns are their own
/// neighbours on the outside.
fn across(columns: impl Iterator<Item = u32> + Clone, bias: Bias, out: &mut [u8]) {
    let next = columns.clone().skip(1).map(Some).chain([None]);
    let mut before = None;
    for ((out, column), next) in out.chunks_mut(2).zip(columns).zip(next) {
        let (left, right) = (before.unwrap_or(column), next.unwrap_or(column));
        let blended = [
            (column * 3 + left + bias.left) >> bias.shift,
            (column * 3 + right + bias.right) >> bias.shift,
        ];
        out.iter_mut().zip(blended).for_each(|(out, sample)| *out = sample as u8);
        before = Some(column);
    }
}
