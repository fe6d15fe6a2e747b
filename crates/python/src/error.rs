//! Which exception an error becomes: named by who has to act, as the errors themselves are.
use fdconvert_core::{Class, Error, OptionRef, Setting};
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
    let message = error.spelled(keyword);
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

/// An option of the library as a keyword, with the value that it should have.
pub(crate) fn keyword(option: &OptionRef) -> String {
    let name = option.name.replace('-', "_");
    match &option.setting {
        // Fields of the loader's options that have other names here.
        Setting::Argument => match option.name {
            "normalise" => "mean".to_owned(),
            "chunk" | "window" => "shuffle".to_owned(),
            argument => argument.to_owned(),
        },
        Setting::Any => name,
        Setting::On => format!("{name}=True"),
        Setting::To(number) if number.parse::<f64>().is_ok() => format!("{name}={number}"),
        Setting::To(text) if text.contains('"') => {
            format!("{name}='{}'", text.replace('\'', r"\'"))
        }
        Setting::To(text) => format!("{name}=\"{text}\""),
    }
}
