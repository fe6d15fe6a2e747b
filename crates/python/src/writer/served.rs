//! Sequences as sources: any sample, when a thread of Rust requests it. Samples that are packed as
//! they come, one after another, are such a source as well.
use super::{
    Request,
    fields::Fields,
    keys::{Keys, numbered},
    sequence::Sequence,
    written::SampleWriter,
};
use crate::{
    attended::{Meter, attended},
    command::carry_out_pack,
    desk::{Desk, bytes_of},
};
use fdconvert::{Context, Error, Pack, Prepared, Result, fingerprint_of};
use fdconvert_core::{Ahead, Amount, Image, Look, Sample, Source, SourceFacts};
use pyo3::prelude::*;
use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Samples in Python. Threads that read them ask Python's thread, which alone reads objects.
pub(super) struct Served {
    pub(super) facts: SourceFacts,
    pub(super) extension: String,
    pub(super) fingerprint: [u8; 16],
    /// Estimated memory per sample in bytes.
    pub(super) sample_bytes: u64,
    /// The first samples of a stream; `None` if any sample can be requested.
    pub(super) first: Option<First>,
    pub(super) desk: Arc<Desk>,
}

/// The samples before packing begins, with which it is planned.
pub(super) struct First {
    /// The samples, or the reason for each bad one.
    pub(super) samples: Vec<Taken>,
    /// True once planning is over, so that the others may be requested.
    pub(super) is_planned: AtomicBool,
}

/// A sample from a program, or the reason why it is bad.
pub(super) type Taken = std::result::Result<Sample<Image>, String>;

impl Served {
    /// Packs the samples, and returns the report.
    pub(super) fn pack(self, pack: Pack, is_dry: bool, meter: &Meter) -> Result<serde_json::Value> {
        let context = Context { cancel: &meter.cancel, progress: meter };
        let this = Arc::new(self);
        let pack = pack.source(Arc::clone(&this) as Arc<dyn Source>);
        let Some(first) = &this.first else {
            return carry_out_pack(&pack, "packed", is_dry, context);
        };
        match pack.prepare(context)? {
            // Options that read all samples first would have been told that they are bad.
            Prepared::Samples(samples) if samples.job().plan.order.is_none() => {
                first.is_planned.store(true, Ordering::Release);
                Ok(samples.document("packed", &samples.run(context)?))
            }
            _ => Err(Error::usage("samples", "these are not packed as they come")),
        }
    }
}

impl Source for Served {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn end(&self) -> Option<u64> {
        if self.first.is_some() { self.desk.n_samples() } else { None }
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        let Some(First { samples, is_planned }) = &self.first else {
            return self.desk.ask(index);
        };
        match usize::try_from(index).ok().and_then(|at| samples.get(at)) {
            Some(Ok(sample)) => Ok(sample.clone()),
            Some(Err(what)) => Err(Error::sample(self.key(index), what.as_str())),
            None if is_planned.load(Ordering::Acquire) => self.desk.ask(index),
            None => Err(Error::sample(self.key(index), "it was not given yet")),
        }
    }

    fn read_ahead(&self, indices: &[u64]) -> Ahead {
        self.desk.announce(indices)
    }

    fn key(&self, index: u64) -> String {
        numbered(index, &self.extension)
    }

    fn bytes(&self, _index: u64, amount: Amount) -> Result<Option<u64>> {
        Ok((amount == Amount::Announced).then_some(self.sample_bytes))
    }

    fn fingerprint(&self, _look: Look) -> Result<[u8; 16]> {
        Ok(self.fingerprint)
    }
}

/// Pack the samples of a sequence and return the report as JSON.
///
/// `schema` is a JSON document, and `masks` are the positions of its fields that are masks. With
/// `takes_some`, samples may have further fields, which are left out. `name` is recorded as the
/// source.
#[pyfunction]
#[pyo3(signature = (samples, schema, masks, takes_some, out, options, name, progress=None))]
#[allow(clippy::too_many_arguments, reason = "one call from the package's own Python")]
pub(crate) fn pack_samples(
    py: Python<'_>,
    samples: Bound<'_, PyAny>,
    schema: &str,
    masks: Vec<usize>,
    takes_some: bool,
    out: PathBuf,
    options: &str,
    name: String,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let Request { pack, on_error, is_dry, append } = Request::new(out.clone(), options)?;
    let fields = Fields::new(py, schema, masks, takes_some)?;
    let keys = Keys::new(&pack, &fields.schema)?;
    let len = samples.len()? as u64;
    let document = schema;
    let (schema, masks) = (fields.schema.clone(), fields.masks.clone());
    let mut sequence = Sequence::new(samples, fields, on_error);
    // Once, even if it is drawn at random: it is one run.
    let ends = sequence.ends(len)?.filter(|_| append.is_none());
    let Some(ends) = ends else {
        // Sources need the names of samples that were not requested: these wait until all are
        // there.
        let progress = progress.map(Bound::unbind);
        let mut writer =
            SampleWriter::new(py, document, masks, takes_some, out, options, name, progress)?;
        sequence.write_to(&mut writer, len)?;
        return writer.close(py);
    };
    let extension = keys.extension(ends.first().map_or(&[], |first| &first.values));
    let fingerprint = fingerprint_of(&schema, len, &ends);
    // The size of the ends is as good an estimate as any.
    let sample_bytes = ends.iter().map(bytes_of).max().unwrap_or(0);
    sequence.learn(&extension, sample_bytes);
    let facts = SourceFacts::new(name, schema, len).keep_pixels(&masks);
    let facts = SourceFacts { reads_ahead: true, ..facts };
    let work = move |meter: &Meter, desk: &Arc<Desk>| {
        let (first, desk) = (None, Arc::clone(desk));
        let served = Served { facts, extension, fingerprint, sample_bytes, first, desk };
        served.pack(pack, is_dry, meter)
    };
    let n_coming = sequence.n_coming();
    let fetch = |index, coming: &[u64]| sequence.fetch(index, coming);
    let found = attended(py, progress.as_ref(), work, n_coming, fetch)?;
    Ok(found.map_err(|error| sequence.exception(&error))?.to_string())
}
