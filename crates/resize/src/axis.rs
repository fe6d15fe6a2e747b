/// The input columns or rows of one output column or row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) first: usize,
    pub(super) weight: usize,
    /// Number of input positions, each with one weight.
    pub(super) len: usize,
}

/// The inputs of every output along one dimension, with their weights. The weights of an output add
/// up to 1.
#[derive(Debug, Default)]
pub(super) struct Axis {
    from: usize,
    to: usize,
    pub(super) spans: Vec<Span>,
    pub(super) weights: Vec<f32>,
}

impl Axis {
    /// Makes this the table from `from` to `to` positions; does nothing if it already is.
    ///
    /// The expressions are those of OpenCV's `computeResizeAreaTab`, operation by operation:
    /// positions and weights in `f64`, rounded once to `f32`, and slivers up to a thousandth left
    /// out. Any rearrangement changes single bits of single pixels.
    pub(super) fn set(&mut self, from: usize, to: usize) {
        if (self.from, self.to) == (from, to) {
            return;
        }
        (self.from, self.to) = (from, to);
        self.spans.clear();
        self.weights.clear();
        let scale = from as f64 / to as f64;
        for i in 0..to {
            let start = i as f64 * scale;
            let end = start + scale;
            let cell = scale.min(from as f64 - start);
            let last_whole = (end.floor() as usize).min(from - 1);
            let first_whole = (start.ceil() as usize).min(last_whole);
            let (before, after) = (first_whole as f64 - start, end - last_whole as f64);
            let weight = self.weights.len();
            let mut first = first_whole;
            if before > 1e-3 {
                first = first_whole.saturating_sub(1);
                self.weights.push((before / cell) as f32);
            }
            for _ in first_whole..last_whole {
                self.weights.push((1.0 / cell) as f32);
            }
            if after > 1e-3 {
                self.weights.push((after.min(1.0).min(cell) / cell) as f32);
            }
            self.spans.push(Span { first, weight, len: self.weights.len() - weight });
        }
    }

    /// Returns the weights of a span.
    pub(super) fn of(&self, span: Span) -> &[f32] {
        self.weights.get(span.weight..span.weight + span.len).unwrap_or_default()
    }
}

/// Returns `from / to` if that is a whole number, to OpenCV's precision.
pub(super) fn whole_ratio(from: usize, to: usize) -> Option<usize> {
    let scale = from as f64 / to as f64;
    let whole = scale.round();
    ((scale - whole).abs() < f64::EPSILON).then_some(whole as usize)
}
