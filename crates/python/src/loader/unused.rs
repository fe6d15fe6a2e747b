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
    let (mixup, cutmix) = (get::<f64>(options, "mixup")?, get::<f64>(options, "cutmix")?);
    let (mixes, switches) = (mixup != 0.0 || cutmix != 0.0, mixup != 0.0 && cutmix != 0.0);
    let given = |name: &str| PyResult::Ok(!options::value(options, name)?.is_none());
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
        ("mix_prob", get::<f64>(options, "mix_prob")? != 1.0, mixes, "`mixup` and `cutmix`"),
        (
            "switch_prob",
            get::<f64>(options, "switch_prob")? != 0.5,
            switches,
            "`mixup` and `cutmix` together",
        ),
        ("num_classes", given("num_classes")?, mixes, "`mixup` and `cutmix`"),
    ];
    match changed.into_iter().find(|(_, is_changed, is_used, _)| *is_changed && !is_used) {
        Some((name, .., used_with)) => Err(UsageError::new_err(format!(
            "{name}: it is for {used_with}, and has no effect here"
        ))),
        None => Ok(()),
    }
}
