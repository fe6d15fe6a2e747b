//! Any bytes as an index and the shards it names: an error or well-formed samples. The input is the
//! length of the index (u32) and the index, then the same for each shard.
#![no_main]
use bytes::Bytes;
use fdconvert_core::{Amount, Look, Reader, Source, Value};
use fdconvert_formats::mds::MdsReader;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut rest = Bytes::copy_from_slice(data);
    let index = take(&mut rest);
    let mut shards = Vec::new();
    while !rest.is_empty() && shards.len() < 8 {
        shards.push(take(&mut rest));
    }
    let Ok(reader) = MdsReader::from_parts(&index, shards) else { return };
    let (details, fingerprint) = (reader.details(), reader.fingerprint(Look::Sizes).unwrap());
    assert!(!details.is_empty() && fingerprint == reader.fingerprint(Look::Sizes).unwrap());
    let _ = reader.verify_layout();
    let n_samples = reader.len();
    for i in (0..n_samples.min(64)).chain(n_samples.saturating_sub(2)..n_samples + 2) {
        let key = reader.key(i);
        let _ = (reader.codec_hint(i), reader.bytes(i, Amount::Known), reader.label(i));
        let verified = reader.verify_sample(i);
        match reader.get(i) {
            Ok(sample) => {
                assert!(i < n_samples && sample.key == key);
                reader.schema().check(&sample).unwrap_or_else(|error| panic!("{error}"));
                for image in sample.values.iter().flat_map(Value::images) {
                    assert!(image.width > 0 && image.height > 0 && !image.bytes.is_empty());
                }
            }
            Err(error) => assert!(verified.is_err() && !error.to_string().is_empty()),
        }
    }
});

/// Takes as many bytes as the leading length says, or the rest.
fn take(rest: &mut Bytes) -> Bytes {
    if rest.len() < 4 {
        return std::mem::take(rest);
    }
    let head = rest.split_to(4);
    let len = head.iter().rev().fold(0, |len, &byte| len << 8 | usize::from(byte));
    rest.split_to(len.min(rest.len()))
}
