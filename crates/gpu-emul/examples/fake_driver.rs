//! Prints the path of the library that replaces the driver, for programs that read
//! `FDCONVERT_CUDA_LIB`.
#![allow(clippy::print_stdout, reason = "the answer")]

fn main() {
    println!("{}", fdconvert_gpu_emul::FakeDriver::path().display());
}
