//! Any bytes as a `.beton` file: an error or well-formed samples, in memory of the input's order.
#![no_main]
use bytes::Bytes;
use fdconvert_core::{Codec, Look, Reader, Source, Value};
use fdconvert_formats::beton::BetonReader;
use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|data: &[u8]| {
    let Ok(reader) = BetonReader::from_bytes(Bytes::copy_from_slice(data), Path::new("fuzz"))
    else {
        return;
    };
    let (details, fingerprint) = (reader.details(), reader.fingerprint(Look::Sizes).unwrap());
    assert!(!details.is_empty() && fingerprint == reader.fingerprint(Look::Sizes).unwrap());
    let _ = reader.verify_layout();
    let n_samples = reader.len();
    // Rows are in the file: there are never more samples than bytes.
    assert!(n_samples <= data.len() as u64);
    for i in (0..n_samples.min(64)).chain(n_samples.saturating_sub(2)..n_samples + 2) {
        let key = reader.key(i);
        let verified = reader.verify_sample(i);
        match reader.get(i) {
            Ok(sample) => {
                assert_eq!(sample.key, key);
                assert!(i < n_samples);
                reader.schema().check(&sample).unwrap_or_else(|error| panic!("{error}"));
                for image in sample.values.iter().flat_map(Value::images) {
                    let pixels = u64::from(image.width) * u64::from(image.height);
                    assert!(pixels > 0 && !image.bytes.is_empty());
                    let len = image.bytes.len() as u64;
                    assert!(image.codec != Codec::Raw || len == pixels * 3);
                }
            }
            Err(error) => {
                assert!(verified.is_err() && !error.to_string().is_empty());
            }
        }
    }
});
