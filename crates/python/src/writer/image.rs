//! Images: files, whose bytes are kept, and pixels, which are copied once.
use super::fields::Unfit;
use crate::array::lends_buffers;
use bytes::Bytes;
use fdconvert_core::{Codec, Encoded, Image, Pixels, probe::probe};
use pyo3::{
    buffer::PyBuffer,
    exceptions::PyException,
    intern,
    prelude::*,
    pybacked::PyBackedBytes,
    types::{PyBytes, PyDict, PyModule, PyTuple},
};

const CURE: &str =
    "; pixels are uint8 arrays of height, width and, behind them, 1, 3 or 4 channels";

/// Returns the image of an object. The error text for other objects follows a description of the
/// object.
pub(super) fn image(
    object: &Bound<'_, PyAny>,
    helper: &Bound<'_, PyModule>,
) -> Result<Image, Unfit> {
    if let Some(image) = of_memory(object)? {
        return Ok(image);
    }
    if let Ok(dict) = object.cast::<PyDict>()
        && let Some(image) = of_row(dict)?
    {
        return Ok(image);
    }
    if let Some(image) = of_array(object)? {
        return Ok(image);
    }
    let py = object.py();
    // Pillow's images, paths, and objects that need an explanation are handled in Python.
    let found = helper.call_method1(intern!(py, "image"), (object,))?;
    if let Ok(parts) = found.cast::<PyTuple>() {
        let (width, height, channels, data): (u32, u32, u8, PyBackedBytes) = parts.extract()?;
        return pixels(width, height, channels, data.to_vec());
    }
    of_memory(&found)?.ok_or_else(|| Unfit::Said(CURE.to_owned()))
}

/// Returns the bytes of a `bytes` object without a copy: it cannot change, so that threads of Rust
/// may read it without the interpreter's lock. Its reference is released with the last slice; if
/// that is dropped without the lock, PyO3 waits until the lock is held.
pub(super) fn shared(object: &Bound<'_, PyAny>) -> PyResult<Bytes> {
    let bytes: PyBackedBytes = object.extract()?;
    Ok(Bytes::from_owner(bytes))
}

/// Reads an image from bytes, or from an object with a buffer of them; `None` for anything else.
fn of_memory(object: &Bound<'_, PyAny>) -> Result<Option<Image>, Unfit> {
    if object.is_instance_of::<PyBytes>() {
        return encoded(shared(object)?).map(Some);
    }
    if !lends_buffers(object) {
        return Ok(None);
    }
    let Ok(buffer) = PyBuffer::<u8>::get(object) else { return Ok(None) };
    shaped(buffer.shape(), buffer.to_vec(object.py())?).map(Some)
}

/// Creates an image from bytes in an array of that shape.
fn shaped(shape: &[usize], data: Vec<u8>) -> Result<Image, Unfit> {
    let (height, width, channels) = match *shape {
        [_] => return encoded(data.into()),
        [height, width] => (height, width, 1),
        [height, width, channels @ (1 | 3 | 4)] => (height, width, channels as u8),
        [1 | 3 | 4, _, _] => {
            let cure = "; its channels come first, and belong behind height and width: \
                        `numpy.moveaxis(array, 0, -1)`, `tensor.permute(1, 2, 0)`";
            return Err(Unfit::Said(cure.to_owned()));
        }
        _ => return Err(Unfit::Said(CURE.to_owned())),
    };
    let side = |side: usize| u32::try_from(side).map_err(|_| Unfit::Said(CURE.to_owned()));
    pixels(side(width)?, side(height)?, channels, data)
}

/// Reads an image from tensors, and from others that only convert themselves to a NumPy array;
/// `None` for anything else, and if the conversion fails, which Python's side explains.
fn of_array(object: &Bound<'_, PyAny>) -> Result<Option<Image>, Unfit> {
    let py = object.py();
    let kind = object.get_type();
    let Some(convert) = kind.getattr_opt(intern!(py, "__array__"))? else { return Ok(None) };
    // Pillow's images have it, too, but may be files that are not decoded yet.
    if kind.hasattr(intern!(py, "__array_interface__"))? {
        return Ok(None);
    }
    match convert.call1((object,)) {
        Ok(found) => of_memory(&found),
        Err(error) if error.is_instance_of::<PyException>(py) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn pixels(width: u32, height: u32, channels: u8, data: Vec<u8>) -> Result<Image, Unfit> {
    if width == 0 || height == 0 {
        return Err(Unfit::Said("; it has no pixels".to_owned()));
    }
    Ok(Image::Pixels(Pixels { width, height, channels, data }))
}

fn encoded(bytes: Bytes) -> Result<Image, Unfit> {
    let header = probe(&bytes).map_err(|what| Unfit::Said(format!("; {what}")))?;
    Ok(Image::Encoded(Encoded::new(header.codec, header.width, header.height, bytes)))
}

/// Reads an image from a row of Hugging Face, `{"bytes": ..., "path": ...}`, or of `Dataset.get`,
/// which gives the size of raw pixels; `None` if the bytes are elsewhere.
fn of_row(row: &Bound<'_, PyDict>) -> Result<Option<Image>, Unfit> {
    let py = row.py();
    let Some(bytes) = row.get_item(intern!(py, "bytes"))?.filter(|bytes| !bytes.is_none()) else {
        return Ok(None);
    };
    let codec = row.get_item(intern!(py, "codec"))?;
    let is_raw = codec.is_some_and(|codec| codec.eq("raw").unwrap_or(false));
    if !is_raw {
        return of_memory(&bytes);
    }
    let side =
        |name: &str| -> PyResult<u32> { row.get_item(name)?.map_or(Ok(0), |side| side.extract()) };
    let (width, height) = (side("width")?, side("height")?);
    let image = Encoded::new(Codec::Raw, width, height, shared(&bytes)?);
    Ok(Some(Image::Encoded(image)))
}
