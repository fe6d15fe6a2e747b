//! Bandwidth of files, the fallback in memory, and the throttle.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fdconvert_core::Error;
use fdconvert_profile::{Pattern, ReadPlan, Target, Throttle, measure_read};
use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

const MIB: u64 = 1 << 20;

fn plan(request_bytes: usize, fetch_threads: usize, max_bytes: u64) -> ReadPlan {
    ReadPlan { request_bytes, fetch_threads, max_bytes, max_seconds: 60.0, ..ReadPlan::default() }
}

fn never() -> bool {
    false
}

#[test]
fn scratch_is_read_and_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let target = Target::Scratch { folder: folder.path().into(), bytes: 3 * MIB + 5 };
    for pattern in [Pattern::Sequential, Pattern::Random] {
        let plan = ReadPlan { pattern, ..plan(1 << 16, 3, 2 * MIB) };
        let bandwidth = measure_read(&target, &plan, None, &never).unwrap();
        assert_eq!(bandwidth.requests, 32);
        assert!(bandwidth.bytes <= 2 * MIB && bandwidth.bytes > MIB, "{bandwidth:?}");
        assert!(bandwidth.bytes_per_s > 0.0);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn files_are_read_to_their_ends_and_again() {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<_> = [10_000_usize, 0, 4096]
        .map(|len| {
            let path = folder.path().join(len.to_string());
            fs::write(&path, vec![7; len]).unwrap();
            path
        })
        .into();
    let files = Target::Files(paths);
    let once = measure_read(&files, &plan(4096, 1, 4 * 4096), None, &never).unwrap();
    assert_eq!((once.bytes, once.requests), (14_096, 4));
    let twice = measure_read(&files, &plan(4000, 4, 8 * 4096), None, &never).unwrap();
    assert_eq!((twice.bytes, twice.requests), (28_192, 8));
    assert_eq!(twice.plan.request_bytes, 4096);
}

#[test]
fn errors_name_what_is_wrong() {
    let absent = Target::Files(vec!["/absent/file".into()]);
    let error = measure_read(&absent, &ReadPlan::default(), None, &never).unwrap_err();
    assert!(error.to_string().contains("/absent/file"), "{error}");
    let none = Target::Files(Vec::new());
    let error = measure_read(&none, &ReadPlan::default(), None, &never).unwrap_err();
    assert!(error.to_string().contains("no bytes"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let target = Target::Scratch { folder: folder.path().into(), bytes: MIB };
    let error = measure_read(&target, &ReadPlan::default(), None, &|| true).unwrap_err();
    assert!(matches!(error, Error::Cancelled));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Recent Linux accepts O_DIRECT in memory, older Linux refuses it: both must be reported.
#[test]
fn files_in_memory_are_said_to_be() {
    let memory = Path::new("/dev/shm");
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    if !mounts.contains(" /dev/shm ") {
        eprintln!("skipped: there is no file system in memory at /dev/shm");
        return;
    }
    let folder = tempfile::tempdir_in(memory).unwrap();
    let target = Target::Scratch { folder: folder.path().into(), bytes: MIB };
    let bandwidth = measure_read(&target, &plan(1 << 16, 2, MIB), None, &never).unwrap();
    let why = bandwidth.cached_because.unwrap();
    assert!(why.contains("tmpfs") || why.contains("O_DIRECT"), "{why}");
    assert_eq!(bandwidth.bytes, MIB);
}

/// The files of sysfs claim a page each and refuse O_DIRECT when opened.
#[test]
fn refusal_falls_back_and_says_so() {
    let path = Path::new("/sys/kernel/uevent_seqnum");
    if !path.exists() {
        eprintln!("skipped: there is no {}", path.display());
        return;
    }
    let target = Target::Files(vec![path.into()]);
    let bandwidth = measure_read(&target, &plan(4096, 1, 4096), None, &never).unwrap();
    let why = bandwidth.cached_because.unwrap();
    assert!(why.contains("refuses O_DIRECT") || why.contains("no O_DIRECT"), "{why}");
    assert!(bandwidth.bytes > 0);
}

#[test]
fn throttle_reserves_exactly() {
    let throttle = Throttle::new(1e6).unwrap();
    let start = Instant::now();
    let ms = Duration::from_millis;
    assert_eq!(throttle.reserve(100_000, start), ms(100));
    assert_eq!(throttle.reserve(100_000, start), ms(200));
    assert_eq!(throttle.reserve(0, start + ms(150)), ms(50));
    // A pause does not accumulate credit beyond a small burst.
    let later = start + ms(10_000);
    assert_eq!(throttle.reserve(100_000, later), ms(80));
    assert!(throttle.reserve(u64::MAX, later) > ms(1_000_000));
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(Throttle::new(rate).is_none());
    }
}

#[test]
fn throttle_holds_over_threads_and_in_reading() {
    // Never faster; slower on a busy machine, but not every time.
    let taken = || {
        let throttle = Throttle::new(20e6).unwrap();
        let start = Instant::now();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..25).for_each(|_| throttle.take(100_000)));
            }
        });
        let seconds = start.elapsed().as_secs_f64();
        assert!(seconds >= 0.49, "10 MB at 20 MB/s took {seconds} s");
        seconds
    };
    assert!((0..10).any(|_| taken() < 1.5), "10 MB at 20 MB/s took longer each time");

    let folder = tempfile::tempdir().unwrap();
    let target = Target::Scratch { folder: folder.path().into(), bytes: 4 * MIB };
    let plan = plan(1 << 16, 4, 4 * MIB);
    let share = || {
        let throttle = Throttle::new(8e6).unwrap();
        let bandwidth = measure_read(&target, &plan, Some(&throttle), &never).unwrap();
        assert!(bandwidth.bytes_per_s < 1.05 * 8e6, "{} B/s", bandwidth.bytes_per_s);
        bandwidth.bytes_per_s / 8e6
    };
    assert!((0..10).any(|_| share() >= 0.3), "the throttle lets less through each time");
}
