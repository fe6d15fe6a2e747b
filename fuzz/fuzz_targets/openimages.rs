//! Any bytes as a table of boxes of OpenImages: an error, or a document.
#![no_main]
use fdconvert_formats::folder::AnnotationFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    match AnnotationFile::OpenImages.documents(data) {
        Ok(documents) => {
            assert!(
                documents.len() == 1
                    && documents.iter().all(|text| std::str::from_utf8(text).is_ok())
            );
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
