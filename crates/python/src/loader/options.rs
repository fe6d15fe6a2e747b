//! The options of `fdconvert.Loader`, as given by its caller.
use super::{exchange::PyExchange, names, sampling};
use crate::{error::UsageError, transform};
use fdconvert_loader::{
    Access, CachePolicy, DeviceDecoder, DeviceOptions, Exchange, Failures, Label, Last,
    MaskOptions, ObjectOptions, OnError, Options, Patches, SizeBuckets, Sizes, ViewGroup,
    ViewLayout, World, research::LIQUID,
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
    let device = device(options)?;
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
        .views(views(options)?)
        .view_layout(match get::<String>(options, "view_layout")?.as_str() {
            "views" => ViewLayout::Views,
            "rows" => ViewLayout::Rows,
            other => return unknown("view_layout", other, "\"views\", \"rows\""),
        })
        .sizes(sizes(options)?)
        .label(label(options)?)
        .classes(classes(options)?)
        .fields(texts(options, "fields")?)
        .masks(masks(options)?)
        .objects(objects(options)?)
        .geometry(get(options, "geometry")?)
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

/// Reads the groups of views: name, number and list of each.
fn views(options: &Bound<'_, PyDict>) -> PyResult<Vec<ViewGroup>> {
    let groups: Vec<(String, u32, String)> = get(options, "views")?;
    let group = |(name, n_views, json): (String, u32, String)| {
        Ok(ViewGroup::new(name, n_views, transform::list(&json)?))
    };
    groups.into_iter().map(group).collect()
}

fn sizes(options: &Bound<'_, PyDict>) -> PyResult<Sizes> {
    Ok(match get::<String>(options, "sizes")?.as_str() {
        "one" => Sizes::One,
        "own" => Sizes::Own,
        "buckets" => {
            let sizes: Vec<[u32; 2]> = get(options, "buckets")?;
            let buckets = SizeBuckets::new(sizes);
            let buckets = buckets.map_err(|error| UsageError::new_err(error.to_string()))?;
            Sizes::Buckets(buckets.random(get::<String>(options, "bucket_crop")? == "random"))
        }
        "patches" => {
            let (most, side) = get(options, "patches")?;
            Sizes::Patches(Patches { most, side })
        }
        other => return unknown("sizes", other, "\"one\", \"own\", \"buckets\", \"patches\""),
    })
}

/// Reads the fields that are masks, with the value around each.
fn masks(options: &Bound<'_, PyDict>) -> PyResult<Vec<MaskOptions>> {
    let masks: Vec<(String, u16)> = get(options, "masks")?;
    Ok(masks.into_iter().map(|(field, fill)| MaskOptions { field, fill }).collect())
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
