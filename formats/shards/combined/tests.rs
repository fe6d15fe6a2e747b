#![allow(clippy::unwrap_used, reason = "tests")]
use super::*;
use crate::index::HEADER_MAGIC;
use fdconvert_core::Error;
use fdconvert_storage::{fault, partial_path};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Creates files that begin like index blocks, of various lengths.
fn indexes(folder: &Path, n: usize) -> Vec<PathBuf> {
    let path = |number: usize| {
        let path = folder.join(format!("{number:02}.fdx"));
        let rest = (0..number).map(|byte| (byte + number) as u8 | 1);
        fs::write(&path, HEADER_MAGIC.into_iter().chain(rest).collect::<Vec<_>>()).unwrap();
        path
    };
    (0..n).map(path).collect()
}

fn made(folder: &Path, indexes: &[PathBuf]) -> Combined {
    write(folder, indexes, [0; 16], false).unwrap().unwrap()
}

fn is_sound(folder: &Path, combined: &Combined, indexes: &[PathBuf]) -> bool {
    verify("toy", &folder.join(&combined.name), combined, indexes).is_empty()
}

#[test]
fn blocks_follow_each_other_at_multiples_of_8() {
    let folder = tempfile::tempdir().unwrap();
    let indexes = indexes(folder.path(), MOST_APART + 1);
    let combined = made(folder.path(), &indexes);
    let lengths: Vec<u64> = (0..=MOST_APART as u64).map(|number| 8 + number).collect();
    assert_eq!(combined, Combined { name: "fdconvert.fdxs".into(), lengths, blocks: None });
    let bytes = fs::read(folder.path().join(NAME)).unwrap();
    let mut wanted = Vec::new();
    for index in &indexes {
        wanted.extend(fs::read(index).unwrap());
        wanted.resize(wanted.len().next_multiple_of(8), 0);
    }
    assert_eq!(bytes, wanted);
    assert!(is_sound(folder.path(), &combined, &indexes));
}

#[test]
fn every_damaged_byte_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let indexes = indexes(folder.path(), MOST_APART + 1);
    let combined = made(folder.path(), &indexes);
    let path = folder.path().join(NAME);
    let whole = fs::read(&path).unwrap();
    let is_noticed = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        !is_sound(folder.path(), &combined, &indexes)
    };
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 8);
        assert!(is_noticed(&flipped), "byte {at}");
    }
    for len in [0, 1, whole.len() / 2, whole.len() - 1] {
        assert!(is_noticed(&whole[..len]), "cut at {len}");
    }
    assert!(is_noticed(&[&whole[..], &[0]].concat()));
    assert!(!is_noticed(&whole));
    fs::remove_file(&path).unwrap();
    let said = verify("toy", &path, &combined, &indexes);
    assert!(said.len() == 1 && said[0].to_string().contains("is missing"), "{said:?}");
    fs::write(&path, &whole).unwrap();
    // The index of a shard has changed, or is gone.
    fs::write(&indexes[7], b"other").unwrap();
    assert_eq!(verify("toy", &path, &combined, &indexes).len(), 1);
    fs::remove_file(&indexes[7]).unwrap();
    assert_eq!(verify("toy", &path, &combined, &indexes).len(), 1);
}

#[test]
fn few_shards_have_none_and_foreign_files_stay() {
    let folder = tempfile::tempdir().unwrap();
    let indexes = indexes(folder.path(), MOST_APART + 1);
    let (path, partial) = (folder.path().join(NAME), partial_path(&folder.path().join(NAME)));
    let few = || write(folder.path(), &indexes[..MOST_APART], [0; 16], false).unwrap();
    assert!(few().is_none() && !path.exists());
    made(folder.path(), &indexes);
    fs::write(&partial, HEADER_MAGIC).unwrap();
    assert!(few().is_none() && !path.exists() && !partial.exists());
    for foreign in [&b""[..], b"precious"] {
        fs::write(&path, foreign).unwrap();
        assert!(few().is_none());
        let refused = write(folder.path(), &indexes, [0; 16], false);
        assert!(matches!(refused, Err(Error::Usage { .. })));
        assert_eq!(fs::read(&path).unwrap(), foreign);
    }
    // Damaged, and named by the manifest.
    assert!(write(folder.path(), &indexes, [0; 16], true).unwrap().is_some());
    fs::remove_file(&path).unwrap();
    fs::write(&partial, b"precious").unwrap();
    assert!(few().is_none());
    assert!(write(folder.path(), &indexes, [0; 16], false).is_err());
    assert_eq!(fs::read(&partial).unwrap(), b"precious");
    fs::remove_file(&partial).unwrap();
    std::os::unix::fs::symlink("elsewhere", &path).unwrap();
    assert!(write(folder.path(), &indexes, [0; 16], false).is_err());
    assert!(few().is_none() && path.is_symlink());
}

#[test]
fn what_a_killed_run_left_is_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let indexes = indexes(folder.path(), MOST_APART + 1);
    let (path, partial) = (folder.path().join(NAME), partial_path(&folder.path().join(NAME)));
    let combined = made(folder.path(), &indexes);
    let whole = fs::read(&path).unwrap();
    let zeros = vec![0; 100];
    for left in [&[][..], &whole[..9], &whole, &zeros] {
        for has_name in [false, true] {
            if !has_name {
                fs::remove_file(&path).unwrap();
            }
            fs::write(&partial, left).unwrap();
            assert_eq!(made(folder.path(), &indexes), combined);
            assert_eq!(fs::read(&path).unwrap(), whole);
            assert!(!partial.exists());
        }
    }
}

#[test]
fn a_disk_that_fills_leaves_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let indexes = indexes(folder.path(), MOST_APART + 1);
    let path = folder.path().join(NAME);
    let combined = made(folder.path(), &indexes);
    let whole = fs::read(&path).unwrap();
    for after in (0..whole.len() as u64).step_by(50) {
        let full = io::ErrorKind::StorageFull;
        let armed = fault::arm(folder.path(), fault::Operation::Write, after, full);
        assert!(write(folder.path(), &indexes, [0; 16], false).is_err(), "after {after}");
        drop(armed);
        assert_eq!(fs::read(&path).unwrap(), whole);
        assert!(!partial_path(&path).exists());
    }
    assert_eq!(made(folder.path(), &indexes), combined);
}

#[test]
fn a_manifest_that_does_not_fit_is_refused() {
    let combined = |lengths: &[u64]| {
        let (name, lengths) = (NAME.into(), lengths.to_vec());
        Combined { name, lengths, blocks: None }
    };
    assert!(combined(&[1, 2]).check(2).is_ok());
    assert!(combined(&[1, 2]).check(3).is_err());
    assert!(combined(&[u64::MAX]).check(1).is_err());
    assert!(combined(&[u64::MAX - 8, 8]).check(2).is_err());
}
