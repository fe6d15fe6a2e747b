//! Sequences as sources: any sample, when a thread of Rust asks for it.
use super::{
    Request,
    fields::Fields,
    keys::{Keys, numbered},
    sequence::Sequence,
};
use crate::{
    attended::{Meter, attended},
    command::carry_out_pack,
    desk::Desk,
};
use fdconvert::{Context, Result, fingerprint_of};
use fdconvert_core::{Ahead, Image, Sample, Schema, Source, Value};
use pyo3::prelude::*;
use std::{path::PathBuf, sync::Arc};

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
    let mut sequence = Sequence::new(samples, fields, on_error);
    // Once, also for what is drawn at random: it is one run.
    let ends = sequence.ends(len)?;
    let extension = keys.extension(ends.first().map_or(&[], |first| &first.values));
    let fingerprint = fingerprint_of(&schema, len, &ends);
    // That of the ends is as good a guess as any.
    let sample_bytes = ends.iter().map(bytes_of).max().unwrap_or(0);
    sequence.learn(&extension, sample_bytes);
    let work = move |meter: &Meter, desk: &Arc<Desk>| {
        let desk = Arc::clone(desk);
        let source =
            Served { schema, masks, len, extension, name, fingerprint, sample_bytes, desk };
        let context = Context { cancel: &meter.cancel, progress: meter };
        carry_out_pack(&pack.source(Arc::new(source)), "packed", is_dry, context)
    };
    let n_coming = sequence.n_coming();
    let fetch = |index, coming: &[u64]| sequence.fetch(index, coming);
    let found = attended(py, progress.as_ref(), work, n_coming, fetch)?;
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
