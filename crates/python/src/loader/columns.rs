//! The columns of a batch as Python objects.
use super::numbers;
use crate::array::Array;
use fdconvert_core::{ArraySpec, DType, Encoded};
use fdconvert_loader::{Batch, Column, Keypoints, Objects, Polygons, RowGeometry, RunLengthMasks};
use pyo3::{
    exceptions::PyRuntimeError,
    prelude::*,
    types::{PyBytes, PyDict, PyList, PyString, PyTuple},
};

/// Returns the requested fields: numbers as arrays, the rest as lists. With several views, those
/// that follow the image are tuples with one for each view.
pub(super) fn to_dict<'py>(py: Python<'py>, batch: &Batch) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, column) in batch.fields() {
        let others = (1..).map_while(|view| batch.view_field(view, name)).collect::<Vec<_>>();
        if others.is_empty() {
            let object = to_object(py, name, column)?;
            if let (Ok(objects), Some(sizes)) = (object.cast::<PyDict>(), batch.row_sizes())
                && objects.contains("run_size")?
            {
                let sides = sizes.iter().flat_map(|(width, height)| [*height, *width]);
                let bytes = sides.map(i64::from).flat_map(i64::to_ne_bytes);
                objects.set_item("run_size", array(bytes, DType::I64, &[sizes.len(), 2])?)?;
            }
            dict.set_item(name, object)?;
        } else {
            let columns = std::iter::once(column).chain(others);
            let columns = columns.map(|column| to_object(py, name, column));
            dict.set_item(name, PyTuple::new(py, columns.collect::<PyResult<Vec<_>>>()?)?)?;
        }
    }
    Ok(dict)
}

/// Returns the labels in the form of a column, but JSON as text.
pub(super) fn labels<'py>(py: Python<'py>, batch: &Batch) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(column) = batch.label_column() else { return Ok(None) };
    if let Column::Json(documents) = column {
        let texts = documents.iter().map(|document| PyString::from_bytes(py, document));
        return Ok(Some(PyList::new(py, texts.collect::<PyResult<Vec<_>>>()?)?.into_any()));
    }
    to_object(py, "label", column).map(Some)
}

fn to_object<'py>(py: Python<'py>, name: &str, column: &Column) -> PyResult<Bound<'py, PyAny>> {
    let array = match column {
        Column::Int(ints) => numbers(ints.iter().copied())?,
        Column::Float(floats) => {
            let shape = vec![floats.len() as u64];
            let bytes: Vec<u8> = floats.iter().copied().flat_map(f64::to_ne_bytes).collect();
            Array::from_slice(&bytes, &ArraySpec { dtype: DType::F64, shape, torch: false })?
        }
        Column::Array { spec, bytes } => Array::from_slice(bytes, spec)?,
        Column::Objects(objects) => return Ok(objects_to_dict(py, objects)?.into_any()),
        Column::Images(lists) => return Ok(lists_of_images(py, lists)?.into_any()),
        Column::Text(texts) => return Ok(PyList::new(py, texts)?.into_any()),
        Column::Json(values) | Column::Bytes(values) => {
            let values = values.iter().map(|value| PyBytes::new(py, value));
            return Ok(PyList::new(py, values)?.into_any());
        }
        _ => {
            let what = format!("the field `{name}` has no Python form yet");
            return Err(PyRuntimeError::new_err(what));
        }
    };
    Ok(Bound::new(py, array)?.into_any())
}

/// Returns a list of arrays of height, width and three channels for each row.
fn lists_of_images<'py>(py: Python<'py>, lists: &[Vec<Encoded>]) -> PyResult<Bound<'py, PyList>> {
    let image = |image: &Encoded| {
        let shape = vec![image.height.into(), image.width.into(), 3];
        let spec = ArraySpec { dtype: DType::U8, shape, torch: false };
        Bound::new(py, Array::from_slice(&image.bytes, &spec)?)
    };
    let row = |images: &Vec<Encoded>| {
        PyList::new(py, images.iter().map(image).collect::<PyResult<Vec<_>>>()?)
    };
    PyList::new(py, lists.iter().map(row).collect::<PyResult<Vec<_>>>()?)
}

/// Returns the placement of the image in each row: arrays with one entry per row, for each view;
/// empty if it was not requested.
pub(super) fn geometry<'py>(py: Python<'py>, batch: &Batch) -> PyResult<Bound<'py, PyList>> {
    let views = (0..).map_while(|view| batch.geometry(view));
    let views = views.map(|rows| of_view(py, rows)).collect::<PyResult<Vec<_>>>()?;
    PyList::new(py, views)
}

fn of_view<'py>(py: Python<'py>, rows: &[RowGeometry]) -> PyResult<Bound<'py, PyDict>> {
    let n_rows = rows.len();
    let sizes = |(width, height): (u32, u32)| [width, height].map(i64::from);
    let sources = rows.iter().flat_map(|row| sizes(row.source)).flat_map(i64::to_ne_bytes);
    let shown = rows.iter().flat_map(|row| sizes(row.size)).flat_map(i64::to_ne_bytes);
    let matrices = rows.iter().flat_map(|row| row.matrix).flatten().flat_map(f64::to_ne_bytes);
    let dict = PyDict::new(py);
    dict.set_item("source", array(sources, DType::I64, &[n_rows, 2])?)?;
    dict.set_item("size", array(shown, DType::I64, &[n_rows, 2])?)?;
    dict.set_item("matrix", array(matrices, DType::F64, &[n_rows, 3, 3])?)?;
    Ok(dict)
}

fn objects_to_dict<'py>(py: Python<'py>, objects: &Objects) -> PyResult<Bound<'py, PyDict>> {
    let Objects { offsets, boxes, category, area, iscrowd, id, keypoints, polygons, run_lengths } =
        objects;
    let dict = PyDict::new(py);
    dict.set_item("boxes", singles(boxes.iter().flatten(), &[boxes.len(), 4])?)?;
    dict.set_item("offsets", numbers(offsets.iter().copied())?)?;
    dict.set_item("category", numbers(category.iter().copied())?)?;
    if let Some(area) = area {
        dict.set_item("area", singles(area, &[area.len()])?)?;
    }
    for (name, list) in [("iscrowd", iscrowd), ("id", id)] {
        if let Some(list) = list {
            dict.set_item(name, numbers(list.iter().copied())?)?;
        }
    }
    if let Some(Keypoints { per_object, points }) = keypoints {
        let shape = [boxes.len(), *per_object, 3];
        dict.set_item("keypoints", singles(points.iter().flatten(), &shape)?)?;
    }
    if let Some(Polygons { points, offsets, objects }) = polygons {
        dict.set_item("points", singles(points.iter().flatten(), &[points.len(), 2])?)?;
        dict.set_item("polygon_offsets", numbers(offsets.iter().copied())?)?;
        dict.set_item("polygon_objects", numbers(objects.iter().copied())?)?;
    }
    if let Some(RunLengthMasks { size, counts, offsets, objects }) = run_lengths {
        dict.set_item("runs", numbers(counts.iter().copied().map(i64::from))?)?;
        dict.set_item("run_offsets", numbers(offsets.iter().copied())?)?;
        dict.set_item("run_objects", numbers(objects.iter().copied())?)?;
        dict.set_item("run_size", numbers(size.iter().copied().map(i64::from))?)?;
    }
    Ok(dict)
}

fn singles<'a>(values: impl IntoIterator<Item = &'a f32>, shape: &[usize]) -> PyResult<Array> {
    array(values.into_iter().copied().flat_map(f32::to_ne_bytes), DType::F32, shape)
}

fn array(bytes: impl Iterator<Item = u8>, dtype: DType, shape: &[usize]) -> PyResult<Array> {
    let shape = shape.iter().map(|side| *side as u64).collect();
    Array::from_vec(bytes.collect(), &ArraySpec { dtype, shape, torch: false })
}
