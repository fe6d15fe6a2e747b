//! The samples that a shard is filled with are announced to sources in stores before they are read.
use crate::{Dataset, pack::Run};
use fdconvert_core::{Coming, Window};
use std::ops::Range;

/// A window over these positions of the plan, of which the first is read number 0; `None` where the
/// source has no use for it. What is announced weighs half of what may wait for the writer.
pub(crate) fn window<'a>(
    dataset: &'a Dataset<'a>,
    run: &Run,
    positions: Range<u64>,
) -> Option<Window<'a, u64>> {
    let source = dataset.source;
    if !source.reads_ahead() {
        return None;
    }
    let reads = positions.map(move |position| {
        if dataset.plan.unreadable.contains_key(&position) {
            return Coming { what: None, bytes: 0 };
        }
        let index = dataset.plan.source_index(position);
        Coming { what: Some(index), bytes: source.ahead_bytes(index) }
    });
    Some(Window::new(run.budget_bytes / 2, reads, |indices| source.read_ahead(indices)))
}
