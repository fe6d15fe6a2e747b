//! Announces the samples of the next rows to datasets in stores, so that requests for many samples
//! are in flight while each thread waits for one.
use super::epoch::Epoch;
use crate::{dataset::Located, order::Cursor};
use fdconvert_core::{Ahead, Coming, Window};
use std::{collections::BTreeMap, sync::Arc};

/// Returns a window over the rows of an epoch from the cursor on, in the order in which threads
/// claim them. `None` if no dataset can use it.
pub(super) fn window(epoch: &Arc<Epoch>, cursor: Cursor) -> Option<Window<'static, Located>> {
    let budget = epoch.setup.options.ahead_bytes;
    let datasets = epoch.datasets();
    if budget == 0 || !datasets.readers().any(|reader| reader.facts().reads_ahead) {
        return None;
    }
    let (planned, announced) = (epoch.clone(), epoch.clone());
    let rows = cursor.flat_map(|step| step.rows);
    let reads = rows.map(move |row| coming(&planned, row.position));
    Some(Window::new(budget, reads, move |samples| announce(&announced, samples)))
}

/// Returns the read for a row; none for a sample that is in memory or may not be read.
fn coming(epoch: &Epoch, position: u64) -> Coming<Located> {
    let located = epoch.to_read(position);
    let bytes = located.map_or(0, |located| epoch.datasets().ahead_bytes(located));
    Coming { what: located, bytes }
}

fn announce(epoch: &Epoch, samples: &[Located]) -> Ahead {
    let mut by_dataset: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for sample in samples {
        by_dataset.entry(sample.dataset).or_default().push(sample.index);
    }
    let mut ahead = Ahead::default();
    for (reader, number) in epoch.datasets().readers().zip(0..) {
        if let Some(indices) = by_dataset.get(&number).filter(|_| reader.facts().reads_ahead) {
            ahead.add(reader.read_ahead(indices));
        }
    }
    ahead
}
