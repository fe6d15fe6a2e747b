use super::*;
use crate::fault::Operation;

#[test]
fn large_files_arrive_whole() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x");
    let scratch = Scratch::open(&partial_path(&out)).unwrap();
    let block: Vec<u8> = (0..1 << 20).map(|i: u32| (i % 251) as u8).collect();
    for n in 0..80 {
        scratch.write_all_at(&block, n << 20).unwrap();
    }
    scratch.commit(&out, true).unwrap();
    let bytes = fs::read(&out).unwrap();
    assert_eq!(bytes.len(), 80 << 20);
    assert!(bytes.chunks_exact(1 << 20).all(|chunk| chunk == block));
}

#[test]
fn dropped_uncommitted_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x");
    let scratch = Scratch::open(&partial_path(&out)).unwrap();
    scratch.write_all_at(b"half", 0).unwrap();
    drop(scratch);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn left_behind_it_is_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let partial = partial_path(&folder.path().join("x"));
    let scratch = Scratch::open(&partial).unwrap();
    scratch.write_all_at(b"half", 0).unwrap();
    scratch.leave();
    assert_eq!(Scratch::open(&partial).unwrap().existing(), 4);
}

#[test]
fn two_runs_cannot_hold_the_same_one() {
    let folder = tempfile::tempdir().unwrap();
    let partial = partial_path(&folder.path().join("x"));
    let _held = Scratch::open(&partial).unwrap();
    assert!(matches!(Scratch::open(&partial), Err(Error::Usage { .. })));
}

#[test]
fn a_full_disk_is_an_error_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let full = io::ErrorKind::StorageFull;
    let _armed = fault::arm(folder.path(), Operation::Write, 10, full);
    let scratch = Scratch::open(&partial_path(&folder.path().join("x"))).unwrap();
    scratch.write_all_at(&[0; 10], 0).unwrap();
    assert!(scratch.write_all_at(&[0; 1], 10).is_err());
    drop(scratch);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn links_are_neither_followed_nor_written_through() {
    let folder = tempfile::tempdir().unwrap();
    let (victim, path) = (folder.path().join("victim"), folder.path().join("x.partial"));
    fs::write(&victim, b"precious").unwrap();
    let refused = || {
        for claimed in [false, true] {
            let opened = Scratch::start(&path, claimed);
            assert!(matches!(opened, Err(Error::Usage { .. })), "{opened:?}");
        }
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
    };
    os::symlink(&victim, &path).unwrap();
    refused();
    fs::remove_file(&path).unwrap();
    os::symlink(folder.path().join("missing"), &path).unwrap();
    refused();
    assert!(!folder.path().join("missing").exists());
    fs::remove_file(&path).unwrap();
    fs::hard_link(&victim, &path).unwrap();
    refused();
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    refused();
}

#[test]
fn bytes_without_a_claim_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.partial");
    fs::write(&path, b"precious").unwrap();
    assert!(matches!(Scratch::start(&path, false), Err(Error::Usage { .. })));
    drop(Scratch::open(&path).unwrap());
    assert_eq!(fs::read(&path).unwrap(), b"precious");
    drop(Scratch::start(&path, true).unwrap());
    assert!(!path.exists());
    fs::write(&path, b"").unwrap();
    drop(Scratch::start(&path, false).unwrap());
    assert!(!path.exists());
}

#[test]
fn what_has_the_name_by_now_is_not_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.partial");
    let scratch = Scratch::start(&path, false).unwrap();
    fs::rename(&path, folder.path().join("elsewhere")).unwrap();
    fs::write(&path, b"precious").unwrap();
    drop(scratch);
    assert_eq!(fs::read(&path).unwrap(), b"precious");
}

#[test]
fn a_name_that_was_taken_meanwhile_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x");
    let scratch = Scratch::start(&partial_path(&out), false).unwrap();
    scratch.write_all_at(b"ours", 0).unwrap();
    fs::write(&out, b"precious").unwrap();
    assert!(matches!(scratch.commit(&out, false), Err(Error::Usage { .. })));
    assert_eq!(fs::read(&out).unwrap(), b"precious");
    assert!(!partial_path(&out).exists());
}
