//! Converts errors to exceptions: both are named after the party that has to act.
use fdconvert_core::{Class, Error, OptionRef, Setting};
use pyo3::{
    PyErr,
    exceptions::{PyKeyboardInterrupt, PyOSError},
};

// Defined in Python, because an exception there can have two bases and be pickled.
pyo3::import_exception!(fdconvert._errors, DataError);
pyo3::import_exception!(fdconvert._errors, DeviceError);
pyo3::import_exception!(fdconvert._errors, UsageError);

/// Returns the exception for an error of the libraries.
pub(crate) fn raise(error: &Error) -> PyErr {
    raise_spelled(error, keyword)
}

/// As [`raise`], with options formatted by `spell`.
pub(crate) fn raise_spelled(error: &Error, spell: impl Fn(&OptionRef) -> String) -> PyErr {
    if let Error::Io { path, source, .. } = error
        && let Some(number) = source.raw_os_error()
    {
        // Python chooses the subclass by the number: FileNotFoundError, PermissionError. It
        // composes the text as for its own calls. Of the two numbers Windows takes its own, which
        // is the last; others ignore that.
        let why = source.to_string();
        let why = why.split(" (os error").next().unwrap_or_default().to_owned();
        return PyOSError::new_err((number, why, path.clone().into_os_string(), number));
    }
    let message = error.spelled(spell);
    if let Error::Device { .. } = error {
        return DeviceError::new_err(message);
    }
    match error.class() {
        Class::Usage => UsageError::new_err(message),
        Class::Data => DataError::new_err(message),
        Class::System => PyOSError::new_err(message),
        Class::Cancelled => PyKeyboardInterrupt::new_err(()),
    }
}

/// Formats an option of the library as a keyword, with its required value.
pub(crate) fn keyword(option: &OptionRef) -> String {
    let name = option.name.replace('-', "_");
    match &option.setting {
        Setting::Argument => option.name.to_owned(),
        Setting::Any => name,
        Setting::On => format!("{name}=True"),
        Setting::To(number) if number.parse::<f64>().is_ok() => format!("{name}={number}"),
        Setting::To(text) if text.contains('"') => {
            format!("{name}='{}'", text.replace('\'', r"\'"))
        }
        Setting::To(text) => format!("{name}=\"{text}\""),
    }
}
