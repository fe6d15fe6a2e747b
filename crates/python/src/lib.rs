//! The Python package `fdconvert`: the contents of its compiled module `_fdconvert`.
//!
//! `dataset` is the map-style dataset, `decode` decodes images outside datasets, `loader` is the
//! source of batches, `transform` changes single images, `array` the pixels of both, `ragged` lists of
//! numbers, `command` the command in this process, `writer`
//! writes datasets of Python objects, `attended` runs work while Python's thread handles signals,
//! `desk` passes requests to that thread, `error` maps errors to exceptions. The rest of the
//! package is Python, in `python/`.
//!
//! Three rules hold everywhere. The interpreter is released around everything that reads, decodes
//! or waits. No threads are kept from one call to the next, so that a process may fork between
//! them; only the loader and the writer keep threads, and restart them in a forked process. Python
//! needs only its standard library.
#![deny(unsafe_code)]

mod array;
mod attended;
mod command;
mod dataset;
mod decode;
mod desk;
mod error;
mod loader;
mod ragged;
mod sample;
mod stores;
mod transform;
mod writer;

// Interpreters without the GIL need not switch it on. Statics and interior state are thread-locals,
// atomics, and mutexes, which are waited for with the interpreter released, or held for short work that
// calls nothing of Python. Classes are frozen, but for the writer, whose borrows PyO3 checks: the
// package's own lock keeps threads apart there. A program that writes to an array while another thread
// reads it has a race, as with NumPy's arrays.
#[pyo3::pymodule(gil_used = false)]
mod _fdconvert {
    #[pymodule_export]
    use crate::{
        array::{Array, DeviceArray},
        command::{call, main},
        dataset::{Dataset, concat, mix, restored},
        decode::decode,
        loader::BatchSource,
        ragged::ragged,
        stores::set_store_options,
        transform::{apply_transforms, draw_transforms},
        writer::{SampleWriter, check_pack, is_image, left_files, pack_samples},
    };

    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
