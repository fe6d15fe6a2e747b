//! Which exception an error becomes: named by who has to act, as the errors themselves are.
use fdconvert_cli::Failure;
use fdconvert_core::{Class, Error};
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
    if let Error::Io { action, path, source } = error
        && let Some(number) = source.raw_os_error()
    {
        // Python chooses the subclass by the number: FileNotFoundError, PermissionError.
        let why = source.to_string();
        let why = why.split(" (os error").next().unwrap_or_default();
        return PyOSError::new_err((
            number,
            format!("cannot {action}: {why}"),
            path.clone().into_os_string(),
        ));
    }
    let message = error.chain();
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

/// The exception for a command that did not run to its end.
pub(crate) fn raise_failure(failure: &Failure) -> PyErr {
    match failure {
        Failure::Failed(error) => raise(error),
        Failure::Arguments(text) => {
            // How to call the command from a shell is of no use here.
            let text = text.split("\n\nUsage:").next().unwrap_or_default();
            let text = text.split("\n\nFor more information").next().unwrap_or_default();
            UsageError::new_err(text.trim_start_matches("error: ").trim_end().to_owned())
        }
    }
}
