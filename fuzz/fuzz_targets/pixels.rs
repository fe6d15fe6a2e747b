//! Any bytes as a file of MNIST or CIFAR: an error, or images of no more bytes than the file has.
#![no_main]
use fdconvert_formats::folder::PixelFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for file in [PixelFile::Idx, PixelFile::Cifar10, PixelFile::Cifar100] {
        match file.images(data) {
            Ok(images) => {
                assert!(images.iter().map(|image| image.data.len()).sum::<usize>() <= data.len());
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});
