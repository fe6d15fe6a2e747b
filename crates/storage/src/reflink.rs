//! The request by which a file shares blocks with another one, `FICLONERANGE`. rustix has the one
//! for whole files only.
#![allow(unsafe_code)]
use std::{fs::File, io};

/// Lets the bytes of `out` from `offset` on share the blocks of the first `len` bytes of `source`.
/// The system refuses what is not whole blocks.
///
/// # Errors
/// Those of the system: the file system cannot, the files lie on different ones, or `len` or
/// `offset` is not a multiple of its block size.
#[cfg(target_os = "linux")]
pub(crate) fn clone_range(source: &File, out: &File, len: u64, offset: u64) -> io::Result<()> {
    use rustix::ioctl::{Opcode, Setter, ioctl, opcode};
    use std::os::fd::AsRawFd;

    /// `struct file_clone_range` of `linux/fs.h`.
    #[repr(C)]
    struct FileCloneRange {
        source_fd: i64,
        source_offset: u64,
        source_len: u64,
        out_offset: u64,
    }
    const FICLONERANGE: Opcode = opcode::write::<FileCloneRange>(0x94, 13);

    let range = FileCloneRange {
        source_fd: i64::from(source.as_raw_fd()),
        source_offset: 0,
        source_len: len,
        out_offset: offset,
    };
    // SAFETY: `linux/fs.h` defines this request as `_IOW(0x94, 13, struct file_clone_range)`, and
    // the type above has the fields of that one in their order and widths. The kernel reads it
    // during the call and writes to no memory of this process. Both descriptors are open while it
    // lasts, as the files are borrowed.
    unsafe { ioctl(out, Setter::<FICLONERANGE, FileCloneRange>::new(range)) }?;
    Ok(())
}

/// Other systems have no such request.
#[cfg(not(target_os = "linux"))]
pub(crate) fn clone_range(_: &File, _: &File, _: u64, _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
