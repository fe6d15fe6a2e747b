//! The limit on file sizes, as batch systems set it.
#![allow(unsafe_code)]

/// Turns a write beyond the limit on file sizes (`ulimit -f`) into an error, like that of a full
/// disk: the signal would kill the process without a message. For whole programs; child processes
/// inherit it. Python does the same.
pub fn fail_at_size_limit() {
    // SAFETY: ignoring a signal installs no handler, and nothing else in this workspace handles it.
    #[cfg(unix)]
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}
