//! Turns panics of a decoder into errors of the image.

use fdconvert_core::caught;
use std::any::Any;

/// Runs a decoder. The message of a panic goes into the error, and not to the terminal.
///
/// The state of an interrupted decoder must not affect the next image: buffers are overwritten, and
/// an instance of libjpeg is taken before use and put back afterwards.
pub(crate) fn guarded<T>(decode: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    caught(decode).unwrap_or_else(|panic| {
        Err(format!("its decoder fails, which is a fault of the decoder: {}", first_line(&*panic)))
    })
}

fn first_line(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.and_then(|text| text.lines().next()).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        let outcome: Result<(), _> = guarded(|| panic!("first\nsecond"));
        let what = outcome.unwrap_err();
        assert!(what.ends_with(": first"), "{what}");
        assert_eq!(guarded(|| Ok(1)), Ok(1));
    }
}
