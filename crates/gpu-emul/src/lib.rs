//! The kernels of `fdconvert-gpu` on the CPU: for tests only, never published.
//!
//! A C++ compiler compiles the sources that otherwise become PTX. [`decode`] runs them over a whole
//! batch, thread after thread, and the result must equal that of a GPU, bit for bit: the kernels
//! use integers, and floating point with explicit rounding. [`FakeDriver`] is a library that
//! replaces the driver and also runs the kernels, so that the host's part of `fdconvert-gpu` is
//! tested without a GPU, including failures of the driver. [`FakeNvJpeg`] replaces nvJPEG.

mod decode;
mod fake;
mod fake_nvjpeg;
mod fractal;
mod kernels;

pub use decode::{Decoded, decode};
pub use fake::{Counters, FakeDriver, FakeMachine};
pub use fake_nvjpeg::{FakeDecode, FakeNvJpeg, LibraryCounters};
pub use fractal::{Drawn, draw};
pub use kernels::{divided_255, layout_in_cpp, layout_in_rust, threads_in_cpp, to_bf16, to_f16};
