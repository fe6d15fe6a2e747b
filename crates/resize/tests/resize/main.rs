//! The tests of the crate, outside of it: see its documentation.

#[allow(dead_code, reason = "a private part, looked at by itself")]
#[path = "../../src/axis.rs"]
mod axis;
mod oracle;
mod resizer;
mod spans;
mod stretcher;
