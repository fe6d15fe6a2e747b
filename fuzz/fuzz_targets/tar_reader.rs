//! Any bytes as a tar: an error, or entries within the file that do not overlap. Checksums stop a
//! fuzzer, so that the archive is also read with corrected ones.
//!
//! The walk is private to its crate, and included here from its source. `wds_reader` tests the
//! whole reader.
#![no_main]
use libfuzzer_sys::fuzz_target;

#[allow(dead_code, unused_imports)]
#[path = "../../formats/tar/mod.rs"]
mod tar;

const BLOCK: usize = 512;

fuzz_target!(|data: &[u8]| {
    explore(data);
    let mut archive = data.to_vec();
    seal(&mut archive);
    explore(&archive);
});

fn explore(archive: &[u8]) {
    let (mut end, mut names, mut failed) = (0, 0, false);
    for entry in tar::entries(archive) {
        assert!(!failed, "an entry after an error");
        match entry {
            Ok(entry) => {
                assert!(entry.header >= end && entry.data >= entry.header + BLOCK as u64);
                end = entry.data + entry.len;
                assert!(end <= archive.len() as u64);
                assert!(!entry.name.contains(&0) && entry.name.len() <= archive.len());
                names += usize::from(tar::split_key(&entry.name).is_some());
            }
            Err(error) => {
                assert!(error.offset <= archive.len() as u64 && !error.what.is_empty());
                failed = true;
            }
        }
    }
    let mut grouped = 0;
    for group in tar::groups(archive) {
        let Ok(group) = group else {
            assert!(failed, "an error of samples only");
            return;
        };
        for entry in &group.entries {
            let (key, _) = tar::split_key(&entry.name).expect("grouped by its key");
            assert!(key == group.key);
        }
        grouped += group.entries.len();
    }
    assert!(failed || grouped == names, "{grouped} of {names} entries are in samples");
}

/// Corrects the checksums of all blocks that could be headers.
fn seal(archive: &mut [u8]) {
    for block in archive.chunks_exact_mut(BLOCK) {
        if block[257..262] == *b"ustar" {
            block[148..156].fill(b' ');
            let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
            block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        }
    }
}
