//! Any bytes as a formula file, with the checksum and the end mark corrected: an error, or a
//! dataset of images that can be rendered.
#![no_main]
use fdconvert_core::{Look, Reader, Source};
use fdconvert_formats::formula::FormulaReader;
use libfuzzer_sys::fuzz_target;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_128;

fuzz_target!(|data: &[u8]| {
    let path = Path::new("x.formula");
    let _ = FormulaReader::from_bytes(data, path);
    let sealed = [data, &xxh3_128(data).to_le_bytes(), b"LUMROFDF"].concat();
    let Ok(reader) = FormulaReader::from_bytes(&sealed, path) else { return };
    let frame = reader.fractals().formula().frame;
    let n_samples = reader.len();
    assert!(
        n_samples > 0
            && reader.fingerprint(Look::Sizes).unwrap() == reader.fingerprint(Look::Sizes).unwrap()
    );
    assert!(!reader.details().is_empty());
    assert!(reader.get(n_samples).is_err());
    // Large frames are slow, and not different.
    if frame.size() > 64 || frame.points() > 2048 {
        return;
    }
    for index in [0, n_samples / 2, n_samples - 1] {
        let Ok(sample) = reader.get(index) else { continue };
        assert_eq!(sample.key, reader.key(index));
        reader.schema().check(&sample).unwrap_or_else(|error| panic!("{error}"));
    }
});
