//! Samples that come one after another, packed as they come.
use super::{
    Request,
    fields::Fields,
    keys::numbered,
    served::{First, Served, Taken},
};
use crate::{
    attended::{HELD, Meter, N_AT_ONCE, Work},
    desk::{Desk, Fetched, bytes_of},
    error::raise,
};
use fdconvert::{Error, Schema, SourceFacts, fingerprint_of};
use pyo3::prelude::*;
use std::{
    collections::VecDeque,
    mem,
    sync::{Arc, atomic::AtomicBool},
    time::Instant,
};

/// Number of samples that packing begins with: the plan reads them.
const N_FIRST: usize = 64;
/// Limit on their memory in bytes.
const FIRST_BYTES: u64 = 8 << 20;

/// Bound of a number that is not known yet.
const MOST_SAMPLES: u64 = 1 << 62;

/// Limit on the memory of samples that are passed on together, up to [`N_AT_ONCE`] of them.
const BYTES_AT_ONCE: u64 = 1 << 20;

/// Samples on their way to the threads that pack them.
///
/// The last one is kept until the writer is closed, so that no output exists before.
pub(super) struct Stream {
    schema: Schema,
    masks: Vec<usize>,
    /// Extension of names: that of the first good sample.
    extension: String,
    name: String,
    /// Number of samples that the threads have, without the last one.
    n_given: u64,
    /// Samples after them: waiting threads are woken for several.
    gathered: VecDeque<Fetched>,
    gathered_bytes: u64,
    /// Arrival time of the first of them.
    gathering: Instant,
    /// `None` once packing has begun.
    request: Option<Request>,
    /// Samples that came before that.
    first: Vec<Taken>,
    first_bytes: u64,
    work: Option<Work>,
    last: Option<Taken>,
}

impl Stream {
    /// Creates a stream of samples with these fields.
    pub(super) fn new(fields: &Fields, name: String, request: Request) -> Self {
        Self {
            schema: fields.schema.clone(),
            masks: fields.masks.clone(),
            extension: String::new(),
            name,
            n_given: 0,
            gathered: VecDeque::new(),
            gathered_bytes: 0,
            gathering: Instant::now(),
            request: Some(request),
            first: Vec::new(),
            first_bytes: 0,
            work: None,
            last: None,
        }
    }

    /// Sets the extension of names, unless a sample has set it or packing has begun.
    pub(super) fn learn(&mut self, extension: impl FnOnce() -> String) {
        if self.extension.is_empty() && self.request.is_some() {
            self.extension = extension();
        }
    }

    /// Returns the name of the next sample.
    pub(super) fn key(&self) -> String {
        numbered(self.len(), &self.extension)
    }

    pub(super) fn len(&self) -> u64 {
        let n_waiting = self.gathered.len() + usize::from(self.last.is_some());
        self.n_given + n_waiting as u64
    }

    /// Takes the next sample. It may wait for earlier ones to be packed.
    ///
    /// # Errors
    /// The error that ended packing; the exception of Ctrl-C or of `progress`. The stream is over
    /// then.
    pub(super) fn take(
        &mut self,
        py: Python<'_>,
        progress: Option<&Bound<'_, PyAny>>,
        sample: Taken,
    ) -> PyResult<()> {
        // Any sample may be the last one.
        if let Some(before) = self.last.take() {
            self.give(py, progress, before)?;
        }
        self.last = Some(sample);
        Ok(())
    }

    fn give(
        &mut self,
        py: Python<'_>,
        progress: Option<&Bound<'_, PyAny>>,
        sample: Taken,
    ) -> PyResult<()> {
        let sample_bytes = sample.as_ref().map_or(0, bytes_of);
        if self.work.is_none() {
            self.first_bytes += sample_bytes;
            self.first.push(sample);
            self.n_given += 1;
            if self.first.len() >= N_FIRST || self.first_bytes >= FIRST_BYTES {
                self.begin()?;
            }
            return Ok(());
        }
        let key = || numbered(self.len(), &self.extension);
        let sample = sample.map_err(|what| Error::sample(key(), what));
        if self.gathered.is_empty() {
            self.gathering = Instant::now();
        }
        self.gathered.push_back(sample);
        self.gathered_bytes += sample_bytes;
        let is_small = self.gathered.len() < N_AT_ONCE && self.gathered_bytes < BYTES_AT_ONCE;
        if is_small && self.gathering.elapsed() < HELD {
            return Ok(());
        }
        self.flush(py, progress)
    }

    /// Gives the threads the gathered samples.
    fn flush(&mut self, py: Python<'_>, progress: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        self.gathered_bytes = 0;
        let n_written = self.len();
        let Some(work) = &mut self.work else { return Ok(()) };
        work.count(n_written);
        if work.give(py, progress, &mut self.n_given, &mut self.gathered)? {
            return Ok(());
        }
        self.end(py, progress).map(drop)
    }

    /// Begins to pack, with the samples so far.
    fn begin(&mut self) -> PyResult<()> {
        let Some(Request { pack, is_dry, .. }) = self.request.take() else { return Ok(()) };
        let samples = mem::take(&mut self.first);
        let good: Vec<_> = samples.iter().flatten().cloned().collect();
        let n_good = u64::try_from(good.len()).unwrap_or(u64::MAX);
        // An estimate if none is good.
        let sample_bytes = self.first_bytes.checked_div(n_good).unwrap_or(BYTES_AT_ONCE);
        let fingerprint = fingerprint_of(&self.schema, MOST_SAMPLES, &good);
        let facts = SourceFacts::new(&*self.name, self.schema.clone(), MOST_SAMPLES);
        let facts = SourceFacts {
            n_given: Some(samples.len() as u64),
            reads_ahead: true,
            ..facts.keep_pixels(&self.masks)
        };
        let extension = self.extension.clone();
        let first = Some(First { samples, is_planned: AtomicBool::new(false) });
        let work = move |meter: &Meter, desk: &Arc<Desk>| {
            let desk = Arc::clone(desk);
            let served = Served { facts, extension, fingerprint, sample_bytes, first, desk };
            served.pack(pack, is_dry, meter)
        };
        self.work = Some(Work::begin(work)?);
        Ok(())
    }

    /// Returns the result of packing.
    fn end(
        &mut self,
        py: Python<'_>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<serde_json::Value> {
        let Some(work) = self.work.take() else { return Err(raise(&Error::Cancelled)) };
        // All requests have been answered.
        let found = work.attend(py, progress, 0, |_, _| Ok(Err(Error::Cancelled)))?;
        found.map_err(|error| raise(&error))
    }

    /// Packs the rest, and returns the report.
    ///
    /// # Errors
    /// As for [`take`](Self::take).
    pub(super) fn close(
        mut self,
        py: Python<'_>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<serde_json::Value> {
        let n_written = self.len();
        if let Some(last) = self.last.take() {
            self.give(py, progress, last)?;
        }
        self.begin()?;
        self.flush(py, progress)?;
        if let Some(work) = &self.work {
            work.end_at(n_written);
        }
        self.end(py, progress)
    }
}
