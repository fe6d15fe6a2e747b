//! Samples of a sequence in Python: one by one, or several at once if it supports that.
use super::{
    fields::{Fields, Unfit, Values},
    keys::numbered,
    noted, text_of,
    written::SampleWriter,
};
use crate::error::raise;
use fdconvert::{Error, OnPackError, Result};
use fdconvert_core::{Image, Sample};
use pyo3::{exceptions::PyException, prelude::*, types::PyRange};
use std::collections::{BTreeMap, BTreeSet};

/// Approximate bytes of samples to request at once.
const BYTES_AT_ONCE: u64 = 4 << 20;

/// Limit on the samples to request in addition to the needed one.
const N_COMING: usize = 63;

/// A sequence of samples.
pub(super) struct Sequence<'py> {
    samples: Bound<'py, PyAny>,
    several: Several<'py>,
    fields: Fields,
    extension: String,
    on_error: OnPackError,
    /// Exceptions that samples have raised, by key: one of them may end the run.
    raised: BTreeMap<String, PyErr>,
}

impl<'py> Sequence<'py> {
    /// Creates a sequence that fetches one sample at a time, until it has [learned](Self::learn)
    /// their size.
    pub(super) fn new(samples: Bound<'py, PyAny>, fields: Fields, on_error: OnPackError) -> Self {
        let several = Several::of(&samples);
        let raised = BTreeMap::new();
        Self { samples, several, fields, extension: String::new(), on_error, raised }
    }

    /// Returns the number of samples after the next one that it can fetch together.
    pub(super) fn n_coming(&self) -> usize {
        if self.several.method.is_some() { N_COMING } else { 0 }
    }

    /// Sets the extension of names, and the memory per sample.
    pub(super) fn learn(&mut self, extension: &str, sample_bytes: u64) {
        extension.clone_into(&mut self.extension);
        self.several.most = usize::try_from(BYTES_AT_ONCE / sample_bytes.max(1)).unwrap_or(1);
    }

    /// Returns sample `index`, or the reason why it is unusable; may fetch those `coming` next with
    /// it. An exception that does not concern the sample, such as that of Ctrl-C, ends the run.
    pub(super) fn fetch(&mut self, index: u64, coming: &[u64]) -> PyResult<Result<Sample<Image>>> {
        let key = numbered(index, &self.extension);
        Ok(match self.look(index, coming)? {
            Ok(Values { key: None, values }) => Ok(Sample { key, values }),
            Ok(Values { key: Some(name), .. }) => {
                let what = format!(
                    "its `__key__` is `{name}`, and the first sample has none; name all, or none"
                );
                Err(Error::sample(key, what))
            }
            Err(error) => Err(error),
        })
    }

    /// Returns the values of sample `index`, and its name if it has one.
    fn look(&mut self, index: u64, coming: &[u64]) -> PyResult<Result<Values>> {
        let py = self.samples.py();
        let key = numbered(index, &self.extension);
        let object = match self.several.object(index, coming)? {
            Some(object) => Ok(object),
            None => self.samples.get_item(index).map_err(Unfit::Raised),
        };
        match object.and_then(|object| self.fields.values(&object)) {
            Ok(found) => Ok(Ok(found)),
            Err(Unfit::Said(what)) => Ok(Err(Error::sample(key, what))),
            Err(Unfit::Raised(error)) if error.is_instance_of::<PyException>(py) => {
                let what = text_of(py, &error);
                if self.on_error == OnPackError::Fail {
                    self.raised.insert(key.clone(), error);
                }
                Ok(Err(Error::sample(key, what)))
            }
            Err(Unfit::Raised(error)) => Err(error),
        }
    }

    /// Returns the exception for an error: that of the sample itself, if it has raised one.
    pub(super) fn exception(&mut self, error: &Error) -> PyErr {
        let Error::Sample { key, .. } = error else { return raise(error) };
        let py = self.samples.py();
        self.raised.remove(key).map_or_else(|| raise(error), |raised| noted(py, raised, key))
    }

    /// Returns the first and the last sample, if they are usable. `None` if the first one has a
    /// name: the names of the others are then only known with their samples.
    pub(super) fn ends(&mut self, len: u64) -> PyResult<Option<Vec<Sample<Image>>>> {
        let last = len.checked_sub(1).filter(|last| *last > 0);
        let mut found = Vec::new();
        for index in [0].into_iter().chain(last).filter(|index| *index < len) {
            match self.look(index, &[])? {
                Ok(Values { key: Some(_), .. }) if index == 0 => return Ok(None),
                Ok(Values { values, .. }) => {
                    found.push(Sample { key: numbered(index, &self.extension), values });
                }
                Err(_) if self.on_error == OnPackError::Skip => {}
                Err(error) => return Err(self.exception(&error)),
            }
        }
        Ok(Some(found))
    }

    /// Writes all samples, one after another.
    pub(super) fn write_to(&self, writer: &mut SampleWriter, len: u64) -> PyResult<()> {
        let py = self.samples.py();
        for index in 0..len {
            py.check_signals()?;
            let object = self.samples.get_item(index).map_err(Unfit::Raised);
            writer.take(py, object.and_then(|object| self.fields.values(&object)), None)?;
        }
        Ok(())
    }
}

/// Fetches several samples of a sequence by its `__getitems__`: torch's loaders call it, and it
/// reduces the time for a row of Hugging Face's library to a tenth, or to a fiftieth if the
/// positions are a range.
struct Several<'py> {
    /// `None` if the sequence has none, or one with another meaning.
    method: Option<Bound<'py, PyAny>>,
    /// Whether consecutive positions may be a range; false for methods that only take lists, as
    /// from torch's loaders.
    takes_ranges: bool,
    /// Limit on the samples per call.
    most: usize,
    /// Objects that are not requested yet.
    fetched: BTreeMap<u64, Bound<'py, PyAny>>,
    /// Samples of calls that raised an exception: each is fetched alone, which shows the culprit.
    alone: BTreeSet<u64>,
}

impl<'py> Several<'py> {
    fn of(samples: &Bound<'py, PyAny>) -> Self {
        let kinds = samples.get_type().mro();
        let first = kinds.iter().find_map(|kind| {
            let names = kind.getattr("__dict__").ok()?;
            let has = |name| names.contains(name).unwrap_or(false);
            (has("__getitems__") || has("__getitem__")).then(|| has("__getitems__"))
        });
        // One that is inherited behind a `__getitem__` of the sequence's own would give other
        // samples.
        let method = samples.getattr("__getitems__").ok();
        let method = method.filter(|it| first == Some(true) && it.is_callable());
        let (fetched, alone) = (BTreeMap::new(), BTreeSet::new());
        Self { method, takes_ranges: true, most: 1, fetched, alone }
    }

    /// Returns sample `index`, and keeps some of those `coming` for the next calls; `None` if it
    /// has to be fetched alone.
    fn object(&mut self, index: u64, coming: &[u64]) -> PyResult<Option<Bound<'py, PyAny>>> {
        if let Some(object) = self.fetched.remove(&index) {
            return Ok(Some(object));
        }
        let is_alone = self.alone.remove(&index);
        let Some(method) = self.method.as_ref().filter(|_| !is_alone && self.most > 1) else {
            return Ok(None);
        };
        let is_new =
            |index: &&u64| !self.fetched.contains_key(index) && !self.alone.contains(index);
        let indices = coming.iter().filter(is_new).take(self.most - 1);
        let mut indices: Vec<u64> = [index].iter().chain(indices).copied().collect();
        if indices.len() == 1 {
            return Ok(None);
        }
        // Threads do not request samples in order.
        indices.sort_unstable();
        let n = indices.len();
        let is_run = indices.is_sorted_by(|one, next| one + 1 == *next);
        let is_range = self.takes_ranges && is_run;
        let mut answer = Answer::Other;
        if is_range {
            let start = isize::try_from(indices[0])?;
            let range = PyRange::new(method.py(), start, start.saturating_add_unsigned(n))?;
            answer = Answer::of(method, range.as_any(), n)?;
        }
        if !matches!(answer, Answer::Objects(_)) {
            answer = Answer::of(method, indices.clone().into_pyobject(method.py())?.as_any(), n)?;
            // The range was at fault, not a sample.
            self.takes_ranges &= !is_range || !matches!(answer, Answer::Objects(_));
        }
        match answer {
            Answer::Objects(objects) => {
                self.fetched.extend(indices.into_iter().zip(objects));
                return Ok(self.fetched.remove(&index));
            }
            Answer::Raised => self.alone.extend(indices.into_iter().filter(|it| *it != index)),
            Answer::Other => self.method = None,
        }
        Ok(None)
    }
}

/// Response of a `__getitems__` to several positions.
enum Answer<'py> {
    /// An object for each position.
    Objects(Vec<Bound<'py, PyAny>>),
    /// An exception that may be that of a sample.
    Raised,
    /// Anything else.
    Other,
}

impl<'py> Answer<'py> {
    /// Calls `method` with `n` positions. An exception such as that of Ctrl-C is an error.
    fn of(method: &Bound<'py, PyAny>, positions: &Bound<'py, PyAny>, n: usize) -> PyResult<Self> {
        let concerns_samples = |error: &PyErr| error.is_instance_of::<PyException>(method.py());
        let answer = method.call1((positions,));
        let is_raised = answer.is_err();
        match answer.and_then(|found| found.extract::<Vec<_>>()) {
            Ok(objects) if objects.len() == n => Ok(Self::Objects(objects)),
            Err(error) if !concerns_samples(&error) => Err(error),
            _ if is_raised => Ok(Self::Raised),
            _ => Ok(Self::Other),
        }
    }
}
