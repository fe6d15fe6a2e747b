//! A limit on the size of files, as batch systems set it.
#![allow(unsafe_code)]

/// Makes a write beyond the limit on the size of files (`ulimit -f`) an error, as that on a full disk
/// is: the signal would end the process without a word. For whole programs; what they start inherits
/// it. Python does the same.
pub fn fail_at_size_limit() {
    // SAFETY: To ignore a signal installs no handler, and no other handler of ours is for it.
    #[cfg(target_os = "linux")]
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}
