//! Datasets made of selected samples of other datasets.
use super::{Dataset, Origin, positions::positions};
use crate::error::{UsageError, raise};
use fdconvert_core::{Error, Indices};
use fdconvert_reader::sigbus;
use pyo3::{exceptions::PyTypeError, prelude::*, types::PyString};
use std::{fmt::Write, path::PathBuf};

/// A choice among the samples of a dataset.
#[derive(Clone)]
pub(crate) enum Step {
    Where(String),
    Split(Vec<String>),
    /// Keys in a file, and the path for other processes.
    File(PathBuf, PathBuf),
    /// A number of keys.
    Keys(u64),
    /// A range of positions by start, step and length.
    Range(u64, i64, u64),
    /// A number of positions.
    Positions(u64),
}

impl Step {
    /// Chooses among `samples`; `None` for a choice that cannot be made again.
    pub(super) fn of(
        &self,
        samples: &fdconvert::Dataset,
    ) -> Option<Result<fdconvert::Dataset, Error>> {
        Some(match self {
            Self::Where(expression) => samples.r#where(expression),
            Self::Split(names) => samples.split(names),
            Self::File(_, absolute) => samples.keys(absolute),
            Self::Range(first, step, len) => samples.select(Indices::stepped(*first, *step, *len)?),
            Self::Keys(_) | Self::Positions(_) => return None,
        })
    }

    /// Writes the call, for people.
    fn show(&self, py: Python<'_>, to: &mut String) -> PyResult<()> {
        let shown = |text: &str| PyString::new(py, text).repr().map(|text| text.to_string());
        // Writing to a string cannot fail.
        let _ = match self {
            Self::Where(expression) => write!(to, ".where({})", shown(expression)?),
            Self::Split(names) => {
                let names = names.iter().map(|name| shown(name)).collect::<PyResult<Vec<_>>>()?;
                match &names[..] {
                    [name] => write!(to, ".split({name})"),
                    names => write!(to, ".split([{}])", names.join(", ")),
                }
            }
            Self::File(path, _) => write!(to, ".keys({})", shown(&path.to_string_lossy())?),
            Self::Keys(n) => write!(to, ".keys([{n} keys])"),
            Self::Positions(n) | Self::Range(_, 0, n) => write!(to, ".select([{n} positions])"),
            Self::Range(first, step, len) => {
                let end = i128::from(*first) + i128::from(*step) * i128::from(*len);
                match step {
                    1 => write!(to, ".select(range({first}, {end}))"),
                    _ => write!(to, ".select(range({first}, {end}, {step}))"),
                }
            }
        };
        Ok(())
    }
}

/// Makes a choice among the samples of a dataset.
pub(super) fn chosen(slf: &Bound<'_, Dataset>, step: Step) -> PyResult<Dataset> {
    let this = slf.get();
    let choose = || sigbus::caught(|| step.of(&this.samples).transpose());
    let samples = this.interruptible(slf.py(), choose)?;
    let samples = samples.ok_or_else(|| UsageError::new_err("positions: out of range"))?;
    Ok(narrowed(slf, samples, step))
}

/// Returns the dataset of these samples of a dataset.
fn narrowed(slf: &Bound<'_, Dataset>, samples: fdconvert::Dataset, step: Step) -> Dataset {
    let (py, this) = (slf.py(), slf.get());
    let root = this.root.as_ref().map_or_else(|| slf.clone().unbind(), |root| root.clone_ref(py));
    let steps = this.steps.iter().cloned().chain([step]).collect();
    Dataset { root: Some(root), steps, ..this.with(py, samples) }
}

/// Chooses samples by the keys in a file, or in an iterable.
pub(super) fn by_keys(slf: &Bound<'_, Dataset>, keys: &Bound<'_, PyAny>) -> PyResult<Dataset> {
    if let Ok(path) = keys.extract::<PathBuf>() {
        let is_path = fdconvert_reader::is_path(&path);
        let absolute = if is_path { std::path::absolute(&path)? } else { path.clone() };
        return chosen(slf, Step::File(path, absolute));
    }
    let wrong = || PyTypeError::new_err("keys: it is the path of a file, or an iterable of texts");
    let keys = keys.try_iter().map_err(|_| wrong())?;
    let keys = keys.map(|key| key?.extract::<String>().map_err(|_| wrong()));
    let keys = keys.collect::<PyResult<Vec<String>>>()?;
    let (n, this) = (keys.len() as u64, slf.get());
    let choose = || sigbus::caught(|| this.samples.with_keys(&keys));
    let samples = this.interruptible(slf.py(), choose)?;
    Ok(narrowed(slf, samples, Step::Keys(n)))
}

/// Chooses samples by position.
pub(super) fn by_position(
    slf: &Bound<'_, Dataset>,
    object: &Bound<'_, PyAny>,
) -> PyResult<Dataset> {
    let samples = &slf.get().samples;
    let found = positions(object, samples.len())?;
    let step = match found.as_steps() {
        Some((first, step, len)) => Step::Range(first, step, len),
        None => Step::Positions(found.len()),
    };
    let samples = slf.py().detach(|| samples.select(found)).map_err(|error| raise(&error))?;
    Ok(narrowed(slf, samples, step))
}

/// Returns the call that makes the dataset, for people.
pub(super) fn shown(py: Python<'_>, dataset: &Dataset) -> PyResult<String> {
    let root = dataset.root.as_ref().map_or(dataset, |root| root.get());
    let mut text = match &root.origin {
        Origin::Path { path, .. } => {
            let path = PyString::new(py, &path.to_string_lossy()).repr()?.to_string();
            format!("fdconvert.Dataset({path})")
        }
        Origin::Joined { parts, shares } => {
            let shown = parts.iter().enumerate().map(|(at, part)| {
                let part = shown(py, part.get())?;
                let share = shares.as_ref().and_then(|shares| shares.get(at));
                Ok(share.map_or_else(|| part.clone(), |share| format!("({part}, {share:?})")))
            });
            let shown = shown.collect::<PyResult<Vec<_>>>()?.join(", ");
            let function = if shares.is_some() { "mix" } else { "concat" };
            format!("fdconvert.{function}([{shown}])")
        }
    };
    dataset.steps.iter().try_for_each(|step| step.show(py, &mut text))?;
    Ok(text)
}

impl Dataset {
    /// Returns a dataset of other samples with the same options.
    pub(super) fn with(&self, py: Python<'_>, samples: fdconvert::Dataset) -> Self {
        Self {
            is_split: samples.check_splits().is_ok(),
            samples,
            origin: Origin::Joined { parts: Vec::new(), shares: None },
            root: None,
            steps: Vec::new(),
            how: self.how,
            threads: self.threads,
            transform: self.transform.as_ref().map(|transform| transform.clone_ref(py)),
        }
    }

    /// Returns the samples for a loader.
    ///
    /// # Errors
    /// `UsageError` for a transform, which batches do not have.
    pub(crate) fn to_load(&self) -> PyResult<fdconvert::Dataset> {
        if self.transform.is_some() {
            let what =
                "dataset: its `transform` is for samples one by one, and batches do not have it";
            return Err(UsageError::new_err(what));
        }
        Ok(self.samples.clone())
    }

    /// Returns the paths of all datasets that it consists of.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        if let Some(root) = &self.root {
            return root.get().paths();
        }
        match &self.origin {
            Origin::Path { path, .. } => vec![path.clone()],
            Origin::Joined { parts, .. } => {
                parts.iter().flat_map(|part| part.get().paths()).collect()
            }
        }
    }
}
