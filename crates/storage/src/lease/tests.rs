//! Leases as several workers see them, each with a value of its own for the folder.
use super::{
    Leases as _,
    files::{self, LeaseFolder},
    publish::publish,
};
use std::{
    fs::{self, File},
    path::Path,
    sync::Barrier,
    thread,
    time::Duration,
};

const LASTS: Duration = Duration::from_secs(60);

fn open(root: &Path) -> LeaseFolder {
    LeaseFolder::open(&root.join("leases"), LASTS).unwrap()
}

/// Lets a lease, which was just written, be as old as one that was not renewed for so long.
fn age(root: &Path, file: &str, age: Duration) {
    let file = File::options().write(true).open(root.join("leases").join(file)).unwrap();
    let now = file.metadata().unwrap().modified().unwrap();
    file.set_modified(now - age).unwrap();
}

/// Lets eight workers do the same at the same time, and counts those that got a lease.
fn race(root: &Path, take: impl Fn(&LeaseFolder) -> bool + Sync) -> usize {
    let barrier = Barrier::new(8);
    thread::scope(|scope| {
        let one = || {
            let folder = open(root);
            barrier.wait();
            take(&folder)
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(one)).collect();
        threads.into_iter().filter_map(|it| it.join().ok()).filter(|got| *got).count()
    })
}

#[test]
fn one_of_many_gets_a_lease_and_one_of_many_takes_it_over() {
    let root = tempfile::tempdir().unwrap();
    let name = |number: usize| format!("shard-{number}");
    for number in 0..50 {
        let name = name(number);
        let got = race(root.path(), |folder| folder.create(&name).unwrap().is_some());
        assert_eq!(got, 1);
        let seen = open(root.path()).look(&name).unwrap().unwrap();
        assert!(!seen.is_stale() && seen.lasts == LASTS && seen.id.is_some());
        age(root.path(), &format!("{name}.1.lease"), LASTS * 2);
        let got = race(root.path(), |folder| {
            let seen = folder.look(&name).unwrap();
            let stale = seen.filter(super::Seen::is_stale);
            stale.is_some_and(|seen| folder.take_over(&seen).unwrap().is_some())
        });
        assert_eq!(got, 1);
        assert_eq!(open(root.path()).look(&name).unwrap().unwrap().generation, 2);
    }
}

#[test]
fn a_worker_that_was_taken_over_can_neither_renew_nor_publish_nor_begin_again() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    fs::create_dir(&out).unwrap();
    let (first, second) = (open(root.path()), open(root.path()));
    let lease = first.create("shard-0").unwrap().unwrap();
    let shard = first.place(&lease).unwrap().unwrap();
    fs::create_dir(&shard).unwrap();
    fs::write(shard.join("a.tar"), b"of the first").unwrap();
    assert!(first.renew(&lease).unwrap());
    let held = second.look("shard-0").unwrap().unwrap();
    assert!(!held.is_stale());
    age(root.path(), "shard-0.1.lease", LASTS * 2);
    let stale = second.look("shard-0").unwrap().unwrap();
    assert!(stale.is_stale());
    let taken = second.take_over(&stale).unwrap().unwrap();

    assert!(!first.renew(&lease).unwrap());
    assert!(publish(&shard, &out, [7; 16], false, || Ok(())).is_err());
    assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
    // A format makes the folder of a shard, and none above it.
    assert!(fs::create_dir(&shard).is_err());
    assert!(first.place(&lease).unwrap().is_none());
    first.release(&lease).unwrap();
    assert!(second.renew(&taken).unwrap(), "the first has released what is the second's");
    // The same lease is not taken over twice.
    assert!(first.take_over(&stale).unwrap().is_none());
    second.release(&taken).unwrap();
    // By what was seen of a lease that is gone, nothing is taken over either.
    assert!(first.take_over(&stale).unwrap().is_none());
    assert!(first.list().unwrap().unwrap().leased.is_empty());
}

#[test]
fn renewing_counts_by_the_clock_of_the_file_system() {
    let root = tempfile::tempdir().unwrap();
    let folder = open(root.path());
    let lease = folder.create("shard-0").unwrap().unwrap();
    age(root.path(), "shard-0.1.lease", LASTS * 2);
    assert!(folder.look("shard-0").unwrap().unwrap().is_stale());
    assert!(folder.renew(&lease).unwrap());
    assert!(!folder.look("shard-0").unwrap().unwrap().is_stale());
    // A worker that was killed before it could write its name.
    fs::write(root.path().join("leases/shard-1.1.lease"), b"fdconvert lea").unwrap();
    let torn = folder.look("shard-1").unwrap().unwrap();
    assert_eq!((torn.id.as_ref(), torn.lasts, torn.is_stale()), (None, LASTS, false));
    age(root.path(), "shard-1.1.lease", LASTS * 2);
    let torn = folder.look("shard-1").unwrap().unwrap();
    assert!(folder.take_over(&torn).unwrap().is_some());
}

#[test]
fn work_that_is_done_is_not_leased_again_and_what_others_left_stays() {
    let root = tempfile::tempdir().unwrap();
    let folder = open(root.path());
    let lease = folder.create("shard-0").unwrap().unwrap();
    folder.begin(&lease.name).unwrap();
    folder.finish(&lease, b"three samples").unwrap();
    folder.release(&lease).unwrap();
    assert!(folder.create("shard-0").unwrap().is_none());
    assert_eq!(folder.outcome("shard-0").unwrap().unwrap(), b"three samples");
    assert!(folder.has_begun("shard-0").unwrap());
    let path = root.path().join("leases");
    fs::write(path.join("notes.txt"), b"precious").unwrap();
    files::clear(&path).unwrap();
    drop(folder);
    let left: Vec<_> = fs::read_dir(&path).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["notes.txt"]);
}

#[test]
fn files_in_the_way_are_refused_unless_a_worker_before_has_begun() {
    let root = tempfile::tempdir().unwrap();
    let (shard, out) = (root.path().join("shard"), root.path().join("out"));
    let make = || {
        fs::create_dir_all(shard.join(".fdconvert")).unwrap();
        fs::write(shard.join("a.tar"), b"new").unwrap();
        fs::write(shard.join(".fdconvert/a.json"), b"{}").unwrap();
    };
    make();
    fs::create_dir(&out).unwrap();
    fs::write(out.join("a.tar"), b"precious").unwrap();
    let begun = std::cell::Cell::new(false);
    let begin = || {
        begun.set(true);
        Ok(())
    };
    assert!(publish(&shard, &out, [7; 16], false, begin).is_err());
    assert!(!begun.get());
    assert_eq!(fs::read(out.join("a.tar")).unwrap(), b"precious");
    assert_eq!(fs::read(shard.join("a.tar")).unwrap(), b"new");
    publish(&shard, &out, [7; 16], true, begin).unwrap();
    assert!(begun.get());
    assert_eq!(fs::read(out.join("a.tar")).unwrap(), b"new");
    assert!(out.join(".fdconvert/a.json").exists());
}
