//! Finds the file system of a path.

use std::{fs, path::Path};

/// The name of the file system if it has no disk below it. Recent Linux accepts O_DIRECT there, but
/// still reads from memory.
pub(super) fn memory_file_system(path: &Path) -> Option<String> {
    let path = fs::canonicalize(path).ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let name = file_system(&mounts, &path)?;
    matches!(name, "tmpfs" | "ramfs" | "hugetlbfs").then(|| name.to_string())
}

/// The file system of a path, from a table in the format of `/proc/self/mountinfo`: that of the
/// longest mount point above the path; of equal ones the last, which covers the others.
fn file_system<'a>(mounts: &'a str, path: &Path) -> Option<&'a str> {
    let of_line = |line: &'a str| {
        let (mount, file_system) = line.split_once(" - ")?;
        // Blanks in names are written as octal escapes; other escapes do not occur in practice.
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
