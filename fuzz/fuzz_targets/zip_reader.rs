//! Any bytes as a zip: an error or well-formed samples, with files next to the images and without.
#![no_main]
use bytes::Bytes;
use fdconvert_core::{Amount, Look, Reader, Source};
use fdconvert_formats::folder::Folder;
use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|data: &[u8]| {
    let zip = Bytes::copy_from_slice(data);
    explore(&Folder::default().split_folders(true), &zip);
    explore(&Folder::default().beside(vec!["txt".into(), "npy".into(), "png".into()]), &zip);
});

fn explore(how: &Folder, zip: &Bytes) {
    let reader = match how.open_zip(Path::new("/nonexistent/fuzz.zip"), zip.clone()) {
        Ok(reader) => reader,
        Err(error) => return assert!(!error.chain().is_empty()),
    };
    assert!(!reader.details().is_empty());
    let n_samples = reader.len();
    for i in (0..n_samples.min(64)).chain(n_samples.saturating_sub(2)..n_samples + 2) {
        let key = reader.key(i);
        let _ = (reader.codec_hint(i), reader.bytes(i, Amount::Known), reader.label(i));
        match reader.get(i) {
            Ok(sample) => {
                assert!(i < n_samples && sample.key == key);
                reader.schema().check(&sample).unwrap_or_else(|error| panic!("{error}"));
            }
            Err(error) => assert!(!error.chain().is_empty()),
        }
        let _ = reader.verify_sample(i);
    }
    let _ = (
        reader.fingerprint(Look::Sizes),
        reader.fingerprint(Look::Times),
        reader.splits(),
        reader.remarks(),
    );
}
