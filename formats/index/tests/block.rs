//! The block through its public interface: round trips, damage, and future versions.
#![allow(clippy::unwrap_used, clippy::panic)]
use crate::index::{
    Builder, HEADER_LEN, ImageFacts, Index, IndexError, Meta, Range, Region, TRAILER_LEN,
};
use bytes::Bytes;
use fdconvert_core::{Codec, FieldSpec, Kind, Provenance, Schema, Skipped};
use proptest::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

const DATA_LEN: u64 = 1 << 20;

fn meta() -> Meta {
    let names: Vec<String> = vec!["cat".into(), "dög".into()];
    let schema = Schema::new(vec![
        FieldSpec::new("image", Kind::Image),
        FieldSpec::label("label", names.into()),
        FieldSpec::new("note", Kind::Text),
    ])
    .unwrap();
    let provenance = Provenance {
        tool: "fdconvert 0.1.0".into(),
        source: "pets".into(),
        params: [("quality".to_owned(), "90".to_owned())].into(),
        skipped: vec![Skipped { index: 3, key: "c".into(), reason: "empty".into() }],
    };
    Meta { schema, provenance, run: None }
}

fn build(keys: &[&str]) -> (Vec<u8>, Vec<Region>) {
    let mut builder = Builder::new(2);
    let mut regions = Vec::new();
    for (i, key) in (0_u64..).zip(keys) {
        let facts = ImageFacts { codec: Codec::Jpeg, width: 5, height: 7 };
        let image = Region { offset: i * 100, len: 60, xxh3: i, image: Some(facts) };
        let note = Region { offset: i * 100 + 60, len: 40, xxh3: !i, image: None };
        builder.push(key, &[image, note]);
        regions.extend([image, note]);
    }
    let json = meta().to_json();
    let ranges = [Range { offset: 0, len: 9, xxh3: 1 }, Range { offset: 9, len: 1, xxh3: 2 }];
    let mut block = Vec::new();
    let mut write = |part: &[u8]| {
        block.extend_from_slice(part);
        Ok::<(), std::convert::Infallible>(())
    };
    builder.emit(&json, DATA_LEN, &ranges, &mut write).unwrap();
    assert_eq!(block.len() as u64, builder.block_len(&json, 2));
    (block, regions)
}

/// Makes header and table consistent again after an edit.
fn reseal(block: &mut [u8]) {
    let n_sections = u32::from_le_bytes(block[12..16].try_into().unwrap()) as usize;
    let root = xxh3_64(&block[..HEADER_LEN as usize + 32 * n_sections]);
    let at = block.len() - TRAILER_LEN as usize + 8;
    block[at..at + 8].copy_from_slice(&root.to_le_bytes());
}

#[test]
fn says_what_it_was_told() {
    let (block, regions) = build(&["a", "", "b/ü"]);
    let index = Index::parse(block.clone().into()).unwrap();
    assert_eq!((index.n_samples(), index.regions_per_sample()), (3, 2));
    assert_eq!((index.data_len(), index.block_len()), (DATA_LEN, block.len() as u64));
    assert_eq!(index.meta(), &meta());
    assert_eq!(index.key(2).unwrap(), Some("b/ü"));
    assert_eq!(index.key(1).unwrap(), Some(""));
    for (i, region) in (0_u64..).zip(&regions) {
        assert_eq!(index.region(i / 2, (i % 2) as u32).unwrap(), *region);
    }
    assert_eq!(index.ranges().count(), 2);
    assert!(index.verify().is_empty());
    assert!(matches!(index.region(3, 0), Err(IndexError::Position { .. })));
    assert!(matches!(index.region(0, 2), Err(IndexError::Position { .. })));
    assert!(matches!(index.key(3), Err(IndexError::Position { .. })));
}

#[test]
fn rows_hold_what_is_no_region() {
    let mut builder = Builder::new(2);
    let none = Region { offset: 0, len: 0, xxh3: xxh3_64(&[]), image: None };
    for label in [-1_i64, 7] {
        builder.push("k", &[none, none]);
        builder.push_row(&[label.to_le_bytes()]);
    }
    let (json, mut block) = (meta().to_json(), Vec::new());
    builder
        .emit(&json, DATA_LEN, &[], |part| {
            block.extend_from_slice(part);
            Ok::<(), std::convert::Infallible>(())
        })
        .unwrap();
    assert_eq!(block.len() as u64, builder.block_len(&json, 0));
    let index = Index::parse(block.clone().into()).unwrap();
    assert_eq!(index.row(1).unwrap(), Some(&7_i64.to_le_bytes()[..]));
    assert!(matches!(index.row(2), Err(IndexError::Position { .. })));
    assert!(index.verify().is_empty());
    // ROWS with another length than the schema requires.
    let at = HEADER_LEN as usize + 32 * 4 + 16;
    block[at..at + 8].copy_from_slice(&8_u64.to_le_bytes());
    reseal(&mut block);
    assert!(Index::parse(block.into()).is_err());
    let (without, _) = build(&["a"]);
    assert_eq!(Index::parse(without.into()).unwrap().row(0), Ok(None));
}

#[test]
fn is_found_from_its_end_in_a_larger_file() {
    let (block, _) = build(&["a"]);
    let file: Bytes = [b"something ".as_slice(), &block, b" else"].concat().into();
    let end = (10 + block.len()) as u64;
    assert!(Index::find_before(&file, end).unwrap().is_some());
    assert!(Index::find_before(&file, end - 1).unwrap().is_none());
    assert!(Index::find_before(&file, 3).unwrap().is_none());
    assert!(Index::find_before(&file, u64::MAX).unwrap().is_none());
}

#[test]
fn every_flipped_bit_is_found() {
    let (block, _) = build(&["a", "b"]);
    for bit in 0..block.len() * 8 {
        let mut damaged = block.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let file = Bytes::from(damaged);
        let end = file.len() as u64;
        match Index::find_before(&file, end) {
            Err(_) => {}
            Ok(None) => panic!("bit {bit} made the block vanish"),
            Ok(Some(index)) => {
                assert!(!index.verify().is_empty(), "bit {bit} was not noticed");
                for sample in 0..3 {
                    let _ = (index.region(sample, 1), index.key(sample));
                }
            }
        }
    }
}

#[test]
fn every_truncation_is_an_error() {
    let (block, _) = build(&["a", "b"]);
    for len in 0..block.len() {
        assert!(Index::parse(block[..len].to_vec().into()).is_err(), "{len}");
    }
}

#[test]
fn another_version_is_named() {
    let (mut block, _) = build(&["a"]);
    block[8] = 2;
    reseal(&mut block);
    let error = Index::parse(block.into()).unwrap_err();
    assert_eq!(error, IndexError::Version { found: 2, supported: 1 });
}

#[test]
fn unknown_sections_are_skipped_unless_required() {
    // KEYS (the third entry) becomes an unknown kind.
    let (mut block, _) = build(&["a"]);
    let entry = HEADER_LEN as usize + 2 * 32;
    block[entry..entry + 4].copy_from_slice(&77_u32.to_le_bytes());
    reseal(&mut block);
    let index = Index::parse(block.clone().into()).unwrap();
    assert_eq!(index.key(0).unwrap(), None);
    assert!(index.verify().is_empty());
    block[entry + 4] = 1;
    reseal(&mut block);
    let error = Index::parse(block.into()).unwrap_err();
    assert_eq!(error, IndexError::Section { kind: 77 });
}

#[test]
fn consistent_lies_are_refused() {
    let (block, _) = build(&["a", "b"]);
    // (offset in the block, value to write there): all with a matching root.
    let entry = |number: usize| HEADER_LEN as usize + 32 * number;
    let lies: [(usize, u64); 8] = [
        (16, u64::MAX),            // Samples.
        (16, 3),                   // One sample more than there are regions.
        (40, 1),                   // Block length.
        (entry(1) + 8, 0),         // REGIONS over the header.
        (entry(1) + 16, u64::MAX), // REGIONS without end.
        (entry(0) + 16, 1),        // META cut short.
        (entry(3) + 16, 23),       // RANGES inside a record.
        (entry(2), 1 | 1 << 32),   // META twice.
    ];
    for (at, value) in lies {
        let mut lie = block.clone();
        lie[at..at + 8].copy_from_slice(&value.to_le_bytes());
        reseal(&mut lie);
        assert!(Index::parse(lie.into()).is_err(), "{at} {value}");
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(Index::parse(Bytes::from(bytes)).is_err());
    }

    #[test]
    fn any_keys_come_back(keys in prop::collection::vec(".{0,12}", 0..20)) {
        let borrowed: Vec<&str> = keys.iter().map(String::as_str).collect();
        let (block, _) = build(&borrowed);
        let index = Index::parse(block.into()).unwrap();
        prop_assert!(index.verify().is_empty());
        for (i, key) in (0_u64..).zip(&keys) {
            prop_assert_eq!(index.key(i).unwrap(), Some(key.as_str()));
        }
    }
}
