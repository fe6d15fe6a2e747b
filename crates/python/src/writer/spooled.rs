//! Samples that come one after another.
use super::{
    Request,
    fields::{Fields, Unfit, Values},
    keys::{Keys, numbered},
    noted, text_of,
};
use crate::{
    attended::{Meter, attended},
    command::carry_out_pack,
    desk::Desk,
    error::raise,
};
use fdconvert::{Context, Error, OnError, SampleSpool};
use fdconvert_core::Sample;
use pyo3::{exceptions::PyException, prelude::*};
use std::{path::PathBuf, sync::Arc};

/// Takes samples until all are there, and then packs them.
#[pyclass(module = "fdconvert._fdconvert")]
pub(crate) struct SampleWriter {
    fields: Fields,
    keys: Keys,
    name: String,
    /// `None` after closing, and after an error that is not a sample's.
    open: Option<(SampleSpool, Request)>,
}

#[pymethods]
impl SampleWriter {
    /// As `pack_samples` has its arguments.
    #[new]
    fn new(
        py: Python<'_>,
        schema: &str,
        masks: Vec<usize>,
        takes_some: bool,
        out: PathBuf,
        options: &str,
        name: String,
    ) -> PyResult<Self> {
        let (request, memory) = Request::spooled(out.clone(), options)?;
        let fields = Fields::new(py, schema, masks, takes_some)?;
        let keys = Keys::new(&request.pack, &fields.schema)?;
        let schema = fields.schema.clone();
        let spool = py.detach(|| SampleSpool::beside(&out, schema)).map_err(|it| raise(&it))?;
        let spool = spool.memory_budget(memory.unwrap_or(SampleSpool::MEMORY_BUDGET));
        let spool = fields.masks.iter().fold(spool, |spool, field| spool.keep_pixels(*field));
        Ok(Self { fields, keys, name, open: Some((spool, request)) })
    }

    /// Takes a sample.
    #[pyo3(signature = (sample, key=None))]
    fn write(
        &mut self,
        py: Python<'_>,
        sample: &Bound<'_, PyAny>,
        key: Option<String>,
    ) -> PyResult<()> {
        let (spool, request) = self.open.as_mut().ok_or_else(closed)?;
        let index = spool.len();
        let skips = request.on_error == OnError::Skip;
        let name = |given: Option<String>, extension: &str| {
            given.unwrap_or_else(|| numbered(index, extension))
        };
        let (key, why) = match self.fields.values(sample) {
            Ok(Values { key: own, values }) => {
                let key = name(key.or(own), &self.keys.extension(&values));
                match py.detach(|| spool.push(Sample { key, values })) {
                    Ok(()) => return Ok(()),
                    Err(Error::Sample { key, what }) => (key, what.to_string()),
                    Err(error) => {
                        self.open = None;
                        return Err(raise(&error));
                    }
                }
            }
            Err(Unfit::Said(what)) => (name(key, ""), what),
            Err(Unfit::Raised(error)) => {
                let key = name(key, "");
                if !skips || !error.is_instance_of::<PyException>(py) {
                    return Err(noted(py, error, &key));
                }
                (key, text_of(py, &error))
            }
        };
        if !skips {
            return Err(raise(&Error::sample(key, why)));
        }
        let pushed = py.detach(|| spool.push_unreadable(&key, &why));
        pushed.map_err(|error| {
            self.open = None;
            raise(&error)
        })
    }

    /// Packs what was taken and returns the report as JSON.
    #[pyo3(signature = (progress=None))]
    fn close(&mut self, py: Python<'_>, progress: Option<Bound<'_, PyAny>>) -> PyResult<String> {
        let (spool, Request { pack, is_dry, .. }) = self.open.take().ok_or_else(closed)?;
        let name = self.name.clone();
        let work = move |meter: &Meter, _: &Arc<Desk>| {
            let context = Context { cancel: &meter.cancel, progress: meter };
            carry_out_pack(&pack.source(spool.finish(name)?), "packed", is_dry, context)
        };
        // The spool has all of them.
        let fetch = |_, _: &[u64]| Ok(Err(Error::Cancelled));
        let found = attended(py, progress.as_ref(), work, 0, fetch)?;
        Ok(found.map_err(|error| raise(&error))?.to_string())
    }

    /// Forgets what was taken.
    fn discard(&mut self, py: Python<'_>) {
        let open = self.open.take();
        // A thread of the spool may have to end what it is at.
        py.detach(|| drop(open));
    }

    fn __len__(&self) -> usize {
        let n_samples = self.open.as_ref().map_or(0, |(spool, _)| spool.len());
        usize::try_from(n_samples).unwrap_or(usize::MAX)
    }
}

fn closed() -> PyErr {
    crate::error::UsageError::new_err("write: the writer is closed")
}
