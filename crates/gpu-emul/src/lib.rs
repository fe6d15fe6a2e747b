//! The kernels of `fdconvert-gpu` on the CPU: for tests only, never published.
//!
//! The same sources that become PTX are compiled by a C++ compiler. [`decode`] runs them over a
//! whole batch, thread after thread, and what comes out has to be what a GPU gives, bit for bit:
//! the kernels compute with integers, and with floating point whose roundings are spelt out.
//! [`FakeDriver`] is a library in the place of the driver that runs them too, so that the host's
//! part of `fdconvert-gpu` is tested without a GPU, failures of the driver included. [`FakeNvJpeg`]
//! is one in the place of nvJPEG.

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
