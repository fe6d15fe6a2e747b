//! Entry points of JPEGs in a beton: a resumed run writes the same bytes as an uninterrupted one,
//! and leaves no temporary files.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::common::{compact, compat, names_in, noise, paged, provenance};
use bytes::Bytes;
use fdconvert_core::{
    Codec, Common, Create, Encoded, Error, FieldSpec, Format, Kind, Reader as _, Result, Sample,
    Schema, Shard, ShardWriter, Skipped, Source as _, Value,
};
use std::{fs, path::Path};

const N_SAMPLES: u64 = 40;
const NAMES: [&str; 3] =
    ["a.beton.partial", "a.beton.partial.checkpoints", "a.beton.partial.journal"];

fn schema() -> Schema {
    Schema::new(vec![
        FieldSpec::new("image", Kind::Image),
        FieldSpec::new("label", Kind::Int),
        FieldSpec::new("second", Kind::Image),
    ])
    .unwrap()
}

/// All samples take about seven pages of 2 MiB.
fn sample(i: u64) -> Sample<Encoded> {
    let image = |seed, n_bytes| {
        let bytes = [&[0xff, 0xd8][..], &noise(seed, n_bytes)].concat().into();
        Value::Image(Encoded::new(Codec::Jpeg, 4, 4, bytes))
    };
    let mut values = vec![image(i, 250_000), Value::Int(1), image(!i, 30_000)];
    let images = values.iter_mut().step_by(2);
    for (image, given) in images.zip(entry_points(i)) {
        if let Value::Image(image) = image {
            image.entry_points = given;
        }
    }
    Sample { key: format!("k{i}"), values }
}

fn entry_points(i: u64) -> Vec<Option<Bytes>> {
    let bytes = |seed| Some(Bytes::from([&[0x22][..], &noise(seed, 700)].concat()));
    vec![(!i.is_multiple_of(4)).then(|| bytes(i)).flatten(), bytes(i + 1000)]
}

fn start(
    format: &dyn Format,
    out: &Path,
    entry_points: bool,
    overwrite: bool,
) -> Result<Box<dyn ShardWriter>> {
    format.create(&Create {
        out,
        schema: &schema(),
        shard: &Shard::whole(N_SAMPLES),
        common: &Common::default(),
        provenance: &provenance(),
        fingerprint: [7; 16],
        stamp: [7; 16],
        overwrite,
        entry_points,
        is_open: false,
    })
}

fn go_on(writer: &mut dyn ShardWriter, end: u64) {
    for i in writer.resumed()..end {
        if i == 9 {
            let (key, reason) = ("k9".to_owned(), "ninth".into());
            writer.skip(Skipped { index: i, key, reason }).unwrap();
        } else {
            writer.write(&sample(i)).unwrap();
        }
    }
}

fn whole(format: &dyn Format) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.beton");
    let mut writer = start(format, &out, true, false).unwrap();
    go_on(&mut *writer, N_SAMPLES);
    assert_eq!(names_in(folder.path()), NAMES);
    writer.finish().unwrap();
    assert_eq!(names_in(folder.path()), ["a.beton"]);
    fs::read(out).unwrap()
}

/// Leaves the files of a process killed after sample `end`.
fn kill_after(format: &dyn Format, folder: &Path, end: u64) {
    let mut writer = start(format, &folder.join("a.beton"), true, false).unwrap();
    go_on(&mut *writer, end);
    let left = NAMES.map(|name| fs::read(folder.join(name)).unwrap());
    drop(writer);
    assert!(names_in(folder).is_empty());
    for (name, bytes) in NAMES.iter().zip(left) {
        fs::write(folder.join(name), bytes).unwrap();
    }
}

fn finish(format: &dyn Format, folder: &Path, expected: &[u8]) -> u64 {
    let out = folder.join("a.beton");
    let mut writer = start(format, &out, true, false).unwrap();
    let resumed = writer.resumed();
    go_on(&mut *writer, N_SAMPLES);
    writer.finish().unwrap();
    assert!(fs::read(&out).unwrap() == expected, "other bytes after resuming at {resumed}");
    assert_eq!(names_in(folder), ["a.beton"]);
    fs::remove_file(out).unwrap();
    resumed
}

#[test]
fn killed_anywhere_and_continued() {
    for format in [paged(), compact()] {
        let expected = whole(&*format);
        let folder = tempfile::tempdir().unwrap();
        let mut most = 0;
        for end in [0, 1, 7, 8, 9, 10, 23, 39, 40] {
            kill_after(&*format, folder.path(), end);
            most = most.max(finish(&*format, folder.path(), &expected));
        }
        assert!(most > N_SAMPLES / 2, "only {most} samples were kept");
        let reader = super::common::open(&expected.into()).unwrap();
        assert!(reader.verify_layout().is_empty());
        for index in 0..reader.len() {
            let given = entry_points(reader.key(index)[1..].parse().unwrap());
            assert_eq!(reader.entry_points(index, 0).unwrap(), given[0]);
            assert_eq!(reader.entry_points(index, 2).unwrap(), given[1]);
            assert_eq!(reader.entry_points(index, 1).unwrap(), None);
        }
    }
}

/// A power failure may have kept any part of the spool.
#[test]
fn what_the_disk_lost_is_written_again() {
    let expected = whole(&*paged());
    let folder = tempfile::tempdir().unwrap();
    let spool = folder.path().join(NAMES[1]);
    let mut kept = Vec::new();
    for case in 0..4 {
        kill_after(&*paged(), folder.path(), 39);
        let mut bytes = fs::read(&spool).unwrap();
        match case {
            0 => bytes.extend_from_slice(&noise(3, 100)),
            1 => bytes.truncate(bytes.len() / 2),
            2 => bytes[12_000] ^= 1,
            _ => bytes.clear(),
        }
        fs::write(&spool, bytes).unwrap();
        kept.push(finish(&*paged(), folder.path(), &expected));
    }
    assert!(kept[0] > kept[1] && kept[1] > kept[2] && kept[2] > 0 && kept[3] == 0, "{kept:?}");
}

#[test]
fn runs_with_and_without_are_different_runs() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.beton");
    kill_after(&*paged(), folder.path(), 20);
    assert!(matches!(start(&*paged(), &out, false, false), Err(Error::Usage { .. })));
    assert_eq!(names_in(folder.path()), NAMES);
    // Overwriting replaces everything.
    let writer = start(&*paged(), &out, false, true).unwrap();
    assert_eq!(names_in(folder.path()), [NAMES[0], NAMES[2]]);
    drop(writer);
    assert!(names_in(folder.path()).is_empty());
}

#[test]
fn foreign_files_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let spool = folder.path().join(NAMES[1]);
    fs::write(&spool, "precious").unwrap();
    let refused = start(&*paged(), &folder.path().join("a.beton"), true, false).map(drop);
    assert!(matches!(refused, Err(Error::Usage { .. })), "{refused:?}");
    assert_eq!(names_in(folder.path()), [NAMES[1]]);
    assert_eq!(fs::read(&spool).unwrap(), b"precious");
}

#[test]
fn a_file_as_ffcv_writes_it_has_no_place_for_them() {
    assert!(paged().capabilities().entry_points && !compat().capabilities().entry_points);
}

#[test]
fn a_full_disk_leaves_nothing() {
    use fdconvert_storage::fault;
    for format in [paged(), compact()] {
        let n_bytes = whole(&*format).len() as u64;
        // Fails while writing the first page's entry points, later ones, and the block.
        let mut n_failed = 0;
        for after in (0..=24).map(|part| n_bytes * part / 20) {
            let folder = tempfile::tempdir().unwrap();
            let full = std::io::ErrorKind::StorageFull;
            let armed = fault::arm(folder.path(), fault::Operation::Write, after, full);
            let out = folder.path().join("a.beton");
            let packed = start(&*format, &out, true, false).and_then(|mut writer| {
                (0..N_SAMPLES).try_for_each(|i| writer.write(&sample(i)))?;
                writer.finish()
            });
            drop(armed);
            if packed.is_ok() {
                continue;
            }
            n_failed += 1;
            assert!(matches!(packed, Err(Error::Io { .. })), "{after}: {packed:?}");
            assert!(names_in(folder.path()).is_empty(), "{after}");
        }
        assert!((12..25).contains(&n_failed), "{n_failed}: the last ones have room enough");
    }
}
