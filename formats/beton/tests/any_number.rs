//! Of a source whose number of samples turns out last, a beton has the bytes of a plan that knew it:
//! the data moves where there are more rows than there was room for.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::common::{
    beton, compact, compat, finished, names_in, noise, open, paged, provenance, raw,
};
use fdconvert_core::{
    Common, Create, Encoded, Error, FieldSpec, Format, Kind, Reader as _, Result, Sample, Schema,
    Shard, ShardWriter, Skipped, Source as _, Value,
};
use std::{fs, ops::Range, path::Path};

/// What the system does to a file.
type Change = dyn Fn(&mut Vec<u8>);

/// Rows of some four kilobytes.
const N_INTS: u64 = 490;
const ROW_BYTES: u64 = 48 + 8 * N_INTS;
const ROWS_OFFSET: u64 = 24 + 1041 * (N_INTS + 3);

/// Where the data begins first.
const DATA_START: usize = 2 << 20;

/// Rows that there is room for when the data begins at that page of 2 MiB.
const fn room(page: u64) -> u64 {
    ((page << 21) - ROWS_OFFSET) / ROW_BYTES
}

fn schema() -> Schema {
    let ints = (0..N_INTS).map(|number| FieldSpec::new(format!("int{number}"), Kind::Int));
    let stored = [
        FieldSpec::new("image", Kind::Image),
        FieldSpec::new("note", Kind::Text),
        FieldSpec::new("bytes", Kind::Bytes),
    ];
    Schema::new(stored.into_iter().chain(ints).collect()).unwrap()
}

fn start(
    format: &dyn Format,
    out: &Path,
    schema: &Schema,
    n_planned: Option<u64>,
) -> Result<Box<dyn ShardWriter>> {
    format.create(&Create {
        out,
        schema,
        shard: &Shard::whole(n_planned.unwrap_or(1 << 62)),
        common: &Common::default(),
        provenance: &provenance(),
        fingerprint: [7; 16],
        stamp: [7; 16],
        overwrite: false,
        entry_points: false,
        is_open: n_planned.is_none(),
    })
}

/// With `skips`, every seventh is left out.
fn put(writer: &mut dyn ShardWriter, samples: Range<u64>, skips: bool) {
    for i in samples {
        if skips && i % 7 == 3 {
            let reason = "seventh".into();
            writer.skip(Skipped { index: i, key: format!("k{i}"), reason }).unwrap();
            continue;
        }
        let note = Value::Text("n".repeat((i % 3) as usize));
        let bytes = Value::Bytes(noise(i, (i % 4 * 1000) as usize).into());
        let ints = (0..N_INTS).map(|number| Value::Int((i * number).cast_signed()));
        let stored: [Value<Encoded>; 3] = [raw(60, 50, i), note, bytes];
        let values = stored.into_iter().chain(ints).collect();
        writer.write(&Sample { key: format!("k{i}"), values }).unwrap();
    }
}

fn packed(format: &dyn Format, n: u64, is_told: bool, skips: bool) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.beton");
    let mut writer = start(format, &out, &schema(), is_told.then_some(n)).unwrap();
    put(&mut *writer, 0..n, skips);
    let summary = writer.finish().unwrap();
    let bytes = fs::read(&out).unwrap();
    assert_eq!(summary.bytes, bytes.len() as u64);
    assert_eq!(names_in(folder.path()), ["a.beton"]);
    bytes
}

#[test]
fn the_bytes_are_those_of_a_plan_that_knew_the_number() {
    let numbers = [1, room(1) - 1, room(1), room(1) + 1, room(2), room(2) + 1, room(3) + 40];
    let format = paged();
    for n in numbers {
        for skips in [false, true] {
            let told = packed(&*format, n, true, skips);
            let found = packed(&*format, n, false, skips);
            assert!(told == found, "{n} samples, skips: {skips}");
        }
    }
    let reader = open(&packed(&*format, room(2) + 1, false, false).into()).unwrap();
    assert!(reader.verify_layout().is_empty());
    assert_eq!(reader.len(), room(2) + 1);
    assert_eq!(reader.get(room(2)).unwrap().key, format!("k{}", room(2)));
}

/// Rows alone, behind which there is nothing to move.
#[test]
fn without_data_nothing_moves() {
    let ints = (0..N_INTS).map(|number| FieldSpec::new(format!("int{number}"), Kind::Int));
    let schema = Schema::new(ints.collect()).unwrap();
    let write = |n: u64, n_planned: Option<u64>| {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("a.beton");
        let mut writer = start(&*paged(), &out, &schema, n_planned).unwrap();
        for i in 0..n {
            let ints = (0..N_INTS).map(|number| Value::Int((i + number).cast_signed()));
            writer.write(&Sample { key: format!("k{i}"), values: ints.collect() }).unwrap();
        }
        writer.finish().unwrap();
        fs::read(out).unwrap()
    };
    for n in [1, room(1), room(1) + 20, room(2) + 1] {
        assert!(write(n, Some(n)) == write(n, None), "{n} samples");
    }
}

#[test]
fn killed_and_continued() {
    let n = room(2) + 100;
    let expected = packed(&*paged(), n, false, true);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.beton");
    let [partial, journal] =
        ["beton.partial", "beton.partial.journal"].map(|it| out.with_extension(it));
    let as_it_is = |_: &mut Vec<u8>| {};
    // Killed when the data had moved, or half of it.
    let moved = |data: &mut Vec<u8>| {
        data.splice(DATA_START..DATA_START, vec![0; 2 << 20]);
    };
    let half_moved = |data: &mut Vec<u8>| {
        let middle = data.len().div_ceil(4 << 20) * (2 << 20);
        data.splice(middle..middle, data[middle..middle + (2 << 20)].to_vec());
    };
    let cases: [(u64, u64, &Change); 5] = [
        (room(1) - 5, 1, &as_it_is),
        (room(1) + 300, room(1), &as_it_is),
        (n, room(2), &as_it_is),
        (n, 0, &moved),
        (n, 100, &half_moved),
    ];
    for (number, (end, least, change)) in cases.into_iter().enumerate() {
        let mut writer = start(&*paged(), &out, &schema(), None).unwrap();
        put(&mut *writer, 0..end, true);
        let left = [&partial, &journal].map(|path| (fs::read(path).unwrap(), path));
        drop(writer);
        for (mut bytes, path) in left {
            if *path == partial {
                change(&mut bytes);
            }
            fs::write(path, bytes).unwrap();
        }
        let mut writer = start(&*paged(), &out, &schema(), None).unwrap();
        let resumed = writer.resumed();
        assert!((least..=end).contains(&resumed), "case {number}: {resumed} of {end} resumed");
        put(&mut *writer, resumed..n, true);
        writer.finish().unwrap();
        assert!(fs::read(&out).unwrap() == expected, "case {number}: other bytes");
        assert_eq!(names_in(folder.path()), ["a.beton"]);
        assert_eq!(finished(&*paged(), &out, &schema(), [7; 16]).unwrap(), None);
        fs::remove_file(&out).unwrap();
    }
}

#[test]
fn layouts_that_begin_with_the_number_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.beton");
    for format in [compact(), compat()] {
        assert!(!format.capabilities().counts_last);
        let error = start(&*format, &out, &schema(), None).err().unwrap();
        assert!(matches!(error, Error::Usage { .. }), "{error}");
        assert!(error.to_string().contains("begin with the number of samples"), "{error}");
    }
    assert!(beton(&[]).capabilities().counts_last);
    assert!(names_in(folder.path()).is_empty());
}
