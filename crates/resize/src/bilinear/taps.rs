//! The weights of the antialiased bilinear filter along one dimension.

/// The first input of an output column or row, and the number of its inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tap {
    pub(super) first: usize,
    pub(super) len: usize,
}

/// The inputs of every output along one dimension, with integer weights that add up to `1 <<
/// precision`.
#[derive(Debug, Default)]
pub(super) struct Taps {
    pub(super) taps: Vec<Tap>,
    pub(super) precision: u32,
    /// Number of stored weights per output, the largest of any.
    window: usize,
    weights: Vec<i16>,
    exact: Vec<f64>,
}

impl Taps {
    /// Makes this the table from an interval between two positions of `size` inputs to `n_out`
    /// outputs.
    ///
    /// The expressions are those of `fast_image_resize` (`precompute_coefficients` and
    /// `Normalizer16`), operation by operation: another order would change bits.
    #[inline(always)]
    pub(super) fn set(&mut self, size: u32, (from, to): (f64, f64), n_out: u32) {
        let scale = (to - from) / f64::from(n_out);
        let radius = scale.max(1.0);
        let inverse = 1.0 / radius;
        self.window = radius.ceil() as usize * 2 + 1;
        self.taps.clear();
        self.exact.clear();
        let mut most = 0.0f64;
        for i in 0..n_out {
            let center = from + (f64::from(i) + 0.5) * scale;
            let first = (center - radius).floor().max(0.0) as u32;
            let behind = (center + radius).ceil().min(f64::from(size)) as u32;
            let center = center - 0.5;
            let start = self.exact.len();
            let mut sum = 0.0;
            let mut n_skipped = 0;
            for x in first..behind {
                let distance = ((f64::from(x) - center) * inverse).abs();
                let weight = if distance < 1.0 { 1.0 - distance } else { 0.0 };
                // Leading zero weights are left out.
                if self.exact.len() == start && weight == 0.0 {
                    n_skipped += 1;
                } else {
                    self.exact.push(weight);
                    sum += weight;
                }
            }
            let own = self.exact.get_mut(start..).unwrap_or_default();
            let len = own.iter().rposition(|weight| *weight != 0.0).map_or(0, |last| last + 1);
            if sum != 0.0 {
                own.iter_mut().for_each(|weight| *weight /= sum);
            }
            most = own.iter().fold(most, |most, weight| most.max(*weight));
            self.exact.resize(start + self.window, 0.0);
            self.taps.push(Tap { first: (first + n_skipped) as usize, len });
        }
        self.precision = precision(most);
        let scale = f64::from(1 << self.precision);
        self.weights.clear();
        self.weights.extend(self.exact.iter().map(|weight| (weight * scale).round() as i16));
    }

    /// Returns the weights of an output.
    pub(super) fn of(&self, number: usize, tap: Tap) -> &[i16] {
        let start = number * self.window;
        self.weights.get(start..start + tap.len).unwrap_or_default()
    }

    /// Returns the range from the first to the last input with a weight.
    pub(super) fn reach(&self) -> Option<(usize, usize)> {
        let (first, last) = (self.taps.first()?, self.taps.last()?);
        Some((first.first, last.first + last.len))
    }
}

/// Returns the most bits with which the largest weight fits 16 bits.
#[inline(always)]
fn precision(most: f64) -> u32 {
    let mut precision = 0;
    for bits in 0..22 {
        precision = bits;
        if (most * f64::from(1 << (bits + 1))).round() as i32 >= 1 << 15 {
            break;
        }
    }
    precision
}
