//! From a stored sample to Python objects, in two steps: the work without the interpreter, then
//! the objects.
use crate::array::Array;
use fdconvert_codec::Decoder;
use fdconvert_core::{
    ArraySpec, Codec, DType, Encoded, Kind, Limits, Reader, Result, Sample, Schema, Value,
};
use pyo3::{
    exceptions::PyRuntimeError,
    prelude::*,
    types::{PyBytes, PyDict, PyString},
};
use std::{
    cell::RefCell,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
};

/// What becomes of images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decode {
    /// They stay as they are stored.
    No,
    /// Pixels in three channels.
    Rgb,
}

/// How samples are fetched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct How {
    pub(crate) decode: Decode,
    pub(crate) limits: Limits,
}

/// An image on its way to Python.
pub(crate) enum Picture {
    Stored(Encoded),
    Rgb { width: u32, height: u32, data: Vec<u8> },
}

thread_local! {
    /// Handles and buffers for single samples.
    static DECODER: RefCell<Decoder> = RefCell::default();
}

/// One sample, with the decoder of this thread.
pub(crate) fn fetch(reader: &dyn Reader, index: u64, how: How) -> Result<Sample<Picture>> {
    DECODER.with_borrow_mut(|decoder| fetch_with(reader, index, how, decoder))
}

fn fetch_with(
    reader: &dyn Reader,
    index: u64,
    how: How,
    decoder: &mut Decoder,
) -> Result<Sample<Picture>> {
    let sample = reader.get(index)?;
    if how.decode == Decode::No {
        return sample.try_map_image(|image| Ok(Picture::Stored(image)));
    }
    let key = sample.key.clone();
    sample.try_map_image(|image| {
        let (width, height) = (image.width, image.height);
        let mut data = Vec::new();
        let (_, channels, _) = decoder.decode_into(&key, &image, &how.limits, &mut data)?;
        Ok(Picture::Rgb { width, height, data: to_rgb(data, channels) })
    })
}

/// As Pillow's `convert("RGB")`: gray three times, alpha dropped.
fn to_rgb(data: Vec<u8>, channels: u8) -> Vec<u8> {
    match channels {
        1 => data.iter().flat_map(|&gray| [gray; 3]).collect(),
        4 => data.as_chunks::<4>().0.iter().flat_map(|&[r, g, b, _]| [r, g, b]).collect(),
        _ => data,
    }
}

/// Many samples, in the order asked for, by up to `n_threads` threads, of which this is one. All
/// have ended when it returns. Stops early at an error and returns the first.
pub(crate) fn fetch_many(
    reader: &dyn Reader,
    indices: &[u64],
    how: How,
    n_threads: usize,
) -> Result<Vec<Sample<Picture>>> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let work = |decoder: &mut Decoder| {
        let mut mine = Vec::new();
        while !failed.load(Ordering::Relaxed) {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(&index) = indices.get(place) else { break };
            let fetched = fetch_with(reader, index, how, decoder);
            failed.fetch_or(fetched.is_err(), Ordering::Relaxed);
            mine.push((place, fetched));
        }
        mine
    };
    let mut fetched = thread::scope(|scope| {
        let others: Vec<_> = (1..n_threads.min(indices.len()))
            // Where no thread is to be had, the others do its work.
            .filter_map(|_| {
                thread::Builder::new().spawn_scoped(scope, || work(&mut Decoder::new())).ok()
            })
            .collect();
        let mut fetched = DECODER.with_borrow_mut(|decoder| work(decoder));
        for other in others {
            match other.join() {
                Ok(more) => fetched.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        fetched
    });
    fetched.sort_unstable_by_key(|(place, _)| *place);
    fetched.into_iter().map(|(_, sample)| sample).collect()
}

/// A sample as a dictionary by field.
pub(crate) fn to_dict<'py>(
    py: Python<'py>,
    schema: &Schema,
    sample: Sample<Picture>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (field, value) in schema.fields.iter().zip(sample.values) {
        dict.set_item(&field.name, to_object(py, &field.kind, value)?)?;
    }
    Ok(dict)
}

fn to_object<'py>(
    py: Python<'py>,
    kind: &Kind,
    value: Value<Picture>,
) -> PyResult<Bound<'py, PyAny>> {
    Ok(match (value, kind) {
        (Value::Image(Picture::Rgb { width, height, data }), _) => {
            let shape = vec![u64::from(height), u64::from(width), 3];
            let spec = ArraySpec { dtype: DType::U8, shape, torch: false };
            Bound::new(py, Array::from_vec(data, &spec)?)?.into_any()
        }
        (Value::Image(Picture::Stored(image)), _) => {
            let dict = PyDict::new(py);
            dict.set_item("bytes", PyBytes::new(py, &image.bytes))?;
            dict.set_item("codec", codec_name(image.codec)?)?;
            dict.set_item("width", image.width)?;
            dict.set_item("height", image.height)?;
            dict.into_any()
        }
        (Value::Int(int), _) => int.into_pyobject(py)?.into_any(),
        (Value::Float(float), _) => float.into_pyobject(py)?.into_any(),
        (Value::Text(text), _) => PyString::new(py, &text).into_any(),
        (Value::Bytes(bytes), _) => PyBytes::new(py, &bytes).into_any(),
        (Value::Json(text), _) => from_json(py, &text)?,
        (Value::Array(bytes), Kind::Array(spec)) => {
            Bound::new(py, Array::from_slice(&bytes, spec)?)?.into_any()
        }
        _ => {
            let what = format!("a value of kind {} has no Python form yet", kind.name());
            return Err(PyRuntimeError::new_err(what));
        }
    })
}

/// The codec's name in JSON documents.
fn codec_name(codec: Codec) -> PyResult<String> {
    match serde_json::to_value(codec) {
        Ok(serde_json::Value::String(name)) => Ok(name),
        _ => Err(PyRuntimeError::new_err("a codec without a name")),
    }
}

/// A JSON text as Python reads it.
pub(crate) fn from_json<'py>(py: Python<'py>, text: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (PyBytes::new(py, text),))
}
