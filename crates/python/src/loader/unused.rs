//! Options that have no effect in combination with others.
use super::options::{self, get};
use crate::error::UsageError;
use pyo3::{prelude::*, types::PyDict};

/// Refuses options with another value than their default that have no effect in combination with
/// the others.
///
/// # Errors
/// `TypeError` and `UsageError`, with the name of the option.
pub(super) fn refuse(options: &Bound<'_, PyDict>) -> PyResult<()> {
    let crop: Option<String> = get(options, "crop")?;
    let [rrc, letterbox] = ["rrc", "letterbox"].map(|name| crop.as_deref() == Some(name));
    let has = |name: &str| options::value(options, name)?.is_truthy();
    let objects = has("objects")?;
    let (mixup, cutmix) = (get::<f64>(options, "mixup")?, get::<f64>(options, "cutmix")?);
    let (mixes, switches) = (mixup != 0.0 || cutmix != 0.0, mixup != 0.0 && cutmix != 0.0);
    let caches = has("cache_bytes")?;
    let given = |name: &str| PyResult::Ok(!options::value(options, name)?.is_none());
    let on_device = given("device")?;
    let text = |name: &str| get::<String>(options, name);
    let changed = [
        ("scale", options::pair(options, "scale")? != (0.08, 1.0), rrc, "crop=\"rrc\""),
        ("ratio", options::pair(options, "ratio")? != (0.75, 4.0 / 3.0), rrc, "crop=\"rrc\""),
        ("fill", options::fill(options)? != [0; 3], letterbox, "crop=\"letterbox\""),
        (
            "mask_fill",
            get::<u16>(options, "mask_fill")? != 0,
            letterbox,
            "`masks` with crop=\"letterbox\"",
        ),
        ("min_box", get::<f32>(options, "min_box")? != 1.0, objects, "`objects`"),
        ("keypoint_flip", has("keypoint_flip")?, objects, "`objects`"),
        ("segmentations", !has("segmentations")?, objects, "`objects`"),
        ("mix_prob", get::<f64>(options, "mix_prob")? != 1.0, mixes, "`mixup` and `cutmix`"),
        (
            "switch_prob",
            get::<f64>(options, "switch_prob")? != 0.5,
            switches,
            "`mixup` and `cutmix` together",
        ),
        ("num_classes", given("num_classes")?, mixes, "`mixup` and `cutmix`"),
        (
            "max_failures",
            get::<u64>(options, "max_failures")? != 100,
            text("on_error")? != "raise",
            "another `on_error` than \"raise\"",
        ),
        ("cache_policy", text("cache_policy")? != "resident", caches, "`cache_bytes`"),
        ("decoder", text("decoder")? != "auto", on_device, "`device`"),
        ("device_cache_bytes", has("device_cache_bytes")?, on_device, "`device`"),
    ];
    match changed.into_iter().find(|(_, is_changed, is_used, _)| *is_changed && !is_used) {
        Some((name, .., used_with)) => Err(UsageError::new_err(format!(
            "{name}: it is for {used_with}, and has no effect here"
        ))),
        None => Ok(()),
    }
}
