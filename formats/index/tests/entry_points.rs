//! The CHECKPOINTS section: returns exactly the entries that were written.
#![allow(clippy::unwrap_used, clippy::panic)]
use crate::index::{Builder, ImageFacts, Index, IndexError, Meta, Region, seal_all};
use bytes::Bytes;
use fdconvert_core::{Codec, FieldSpec, Kind, Schema};
use std::convert::Infallible;

const N_SAMPLES: u64 = 5;

fn meta() -> Vec<u8> {
    let fields =
        [("note", Kind::Text), ("image", Kind::Image), ("label", Kind::Int), ("mask", Kind::Image)];
    let fields = fields.map(|(name, kind)| FieldSpec::new(name, kind));
    let schema = Schema::new(fields.into()).unwrap();
    Meta { schema, ..Meta::default() }.to_json()
}

fn region(xxh3: u64, codec: Option<Codec>) -> Region {
    let image = codec.map(|codec| ImageFacts { codec, width: 2, height: 2 });
    Region { offset: 0, len: 100, xxh3, image }
}

fn regions(sample: u64) -> [Region; 3] {
    let mask = if sample == 2 { Codec::Jpeg } else { Codec::Png };
    [region(1, None), region(sample, Some(Codec::Jpeg)), region(!sample, Some(mask))]
}

/// Sample 1 has none at all, sample 2 has two.
fn given(sample: u64) -> Vec<Option<Bytes>> {
    let bytes = |seed: u64| Bytes::from(vec![seed as u8 + 0x12; 3 + sample as usize]);
    let mask = (sample == 2).then(|| bytes(90));
    if sample == 1 { vec![] } else { vec![Some(bytes(sample)), mask] }
}

fn build(with: bool) -> Vec<u8> {
    let builder = Builder::new(3);
    let mut builder = if with { builder.with_entry_points() } else { builder };
    let mut entries = Vec::new();
    for sample in 0..N_SAMPLES {
        builder.push("k", &regions(sample));
        builder.push_row(&[[7; 8]]);
        if with {
            builder.push_entry_lens(&seal_all(
                given(sample).iter().map(Option::as_ref),
                &regions(sample),
                &mut entries,
            ));
        }
    }
    let mut block = Vec::new();
    let write = |part: &[u8]| {
        block.extend_from_slice(part);
        Ok::<(), Infallible>(())
    };
    builder.emit_with(&meta(), 100, &[], &entries, write).unwrap();
    assert_eq!(block.len() as u64, builder.block_len(&meta(), 0));
    assert_eq!(entries.len() as u64, builder.entries_len());
    block
}

/// Makes header and table consistent again, as if no checksum had failed.
fn unseal(block: &mut [u8]) {
    let n_sections = u32::from_le_bytes(block[12..16].try_into().unwrap()) as usize;
    let root = xxhash_rust::xxh3::xxh3_64(&block[..48 + 32 * n_sections]);
    let at = block.len() - 24;
    block[at..at + 8].copy_from_slice(&root.to_le_bytes());
}

/// Returns the position of the section of this kind in the table.
fn entry_of(block: &[u8], kind: u32) -> usize {
    let word = |at: usize| u32::from_le_bytes(block[at..at + 4].try_into().unwrap());
    (0..word(12) as usize).map(|n| 48 + 32 * n).find(|&at| word(at) == kind).unwrap()
}

#[test]
fn entries_come_back_to_their_images() {
    let index = Index::parse(build(true).into()).unwrap();
    assert!(index.has_entry_points());
    assert_eq!(index.verify(), []);
    for sample in 0..N_SAMPLES {
        let given = given(sample);
        for image in 0..2 {
            let wanted = given.get(image as usize).cloned().flatten();
            assert_eq!(index.entry_points(sample, image).unwrap(), wanted, "{sample} {image}");
        }
    }
    for (sample, image) in [(N_SAMPLES, 0), (0, 2), (u64::MAX, u32::MAX)] {
        let asked = index.entry_points(sample, image);
        assert!(matches!(asked, Err(IndexError::Position { .. })), "{asked:?}");
    }
    let facts = index.entry_point_facts().unwrap();
    assert_eq!((facts.n_covered, facts.n_refused, facts.jpeg_bytes), (5, 1, 600));
    assert_eq!(facts.first_byte, Some(0x12));
    assert_eq!(facts.and(facts).n_covered, 10);
}

#[test]
fn a_block_without_the_section_says_nothing() {
    let index = Index::parse(build(false).into()).unwrap();
    assert!(!index.has_entry_points());
    assert_eq!(index.entry_points(0, 0), Ok(None));
    assert_eq!(index.entry_point_facts(), None);
    // Rows are found after the section as without it.
    let with = Index::parse(build(true).into()).unwrap();
    assert_eq!(index.row(3).unwrap(), with.row(3).unwrap());
}

/// A reader of the first version skips the section: its kind is unknown and without the flag.
#[test]
fn readers_that_do_not_know_the_section_skip_it() {
    let mut block = build(true);
    let at = entry_of(&block, 5);
    block[at + 3] = 0x80;
    unseal(&mut block);
    let index = Index::parse(block.into()).unwrap();
    assert!(!index.has_entry_points());
    assert!(index.verify().is_empty());
    assert_eq!(index.region(2, 1).unwrap(), regions(2)[1]);
}

#[test]
fn every_flipped_bit_of_the_section_is_an_error_or_changes_nothing() {
    let block = build(true);
    let at = entry_of(&block, 5);
    let word = |at: usize| u64::from_le_bytes(block[at..at + 8].try_into().unwrap()) as usize;
    let (start, len) = (word(at + 8), word(at + 16));
    for position in start..start + len {
        for bit in 0..8 {
            let mut damaged = block.clone();
            damaged[position] ^= 1 << bit;
            let index = Index::parse(damaged.into()).unwrap();
            assert!(!index.verify().is_empty(), "bit {bit} of {position} was not noticed");
            for sample in 0..N_SAMPLES {
                for image in 0..2 {
                    let wanted = given(sample).get(image as usize).cloned().flatten();
                    match index.entry_points(sample, image) {
                        Err(IndexError::Damaged { .. }) | Ok(None) => {}
                        found => assert_eq!(found, Ok(wanted), "bit {bit} of {position}"),
                    }
                }
            }
        }
    }
}

/// Two entries of equal length are exchanged: both are complete, and neither belongs to its image.
#[test]
fn an_entry_of_another_image_is_found() {
    let mut builder = Builder::new(3).with_entry_points();
    let mut entries = Vec::new();
    for sample in 0..2 {
        builder.push("k", &regions(sample));
        builder.push_row(&[[7; 8]]);
        let foreign = [Some(Bytes::from_static(b"\x12\x34\x56")), None];
        builder.push_entry_lens(&seal_all(
            foreign.iter().map(Option::as_ref),
            &regions(1 - sample),
            &mut entries,
        ));
    }
    let mut block = Vec::new();
    let write = |part: &[u8]| {
        block.extend_from_slice(part);
        Ok::<(), Infallible>(())
    };
    builder.emit_with(&meta(), 100, &[], &entries, write).unwrap();
    let index = Index::parse(block.into()).unwrap();
    assert!(matches!(index.entry_points(0, 0), Err(IndexError::Damaged { .. })));
    assert!(!index.verify().is_empty());
}

#[test]
fn a_section_that_is_too_short_is_damage() {
    let mut block = build(true);
    let at = entry_of(&block, 5);
    // As long as its integers, minus one.
    block[at + 16..at + 24].copy_from_slice(&80_u64.to_le_bytes());
    unseal(&mut block);
    assert!(matches!(Index::parse(block.into()), Err(IndexError::Damaged { .. })));
}
