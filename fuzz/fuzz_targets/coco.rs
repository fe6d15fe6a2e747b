//! Any bytes as a file of COCO annotations: an error, or documents of lists of equal length.
#![no_main]
use fdconvert_formats::folder::AnnotationFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    match AnnotationFile::Coco.documents(data) {
        Ok(documents) => {
            // Unknown parts of a file are never repeated, so no document is larger than the file.
            assert!(documents.iter().map(|it| it.len()).sum::<usize>() < 1000 + 200 * data.len());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
