//! A resumed run writes the same bytes as an uninterrupted one, in whatever state the kill and the
//! disk left its last pages.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::common::{compact, compat, create_as, names_in, noise, paged, raw};
use fdconvert_core::{
    Encoded, Error, FieldSpec, Format, Kind, Reader as _, Sample, Schema, Skipped, Source as _,
    Value,
};
use std::{
    fs,
    path::{Path, PathBuf},
};

const N_SAMPLES: u64 = 40;

fn schema() -> Schema {
    Schema::new(vec![
        FieldSpec::new("head", Kind::Bytes),
        FieldSpec::new("image", Kind::Image),
        FieldSpec::new("label", Kind::Int),
        FieldSpec::new("note", Kind::Text),
    ])
    .unwrap()
}

/// All samples take about eight pages of 2 MiB; every fifth is skipped.
fn sample(i: u64) -> Option<Sample<Encoded>> {
    let head = Value::Bytes(noise(i, (i % 4 * 10_000) as usize).into());
    let note = Value::Text("n".repeat((i % 3) as usize));
    let values = vec![head, raw(200 + i as u32, 350, i), Value::Int(-3), note];
    (i % 5 != 4).then(|| Sample { key: format!("k{i}"), values })
}

fn start(format: &dyn Format, out: &Path) -> Result<Box<dyn fdconvert_core::ShardWriter>, Error> {
    create_as(format, out, &schema(), N_SAMPLES, [7; 16], false)
}

/// Continues writing up to sample `end`.
fn go_on(writer: &mut dyn fdconvert_core::ShardWriter, end: u64) {
    for i in writer.resumed()..end {
        match sample(i) {
            Some(sample) => writer.write(&sample).unwrap(),
            None => {
                let reason = "fifth".into();
                writer.skip(Skipped { index: i, key: format!("k{i}"), reason }).unwrap();
            }
        }
    }
}

fn whole(format: &dyn Format) -> Vec<u8> {
    whole_of(format, [7; 16])
}

/// The file that an uninterrupted run of that fingerprint writes.
fn whole_of(format: &dyn Format, fingerprint: [u8; 16]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.beton");
    let mut writer = create_as(format, &out, &schema(), N_SAMPLES, fingerprint, false).unwrap();
    assert_eq!(writer.resumed(), 0);
    go_on(&mut *writer, N_SAMPLES);
    writer.finish().unwrap();
    fs::read(out).unwrap()
}

fn partial(out: &Path) -> PathBuf {
    out.with_extension("beton.partial")
}

fn journal(out: &Path) -> PathBuf {
    out.with_extension("beton.partial.journal")
}

/// Leaves the files of a process killed after sample `end`. They are copied away and back, because
/// the writer's locks and clean-up would go with a killed process.
fn kill_after(format: &dyn Format, out: &Path, end: u64) {
    let mut writer = start(format, out).unwrap();
    go_on(&mut *writer, end);
    let left = [partial(out), journal(out)].map(|path| (fs::read(&path).unwrap(), path));
    drop(writer);
    for (bytes, path) in left {
        fs::write(path, bytes).unwrap();
    }
}

/// Resumes to the end and compares; returns how many samples did not have to be written again.
fn finish(format: &dyn Format, out: &Path, expected: &[u8], case: &str) -> u64 {
    let mut writer = start(format, out).unwrap_or_else(|error| panic!("{case}: {error}"));
    let resumed = writer.resumed();
    go_on(&mut *writer, N_SAMPLES);
    let summary = writer.finish().unwrap();
    let skips: Vec<_> = summary.skipped.iter().map(|skipped| skipped.index).collect();
    assert_eq!(skips, (0..N_SAMPLES).filter(|i| i % 5 == 4).collect::<Vec<_>>(), "{case}");
    assert!(fs::read(out).unwrap() == expected, "{case}: other bytes after resuming at {resumed}");
    assert_eq!(names_in(out.parent().unwrap()), ["a.beton"], "{case}");
    fs::remove_file(out).unwrap();
    resumed
}

fn layouts() -> [(&'static str, Box<dyn Format>); 3] {
    [("paged", paged()), ("compact", compact()), ("compat", compat())]
}

#[test]
fn killed_anywhere_and_continued() {
    for (name, format) in layouts() {
        let expected = whole(&*format);
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("a.beton");
        let mut most = 0;
        for end in (0..=N_SAMPLES).step_by(3) {
            kill_after(&*format, &out, end);
            most = most.max(finish(&*format, &out, &expected, &format!("{name} {end}")));
        }
        assert!(most > N_SAMPLES / 2, "{name}: only {most} samples were kept");
    }
    let reader = super::common::open(&whole(&*paged()).into()).unwrap();
    assert_eq!(reader.provenance().unwrap().skipped.len(), 8);
    assert_eq!(reader.len(), 32);
}

#[test]
fn killed_again_and_again() {
    let expected = whole(&*paged());
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.beton");
    for end in [0, 3, 11, 12, 13, 30, 39] {
        kill_after(&*paged(), &out, end);
    }
    assert!(finish(&*paged(), &out, &expected, "last") > 20);
}

/// A power failure may have kept any part of either file.
#[test]
fn what_the_disk_lost_is_written_again() {
    for (name, format) in layouts() {
        let expected = whole(&*format);
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("a.beton");
        kill_after(&*format, &out, 35);
        let (data, records) = (fs::read(partial(&out)).unwrap(), fs::read(journal(&out)).unwrap());
        let random = noise(5, 400);
        for case in random.chunks_exact(16) {
            let pick = |at: usize, below: usize| {
                usize::try_from(u64::from_le_bytes(case[at..at + 8].try_into().unwrap())).unwrap()
                    % below
            };
            let (mut data, mut records) = (data.clone(), records.clone());
            match case[0] % 5 {
                0 => data.truncate(pick(0, data.len())),
                1 => records.truncate(72 + pick(0, records.len() - 72)),
                2 => (0..8).for_each(|at| {
                    let at = pick(at, data.len());
                    data[at] ^= 1 << (at % 8);
                }),
                3 => {
                    let at = 72 + pick(8, records.len() - 72);
                    records[at] ^= 16;
                }
                _ => {
                    let at = pick(0, data.len());
                    data[at..].fill(0);
                    records.extend_from_slice(&noise(9, 5000));
                }
            }
            fs::write(partial(&out), data).unwrap();
            fs::write(journal(&out), records).unwrap();
            finish(&*format, &out, &expected, &format!("{name} {case:?}"));
        }
    }
}

#[test]
fn another_run_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.beton");
    kill_after(&*paged(), &out, 20);
    let before = [fs::read(partial(&out)).unwrap(), fs::read(journal(&out)).unwrap()];
    let unchanged = || {
        assert_eq!(names_in(folder.path()), ["a.beton.partial", "a.beton.partial.journal"]);
        assert!([fs::read(partial(&out)).unwrap(), fs::read(journal(&out)).unwrap()] == before);
    };
    let refused = |result: Result<Box<dyn fdconvert_core::ShardWriter>, Error>| {
        let error = result.err().unwrap();
        assert!(matches!(error, Error::Usage { .. }), "{error}");
        error.to_string()
    };
    // Another source; the same source with other options; another number of samples.
    let message = refused(create_as(&*paged(), &out, &schema(), N_SAMPLES, [8; 16], false));
    assert!(message.contains("to replace it: overwrite=true"), "{message}");
    unchanged();
    refused(start(&*compact(), &out));
    refused(start(&*compat(), &out));
    refused(create_as(&*paged(), &out, &schema(), N_SAMPLES + 1, [7; 16], false));
    unchanged();
    // In use by another run.
    let held = fdconvert_storage::Scratch::open(&journal(&out)).unwrap();
    refused(start(&*paged(), &out));
    held.leave();
    unchanged();
    let mut writer = create_as(&*paged(), &out, &schema(), N_SAMPLES, [8; 16], true).unwrap();
    assert_eq!(writer.resumed(), 0);
    go_on(&mut *writer, N_SAMPLES);
    writer.finish().unwrap();
    assert!(fs::read(&out).unwrap() == whole_of(&*paged(), [8; 16]));
}

#[test]
fn foreign_files_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.beton");
    fs::write(partial(&out), b"precious").unwrap();
    assert!(matches!(start(&*paged(), &out), Err(Error::Usage { .. })));
    assert_eq!(names_in(folder.path()), ["a.beton.partial"]);
    fs::write(journal(&out), noise(1, 500)).unwrap();
    assert!(start(&*paged(), &out).is_err());
    fs::write(partial(&out), b"").unwrap();
    assert!(start(&*paged(), &out).is_err());
    assert_eq!(fs::read(journal(&out)).unwrap(), noise(1, 500));
    // Killed before the journal's header was complete, or after the rename.
    for left in [&b""[..], b"FDX"] {
        fs::write(journal(&out), left).unwrap();
        assert_eq!(start(&*paged(), &out).unwrap().resumed(), 0);
        assert!(names_in(folder.path()).is_empty());
        fs::write(partial(&out), b"").unwrap();
    }
    kill_after(&*paged(), &out, 20);
    fs::remove_file(partial(&out)).unwrap();
    let other = create_as(&*paged(), &out, &schema(), N_SAMPLES, [8; 16], false).unwrap();
    assert_eq!(other.resumed(), 0);
}

/// A kill between the rename and the end of the run: the journal still exists and proves that the
/// file is complete.
#[test]
fn killed_after_the_file_got_its_name_it_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.beton");
    let kept = folder.path().join("kept");
    let mut writer = start(&*paged(), &out).unwrap();
    go_on(&mut *writer, N_SAMPLES);
    fs::hard_link(journal(&out), &kept).unwrap();
    let summary = writer.finish().unwrap();
    let bytes = fs::read(&out).unwrap();
    let finished = |fingerprint| super::common::finished(&*paged(), &out, &schema(), fingerprint);
    assert_eq!(finished([7; 16]).unwrap(), None, "nothing proves it any more");
    for other in [true, false] {
        fs::copy(&kept, journal(&out)).unwrap();
        if other {
            // Another run, and another file in its place.
            assert_eq!(finished([8; 16]).unwrap(), None);
            fs::rename(&out, folder.path().join("ours")).unwrap();
            fs::write(&out, &bytes).unwrap();
            assert_eq!(finished([7; 16]).unwrap(), None);
            assert!(matches!(start(&*paged(), &out), Err(Error::Usage { .. })));
            fs::rename(folder.path().join("ours"), &out).unwrap();
        } else {
            assert_eq!(finished([7; 16]).unwrap(), Some(summary.clone()));
            assert!(!journal(&out).exists());
        }
    }
    assert!(fs::read(&out).unwrap() == bytes);
}
