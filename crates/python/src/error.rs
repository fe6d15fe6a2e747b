//! Which exception an error becomes: named by who has to act, as the errors themselves are.
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
    if let Error::Io { path, source, .. } = error
        && let Some(number) = source.raw_os_error()
    {
        // Python chooses the subclass by the number: FileNotFoundError, PermissionError. It puts
        // the text together as for its own calls.
        let why = source.to_string();
        let why = why.split(" (os error").next().unwrap_or_default().to_owned();
        return PyOSError::new_err((number, why, path.clone().into_os_string()));
    }
    let message = keywords(&error.chain());
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
    let option = match option {
        "batch" => "batch_size",
        "world" => "world_size",
        "store_bytes" => "device_cache_bytes",
        other => other,
    };
    raise(&Error::Usage { option, what })
}

/// Options that are `True` or left out.
const FLAGS: &[&str] = &["overwrite", "compact", "deep", "shuffle", "strict", "json"];

/// The text with options of the command as keyword arguments: `max_pixels=5` for `--max-pixels 5`.
fn keywords(text: &str) -> String {
    let mut said = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("--") {
        said.push_str(before);
        let is_option = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
        let len = after.bytes().take_while(|byte| is_option(*byte)).count();
        let (name, tail) = after.split_at(len);
        let begins = before.is_empty() || before.ends_with([' ', '`', '(', '\'']);
        rest = tail;
        if !begins || name.is_empty() || name == "help" || name.starts_with('-') {
            said.push_str("--");
            said.push_str(name);
            continue;
        }
        said.push_str(&name.replace('-', "_"));
        if FLAGS.contains(&name) {
            said.push_str("=True");
        } else if tail.starts_with(' ') && tail[1..].starts_with(|c: char| c.is_ascii_digit()) {
            said.push('=');
            rest = &tail[1..];
        } else if !tail.starts_with('=') {
            said.push('=');
        }
    }
    said.push_str(rest);
    said
}
