//! Tests of the decoder against libjpeg-turbo: one program, which is compiled once.

mod coefficients;
mod common;
mod damage;
mod exact;
mod mutations;
mod parts;
mod progressive;
#[path = "../../../jpeg/tests/jpeg/common/synthetic.rs"]
mod synthetic;
