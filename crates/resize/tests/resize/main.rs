//! The tests of the crate, outside of it for the reason in its documentation.

#[allow(dead_code, reason = "a private part, tested by itself")]
#[path = "../../src/axis.rs"]
mod axis;
mod oracle;
mod resizer;
mod spans;
mod stretcher;
