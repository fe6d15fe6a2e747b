//! Prints the decoders of this machine, as `fdconvert gpu probe` does. Built with `panic=abort`, it
//! also tests that a machine without a driver, a library or a GPU gets an error and no panic.
//!
//! ```sh
//! cargo rustc -p fdconvert-gpu --example probe -- -C panic=abort
//! ```
#![allow(clippy::print_stdout, reason = "the answer")]

use fdconvert_gpu::{Decoder, Driver, Gpu, Limits, probe};

fn main() {
    println!("panics {}", if cfg!(panic = "abort") { "abort" } else { "unwind" });
    println!("{:?}", probe(None));
    match Driver::load(None).and_then(|driver| Gpu::open(&driver, 0)) {
        Err(error) => println!("no GPU: {error}"),
        Ok(gpu) => match Decoder::new(&gpu, Limits::DEFAULT) {
            Err(error) => println!("no decoder: {error}"),
            Ok(_) => println!("{} decodes", gpu.device().name),
        },
    }
}
