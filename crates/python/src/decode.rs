//! Images outside datasets: bytes to pixels.
use crate::{
    array::Array,
    error::raise,
    sample::{self, Decode, How, each, n_threads_of},
};
use bytes::Bytes;
use fdconvert_codec::Decoder;
use fdconvert_core::{Encoded, Error, Limits, probe::probe};
use pyo3::{
    buffer::PyBuffer,
    exceptions::PyTypeError,
    prelude::*,
    pybacked::PyBackedBytes,
    types::{PyBytes, PyList, PyString},
};

/// Number of images that each thread decodes between two checks for Ctrl-C.
const IMAGES_PER_LOOK: usize = 64;

/// Decode an image, or several, to arrays of height, width and three channels of 8 bits.
///
/// `images` is the content of an image file (JPEG, PNG, BMP, TIFF, WebP or GIF) as any object with
/// the buffer protocol, or an iterable of these, which gives a list. Gray is repeated three times,
/// and alpha is dropped.
///
/// `threads` decode several images: by default one per core, but only one in a process that
/// multiprocessing has started. `orient` turns photos upright by their EXIF orientation.
/// `max_pixels` and `max_file_bytes` are the limits of an image.
///
/// Raises `DataError` with the image's position for a damaged image and for one over a limit.
#[pyfunction]
#[pyo3(signature = (
    images, *, threads=None, orient=false, max_pixels=100_000_000, max_file_bytes=1_073_741_824
), text_signature = "(images, *, threads=None, orient=False, max_pixels=100000000, max_file_bytes=1073741824)")]
pub(crate) fn decode<'py>(
    py: Python<'py>,
    images: &Bound<'py, PyAny>,
    threads: Option<usize>,
    orient: bool,
    max_pixels: u64,
    max_file_bytes: u64,
) -> PyResult<Bound<'py, PyAny>> {
    let limits = Limits { max_pixels, max_file_bytes };
    let how = How { decode: Decode::Rgb, orient, limits, verify: false };
    let n_threads = n_threads_of(py, threads)?;
    if images.is_instance_of::<PyString>() {
        let what = "images: bytes are decoded, not text; of a file, pass its contents";
        return Err(PyTypeError::new_err(what));
    }
    if let Some(image) = content(images)? {
        let arrays = all(py, &[("image".into(), image)], how, 1)?;
        return PyList::new(py, arrays)?.get_item(0);
    }
    let mut contents = Vec::new();
    for (number, image) in images.try_iter()?.enumerate() {
        let image = image?;
        let bytes = content(&image)?.ok_or_else(|| {
            let kind = image.get_type().to_string();
            PyTypeError::new_err(format!("images[{number}]: bytes are decoded, not {kind}"))
        })?;
        contents.push((format!("images[{number}]"), bytes));
    }
    let arrays = PyList::empty(py);
    for chunk in contents.chunks(n_threads * IMAGES_PER_LOOK) {
        for array in all(py, chunk, how, n_threads)? {
            arrays.append(Bound::new(py, array)?)?;
        }
        py.check_signals()?;
    }
    Ok(arrays.into_any())
}

/// Returns the bytes of an object: those of `bytes` themselves, and a copy for others, because they
/// may change while the interpreter is released.
fn content(object: &Bound<'_, PyAny>) -> PyResult<Option<Bytes>> {
    if object.is_instance_of::<PyBytes>() {
        let bytes: PyBackedBytes = object.extract()?;
        return Ok(Some(Bytes::from_owner(bytes)));
    }
    match PyBuffer::<u8>::get(object) {
        Ok(buffer) => Ok(Some(buffer.to_vec(object.py())?.into())),
        Err(_) => Ok(None),
    }
}

/// Decodes without the interpreter's lock.
fn all(
    py: Python<'_>,
    images: &[(String, Bytes)],
    how: How,
    n_threads: usize,
) -> PyResult<Vec<Array>> {
    let one = |place: usize, decoder: &mut Decoder| {
        let (name, bytes) = images.get(place)?;
        Some(probe(bytes).map_err(|what| Error::sample(name, what)).and_then(|header| {
            let image = Encoded::new(header.codec, header.width, header.height, bytes.clone());
            sample::decode(name, &image, how, decoder)
        }))
    };
    let decoded = py.detach(|| each(n_threads.min(images.len()), one));
    let decoded = decoded.map_err(|error| raise(&error))?;
    decoded.into_iter().map(|rgb| rgb.into_array(py)).collect()
}
