//! Sequences as sources: any sample, when a thread of Rust asks for it.
use super::{
    Request,
    fields::{Fields, Unfit},
    keys::{Keys, numbered},
    noted, text_of,
};
use crate::{
    attended::{Meter, attended},
    command::carry_out_pack,
    desk::Desk,
    error::raise,
};
use fdconvert::{Context, Error, OnError, Result, fingerprint_of};
use fdconvert_core::{Ahead, Image, Sample, Schema, Source, Value};
use pyo3::{exceptions::PyException, prelude::*};
use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

/// The samples of a sequence. Threads that read them ask Python's, which alone looks at objects.
struct Served {
    schema: Schema,
    masks: Vec<usize>,
    len: u64,
    extension: String,
    name: String,
    fingerprint: [u8; 16],
    /// About what a sample takes in memory.
    sample_bytes: u64,
    desk: Arc<Desk>,
}

impl Source for Served {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        self.desk.ask(index)
    }

    fn reads_ahead(&self) -> bool {
        true
    }

    fn read_ahead(&self, indices: &[u64]) -> Ahead {
        self.desk.announce(indices)
    }

    fn ahead_bytes(&self, _index: u64) -> u64 {
        self.sample_bytes
    }

    fn key(&self, index: u64) -> String {
        numbered(index, &self.extension)
    }

    fn keeps_pixels(&self, field: usize) -> bool {
        self.masks.contains(&field)
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn fingerprint(&self) -> [u8; 16] {
        self.fingerprint
    }
}

/// A sequence of samples, in Python.
struct Sequence<'py> {
    samples: Bound<'py, PyAny>,
    fields: Fields,
    extension: String,
    on_error: OnError,
    /// Exceptions that samples have raised, by key: one of them may end the run.
    raised: BTreeMap<String, PyErr>,
}

impl Sequence<'_> {
    /// Sample `index`, or why it is none. An exception that does not concern the sample, such as
    /// that of Ctrl-C, ends the run.
    fn fetch(&mut self, index: u64) -> PyResult<Result<Sample<Image>>> {
        let py = self.samples.py();
        let key = numbered(index, &self.extension);
        let object = self.samples.get_item(index).map_err(Unfit::Raised);
        match object.and_then(|object| self.fields.values(&object)) {
            Ok(found) => Ok(Ok(Sample { key, values: found.values })),
            Err(Unfit::Said(what)) => Ok(Err(Error::sample(key, what))),
            Err(Unfit::Raised(error)) if error.is_instance_of::<PyException>(py) => {
                let what = text_of(py, &error);
                if self.on_error == OnError::Fail {
                    self.raised.insert(key.clone(), error);
                }
                Ok(Err(Error::sample(key, what)))
            }
            Err(Unfit::Raised(error)) => Err(error),
        }
    }

    /// The exception for an error: that of the sample itself, where it has raised one.
    fn exception(&mut self, error: &Error) -> PyErr {
        let Error::Sample { key, .. } = error else { return raise(error) };
        let py = self.samples.py();
        self.raised.remove(key).map_or_else(|| raise(error), |raised| noted(py, raised, key))
    }

    /// The first sample and the last one, as far as they are any.
    fn ends(&mut self, len: u64) -> PyResult<Vec<Sample<Image>>> {
        let last = len.checked_sub(1).filter(|last| *last > 0);
        let mut found = Vec::new();
        for index in [0].into_iter().chain(last).filter(|index| *index < len) {
            match self.fetch(index)? {
                Ok(sample) => found.push(sample),
                Err(_) if self.on_error == OnError::Skip => {}
                Err(error) => return Err(self.exception(&error)),
            }
        }
        Ok(found)
    }
}

/// Pack the samples of a sequence and return the report as JSON.
///
/// `schema` is a JSON document, `masks` are positions of its fields whose images are labels; with
/// `takes_some` samples may have further fields. `name` is recorded as the source.
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
    let Request { pack, on_error, is_dry } = Request::new(out, options)?;
    let fields = Fields::new(py, schema, masks, takes_some)?;
    let keys = Keys::new(&pack, &fields.schema)?;
    let (schema, masks) = (fields.schema.clone(), fields.masks.clone());
    let len = samples.len()? as u64;
    let raised = BTreeMap::new();
    let mut sequence = Sequence { samples, fields, extension: String::new(), on_error, raised };
    // Once, also for what is drawn at random: it is one run.
    let ends = sequence.ends(len)?;
    let extension = keys.extension(ends.first().map_or(&[], |first| &first.values));
    sequence.extension.clone_from(&extension);
    let fingerprint = fingerprint_of(&schema, len, &ends);
    // That of the ends is as good a guess as any.
    let sample_bytes = ends.iter().map(bytes_of).max().unwrap_or(0);
    let work = move |meter: &Meter, desk: &Arc<Desk>| {
        let desk = Arc::clone(desk);
        let source =
            Served { schema, masks, len, extension, name, fingerprint, sample_bytes, desk };
        let context = Context { cancel: &meter.cancel, progress: meter };
        carry_out_pack(&pack.source(Arc::new(source)), "packed", is_dry, context)
    };
    let found = attended(py, progress.as_ref(), work, |index| sequence.fetch(index))?;
    Ok(found.map_err(|error| sequence.exception(&error))?.to_string())
}

/// Bytes of a sample in memory, about.
fn bytes_of(sample: &Sample<Image>) -> u64 {
    let bytes = sample.values.iter().map(|value| match value {
        Value::Image(Image::Encoded(image)) => image.bytes.len(),
        Value::Image(Image::Pixels(pixels)) => pixels.data.len(),
        Value::Image(Image::Bilevel(image)) => image.bits.len(),
        Value::Bytes(bytes) | Value::Json(bytes) | Value::Array(bytes) => bytes.len(),
        Value::Text(text) => text.len(),
        _ => size_of::<u64>(),
    });
    (size_of::<Sample<Image>>() + bytes.sum::<usize>()) as u64
}
