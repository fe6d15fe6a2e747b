//! A panic in a decoder is an error of the image that it was given.

use std::{
    any::Any,
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook},
    sync::Once,
};

thread_local! {
    /// This thread is in a decoder: what it panics with becomes an error.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs a decoder. The message of a panic is in the error, and not on the terminal.
///
/// What a decoder was in the middle of must not matter to the next image: buffers are overwritten,
/// and an instance of libjpeg is taken before it works and put back when it is done.
pub(crate) fn guarded<T>(decode: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    quieten();
    let outer = GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(decode));
    GUARDED.set(outer);
    result.unwrap_or_else(|panic| {
        Err(format!("its decoder fails, which is a fault of the decoder: {}", first_line(&*panic)))
    })
}

/// Puts a hook in front of the one that reports panics, once: it passes on all others.
fn quieten() {
    static ONCE: Once = Once::new();
    // A thread that is panicking cannot change the hook; the next image does.
    if ONCE.is_completed() || std::thread::panicking() {
        return;
    }
    ONCE.call_once(|| {
        let report = take_hook();
        set_hook(Box::new(move |panic| {
            if !GUARDED.try_with(Cell::get).unwrap_or(false) {
                report(panic);
            }
        }));
    });
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
    fn a_panic_is_an_error_and_the_guard_is_taken_away() {
        let outcome: Result<(), _> = guarded(|| panic!("first\nsecond"));
        let what = outcome.unwrap_err();
        assert!(what.ends_with(": first"), "{what}");
        assert!(!GUARDED.get());
        assert_eq!(guarded(|| Ok(1)), Ok(1));
    }
}
