//! Aligned memory, and the flag for reads that need it.

use bytes::Bytes;
use std::{fs::File, io, ops::Range, path::Path};

/// Alignment of addresses, offsets and lengths for O_DIRECT, in bytes. Disks with sectors of 512
/// bytes need less; none in use needs more.
pub const DIRECT_ALIGNMENT: usize = 4096;

/// The flag from `asm/fcntl.h` of the Linux architectures that differ, and from
/// `asm-generic/fcntl.h` for all others. `None` if it would be a guess, or if the system uses
/// another mechanism.
#[cfg(unix)]
const O_DIRECT: Option<i32> = if !cfg!(any(target_os = "linux", target_os = "android")) {
    None
} else if cfg!(any(target_arch = "arm", target_arch = "aarch64")) {
    Some(0o200_000)
} else if cfg!(any(target_arch = "powerpc", target_arch = "powerpc64")) {
    Some(0o400_000)
} else if cfg!(any(
    target_arch = "x86",
    target_arch = "x86_64",
    target_arch = "riscv64",
    target_arch = "s390x",
    target_arch = "loongarch64"
)) {
    Some(0o40_000)
} else {
    None
};

/// Opens with O_DIRECT and reads a block; the error is `None` if the flag does not exist.
#[cfg(unix)]
pub(super) fn open_direct(path: &Path) -> Result<File, Option<io::Error>> {
    use std::{
        fs::OpenOptions,
        os::unix::fs::{FileExt, OpenOptionsExt},
    };
    let flag = O_DIRECT.ok_or(None)?;
    let file = OpenOptions::new().read(true).custom_flags(flag).open(path).map_err(Some)?;
    let mut buffer = AlignedBuffer::new(DIRECT_ALIGNMENT);
    file.read_at(buffer.bytes_mut(), 0).map_err(Some)?;
    Ok(file)
}

#[cfg(not(unix))]
pub(super) fn open_direct(_path: &Path) -> Result<File, Option<io::Error>> {
    Err(None)
}

/// Aligned memory without unsafe code: an oversized vector with an aligned start inside.
#[derive(Debug)]
pub struct AlignedBuffer {
    memory: Vec<u8>,
    range: Range<usize>,
}

impl AlignedBuffer {
    /// Allocates zeroed memory for `len` bytes, rounded up to the alignment.
    #[must_use]
    pub fn new(len: usize) -> Self {
        let len = len.next_multiple_of(DIRECT_ALIGNMENT);
        let memory = vec![0_u8; len + DIRECT_ALIGNMENT];
        // The vector never grows, so its address stays. If the offset is unknown (`usize::MAX`),
        // reads fail and the caller falls back.
        let offset = memory.as_ptr().align_offset(DIRECT_ALIGNMENT);
        let offset = if offset < DIRECT_ALIGNMENT { offset } else { 0 };
        Self { memory, range: offset..offset + len }
    }

    /// Returns the whole buffer, from the aligned address on.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.memory.get_mut(self.range.clone()).unwrap_or_default()
    }

    /// A part of the buffer, without copying.
    pub(super) fn into_bytes(self, start: usize, len: usize) -> Bytes {
        let start = self.range.start + start;
        // The caller has filled that part.
        Bytes::from(self.memory).slice(start..start + len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_aligned_and_handed_over_in_place() {
        for len in [1, 4096, 4097, 1 << 20] {
            let mut buffer = AlignedBuffer::new(len);
            let address = buffer.bytes_mut().as_ptr();
            assert_eq!(address.align_offset(DIRECT_ALIGNMENT), 0);
            assert_eq!(buffer.bytes_mut().len(), len.next_multiple_of(DIRECT_ALIGNMENT));
            assert_eq!(buffer.into_bytes(0, len).as_ptr(), address);
        }
    }
}
