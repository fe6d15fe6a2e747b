//! Converts panics in libraries to errors.
use std::{
    any::Any,
    cell::{Cell, RefCell},
    panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook},
    sync::{
        Once,
        atomic::{AtomicUsize, Ordering},
        mpsc::sync_channel,
    },
    thread,
};

/// Receives the message of a panic.
type Tell = Box<dyn FnOnce(String)>;

thread_local! {
    /// True while panics of this thread are caught.
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
    /// Set in a thread that must not unwind.
    static CONFINED: RefCell<Option<Tell>> = const { RefCell::new(None) };
}

/// Stack of a thread that must not unwind: decoders compiled without optimization need much.
const STACK_BYTES: usize = 16 << 20;
/// Limit of threads that stand still after a panic.
const MAX_STILL: usize = 64;
static N_STILL: AtomicUsize = AtomicUsize::new(0);

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

/// Runs code of a library whose panics cannot be caught: in a function of the C ABI the standard
/// library ends the process before anything unwinds out of it. It runs in a thread of its own, which
/// after a panic stands still for ever, with its memory, inside the panic hook. After 64 panics nothing
/// is run any more.
///
/// Two things follow from the hook, and are the price of a process that continues:
///
/// - From the first such panic on, `std::panic::set_hook` and `take_hook` wait for ever, since the
///   standard library holds their lock while a hook runs. Nothing here calls them after that.
/// - Where a program sets a hook of its own after the first call, such a panic ends the process.
///
/// Memory that the system refuses and an overflow of the stack are no panics, and end the process as
/// everywhere; what runs here has to be limited in size.
///
/// # Errors
/// The message of the panic, or why no thread can be started.
pub fn confined<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
    quieten();
    if N_STILL.load(Ordering::Relaxed) >= MAX_STILL {
        return Err(format!("it failed {MAX_STILL} times in this process, and is not run again"));
    }
    let (send, receive) = sync_channel(1);
    let work = move || {
        let told = send.clone();
        CONFINED.set(Some(Box::new(move |message| drop(told.send(Err(message))))));
        drop(send.send(Ok(run())));
    };
    let thread = thread::Builder::new().name("confined".into()).stack_size(STACK_BYTES);
    let thread =
        thread.spawn(work).map_err(|error| format!("no thread can be started: {error}"))?;
    let outcome = receive.recv().unwrap_or_else(|_| Err("its thread ended early".into()));
    if outcome.is_ok() {
        // What it does after sending is to end.
        drop(thread.join());
    }
    outcome
}

/// Ends the work of a confined thread at a panic, without unwinding.
fn stand_still(panic: &PanicHookInfo<'_>) {
    let tell = CONFINED.try_with(|tell| tell.try_borrow_mut().ok()?.take());
    let Some(tell) = tell.ok().flatten() else { return };
    N_STILL.fetch_add(1, Ordering::Relaxed);
    tell(panic_message(panic.payload()).unwrap_or("no message").to_owned());
    loop {
        thread::park();
    }
}

/// Returns the text of a panic; `None` if it has another payload.
#[must_use]
pub fn panic_message(payload: &(dyn Any + Send)) -> Option<&str> {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
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
            stand_still(panic);
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
