//! Converts stored samples to Python objects in two steps: the work without the interpreter, then
//! the objects.
use crate::{
    array::Array,
    error::{UsageError, raise},
};
use bytes::Bytes;
use fdconvert_codec::{Decoder, Notes, orient, orientation};
use fdconvert_core::{
    ArraySpec, Codec, DType, Encoded, Error, Kind, Limits, Pixels, Reader, Result, Sample, Schema,
    Value,
};
use fdconvert_reader::sigbus;
use pyo3::{
    exceptions::{PyRuntimeError, PyRuntimeWarning},
    prelude::*,
    types::{PyBytes, PyDict, PyList, PyString},
};
use std::{
    cell::RefCell,
    ffi::CStr,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decode {
    /// Images stay as stored.
    No,
    /// Pixels in three channels.
    Rgb,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct How {
    pub(crate) decode: Decode,
    pub(crate) orient: bool,
    pub(crate) limits: Limits,
    pub(crate) verify: bool,
}

/// An image on its way to Python.
pub(crate) enum Picture {
    Stored(Encoded),
    Rgb(Rgb),
}

/// Pixels of three channels.
pub(crate) struct Rgb {
    width: u32,
    height: u32,
    data: Vec<u8>,
    /// True if more than 8 bits per channel were rounded to 8.
    is_rounded: bool,
}

/// The warning that images are rounded, whatever decodes them.
pub(crate) const ROUNDED: &CStr = c"fdconvert: images of more than 8 bits per channel are rounded \
    to 8; the loader's Bands gives all bits, and Dataset(decode=None) the files";

impl Rgb {
    /// Returns an array of height, width and channels, in the same memory.
    pub(crate) fn into_array(self, py: Python<'_>) -> PyResult<Array> {
        if self.is_rounded {
            // Python shows it once for each calling location.
            PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), ROUNDED, 1)?;
        }
        let shape = vec![self.height.into(), self.width.into(), 3];
        Array::from_vec(self.data, &ArraySpec { dtype: DType::U8, shape, torch: false })
    }
}

thread_local! {
    /// Handles and buffers for single samples.
    static DECODER: RefCell<Decoder> = RefCell::default();
}

/// Fetches one sample with the decoder of this thread.
pub(crate) fn fetch(reader: &dyn Reader, index: u64, how: How) -> Result<Sample<Picture>> {
    DECODER.with_borrow_mut(|decoder| fetch_with(reader, index, how, decoder))
}

fn fetch_with(
    reader: &dyn Reader,
    index: u64,
    how: How,
    decoder: &mut Decoder,
) -> Result<Sample<Picture>> {
    loop {
        // Bytes that stay, or are decoded after reads of other threads began to fail, are copied.
        let is_copied = how.decode == Decode::No || sigbus::happened();
        let sample = sigbus::caught(|| read(reader, index, how.verify, is_copied))?;
        if how.decode == Decode::No {
            return sample.try_map_image(|image| Ok(Picture::Stored(image)));
        }
        let decode = || decoded(sample, how, decoder);
        // Otherwise reads of other threads failed meanwhile, and this one may have read zeros.
        if let Some(decoded) = if is_copied { Some(decode()) } else { sigbus::caught_once(decode) }
        {
            return decoded;
        }
    }
}

fn read(
    reader: &dyn Reader,
    index: u64,
    is_verified: bool,
    is_copied: bool,
) -> Result<Sample<Encoded>> {
    if is_verified {
        reader.verify_row(index)?;
        // Without checksums it would only check the images' headers.
        if reader.has_checksums() {
            reader.verify_sample(index)?;
        }
    }
    let mut sample = reader.get(index)?;
    for value in &mut sample.values {
        match value {
            Value::Image(image) => load(image, is_copied)?,
            Value::Images(images) => {
                images.iter_mut().try_for_each(|image| load(image, is_copied))?;
            }
            // Mostly short, and used later.
            Value::Bytes(bytes) | Value::Json(bytes) | Value::Array(bytes) => {
                *bytes = Bytes::copy_from_slice(bytes);
            }
            _ => {}
        }
    }
    Ok(sample)
}

fn load(image: &mut Encoded, is_copied: bool) -> Result<()> {
    sigbus::populate(&image.bytes)?;
    if is_copied {
        image.bytes = Bytes::copy_from_slice(&image.bytes);
    }
    Ok(())
}

fn decoded(sample: Sample<Encoded>, how: How, decoder: &mut Decoder) -> Result<Sample<Picture>> {
    let key = sample.key.clone();
    sample.try_map_image(|image| decode(&key, &image, how, decoder).map(Picture::Rgb))
}

/// Decodes an image to three channels.
pub(crate) fn decode(key: &str, image: &Encoded, how: How, decoder: &mut Decoder) -> Result<Rgb> {
    let (width, height) = (image.width, image.height);
    let mut data = Vec::new();
    let (_, channels, notes) = decoder.decode_into(key, image, &how.limits, &mut data)?;
    let is_rounded = notes.contains(Notes::DEPTH_REDUCED);
    let turned = if how.orient { orientation(image) } else { 1 };
    if turned > 1 {
        let upright = orient(Pixels { width, height, channels, data }, turned);
        let (width, height) = (upright.width, upright.height);
        return Ok(Rgb { width, height, data: to_rgb(upright.data, channels), is_rounded });
    }
    Ok(Rgb { width, height, data: to_rgb(data, channels), is_rounded })
}

/// Converts like Pillow's `convert("RGB")`: gray three times, alpha dropped.
fn to_rgb(data: Vec<u8>, channels: u8) -> Vec<u8> {
    match channels {
        1 => data.iter().flat_map(|&gray| [gray; 3]).collect(),
        4 => data.as_chunks::<4>().0.iter().flat_map(|&[r, g, b, _]| [r, g, b]).collect(),
        _ => data,
    }
}

/// Fetches many samples in the given order, with up to `n_threads` threads.
pub(crate) fn fetch_many(
    reader: &dyn Reader,
    indices: &[u64],
    how: How,
    n_threads: usize,
) -> Result<Vec<Sample<Picture>>> {
    each(n_threads.min(indices.len()), |place, decoder| {
        indices.get(place).map(|index| fetch_with(reader, *index, how, decoder))
    })
}

/// Runs work 0, 1, 2, ... until there is none, on `n_threads` threads, including this one. All have
/// ended when it returns. Stops early at an error and returns the first.
pub(crate) fn each<T: Send>(
    n_threads: usize,
    work: impl Fn(usize, &mut Decoder) -> Option<Result<T>> + Sync,
) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let work = |decoder: &mut Decoder| {
        let mut mine = Vec::new();
        while !failed.load(Ordering::Relaxed) {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(done) = work(place, decoder) else { break };
            failed.fetch_or(done.is_err(), Ordering::Relaxed);
            mine.push((place, done));
        }
        mine
    };
    let mut done = thread::scope(|scope| {
        let others: Vec<_> = (1..n_threads)
            // If no thread can be started, the others do its work.
            .filter_map(|_| {
                thread::Builder::new().spawn_scoped(scope, || work(&mut Decoder::new())).ok()
            })
            .collect();
        let mut done = DECODER.with_borrow_mut(|decoder| work(decoder));
        for other in others {
            match other.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Returns the number of threads for several images at once: one per core by default. Workers of a
/// data loader share the cores already, so that each uses one thread.
pub(crate) fn n_threads_of(py: Python<'_>, threads: Option<usize>) -> PyResult<usize> {
    match threads {
        Some(n) if (1..=4096).contains(&n) => Ok(n),
        Some(_) => Err(UsageError::new_err("threads: give a number from 1 to 4096, or None")),
        None => {
            let parent = py.import("multiprocessing")?.call_method0("parent_process")?;
            let cores = || thread::available_parallelism().map_or(1, usize::from);
            Ok(if parent.is_none() { cores() } else { 1 })
        }
    }
}

/// Returns a sample as a dictionary by field.
pub(crate) fn to_dict<'py>(
    py: Python<'py>,
    schema: &Schema,
    sample: Sample<Picture>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (field, value) in schema.fields.iter().zip(sample.values) {
        let object = match value {
            Value::Json(text) => from_json(py, &text).map_err(|cause| {
                let what = format!("field `{}` is not JSON: {cause}", field.name);
                raise(&Error::sample(&sample.key, what))
            })?,
            value => to_object(py, &field.kind, value)?,
        };
        dict.set_item(&field.name, object)?;
    }
    Ok(dict)
}

fn to_object<'py>(
    py: Python<'py>,
    kind: &Kind,
    value: Value<Picture>,
) -> PyResult<Bound<'py, PyAny>> {
    Ok(match (value, kind) {
        (Value::Image(picture), _) => picture_to_object(py, picture)?,
        (Value::Images(pictures), _) => {
            let images = pictures.into_iter().map(|picture| picture_to_object(py, picture));
            PyList::new(py, images.collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
        (Value::Int(int), _) => int.into_pyobject(py)?.into_any(),
        (Value::Float(float), _) => float.into_pyobject(py)?.into_any(),
        (Value::Text(text), _) => PyString::new(py, &text).into_any(),
        (Value::Bytes(bytes), _) => PyBytes::new(py, &bytes).into_any(),
        (Value::Array(bytes), Kind::Array(spec)) => {
            Bound::new(py, Array::from_slice(&bytes, spec)?)?.into_any()
        }
        _ => {
            let what = format!("a value of kind {} has no Python form yet", kind.name());
            return Err(PyRuntimeError::new_err(what));
        }
    })
}

fn picture_to_object<'py>(py: Python<'py>, picture: Picture) -> PyResult<Bound<'py, PyAny>> {
    Ok(match picture {
        Picture::Rgb(rgb) => Bound::new(py, rgb.into_array(py)?)?.into_any(),
        Picture::Stored(image) => {
            let dict = PyDict::new(py);
            dict.set_item("bytes", PyBytes::new(py, &image.bytes))?;
            dict.set_item("codec", codec_name(image.codec)?)?;
            dict.set_item("width", image.width)?;
            dict.set_item("height", image.height)?;
            dict.into_any()
        }
    })
}

/// Returns the codec's name in JSON documents.
fn codec_name(codec: Codec) -> PyResult<String> {
    match serde_json::to_value(codec) {
        Ok(serde_json::Value::String(name)) => Ok(name),
        _ => Err(PyRuntimeError::new_err("a codec without a name")),
    }
}

/// Parses a JSON text with Python.
pub(crate) fn from_json<'py>(py: Python<'py>, text: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (PyBytes::new(py, text),))
}
