//! Any bytes as an XML file of Pascal VOC: an error, or a document without NaN or infinity.
#![no_main]
use fdconvert_formats::folder::AnnotationFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    match AnnotationFile::Voc.documents(data) {
        Ok(documents) => {
            assert!(documents.len() == 1 && std::str::from_utf8(&documents[0]).is_ok())
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
