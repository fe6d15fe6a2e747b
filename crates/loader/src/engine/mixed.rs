//! Mixes the rows of a batch when the last one is made.
//!
//! The thread that made it mixes outside the lock: meanwhile the others work on rows of later
//! batches, and the consumer takes a complete batch.
use super::{
    queue::{Made, Queue},
    threads::Shared,
};
use crate::{
    column::Column,
    mix::{LabelRow, Mixing},
    stats::Stage,
};
use bytes::BytesMut;
use fdconvert_core::Result;
use std::{sync::MutexGuard, time::Instant};

impl Shared {
    /// Mixes the rows of a complete batch, if the options mix.
    pub(super) fn mix<'a>(
        &'a self,
        mut queue: MutexGuard<'a, Queue>,
        batch: u64,
    ) -> MutexGuard<'a, Queue> {
        let setup = &self.epoch.setup;
        let Some(mixing) = &setup.mixing else { return queue };
        let Some(mut made) = queue.take_made(batch) else { return queue };
        drop(queue);
        let began = Instant::now();
        let labels = mixed(mixing, self.epoch.number, &mut made);
        setup.counters.spent(Stage::Render, began.elapsed());
        let mut queue = self.lock();
        queue.put_made(made, labels);
        queue
    }
}

/// Mixes images in place and returns the mixed labels.
fn mixed(mixing: &Mixing, epoch: u64, made: &mut Made) -> Result<Column> {
    let Made { step, rows, buffers, facts, .. } = made;
    let blend = mixing.blend(epoch, *step);
    // Neither padding nor skipped rows.
    let is_valid: Vec<bool> = rows
        .iter()
        .zip(&*facts)
        .map(|(row, facts)| row.valid && facts.as_ref().is_some_and(|facts| facts.filled))
        .collect();
    let labels = facts.iter().flatten().zip(&is_valid).map(|(facts, is_valid)| LabelRow {
        sample: facts.sample,
        label: facts.values.label,
        fields: facts.values.fields.as_deref(),
        is_filled: facts.filled,
        is_valid: *is_valid,
    });
    let labels: Vec<_> = labels.collect();
    let labels = mixing.labels(&blend, labels.into_iter())?;
    // Rows that are mixed have a single view.
    let mut valid: Vec<&mut BytesMut> = buffers
        .iter_mut()
        .zip(&is_valid)
        .filter(|(_, is_valid)| **is_valid)
        .filter_map(|(buffers, _)| buffers.as_mut()?.first_mut())
        .collect();
    mixing.mix_images(&blend, &mut valid);
    Ok(labels)
}
