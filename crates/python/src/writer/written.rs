//! Samples that come one after another.
use super::{
    Request,
    fields::{Fields, Unfit, Values},
    keys::{Keys, numbered},
    noted,
    streamed::Stream,
    text_of,
};
use crate::{
    attended::{Meter, attended},
    command::carry_out_pack,
    desk::Desk,
    error::{UsageError, raise},
};
use fdconvert::{Context, Error, OnPackError, TemporaryDataset};
use fdconvert_core::{Image, Sample, Value};
use pyo3::{exceptions::PyException, prelude::*};
use std::{path::PathBuf, sync::Arc};

/// Packs samples as they come, or after the last one.
#[pyclass(module = "fdconvert._fdconvert")]
pub(crate) struct SampleWriter {
    fields: Fields,
    keys: Keys,
    on_error: OnPackError,
    out: PathBuf,
    name: String,
    progress: Option<Py<PyAny>>,
    state: State,
}

enum State {
    /// No sample was written.
    New(Box<Request>),
    Streamed(Box<Stream>),
    Waiting(Box<TemporaryDataset>, Box<Request>),
    /// After closing, and after an error that does not concern a sample.
    Closed,
}

#[pymethods]
impl SampleWriter {
    /// Create a writer; the arguments are those of `pack_samples`.
    #[new]
    #[pyo3(signature = (schema, masks, takes_some, out, options, name, progress=None))]
    #[allow(clippy::too_many_arguments, reason = "one call from the package's own Python")]
    pub(super) fn new(
        py: Python<'_>,
        schema: &str,
        masks: Vec<usize>,
        takes_some: bool,
        out: PathBuf,
        options: &str,
        name: String,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let request = Request::new(out.clone(), options)?;
        let fields = Fields::new(py, schema, masks, takes_some)?;
        let keys = Keys::new(&request.pack, &fields.schema)?;
        let on_error = request.on_error;
        let state = State::New(Box::new(request));
        Ok(Self { fields, keys, on_error, out, name, progress, state })
    }

    /// Add a sample.
    #[pyo3(signature = (sample, key=None))]
    fn write(
        &mut self,
        py: Python<'_>,
        sample: &Bound<'_, PyAny>,
        key: Option<String>,
    ) -> PyResult<()> {
        if matches!(self.state, State::Closed) {
            return Err(closed());
        }
        let found = self.fields.values(sample);
        self.take(py, found, key)
    }

    /// Complete the dataset and return the report as JSON.
    pub(super) fn close(&mut self, py: Python<'_>) -> PyResult<String> {
        let progress = self.progress.as_ref().map(|progress| progress.bind(py));
        match std::mem::replace(&mut self.state, State::Closed) {
            State::Streamed(stream) => Ok(stream.close(py, progress)?.to_string()),
            State::Waiting(samples, request) => {
                let (name, out) = (self.name.clone(), self.out.clone());
                let Request { pack, is_dry, append, .. } = *request;
                let work = move |meter: &Meter, _: &Arc<Desk>| {
                    let context = Context { cancel: &meter.cancel, progress: meter };
                    if let Some((append, _)) = append {
                        let edited = append.source(samples.finish(name)?).run_with(context)?;
                        return Ok(edited.document(&out));
                    }
                    carry_out_pack(&pack.source(samples.finish(name)?), "packed", is_dry, context)
                };
                // All of them are in the temporary dataset.
                let fetch = |_, _: &[u64]| Ok(Err(Error::Cancelled));
                let found = attended(py, progress, work, 0, fetch)?;
                Ok(found.map_err(|error| raise(&error))?.to_string())
            }
            State::New(_) | State::Closed => Err(closed()),
        }
    }

    /// Discard all samples.
    fn discard(&mut self, py: Python<'_>) {
        let state = std::mem::replace(&mut self.state, State::Closed);
        // A thread may have to finish its current work.
        py.detach(|| drop(state));
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.n_written()).unwrap_or(usize::MAX)
    }
}

/// The key of a refused sample, and the reason.
type Refused = Option<(String, String)>;

impl SampleWriter {
    /// Takes the values of a sample.
    pub(super) fn take(
        &mut self,
        py: Python<'_>,
        found: Result<Values, Unfit>,
        key: Option<String>,
    ) -> PyResult<()> {
        let skips = self.on_error == OnPackError::Skip;
        let (key, values) = match found {
            Ok(Values { key: own, values }) => (key.or(own), Ok(values)),
            Err(Unfit::Said(what)) => (key, Err(what)),
            Err(Unfit::Raised(error)) => {
                if !skips || !error.is_instance_of::<PyException>(py) {
                    return Err(noted(py, error, &key.unwrap_or_else(|| self.next_key())));
                }
                (key, Err(text_of(py, &error)))
            }
        };
        if let State::New(_) = self.state {
            self.begin(py, key.is_some())?;
        }
        let refused = match &mut self.state {
            State::Streamed(_) => self.stream(py, key, values)?,
            _ => self.put_aside(py, key, values)?,
        };
        refused.map_or(Ok(()), |(key, what)| Err(raise(&Error::sample(key, what))))
    }

    fn n_written(&self) -> u64 {
        match &self.state {
            State::Streamed(stream) => stream.len(),
            State::Waiting(samples, _) => samples.len(),
            State::New(_) | State::Closed => 0,
        }
    }

    /// Returns the name of the next sample, if nothing of it is known.
    fn next_key(&self) -> String {
        match &self.state {
            State::Streamed(stream) => stream.key(),
            State::Waiting(samples, request) => {
                let n_there = request.append.as_ref().map_or(0, |(_, n_samples)| *n_samples);
                numbered(n_there + samples.len(), "")
            }
            _ => numbered(self.n_written(), ""),
        }
    }

    /// Decides whether samples are packed as they come, before the first one.
    fn begin(&mut self, py: Python<'_>, is_named: bool) -> PyResult<()> {
        let state = std::mem::replace(&mut self.state, State::Closed);
        let State::New(request) = state else { return Err(closed()) };
        let fields = &self.fields;
        // Sources need the names of samples that have not come yet.
        if !is_named && request.append.is_none() && request.pack.takes_any_number() {
            let stream = Stream::new(fields, self.name.clone(), *request);
            self.state = State::Streamed(Box::new(stream));
            return Ok(());
        }
        let schema = fields.schema.clone();
        let samples = py.detach(|| TemporaryDataset::beside(&self.out, schema));
        let samples = samples.map_err(|error| raise(&error))?;
        let samples = fields.masks.iter().fold(samples, |it, field| it.keep_pixels(*field));
        self.state = State::Waiting(Box::new(samples), request);
        Ok(())
    }

    fn stream(
        &mut self,
        py: Python<'_>,
        key: Option<String>,
        values: Result<Vec<Value<Image>>, String>,
    ) -> PyResult<Refused> {
        let State::Streamed(stream) = &mut self.state else { return Err(closed()) };
        if let Some(key) = key {
            let what = "it has a name, and those before it have none; name all, or none";
            return Ok(Some((key, what.to_owned())));
        }
        if let Ok(values) = &values {
            stream.learn(|| self.keys.extension(values));
        }
        let key = stream.key();
        let sample = values.and_then(|values| {
            let sample = Sample { key: key.clone(), values };
            match self.fields.schema.check(&sample) {
                Ok(()) => Ok(sample),
                Err(Error::Sample { what, .. }) => Err(what.to_string()),
                Err(error) => Err(error.to_string()),
            }
        });
        match sample {
            Err(what) if self.on_error == OnPackError::Fail => return Ok(Some((key, what))),
            sample => {
                let progress = self.progress.as_ref().map(|progress| progress.bind(py));
                if let Err(error) = stream.take(py, progress, sample) {
                    self.discard(py);
                    return Err(error);
                }
            }
        }
        Ok(None)
    }

    fn put_aside(
        &mut self,
        py: Python<'_>,
        key: Option<String>,
        values: Result<Vec<Value<Image>>, String>,
    ) -> PyResult<Refused> {
        let State::Waiting(samples, request) = &mut self.state else { return Err(closed()) };
        let n_there = request.append.as_ref().map_or(0, |(_, n_samples)| *n_samples);
        let index = n_there + samples.len();
        let (key, what) = match values {
            Ok(values) => {
                let key = key.unwrap_or_else(|| numbered(index, &self.keys.extension(&values)));
                match py.detach(|| samples.push(&Sample { key, values })) {
                    Ok(()) => return Ok(None),
                    Err(Error::Sample { key, what }) => (key, what.to_string()),
                    Err(error) => {
                        self.state = State::Closed;
                        return Err(raise(&error));
                    }
                }
            }
            Err(what) => (key.unwrap_or_else(|| numbered(index, "")), what),
        };
        if self.on_error == OnPackError::Fail {
            return Ok(Some((key, what)));
        }
        if let Err(error) = py.detach(|| samples.push_unreadable(&key, &what)) {
            self.state = State::Closed;
            return Err(raise(&error));
        }
        Ok(None)
    }
}

fn closed() -> PyErr {
    UsageError::new_err("write: the writer is closed")
}
