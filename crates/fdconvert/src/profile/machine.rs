//! The machine of a profile, as far as the system describes it.
use fdconvert_profile::MeasuredOn;
use std::{
    env, fs,
    path::{Path, PathBuf},
    thread,
};

/// Returns the current machine, for reports: its system, its processors, the file system below
/// `target`, and the command line.
#[must_use]
pub fn measured_on(target: &Path, command: &str) -> MeasuredOn {
    MeasuredOn {
        system: format!("{} {}", env::consts::OS, env::consts::ARCH),
        processor: fs::read_to_string("/proc/cpuinfo").ok().as_deref().and_then(processor),
        n_cpus: thread::available_parallelism().map_or(1, |n| n.get() as u64),
        disk: fs::read_to_string("/proc/self/mounts").ok().and_then(|mounts| {
            let target = fs::canonicalize(target).ok()?;
            disk(&mounts, &target)
        }),
        command: command.to_owned(),
    }
}

/// Returns the model in Linux's description of the processors.
fn processor(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    let (_, name) = line.split_once(':')?;
    Some(name.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Returns the file system below a path, from Linux's list of mounts: the longest one above it, and
/// of equal ones the last, which hides the others.
fn disk(mounts: &str, target: &Path) -> Option<String> {
    let mounts = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (device, at, kind) = (words.next()?, words.next()?, words.next()?);
        // Spaces in names are escaped in the list.
        let at = PathBuf::from(at.replace(r"\040", " "));
        target.starts_with(&at).then(|| (at.components().count(), format!("{kind} on {device}")))
    });
    mounts.max_by_key(|(depth, _)| *depth).map(|(_, disk)| disk)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_system_is_the_one_that_is_mounted_nearest() {
        let mounts = "/dev/sda1 / ext4 rw 0 0\n/dev/sdb /data xfs rw 0 0\n\
                      tmpfs /data/my\\040disk tmpfs rw 0 0\n/dev/sdc /data xfs rw 0 0\n";
        let of = |path: &str| disk(mounts, Path::new(path));
        assert_eq!(of("/data/x").as_deref(), Some("xfs on /dev/sdc"));
        assert_eq!(of("/data/my disk/y").as_deref(), Some("tmpfs on tmpfs"));
        assert_eq!(of("/database").as_deref(), Some("ext4 on /dev/sda1"));
        assert_eq!(of("relative"), None);
        let cpuinfo = "processor : 0\nmodel name\t: Fast  CPU @ 2 GHz\n";
        assert_eq!(processor(cpuinfo).as_deref(), Some("Fast CPU @ 2 GHz"));
    }
}
