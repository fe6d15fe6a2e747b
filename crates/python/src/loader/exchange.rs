//! An exchange from a caller in Python.
use fdconvert_loader::Exchange;
use pyo3::{
    prelude::*,
    pybacked::PyBackedBytes,
    types::{PyBytes, PyList},
};
use std::io;

/// An object with a method `all_to_all`, as documented at `fdconvert.Exchange`.
#[derive(Debug)]
pub(super) struct PyExchange(pub(super) Py<PyAny>);

impl Exchange for PyExchange {
    fn all_to_all(&self, messages: Vec<Vec<u8>>) -> io::Result<Vec<Vec<u8>>> {
        // The calling thread may outlive the interpreter.
        let received = Python::try_attach(|py| {
            self.call(py, &messages).map_err(|error| {
                let kind = error.get_type(py);
                let what = error.value(py).to_string();
                io::Error::other(format!("{kind}: {what}"))
            })
        });
        received.unwrap_or_else(|| Err(io::Error::other("the interpreter has ended")))
    }
}

impl PyExchange {
    fn call(&self, py: Python<'_>, messages: &[Vec<u8>]) -> PyResult<Vec<Vec<u8>>> {
        let messages = PyList::new(py, messages.iter().map(|message| PyBytes::new(py, message)))?;
        let received = self.0.bind(py).call_method1("all_to_all", (messages,))?;
        let message = |message: PyResult<Bound<'_, PyAny>>| {
            Ok(message?.extract::<PyBackedBytes>().map_err(PyErr::from)?.to_vec())
        };
        received.try_iter()?.map(message).collect()
    }
}
