//! Any bytes as a shard: an error or well-formed samples. Header checksums stop a fuzzer, so that
//! the archive is also read with corrected ones.
#![no_main]
use bytes::Bytes;
use fdconvert_core::{Amount, Reader, Source, Value};
use fdconvert_formats::wds::WdsReader;
use libfuzzer_sys::fuzz_target;
use std::path::Path;

const BLOCK: usize = 512;

fuzz_target!(|data: &[u8]| {
    explore(data.to_vec());
    let mut archive = data.to_vec();
    for block in archive.chunks_exact_mut(BLOCK) {
        if block[257..262] == *b"ustar" {
            block[148..156].fill(b' ');
            let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
            block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        }
    }
    explore(archive);
});

fn explore(archive: Vec<u8>) {
    let path = Path::new("/nonexistent/fuzz.tar");
    let Ok(reader) = WdsReader::from_archive(Bytes::from(archive), path) else { return };
    assert!(!reader.details().is_empty());
    let n_samples = reader.len();
    for i in (0..n_samples.min(64)).chain(n_samples.saturating_sub(2)..n_samples + 2) {
        let key = reader.key(i);
        let _ = (reader.codec_hint(i), reader.bytes(i, Amount::Known), reader.label(i));
        match reader.get(i) {
            Ok(sample) => {
                assert!(i < n_samples && sample.key == key);
                reader.schema().check(&sample).unwrap_or_else(|error| panic!("{error}"));
                for image in sample.values.iter().flat_map(Value::images) {
                    assert!(image.width > 0 && image.height > 0 && !image.bytes.is_empty());
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}
