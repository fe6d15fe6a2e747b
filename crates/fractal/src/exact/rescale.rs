use super::orbit::Orbit;
use crate::frame::Frame;

/// Returns the places of the points in the frame, in order.
pub(super) fn pixels(orbit: Orbit, frame: Frame) -> Vec<(u16, u16)> {
    let Orbit { mut xs, mut ys } = orbit.without_nan();
    let columns = Axis::of(&mut xs, frame);
    let rows = Axis::of(&mut ys, frame);
    xs.iter().zip(&ys).map(|(&x, &y)| (columns.pixel(x), rows.pixel(y))).collect()
}

/// The mapping of one coordinate to a column or a row.
pub(super) struct Axis {
    span: f64,
    inner: f64,
    pad: f64,
}

impl Axis {
    pub(super) fn inner(frame: Frame) -> f64 {
        f64::from(frame.size() - 2 * frame.pad())
    }

    /// Moves the values up so that none is negative, and returns their scale. The original moves
    /// them only if one is negative.
    fn of(values: &mut [f64], frame: Frame) -> Self {
        let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
        let min = least(values);
        if min < 0.0 {
            for value in values.iter_mut() {
                *value -= min;
            }
        }
        let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Self { span: max - least(values), inner: Self::inner(frame), pad: f64::from(frame.pad()) }
    }

    /// Returns the axis of values from 0 to `span`.
    pub(super) fn of_span(span: f64, frame: Frame) -> Self {
        Self { span, inner: Self::inner(frame), pad: f64::from(frame.pad()) }
    }

    /// Returns the pixel of a value that was moved up, in the original's order of operations.
    pub(super) fn pixel(&self, value: f64) -> u16 {
        to_u16(value / self.span * self.inner + self.pad)
    }
}

/// Converts a double as `numpy.uint16` does on x86: truncated to 32 bits, of which the low half is
/// kept. NaN and values out of range become 0.
fn to_u16(value: f64) -> u16 {
    if value.abs() < 2_147_483_648.0 { value as i32 as u16 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn casts_as_numpy_does() {
        let cases = [
            (6.999, 6),
            (65_536.5, 0),
            (65_543.0, 7),
            (f64::NAN, 0),
            (f64::INFINITY, 0),
            (f64::NEG_INFINITY, 0),
            (1e300, 0),
            (-1.5, 65_535),
        ];
        for (value, pixel) in cases {
            assert_eq!(to_u16(value), pixel, "{value}");
        }
    }
}
