//! Damaged files: an error or the same data, never a panic, and verification finds every fault.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::common::{compact, compat, image_and_text, image_and_text_sample, open, pack, read_all};
use bytes::Bytes;
use fdconvert_core::{Encoded, Error, Look, Reader, Sample, Source};

fn u64_at(file: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(file[at..at + 8].try_into().unwrap())
}

fn put(file: &Bytes, at: usize, value: u64) -> Bytes {
    let mut file = file.to_vec();
    file[at..at + 8].copy_from_slice(&value.to_le_bytes());
    file.into()
}

fn small() -> (Bytes, Vec<Sample<Encoded>>) {
    let samples: Vec<_> = (0..4).map(|i| image_and_text_sample(i, 5, 4)).collect();
    (pack(&*compact(), &image_and_text(), &samples), samples)
}

fn everything(file: &Bytes) -> Option<Vec<Result<Sample<Encoded>, Error>>> {
    let reader = open(file).ok()?;
    let _ =
        (reader.details(), reader.fingerprint(Look::Sizes), reader.name(), reader.verify_layout());
    // A damaged count of samples may be huge.
    let n_samples = reader.len().min(10);
    Some((0..n_samples).map(|i| (reader.verify_sample(i), reader.get(i)).1).collect())
}

#[test]
fn cut_anywhere() {
    let (file, samples) = small();
    for len in 0..file.len() {
        for (i, sample) in everything(&file.slice(..len)).into_iter().flatten().enumerate() {
            if let Ok(sample) = sample {
                assert_eq!(sample, samples[i], "cut at {len}");
            }
        }
        let table_offset = u64_at(&file, 16) as usize;
        if len < table_offset {
            let error = open(&file.slice(..len)).unwrap_err();
            assert!(matches!(error, Error::Corrupt { .. }), "cut at {len}: {error}");
        } else {
            let problems = open(&file.slice(..len)).unwrap().verify_layout();
            assert!(!problems.is_empty(), "cut at {len}");
        }
    }
}

#[test]
fn every_flipped_bit_is_noticed() {
    let (file, _) = small();
    for bit in 0..file.len() * 8 {
        let mut damaged = file.to_vec();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let damaged = Bytes::from(damaged);
        let Ok(reader) = open(&damaged) else { continue };
        let _ = everything(&damaged);
        let noticed = !reader.verify_layout().is_empty()
            || (0..reader.len()).any(|i| reader.verify_sample(i).is_err());
        // Neither the byte between two values nor the padding of a row.
        assert!(noticed, "bit {bit} was not noticed");
    }
}

/// Includes the padding before aligned images.
#[test]
fn a_flipped_label_is_refused() {
    let (file, _) = small();
    let mut damaged = file.to_vec();
    // The second row's label.
    damaged[24 + 3 * 1041 + 40 + 16] ^= 1;
    let reader = open(&damaged.into()).unwrap();
    let said = reader.verify_row(1).unwrap_err().to_string();
    assert!(said.contains("checksum"), "{said}");
    assert!(matches!(reader.verify_row(4), Err(Error::Usage { .. })));
    let reader = open(&file).unwrap();
    (0..4).for_each(|i| reader.verify_row(i).unwrap());
}

/// Without checksums only bounds are checked.
#[test]
fn flipped_bits_of_files_without_checksums_do_not_panic() {
    let samples: Vec<_> = (0..3).map(|i| image_and_text_sample(i, 3, 3)).collect();
    let file = pack(&*compat(), &image_and_text(), &samples);
    let (head, table) = (24 + 3 * 1041 + 3 * 40, u64_at(&file, 16) as usize);
    for byte in (0..head).chain(table..file.len()) {
        for bit in 0..8 {
            let mut damaged = file.to_vec();
            damaged[byte] ^= 1 << bit;
            let _ = everything(&damaged.into());
        }
    }
}

#[test]
fn unfinished_files_say_so() {
    let (file, _) = small();
    for table_offset in [0, file.len() as u64 + 1, u64::MAX] {
        let message = open(&put(&file, 16, table_offset)).unwrap_err().to_string();
        assert!(message.contains("unfinished"), "{message}");
    }
    let message = open(&put(&file, 16, 3000)).unwrap_err().to_string();
    assert!(message.contains("do not fit before the table"), "{message}");
    let message = open(&put(&file, 8, u64::MAX / 2)).unwrap_err().to_string();
    assert!(message.contains("do not fit before the table"), "{message}");
    let mut version = file.to_vec();
    version[0] = 3;
    assert!(matches!(open(&version.into()), Err(Error::Version { found: 3, .. })));
    let mut custom = file.to_vec();
    custom[24] = 255;
    let message = open(&custom.into()).unwrap_err().to_string();
    assert!(message.contains("`image`") && message.contains("custom"), "{message}");
}

/// Reading falls back to FFCV's tables, and verification reports it.
#[test]
fn a_damaged_or_newer_index_is_left_alone() {
    let (file, samples) = small();
    let table_offset = u64_at(&file, 16) as usize;
    let start = table_offset - u64_at(&file, table_offset - 32) as usize;
    for (at, what) in [(start + 8, "version 3"), (table_offset - 20, "checksum")] {
        let mut damaged = file.to_vec();
        damaged[at] ^= 2;
        let reader = open(&damaged.into()).unwrap();
        for (i, sample) in read_all(&reader).iter().enumerate() {
            assert_eq!(sample.key, format!("{i:08}"));
            assert_eq!(sample.values[..2], samples[i].values[..2]);
        }
        let problems = reader.verify_layout();
        assert!(problems.iter().any(|p| p.to_string().contains(what)), "{what}: {problems:?}");
        assert!(reader.details()["index"]["unusable"].is_string());
    }
}

/// Properties that other writers' files have and that FFCV's loader accepts.
#[test]
fn unusual_files_are_read() {
    let samples: Vec<_> = (0..6).map(|i| image_and_text_sample(i, 7, 5)).collect();
    let file = pack(&*compat(), &image_and_text(), &samples);
    let expected = read_all(&open(&file).unwrap());
    let table = u64_at(&file, 16) as usize;
    let check = |file: Vec<u8>, what: &str| {
        assert_eq!(read_all(&open(&file.into()).unwrap()), expected, "{what}");
    };
    let entries: Vec<&[u8]> = file[table..].chunks(24).collect();
    // The table in reverse, as many workers may leave it.
    let reversed: Vec<u8> = entries.iter().rev().flat_map(|entry| entry.to_vec()).collect();
    check([&file[..table], &reversed].concat(), "reversed");
    // Empty entries with the pointers of others, before and after them.
    let mut doubled = Vec::new();
    for entry in &entries {
        let empty = [&entry[..16], &[0; 8]].concat();
        doubled.extend([&empty[..], entry, &empty].concat());
    }
    check([&file[..table], &doubled].concat(), "doubled");
    // Fewer than 24 bytes at the end.
    check([&file[..], &[1; 23]].concat(), "trailing");
    assert_eq!(open(&[&file[..], &[1; 23]].concat().into()).unwrap().verify_layout().len(), 1);
    // Stray bytes before the table, and in the gap.
    let mut moved = [&file[..table], &[9; 1234], &file[table..]].concat();
    moved[16..24].copy_from_slice(&(table as u64 + 1234).to_le_bytes());
    moved[5000] = 1;
    check(moved, "block of another program");
    // Two samples that share the bytes of an image.
    let row = 24 + 3 * 1041;
    let mut shared = file.to_vec();
    let pointer = u64_at(&file, row + 5).to_le_bytes();
    shared[row + 40 + 5..row + 40 + 13].copy_from_slice(&pointer);
    let at = table + 2 * 24 + 8;
    shared[at..at + 8].copy_from_slice(&pointer);
    let reader = open(&shared.into()).unwrap();
    assert_eq!(reader.get(1).unwrap().values[0], expected[0].values[0]);
    assert!(reader.verify_layout().is_empty());
}

#[test]
fn lies_about_values_are_errors_of_their_sample() {
    let samples: Vec<_> = (0..3).map(|i| image_and_text_sample(i, 7, 5)).collect();
    let file = pack(&*compat(), &image_and_text(), &samples);
    let row = 24 + 3 * 1041 + 40;
    let sides = |width: u64, height: u64| {
        width << 8 | height << 24 | u64_at(&file, row) & 0xff_ff_ff_00_00_00_00_00 & !0xff_ff_ff | 1
    };
    for (at, value) in [
        (row + 5, 3),            // The image in the header.
        (row + 5, u64::MAX - 5), // Past the end of the file.
        (row + 24, u64::MAX),    // The note's pointer,
        (row + 32, u64::MAX),    // and its length.
        (row, sides(0, 5)),
        (row, sides(7, 6)),
        (row, u64_at(&file, row) | 0x80),
    ] {
        let reader = open(&put(&file, at, value)).unwrap();
        let error = reader.get(1).unwrap_err();
        assert!(matches!(error, Error::Sample { .. }), "{error}");
        assert!(reader.verify_sample(1).is_err());
        assert!(reader.get(0).is_ok() && reader.get(2).is_ok());
    }
    let reader = open(&file).unwrap();
    assert!(matches!(reader.get(3), Err(Error::Usage { .. })));
    assert_eq!(reader.key(7), "00000007");
}

/// Writes the seeds of the fuzzers:
/// `cargo test -p fdconvert-formats --lib make_fuzz_seeds -- --ignored`.
#[test]
#[ignore = "writes fuzz/seeds"]
fn make_fuzz_seeds() {
    use fdconvert_core::{ArraySpec, DType, FieldSpec, Kind, Schema, Value};
    let seeds = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds");
    let put = |target: &str, name: &str, bytes: &[u8]| {
        let folder = seeds.join(target);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(name), bytes).unwrap();
    };
    let (images, _) = small();
    let array = Kind::Array(ArraySpec { dtype: DType::I16, shape: vec![2], torch: true });
    let kinds = [Kind::Float, Kind::Bytes, Kind::Json, array, Kind::Text];
    let fields = kinds.into_iter().map(|kind| FieldSpec::new(kind.name(), kind)).collect();
    let values = |i: u8| {
        vec![
            Value::Float(f64::from(i) / 3.0),
            Value::Bytes(vec![i; usize::from(i)].into()),
            Value::Json(format!("{{\"i\": {i}}}").into()),
            Value::Array(vec![i; 4].into()),
            Value::Text(format!("é{i}")),
        ]
    };
    let samples = [0, 1, 2].map(|i| Sample { key: format!("key {i}"), values: values(i) });
    let others = pack(&*compact(), &Schema::new(fields).unwrap(), &samples);
    for (name, file) in [("images", &images), ("others", &others)] {
        let table = u64_at(file, 16) as usize;
        let block = table - u64_at(file, table - 32) as usize;
        put("beton_reader", name, file);
        put("index_block", name, &file[block..table]);
        // The same without an index block and with small pages, as another program may write it.
        let mut plain = [&file[..block], &file[table..]].concat();
        plain[16..24].copy_from_slice(&(block as u64).to_le_bytes());
        plain[4..8].copy_from_slice(&4096_u32.to_le_bytes());
        put("beton_reader", &format!("{name}_plain"), &plain);
    }
}
