//! Prints where the library is that takes the place of the driver, for programs that are told by
//! `FDCONVERT_CUDA_LIB`.
#![allow(clippy::print_stdout, reason = "the answer")]

fn main() {
    println!("{}", fdconvert_gpu_emul::FakeDriver::path().display());
}
