//! What there is to decode with, as `fdconvert gpu probe` finds it: also a test that machines
//! without a driver, a library or a GPU are told so, in programs in which a panic is the end.
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
