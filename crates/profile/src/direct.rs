//! Reading past the page cache, and noticing where that is not what happens.

use fdconvert_core::{Error, Result};
use std::{
    fs::{self, File, OpenOptions},
    io,
    ops::Range,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
};

/// What O_DIRECT asks of addresses, offsets and lengths. Disks with sectors of 512 bytes ask for
/// less; none in use asks for more.
pub(crate) const ALIGNMENT: usize = 4096;

/// The flag in `asm/fcntl.h` of the Linux architectures that differ, and in
/// `asm-generic/fcntl.h` for all others. `None` where it would be a guess, or where the system has
/// another way altogether.
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

/// Linux and the BSDs agree on this number.
const EINVAL: i32 = 22;

/// A file to read, directly if that worked.
pub(crate) struct Opened {
    pub(crate) file: File,
    pub(crate) bytes: u64,
    /// Why reads come from the page cache, or from memory altogether.
    pub(crate) cached_because: Option<String>,
}

/// Opens for reading with O_DIRECT, and proves with one read that it works: some file systems
/// accept the flag and refuse the read.
pub(crate) fn open(path: &Path) -> Result<Opened> {
    let plain = || File::open(path).map_err(Error::io("open", path));
    let (file, refused) = match open_direct(path) {
        Ok(file) => (file, None),
        Err(None) => (plain()?, Some("this system has no O_DIRECT".to_string())),
        Err(Some(error)) if error.raw_os_error() == Some(EINVAL) => {
            (plain()?, Some(format!("the file system refuses O_DIRECT: {error}")))
        }
        Err(Some(error)) => return Err(Error::io("open", path)(error)),
    };
    let bytes = file.metadata().map_err(Error::io("examine", path))?.len();
    let in_memory = memory_file_system(path)
        .map(|name| format!("{name} keeps files in memory, so O_DIRECT changes nothing"));
    Ok(Opened { file, bytes, cached_because: in_memory.or(refused) })
}

/// The error is `None` where there is no such flag.
fn open_direct(path: &Path) -> Result<File, Option<io::Error>> {
    let flag = O_DIRECT.ok_or(None)?;
    let file = OpenOptions::new().read(true).custom_flags(flag).open(path).map_err(Some)?;
    let mut buffer = Aligned::new(ALIGNMENT);
    file.read_at(buffer.bytes(), 0).map_err(Some)?;
    Ok(file)
}

/// Memory at an aligned address, without unsafe code: enough of it to begin where it suits.
pub(crate) struct Aligned {
    memory: Vec<u8>,
    range: Range<usize>,
}

impl Aligned {
    /// `len` is rounded up to the alignment.
    pub(crate) fn new(len: usize) -> Self {
        let len = len.next_multiple_of(ALIGNMENT);
        let memory = vec![0_u8; len + ALIGNMENT];
        // The vector never grows, so its address stays. Where the offset is unknown
        // (`usize::MAX`), the reads are refused and the caller falls back.
        let offset = memory.as_ptr().align_offset(ALIGNMENT);
        let offset = if offset < ALIGNMENT { offset } else { 0 };
        Self { memory, range: offset..offset + len }
    }

    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory[self.range.clone()]
    }
}

/// The name of the file system if it has no disk below it. Recent Linux accepts O_DIRECT there and
/// reads from memory all the same.
fn memory_file_system(path: &Path) -> Option<String> {
    let path = fs::canonicalize(path).ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let name = file_system(&mounts, &path)?;
    matches!(name, "tmpfs" | "ramfs" | "hugetlbfs").then(|| name.to_string())
}

/// The file system of a path, by a table in the form of `/proc/self/mountinfo`: the longest mount
/// point that the path starts with, and of equals the last, which covers the others.
fn file_system<'a>(mounts: &'a str, path: &Path) -> Option<&'a str> {
    let of_line = |line: &'a str| {
        let (mount, file_system) = line.split_once(" - ")?;
        // Blanks in names are written as octal escapes; others do not occur in practice.
        let point = mount.split(' ').nth(4)?.replace("\\040", " ");
        let below = path.starts_with(&point);
        below.then_some((point.len(), file_system.split(' ').next()?))
    };
    mounts.lines().filter_map(of_line).max_by_key(|(length, _)| *length).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_aligned() {
        for len in [1, 4096, 4097, 1 << 20] {
            let mut buffer = Aligned::new(len);
            assert_eq!(buffer.bytes().as_ptr().align_offset(ALIGNMENT), 0);
            assert_eq!(buffer.bytes().len(), len.next_multiple_of(ALIGNMENT));
        }
    }

    #[test]
    fn longest_and_last_mount_counts() {
        let mounts = "\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
23 22 0:5 / /dev rw - devtmpfs dev rw
24 23 0:6 / /dev/shm rw shared:4 - tmpfs tmpfs rw
25 22 0:7 / /mnt/a\\040b rw - xfs /dev/vdb rw
26 22 0:8 / /mnt/a\\040b rw - tmpfs tmpfs rw
no mount at all";
        let check = |path: &str| file_system(mounts, Path::new(path));
        assert_eq!(check("/home/x"), Some("ext4"));
        assert_eq!(check("/dev/shm/x"), Some("tmpfs"));
        assert_eq!(check("/dev/shmx"), Some("devtmpfs"));
        assert_eq!(check("/mnt/a b/c"), Some("tmpfs"));
        assert_eq!(file_system("", Path::new("/")), None);
    }
}
