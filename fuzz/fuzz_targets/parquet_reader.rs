//! Any bytes as a Parquet file: an error or well-formed samples.
#![no_main]
use bytes::Bytes;
use fdconvert_core::{Amount, Look, MaxDecompressed, Reader, Source, Value};
use fdconvert_formats::parquet::ParquetReader;
use libfuzzer_sys::fuzz_target;
use std::{panic, path::Path};

/// More than the seeds need, and small enough for a fuzzer's memory.
const LIMIT: MaxDecompressed = MaxDecompressed(Some(16 << 20));

/// Ignores panics of the library, which the reader catches; a panic that it does not catch reaches
/// libFuzzer's own frame, and ends the run as usual.
fn mind_only_our_panics() {
    let fatal = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let is_theirs = panic.location().is_some_and(|at| at.file().contains("/parquet-"));
        if !is_theirs {
            fatal(panic);
        }
    }));
}

fuzz_target!(init: mind_only_our_panics(), |data: &[u8]| {
    let bytes = Bytes::copy_from_slice(data);
    let Ok(reader) = ParquetReader::from_bytes(bytes, Path::new("x.parquet"), LIMIT) else {
        return;
    };
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
                    assert!(image.width > 0 && image.height > 0);
                }
            }
            Err(error) => assert!(verified.is_err() && !error.to_string().is_empty()),
        }
    }
});
