//! Lists of transforms, applied to single images.
use crate::{
    array::{Array, element},
    error::raise,
};
use fdconvert_core::{ArraySpec, Error};
use fdconvert_loader::{
    Layout,
    parts::{DrawKey, Transform, TransformList, Transformer},
};
use pyo3::{buffer::PyBuffer, prelude::*};
use serde_json::Value;
use std::cell::RefCell;

thread_local! {
    static TRANSFORMER: RefCell<Transformer> = RefCell::default();
}

pub(crate) fn list(json: &str) -> PyResult<TransformList> {
    let refuse = |what: String| raise(&Error::usage("transform", what));
    let list: Result<Vec<Value>, _> = serde_json::from_str(json);
    let list = list.map_err(|cause| refuse(cause.to_string()))?.into_iter().map(|value| {
        let shown = value.as_object().and_then(|it| it.iter().next());
        let shown =
            shown.map_or_else(String::new, |(name, arguments)| format!("{name}: {arguments}: "));
        serde_json::from_value::<Transform>(value)
            .map_err(|cause| refuse(format!("{shown}{cause}")))
    });
    TransformList::new(list.collect::<PyResult<_>>()?).map_err(|error| raise(&error))
}

fn key((seed, epoch, sample, view): (u64, u64, u64, u64)) -> DrawKey {
    DrawKey { seed, epoch, sample, occurrence: 0, view }
}

/// Return the changes that a list draws for an image of (width, height), as JSON.
#[pyfunction]
pub(crate) fn draw_transforms(
    transforms: &str,
    size: (u32, u32),
    keys: (u64, u64, u64, u64),
) -> PyResult<String> {
    let changes = list(transforms)?.draw(size, key(keys)).map_err(|error| raise(&error))?;
    serde_json::to_string(&changes)
        .map_err(|cause| raise(&Error::usage("transform", cause.to_string())))
}

/// Return the row that a list makes of an image: RGB of (width, height).
#[pyfunction]
pub(crate) fn apply_transforms(
    py: Python<'_>,
    transforms: &str,
    image: &Bound<'_, PyAny>,
    size: (u32, u32),
    keys: (u64, u64, u64, u64),
) -> PyResult<Array> {
    let list = list(transforms)?;
    let rgb = PyBuffer::<u8>::get(image)?.to_vec(py)?;
    let made = py.detach(|| {
        TRANSFORMER.with_borrow_mut(|transformer| transformer.apply(&list, &rgb, size, key(keys)))
    });
    let (row, output) = made.map_err(|error| raise(&error))?;
    let (width, height) = (u64::from(output.size.0), u64::from(output.size.1));
    let shape = match output.layout {
        Layout::Nhwc => vec![height, width, 3],
        Layout::Nchw => vec![3, height, width],
    };
    let dtype = element(output.dtype);
    Array::from_vec(row, &ArraySpec { dtype, shape, torch: false })
}
