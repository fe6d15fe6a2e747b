//! Tests of the kernels and the host against libjpeg-turbo: one program, which is compiled once.

mod common;
mod cropped;
mod exact;
mod fractal;
mod host;
mod kernels;
mod nvjpeg;
mod resized;
mod rows;
mod stored;
#[path = "../../../jpeg/tests/jpeg/common/synthetic.rs"]
mod synthetic;
