//! How the allocator of the C library treats memory that is free.

/// Lets memory that is freed stay with the process, up to 256 MiB, to be used again. By default it
/// goes back to the system in small portions, and comes again page by page: a sixth of the time of
/// packing into Parquet files (`benches/README.md`).
///
/// For programs at their start; a library leaves that to the program that it is in. Does nothing
/// where the C library is not glibc.
pub fn keep_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[allow(unsafe_code)]
    // SAFETY: both set a number of the allocator, under its lock. What it refuses stays as it was.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, 256 << 20);
        // By default it grows with what is freed, which setting the other one ends.
        libc::mallopt(libc::M_MMAP_THRESHOLD, 4 << 20);
    }
}
