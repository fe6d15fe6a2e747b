//! A panic in a decoder is an error of the image that it was given.

use fdconvert_core::caught;
use std::any::Any;

/// Runs a decoder. The message of a panic is in the error, and not on the terminal.
///
/// What a decoder was in the middle of must not matter to the next image: buffers are overwritten,
/// and an instance of libjpeg is taken before it works and put back when it is done.
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
