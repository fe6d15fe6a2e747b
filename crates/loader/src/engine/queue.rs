//! The schedule of the threads: batches in the making, in order.
//!
//! One lock guards the whole state. It is held only to hand out a row or to take it back, never
//! during a read or a decode.

use super::setup::Setup;
use crate::{
    batch::RowFacts,
    buffer::{self, RowBuffers, allocate, join, split},
    column::Column,
    dataset::Fetched,
    device::DeviceRow,
    order::{Cursor, Row, State},
    sizes::Sizes,
};
use bytes::BytesMut;
use fdconvert_core::{Error, Result};
use std::{collections::VecDeque, sync::Arc};

/// A row to make.
pub(crate) struct Task {
    /// Number of the batch since the epoch's start in this process.
    pub(crate) batch: u64,
    pub(crate) row: usize,
    pub(crate) position: u64,
    /// Number of earlier claims since the epoch's start in this process.
    pub(crate) number: u64,
    /// True if the row draws its sample, rather than fills up a batch.
    pub(crate) draws: bool,
    /// Bucket of the batch.
    pub(crate) bucket: u16,
    /// A piece for each view; empty for a row of its own size.
    pub(crate) buffers: RowBuffers,
    /// Result of a fetching thread, if one has read the sample.
    pub(crate) fetched: Option<Result<Fetched>>,
    /// True if the row failed on a GPU, so that the host must decode it.
    pub(crate) on_host: bool,
    pub(crate) device_row: Option<DeviceRow>,
}

struct Open {
    step: u64,
    bucket: u16,
    rows: Vec<Row>,
    buffers: Vec<Option<RowBuffers>>,
    /// Memory between and behind the rows.
    rest: Vec<BytesMut>,
    facts: Vec<Option<RowFacts>>,
    device_rows: Vec<Option<DeviceRow>>,
    error: Option<(usize, Error)>,
    claimed: usize,
    n_left: usize,
    /// True while a thread has its rows for mixing.
    is_away: bool,
    labels: Option<Column>,
    state: State,
}

/// The complete rows of a batch while they are mixed.
pub(super) struct Made {
    pub(super) batch: u64,
    pub(super) step: u64,
    pub(super) rows: Vec<Row>,
    pub(super) buffers: Vec<Option<RowBuffers>>,
    pub(super) facts: Vec<Option<RowFacts>>,
}

/// A batch with all its rows made.
pub(crate) struct Done {
    pub(crate) step: u64,
    pub(crate) bucket: u16,
    pub(crate) images: BytesMut,
    /// Rows of their own sizes, which are not in `images` yet.
    pub(crate) apart: Vec<BytesMut>,
    pub(crate) rows: Vec<Row>,
    pub(crate) facts: Vec<RowFacts>,
    pub(crate) device_rows: Vec<Option<DeviceRow>>,
    pub(crate) labels: Option<Column>,
    pub(crate) state: State,
}

pub(crate) enum Next {
    /// The next batch, in order.
    Done(Done),
    /// The batch failed; the epoch is over.
    Failed(Error),
    /// The epoch is over.
    End,
    /// The batch is still in the making.
    NotYet,
}

pub(crate) struct Queue {
    cursor: Option<Cursor>,
    setup: Arc<Setup>,
    /// Batches in the making, in order; the first is the next to deliver.
    open: VecDeque<Open>,
    first: u64,
    n_claimed: u64,
    free: Vec<BytesMut>,
    /// Number of buffers that may still be allocated.
    affordable: usize,
    fetched: VecDeque<Task>,
    pub(crate) stopped: bool,
}

impl Queue {
    pub(crate) fn new(cursor: Cursor, setup: Arc<Setup>) -> Self {
        let n_buffers = setup.options.n_buffers(&setup.views);
        Self {
            cursor: Some(cursor),
            setup,
            open: VecDeque::new(),
            first: 0,
            n_claimed: 0,
            affordable: n_buffers,
            free: Vec::new(),
            fetched: VecDeque::new(),
            stopped: false,
        }
    }

    /// Claims the next free row, from the oldest batch on.
    pub(crate) fn claim(&mut self, batch_rows: usize) -> Option<Task> {
        if self.stopped {
            return None;
        }
        let claimable = |open: &Open| open.claimed < open.rows.len();
        if !self.open.iter().any(claimable) && !self.begin_batch(batch_rows) {
            return None;
        }
        let (number, open) = self.open.iter_mut().enumerate().find(|(_, open)| claimable(open))?;
        let row = open.claimed;
        open.claimed += 1;
        let Row { position, valid } = *open.rows.get(row)?;
        let (bucket, buffers) = (open.bucket, open.buffers.get_mut(row)?.take()?);
        self.n_claimed += 1;
        Some(Task {
            batch: self.first + number as u64,
            row,
            position,
            number: self.n_claimed - 1,
            draws: valid,
            bucket,
            buffers,
            fetched: None,
            on_host: false,
            device_row: None,
        })
    }

    /// Opens the next batch with rows, if there is a buffer for it; returns whether there is a row
    /// to claim.
    fn begin_batch(&mut self, batch_rows: usize) -> bool {
        loop {
            let Some(cursor) = &mut self.cursor else { return false };
            // Seeing the end needs no buffer.
            if self.free.is_empty() && self.affordable == 0 && cursor.remaining() > 0 {
                return false;
            }
            let Some(step) = cursor.next() else {
                self.cursor = None;
                return false;
            };
            let n_rows = step.rows.len();
            let buffer = match self.free.pop() {
                Some(buffer) => buffer,
                None => {
                    self.affordable -= 1;
                    allocate(buffer::n_bytes(&self.setup.views, batch_rows))
                }
            };
            let views = self.setup.form(step.bucket).map_or(&self.setup.views, |form| &form.views);
            let (buffers, rest) = match self.setup.options.sizes {
                Sizes::Own => (vec![Some(vec![BytesMut::new()]); n_rows], vec![buffer]),
                _ => split(buffer, views, n_rows),
            };
            self.open.push_back(Open {
                step: step.index,
                bucket: step.bucket,
                buffers,
                rest,
                facts: vec![None; n_rows],
                device_rows: (0..n_rows).map(|_| None).collect(),
                rows: step.rows,
                error: None,
                claimed: 0,
                n_left: n_rows,
                is_away: false,
                labels: None,
                state: step.state,
            });
            // A rank may have no row of a short last batch; the batch is delivered nevertheless.
            if n_rows > 0 {
                return true;
            }
        }
    }

    /// Returns true if no batch is in the making because the consumer has all buffers.
    pub(crate) fn is_starved(&self) -> bool {
        self.open.is_empty()
            && self.free.is_empty()
            && self.affordable == 0
            && !self.stopped
            && self.cursor.as_ref().is_some_and(|cursor| cursor.remaining() > 0)
    }

    pub(crate) fn grow(&mut self) {
        self.affordable += 1;
    }

    /// Returns a row that was read and waits for a decoding thread.
    pub(crate) fn take_fetched(&mut self) -> Option<Task> {
        if self.stopped { None } else { self.fetched.pop_front() }
    }

    /// Leaves a row that was read to the decoding threads.
    pub(crate) fn put_fetched(&mut self, task: Task) {
        self.fetched.push_back(task);
    }

    /// Takes a finished row back. Returns true if that completes its batch.
    pub(crate) fn finish(&mut self, task: Task, made: Result<RowFacts>) -> bool {
        let Some(number) = task.batch.checked_sub(self.first) else { return false };
        let Some(open) = self.open.get_mut(number as usize) else { return false };
        if let Some(buffer) = open.buffers.get_mut(task.row) {
            *buffer = Some(task.buffers);
        }
        if let Some(device_row) = open.device_rows.get_mut(task.row) {
            *device_row = task.device_row;
        }
        match made {
            Ok(facts) => {
                if let Some(slot) = open.facts.get_mut(task.row) {
                    *slot = Some(facts);
                }
            }
            // Of several errors, that of the first row wins, whichever came first.
            Err(error) => match &open.error {
                Some((row, _)) if *row < task.row => {}
                _ => open.error = Some((task.row, error)),
            },
        }
        open.n_left -= 1;
        open.n_left == 0
    }

    /// Hands out the rows of a complete batch for mixing, unless it failed. The batch is not
    /// delivered before they return.
    pub(super) fn take_made(&mut self, batch: u64) -> Option<Made> {
        let open = self.open.get_mut(batch.checked_sub(self.first)? as usize)?;
        if open.n_left > 0 || open.error.is_some() {
            return None;
        }
        open.is_away = true;
        Some(Made {
            batch,
            step: open.step,
            // All of them are claimed.
            rows: std::mem::take(&mut open.rows),
            buffers: std::mem::take(&mut open.buffers),
            facts: std::mem::take(&mut open.facts),
        })
    }

    /// Takes the mixed rows and their labels back.
    pub(super) fn put_made(&mut self, made: Made, labels: Result<Column>) {
        let Some(number) = made.batch.checked_sub(self.first) else { return };
        let Some(open) = self.open.get_mut(number as usize) else { return };
        (open.rows, open.buffers, open.facts) = (made.rows, made.buffers, made.facts);
        open.is_away = false;
        match labels {
            Ok(labels) => open.labels = Some(labels),
            Err(error) => open.error = Some((0, error)),
        }
    }

    /// Returns true if every batch was delivered.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.cursor.is_none() && self.open.is_empty()
    }

    pub(crate) fn next(&mut self) -> Next {
        match self.open.front() {
            Some(open) if open.n_left > 0 || open.is_away => return Next::NotYet,
            None if self.cursor.is_none() || self.stopped => return Next::End,
            None => return Next::NotYet,
            Some(_) => {}
        }
        let Some(open) = self.open.pop_front() else { return Next::End };
        self.first += 1;
        if let Some((_, error)) = open.error {
            self.stopped = true;
            return Next::Failed(error);
        }
        let n_rows = open.rows.len();
        let facts: Vec<RowFacts> = open.facts.into_iter().flatten().collect();
        let Open { bucket, buffers, mut rest, .. } = open;
        let joined = match self.setup.options.sizes {
            Sizes::Own => {
                let rows: Option<Vec<_>> =
                    buffers.into_iter().map(|row| row?.into_iter().next()).collect();
                rest.pop().zip(rows)
            }
            _ => {
                let views = self.setup.form(bucket).map_or(&self.setup.views, |form| &form.views);
                join(buffers, rest, views).map(|images| (images, Vec::new()))
            }
        };
        match joined {
            Some((images, apart)) if facts.len() == n_rows => Next::Done(Done {
                step: open.step,
                bucket,
                images,
                apart,
                rows: open.rows,
                facts,
                device_rows: open.device_rows,
                labels: open.labels,
                state: open.state,
            }),
            _ => {
                self.stopped = true;
                Next::Failed(Error::usage("loader", "a row was lost, which is a bug"))
            }
        }
    }

    /// Takes a buffer back from the consumer.
    pub(crate) fn give_back(&mut self, buffer: BytesMut) {
        self.free.push(buffer);
    }
}
