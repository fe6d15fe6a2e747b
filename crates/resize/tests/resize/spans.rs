//! The tables of the area filter, by themselves.
use crate::axis::Axis;
use proptest::prelude::*;

proptest! {
    #[test]
    fn spans_cover_the_input_in_order(from in 1..3000usize, part in 0.0..1.0f64) {
        let to = ((from as f64 * part) as usize).max(1);
        let mut axis = Axis::default();
        axis.set(from, to);
        prop_assert_eq!(axis.spans.len(), to);
        let mut last = 0;
        for &span in &axis.spans {
            prop_assert!(span.len > 0 && span.first + span.len <= from);
            // A span never starts before the last input of the previous one: rows are needed in
            // order, and only that last one twice.
            prop_assert!(span.first + 1 >= last && span.first <= last);
            last = span.first + span.len;
            let sum: f32 = axis.of(span).iter().sum();
            prop_assert!((sum - 1.0).abs() < 0.01, "{}", sum);
        }
        prop_assert_eq!(last, from);
    }
}
