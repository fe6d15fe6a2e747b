//! Which exception an error becomes: named by who has to act, as the errors themselves are.
use fdconvert_core::{Class, Error, Style};
use pyo3::{
    PyErr,
    exceptions::{PyKeyboardInterrupt, PyOSError},
};

// Defined in Python, where an exception can have two bases and be pickled.
pyo3::import_exception!(fdconvert._errors, DataError);
pyo3::import_exception!(fdconvert._errors, DeviceError);
pyo3::import_exception!(fdconvert._errors, UsageError);

/// The exception for an error of the libraries.
pub(crate) fn raise(error: &Error) -> PyErr {
    if let Error::Io { path, source, .. } = error
        && let Some(number) = source.raw_os_error()
    {
        // Python chooses the subclass by the number: FileNotFoundError, PermissionError. It puts
        // the text together as for its own calls.
        let why = source.to_string();
        let why = why.split(" (os error").next().unwrap_or_default().to_owned();
        return PyOSError::new_err((number, why, path.clone().into_os_string()));
    }
    let message = error.message().in_style(Style::Python);
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

/// The exception for options of a loader, some of which have other names in Python.
pub(crate) fn raise_option(error: Error) -> PyErr {
    let Error::Usage { option, what } = error else { return raise(&error) };
    let option = match option.name() {
        "normalise" => "mean".into(),
        "chunk" | "window" => "shuffle".into(),
        _ => option,
    };
    raise(&Error::Usage { option, what })
}
