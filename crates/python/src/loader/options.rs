//! The options of `fdconvert.Loader`, as given by its caller.
use super::{exchange::PyExchange, names, sampling, unused};
use crate::error::{UsageError, raise};
use fdconvert_loader::{
    Access, Augment, CachePolicy, Crop, DType, DeviceDecoder, DeviceOptions, DrawSize, Exchange,
    Failures, Label, Last, Layout, Mix, Normalise, ObjectOptions, OnError, Options, Output, World,
    research::LIQUID,
};
use pyo3::{
    conversion::FromPyObjectOwned,
    exceptions::{PyOverflowError, PyTypeError},
    prelude::*,
    types::{PyDict, PyString},
};
use std::{path::PathBuf, sync::Arc};

/// Returns the option `name` as that type.
pub(super) fn get<'py, T: FromPyObjectOwned<'py>>(
    options: &Bound<'py, PyDict>,
    name: &str,
) -> PyResult<T> {
    let value = value(options, name)?;
    let error: PyErr = match value.extract::<T>() {
        Ok(value) => return Ok(value),
        Err(error) => error.into(),
    };
    // Text that is not a number, and the like, is a mistake in the program; a negative number may
    // come from a command line.
    if error.is_instance_of::<PyOverflowError>(value.py()) {
        let what = format!("{}: {} is out of range", names::grouped(name), value.repr()?);
        return Err(UsageError::new_err(what));
    }
    let what = format!("{}: {}: {}", names::grouped(name), value.repr()?, error.value(value.py()));
    Err(PyTypeError::new_err(what))
}

pub(super) fn value<'py>(options: &Bound<'py, PyDict>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    options.get_item(name)?.ok_or_else(|| PyTypeError::new_err(format!("{name}: is missing")))
}

fn unknown<T>(name: &str, value: &str, known: &str) -> PyResult<T> {
    Err(UsageError::new_err(format!("{name}: unknown `{value}`; expected one of {known}")))
}

/// Reads all options.
///
/// # Errors
/// `TypeError` and `UsageError`, with the name of the option.
pub(super) fn read(options: &Bound<'_, PyDict>) -> PyResult<Options> {
    unused::refuse(options)?;
    let device = device(options)?;
    let output = output(options)?;
    let crop = crop(options, output.size)?;
    let flip: Option<f64> = get(options, "flip")?;
    let augment = augment(options)?;
    if let Some(augment) = &augment {
        augment.check().map_err(|error| raise(&error))?;
    }
    Ok(Options::default()
        .batch_size(get(options, "batch_size")?)
        .seed(get(options, "seed")?)
        .sampling(sampling::read(options)?)
        .world(World { rank: get(options, "rank")?, size: get(options, "world_size")? })
        .last(match get::<String>(options, "last")?.as_str() {
            "short" => Last::Short,
            "drop" => Last::Drop,
            "pad" => Last::Pad,
            other => return unknown("last", other, "\"short\", \"drop\", \"pad\""),
        })
        .output(output)
        .crop(crop)
        .draw_size(match get::<String>(options, "draw_size")?.as_str() {
            "auto" => DrawSize::Auto,
            "output" => DrawSize::Output,
            "own" => DrawSize::Own,
            other => return unknown("draw_size", other, "\"auto\", \"output\", \"own\""),
        })
        .flip(flip.unwrap_or(if matches!(crop, Crop::Random { .. }) { 0.5 } else { 0.0 }))
        .label(label(options)?)
        .classes(classes(options)?)
        .fields(texts(options, "fields")?)
        .masks(texts(options, "masks")?)
        .mask_fill(get(options, "mask_fill")?)
        .objects(objects(options)?)
        .geometry(get(options, "geometry")?)
        .augment(augment)
        .mix(mix(options)?)
        .orient(get(options, "orient")?)
        .failures(Failures {
            on_error: policy(options)?,
            max: get(options, "max_failures")?,
            retries: get(options, "retries")?,
            ..Failures::default()
        })
        .verify(get(options, "verify")?)
        .cache_bytes(get(options, "cache_bytes")?)
        .cache_folder(get::<Option<PathBuf>>(options, "cache_folder")?)
        .locality(get(options, "locality")?)
        .ranks_per_cache(get(options, "ranks_per_cache")?)
        .exchange(
            get::<Option<Py<PyAny>>>(options, "exchange")?
                .map(|exchange| Arc::new(PyExchange(exchange)) as Arc<dyn Exchange>),
        )
        .cache_policy(match get::<String>(options, "cache_policy")?.as_str() {
            "resident" => CachePolicy::RESIDENT,
            "liquid" => LIQUID,
            other => return unknown("cache_policy", other, "\"resident\", \"liquid\""),
        })
        .access(match get::<String>(options, "access")?.as_str() {
            "mapped" => Access::Mapped,
            "direct" => Access::Direct,
            other => return unknown("access", other, "\"mapped\", \"direct\""),
        })
        .threads(get(options, "threads")?)
        .fetch_threads(get(options, "fetch_threads")?)
        .ahead_bytes(get(options, "ahead_bytes")?)
        .prefetch(get(options, "prefetch")?)
        .prefetch_bytes(get(options, "prefetch_bytes")?)
        .device(device))
}

fn label(options: &Bound<'_, PyDict>) -> PyResult<Label> {
    Ok(match get::<Option<String>>(options, "label")? {
        None => Label::None,
        Some(name) if name == "auto" => Label::Auto,
        Some(name) => Label::Field(name),
    })
}

fn classes(options: &Bound<'_, PyDict>) -> PyResult<Option<Arc<[String]>>> {
    if value(options, "classes")?.is_none() {
        return Ok(None);
    }
    texts(options, "classes").map(|texts| Some(texts.into()))
}

fn texts(options: &Bound<'_, PyDict>, option: &str) -> PyResult<Vec<String>> {
    if value(options, option)?.is_instance_of::<PyString>() {
        // A text is a sequence of texts, too, but not a meaningful one.
        let what = format!("{option}: give a list of names, even of one: [\"NAME\"]");
        return Err(PyTypeError::new_err(what));
    }
    get(options, option)
}

/// Reads the choice of the field with objects, and their treatment.
fn objects(options: &Bound<'_, PyDict>) -> PyResult<Option<ObjectOptions>> {
    let Some(field) = get(options, "objects")? else { return Ok(None) };
    Ok(Some(ObjectOptions {
        field,
        min_box: get(options, "min_box")?,
        keypoint_flip: get::<Option<_>>(options, "keypoint_flip")?.unwrap_or_default(),
        segmentations: get(options, "segmentations")?,
    }))
}

/// Reads one value for all three channels, or three.
pub(super) fn fill(options: &Bound<'_, PyDict>) -> PyResult<[u8; 3]> {
    let given = value(options, "fill")?;
    let one = || given.extract().map(|level: u8| [level; 3]);
    given.extract().or_else(|_| one()).map_err(|_: PyErr| {
        let what = "is not a level from 0 to 255, or three of them for red, green and blue";
        let shown = given.repr().map_or_else(|_| String::new(), |it| it.to_string());
        UsageError::new_err(format!("fill: {shown} {what}"))
    })
}

/// Reads two numbers in a tuple or a list.
pub(super) fn pair(options: &Bound<'_, PyDict>, name: &str) -> PyResult<(f64, f64)> {
    get::<[f64; 2]>(options, name).map(|[from, to]| (from, to))
}

fn output(options: &Bound<'_, PyDict>) -> PyResult<Output> {
    // Height and width, in torchvision's order.
    let [height, width] = match value(options, "size")?.extract() {
        Ok(size) => size,
        Err(_) => [get::<u32>(options, "size")?; 2],
    };
    Ok(Output {
        size: (width, height),
        dtype: match get::<String>(options, "dtype")?.as_str() {
            "u8" | "uint8" => DType::U8,
            "f16" | "float16" => DType::F16,
            "f32" | "float32" => DType::F32,
            "bf16" | "bfloat16" => {
                let what = "dtype: bfloat16 is not made here: take \"f32\", and convert batches, as \
                            `images.to(torch.bfloat16)` or autocast does";
                return Err(UsageError::new_err(what));
            }
            other => {
                let known = "\"u8\", \"f16\", \"f32\", \"uint8\", \"float16\", \"float32\"";
                return unknown("dtype", other, known);
            }
        },
        layout: match get::<String>(options, "layout")?.to_ascii_lowercase().as_str() {
            "nhwc" => Layout::Nhwc,
            "nchw" => Layout::Nchw,
            other => return unknown("layout", other, "\"nhwc\", \"nchw\""),
        },
        normalise: match (get(options, "mean")?, get(options, "std")?) {
            (None, None) => None,
            (Some(mean), Some(std)) => Some(Normalise { mean, std }),
            _ => return Err(UsageError::new_err("mean: give `mean` and `std`, or neither")),
        },
    })
}

fn crop(options: &Bound<'_, PyDict>, size: (u32, u32)) -> PyResult<Crop> {
    let name: Option<String> = get(options, "crop")?;
    let resize: Option<u32> = get(options, "resize")?;
    let (scale, ratio) = (pair(options, "scale")?, pair(options, "ratio")?);
    if resize.is_some() && name.as_deref() != Some("center") {
        return Err(UsageError::new_err("resize: it is for crop=\"center\""));
    }
    match name.as_deref() {
        None => Ok(Crop::None),
        Some("center") => {
            // The usual share of a photo for evaluation on ImageNet.
            let usual = || (f64::from(size.0.max(size.1)) * 256.0 / 224.0).round().max(1.0) as u32;
            Ok(Crop::Center { resize: resize.unwrap_or_else(usual) })
        }
        Some("rrc") => Ok(Crop::Random { scale, ratio }),
        Some("letterbox") => Ok(Crop::Letterbox { fill: fill(options)? }),
        Some(other) => unknown("crop", other, "\"center\", \"rrc\", \"letterbox\", None"),
    }
}

/// Returns the options of a GPU if batches are made there.
///
/// # Errors
/// `TypeError` and `UsageError`, with the name of the option.
fn device(options: &Bound<'_, PyDict>) -> PyResult<Option<DeviceOptions>> {
    let Some(ordinal) = get(options, "device")? else { return Ok(None) };
    let decoder = match get::<String>(options, "decoder")?.as_str() {
        "auto" => DeviceDecoder::Auto,
        "index" => DeviceDecoder::Index,
        "nvjpeg" => DeviceDecoder::NvJpeg,
        "cpu" => DeviceDecoder::Cpu,
        other => {
            return unknown("decoder", other, "\"auto\", \"index\", \"nvjpeg\", \"cpu\"");
        }
    };
    Ok(Some(DeviceOptions {
        ordinal,
        decoder,
        device_cache_bytes: get(options, "device_cache_bytes")?,
        nvjpeg: get(options, "nvjpeg")?,
        ..DeviceOptions::default()
    }))
}

fn augment(options: &Bound<'_, PyDict>) -> PyResult<Option<Augment>> {
    let value = value(options, "augment")?;
    if value.is_none() {
        return Ok(None);
    }
    if !value.is_instance_of::<PyString>() {
        let (name, n_ops, magnitude): (String, u32, u32) = get(options, "augment")?;
        return match name.as_str() {
            "randaugment" => Ok(Some(Augment::randaugment(n_ops, magnitude))),
            other => unknown("augment", other, "(\"randaugment\", n, magnitude)"),
        };
    }
    let name: String = get(options, "augment")?;
    let augment = Augment::named(&name);
    if augment.is_none() {
        let known = Augment::NAMED.map(|(name, _)| format!("\"{name}\"")).join(", ");
        return unknown("augment", &name, &known);
    }
    Ok(augment)
}

/// Reads the mixing of batches; `None` if neither method is enabled.
fn mix(options: &Bound<'_, PyDict>) -> PyResult<Option<Mix>> {
    let (mixup, cutmix) = (get(options, "mixup")?, get(options, "cutmix")?);
    let num_classes: Option<u32> = get(options, "num_classes")?;
    if mixup == 0.0 && cutmix == 0.0 {
        return Ok(None);
    }
    let (mix_prob, switch_prob) = (get(options, "mix_prob")?, get(options, "switch_prob")?);
    Ok(Some(Mix { mixup, cutmix, mix_prob, switch_prob, num_classes }))
}

fn policy(options: &Bound<'_, PyDict>) -> PyResult<OnError> {
    let name: String = get(options, "on_error")?;
    Ok(match name.as_str() {
        "raise" => OnError::Raise,
        "skip" => OnError::Skip,
        "substitute" => OnError::Substitute,
        other => match other.strip_prefix("quarantine:").filter(|file| !file.is_empty()) {
            Some(file) => OnError::Quarantine(file.into()),
            None => {
                let known = "\"raise\", \"skip\", \"substitute\", \"quarantine:FILE\"";
                return unknown("on_error", other, known);
            }
        },
    })
}
