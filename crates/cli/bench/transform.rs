//! The list of transforms that `fdconvert bench` applies.
use super::args::BenchArgs;
use fdconvert::{DType, Layout};
use fdconvert_core::{Error, Result};
use fdconvert_loader::{Output, Transform, TransformList};
use fdconvert_storage::place;
use std::path::Path;

/// Names of the lists that need no file; each takes the side of the images after a colon.
const PRESETS: [(&str, Preset); 2] =
    [("rrc", TransformList::rrc), ("center", TransformList::center)];

type Preset = fn(u32) -> Result<TransformList>;

/// Returns the list, with `--dtype` and `--layout` at its end.
///
/// # Errors
/// `Usage` for what is neither a file nor a preset, for a list that the loader refuses, and for a
/// type or layout that the list has, too; `Io`.
pub(super) fn list(args: &BenchArgs) -> Result<TransformList> {
    let written = match preset(&args.transform) {
        Some(list) => list,
        None => file(&args.transform),
    };
    let mut list: Vec<Transform> = written.map_err(of_option)?.into();
    if let Some(dtype) = args.dtype {
        let dtype = DType::from(dtype);
        let has = list.iter().any(|it| matches!(it, Transform::ToDtype { .. }));
        list.push(alone(Transform::ToDtype { dtype }, has, "--dtype")?);
    }
    if let Some(layout) = args.layout {
        let layout = Layout::from(layout);
        let has = list.iter().any(|it| matches!(it, Transform::ToLayout { .. }));
        list.push(alone(Transform::ToLayout { layout }, has, "--layout")?);
    }
    let list = TransformList::new(list).map_err(of_option)?;
    list.output().map_err(of_option)?;
    Ok(list)
}

/// Returns one line about the list.
pub(super) fn line(list: &TransformList, output: &Output) -> String {
    let names: Vec<_> = list.transforms().iter().map(Transform::name).collect();
    let ((width, height), names) = (output.size, names.join(", "));
    let (dtype, layout) = (word(&output.dtype), word(&output.layout));
    format!("rows: {names}; {width} x {height} pixels, {dtype}, {layout}\n")
}

/// Returns the name of a type or a layout, as lists have it.
fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|it| Some(it.as_str()?.to_owned()))
        .unwrap_or_default()
}

fn preset(name: &str) -> Option<Result<TransformList>> {
    let (name, side) = name.split_once(':')?;
    let (_, make) = PRESETS.iter().find(|(preset, _)| *preset == name)?;
    Some(match side.parse() {
        Ok(side) => make(side),
        Err(_) => {
            let what = format!("`{side}` is no number of pixels: name one, such as {name}:224");
            Err(Error::usage("--transform", what))
        }
    })
}

fn file(name: &str) -> Result<TransformList> {
    let path = Path::new(name);
    if !path.exists() && !name.contains("://") {
        let presets = PRESETS.map(|(preset, _)| format!("{preset}:224")).join(" or ");
        let what = format!("there is no file `{name}`; without a file, take {presets}");
        return Err(Error::usage("--transform", what));
    }
    let read: Result<Vec<Transform>, _> = serde_json::from_slice(&place::whole(path)?);
    let list = read.map_err(|cause| {
        Error::usage("--transform", format!("{name} is no list of transforms: {cause}"))
    })?;
    TransformList::new(list)
}

/// Refuses what a list has already.
fn alone(transform: Transform, has: bool, option: &'static str) -> Result<Transform> {
    match has {
        false => Ok(transform),
        true => {
            let what = format!("the list has a {}: leave one of them out", transform.name());
            Err(Error::usage(option, what))
        }
    }
}

/// Gives an error of the list the option's name.
fn of_option(error: Error) -> Error {
    match error {
        Error::Usage { what, .. } => Error::usage("--transform", what),
        other => other,
    }
}
