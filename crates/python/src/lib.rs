//! The Python package `fdconvert`: what its compiled module `_fdconvert` holds.
//!
//! `dataset` is the map-style dataset, `decode` images that are of none, `loader` the source of batches, `array` the pixels that both
//! hand out, `command` the command in this process, `writer` datasets of what Python has, `attended`
//! work beside which Python's thread listens, `desk` where it is asked, `error` who raises what. The rest of the package is
//! Python, in `python/`.
//!
//! Three rules hold everywhere. The interpreter is released around everything that reads, decodes
//! or waits. No threads are kept from one call to the next, so that a process may fork between them;
//! only the loader and the writer keep threads, and restart them in a forked process. Nothing is
//! required of Python but the standard library.
#![deny(unsafe_code)]

mod array;
mod attended;
mod command;
mod dataset;
mod decode;
mod desk;
mod error;
mod loader;
mod sample;
mod stores;
mod writer;

#[pyo3::pymodule]
mod _fdconvert {
    #[pymodule_export]
    use crate::{
        array::{Array, DeviceArray},
        command::{call, main},
        dataset::Dataset,
        decode::decode,
        loader::BatchSource,
        stores::set_store_options,
        writer::{SampleWriter, check_pack, is_image, left_files, pack_samples},
    };

    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
