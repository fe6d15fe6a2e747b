//! Converts panics in libraries to errors.
use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook},
    sync::Once,
    thread,
};

thread_local! {
    /// True while panics of this thread are caught.
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Runs code that may panic, converts the panic to an error, and prints no message. Panics of other
/// threads are reported as usual.
///
/// After a panic, nothing may rely on state that `run` was changing.
///
/// # Errors
/// The payload of the panic.
pub fn caught<T>(run: impl FnOnce() -> T) -> thread::Result<T> {
    quieten();
    let outer = CAUGHT.replace(true);
    let result = catch_unwind(AssertUnwindSafe(run));
    CAUGHT.set(outer);
    result
}

/// Installs a hook in front of the existing panic hook, once, and passes all other panics on.
fn quieten() {
    static ONCE: Once = Once::new();
    // A panicking thread cannot change the hook; the next call will.
    if ONCE.is_completed() || thread::panicking() {
        return;
    }
    ONCE.call_once(|| {
        let report = take_hook();
        set_hook(Box::new(move |panic| {
            if !CAUGHT.try_with(Cell::get).unwrap_or(false) {
                report(panic);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_result_and_the_mark_is_taken_away() {
        let outcome: thread::Result<()> = caught(|| panic!("first"));
        assert!(outcome.is_err_and(|panic| panic.downcast_ref() == Some(&"first")));
        assert!(!CAUGHT.get());
        assert!(caught(|| CAUGHT.get()).is_ok_and(|marked| marked));
    }
}
