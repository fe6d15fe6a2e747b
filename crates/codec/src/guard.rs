//! Turns panics of a decoder into errors of the image.

use fdconvert_core::{caught, panic_message};

/// Runs a decoder. The message of a panic goes into the error, and not to the terminal.
///
/// The state of an interrupted decoder must not affect the next image: buffers are overwritten, and
/// an instance of libjpeg is taken before use and put back afterwards.
pub(crate) fn guarded<T>(decode: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    caught(decode).unwrap_or_else(|panic| Err(fault(panic_message(&*panic).unwrap_or_default())))
}

/// As [`guarded`], for a decoder whose panics would end the process.
#[cfg(feature = "avif")]
pub(crate) fn confined<T: Send + 'static>(
    decode: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    fdconvert_core::confined(decode).unwrap_or_else(|message| Err(fault(&message)))
}

fn fault(message: &str) -> String {
    let message = message.lines().next().unwrap_or("no message");
    format!("its decoder fails, which is a fault of the decoder: {message}")
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
