//! Any bytes as an index block. Checksums stop a fuzzer, so that the block is also read with
//! corrected checksums: the code after them must be as robust.
#![no_main]
use bytes::Bytes;
use fdconvert_formats::index::{HEADER_LEN, Index, TRAILER_LEN};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    explore(data.to_vec());
    let mut block = data.to_vec();
    if seal(&mut block).is_some() {
        explore(block);
    }
});

fn explore(block: Vec<u8>) {
    let block = Bytes::from(block);
    let end = block.len() as u64;
    let found = Index::find_before(&block, end);
    let Ok(index) = Index::parse(block) else { return };
    assert!(matches!(found, Ok(Some(_))), "parsed, but not found from its end");
    let n_samples = index.n_samples();
    let sound = index.verify().is_empty();
    for sample in (0..n_samples.min(64)).chain(n_samples.saturating_sub(2)..=n_samples) {
        let key = index.key(sample);
        assert!(key.is_err() || sample < n_samples);
        assert!(!sound || key.is_ok() || sample >= n_samples, "a sound block with a bad key");
        for position in 0..index.regions_per_sample().min(64) {
            if let Ok(region) = index.region(sample, position) {
                assert!(region.offset + region.len <= index.data_len());
            }
        }
        for field in 0..4 {
            match index.entry_points(sample, field) {
                Ok(Some(bytes)) => assert!(!bytes.is_empty() && index.has_entry_points()),
                Ok(None) => {}
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    }
    assert!(index.ranges().count() as u64 <= end);
    assert!(!index.meta().schema.fields.is_empty());
}

/// Recomputes every checksum, as far as the block can be parsed.
fn seal(block: &mut [u8]) -> Option<()> {
    let word = |block: &[u8], at: usize| -> Option<u64> {
        Some(u64::from_le_bytes(block.get(at..at.checked_add(8)?)?.try_into().ok()?))
    };
    let n_sections = usize::try_from(word(block, 8)? >> 32).ok()?.min(64);
    for number in 0..n_sections {
        let entry = HEADER_LEN as usize + 32 * number;
        let start = usize::try_from(word(block, entry + 8)?).ok()?;
        let end = start.checked_add(usize::try_from(word(block, entry + 16)?).ok()?)?;
        let sum = xxhash_rust::xxh3::xxh3_64(block.get(start..end)?);
        block.get_mut(entry + 24..entry + 32)?.copy_from_slice(&sum.to_le_bytes());
    }
    let root = xxhash_rust::xxh3::xxh3_64(block.get(..HEADER_LEN as usize + 32 * n_sections)?);
    let trailer = block.len().checked_sub(TRAILER_LEN as usize)?;
    block.get_mut(trailer + 8..trailer + 16)?.copy_from_slice(&root.to_le_bytes());
    Some(())
}
