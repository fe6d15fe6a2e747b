//! Pickles of chosen and joined samples.
use super::{Dataset, Origin, choice::Step};
use crate::error::DataError;
use fdconvert_core::{Error, Indices};
use fdconvert_reader::sigbus;
use pyo3::{
    prelude::*,
    types::{PyBytes, PyTuple},
};

/// A longer list of positions is not pickled if the choices can be made again.
const MAX_PICKLED: u64 = 1 << 16;

impl Step {
    fn can_be_repeated(&self) -> bool {
        !matches!(self, Self::Keys(_) | Self::Positions(_))
    }

    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        match self {
            Self::Where(expression) => ("where", expression).into_pyobject(py),
            Self::Split(names) => ("split", names).into_pyobject(py),
            Self::File(path, absolute) => {
                // Text, as for the paths of datasets.
                ("file", path.as_os_str(), absolute.as_os_str()).into_pyobject(py)
            }
            Self::Keys(n) => ("keys", n).into_pyobject(py),
            Self::Range(first, step, len) => ("range", first, step, len).into_pyobject(py),
            Self::Positions(n) => ("positions", n).into_pyobject(py),
        }
    }

    fn from_python(step: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let kind: String = step.get_item(0)?.extract()?;
        let at = |position| step.get_item(position);
        Ok(match &*kind {
            "where" => Self::Where(at(1)?.extract()?),
            "split" => Self::Split(at(1)?.extract()?),
            "file" => Self::File(at(1)?.extract()?, at(2)?.extract()?),
            "keys" => Self::Keys(at(1)?.extract()?),
            "range" => Self::Range(at(1)?.extract()?, at(2)?.extract()?, at(3)?.extract()?),
            _ => Self::Positions(at(1)?.extract()?),
        })
    }
}

/// Returns the call that pickle makes for chosen samples, or for joined datasets.
pub(super) fn reduced<'py>(
    py: Python<'py>,
    dataset: &Dataset,
) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyTuple>)>> {
    let function = |name| py.import("fdconvert._fdconvert")?.getattr(name);
    let Some(root) = &dataset.root else {
        let Origin::Joined { parts, shares } = &dataset.origin else { return Ok(None) };
        let parts: Vec<_> = parts.iter().map(|part| part.bind(py).clone()).collect();
        return Ok(Some(match shares {
            None => (function("concat")?, (parts,).into_pyobject(py)?),
            Some(shares) => {
                let pairs: Vec<_> = parts.into_iter().zip(shares.iter().copied()).collect();
                (function("mix")?, (pairs,).into_pyobject(py)?)
            }
        }));
    };
    let steps = dataset.steps.iter().map(|step| step.to_python(py));
    let steps = steps.collect::<PyResult<Vec<_>>>()?;
    let chosen = dataset.samples.chosen();
    let is_large = chosen.is_some_and(|chosen| chosen.memory() > MAX_PICKLED);
    let positions = if is_large && dataset.steps.iter().all(Step::can_be_repeated) {
        None
    } else {
        let whole = Indices::from(0..dataset.samples.len());
        Some(PyBytes::new(py, &chosen.map_or(&whole, |chosen| chosen).to_bytes()))
    };
    let is_named = dataset.samples.check_splits().is_ok();
    let state = (root.bind(py), steps, positions, dataset.samples.len(), is_named);
    Ok(Some((function("_chosen")?, state.into_pyobject(py)?)))
}

/// Make the choices of a pickled dataset again.
#[pyfunction]
#[pyo3(name = "_chosen")]
pub(crate) fn restored(
    root: &Bound<'_, Dataset>,
    steps: Vec<Bound<'_, PyTuple>>,
    positions: Option<&[u8]>,
    len: u64,
    is_named: bool,
) -> PyResult<Dataset> {
    let (py, this) = (root.py(), root.get());
    let steps = steps.iter().map(Step::from_python).collect::<PyResult<Vec<_>>>()?;
    let choose = || {
        let Some(positions) = positions else {
            return steps.iter().try_fold(this.samples.clone(), |samples, step| {
                step.of(&samples).unwrap_or_else(|| Err(Error::usage("dataset", "no choice")))
            });
        };
        let whole = this.samples.whole();
        let whole = if is_named { whole.split(["all"])? } else { whole };
        whole.select(Indices::from_bytes(positions)?)
    };
    let samples = this.interruptible(py, || sigbus::caught(choose))?;
    if samples.len() != len {
        let what = format!(
            "dataset: {} samples are chosen here, {len} where it was pickled: it has changed",
            samples.len()
        );
        return Err(DataError::new_err(what));
    }
    Ok(Dataset { root: Some(root.clone().unbind()), steps, ..this.with(py, samples) })
}
