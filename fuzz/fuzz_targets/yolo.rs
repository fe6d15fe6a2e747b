//! Any bytes as a YAML file of YOLO, and as lines of a text file.
#![no_main]
use fdconvert_formats::folder::AnnotationFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for file in [AnnotationFile::YoloData, AnnotationFile::YoloText([u32::MAX, 480])] {
        match file.documents(data) {
            Ok(documents) => {
                let text = documents.first().map(|it| std::str::from_utf8(it).expect("is JSON"));
                assert!(text.is_none_or(|text| !text.contains("null") && !text.contains("NaN")));
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});
