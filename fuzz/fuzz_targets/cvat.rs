//! Any bytes as an XML file of CVAT: an error, or a document for each image.
#![no_main]
use fdconvert_formats::folder::AnnotationFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    match AnnotationFile::Cvat.documents(data) {
        Ok(documents) => {
            assert!(documents.iter().all(|text| std::str::from_utf8(text).is_ok()));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
