//! Zips in memory: shared bytes, and the effects of damage.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
use crate::folder::{Folder, FolderReader};
use bytes::Bytes;
use fdconvert_core::{Reader, Result, Source, Value};
use fdconvert_testkit::{
    fixtures,
    zip::{Entry, zip, zip64},
};
use proptest::prelude::*;
use std::path::Path;

fn open(zip: &Bytes) -> Result<FolderReader> {
    let how = Folder::default().beside(vec!["txt".to_owned()]);
    how.open_zip(Path::new("/nonexistent/p.zip"), zip.clone())
}

fn image(reader: &FolderReader, index: u64) -> Result<Bytes> {
    match reader.get(index)?.values.swap_remove(0) {
        Value::Image(image) => Ok(image.bytes),
        other => panic!("{other:?}"),
    }
}

fn small() -> Vec<Entry> {
    let image = fixtures::PNG_RGB;
    vec![
        Entry::stored("a/1.png", image),
        Entry::stored("a/1.txt", b"one"),
        Entry::deflated("b/2.png", image),
        Entry::deflated("b/2.txt", b"two"),
    ]
}

#[test]
fn stored_images_are_slices_of_the_zip() {
    let zip = Bytes::from(zip(&small()));
    let reader = open(&zip).unwrap();
    let is_shared = |bytes: Bytes| zip.as_ptr_range().contains(&bytes.as_ptr());
    assert!(is_shared(image(&reader, 0).unwrap()));
    assert!(!is_shared(image(&reader, 1).unwrap()));
    assert_eq!(reader.get(1).unwrap().values[2], Value::Text("two".to_owned()));
}

#[test]
fn no_flipped_bit_gives_another_image() {
    for whole in [zip(&small()), zip64(&small())] {
        let mut n_found = 0;
        for bit in 0..whole.len() * 8 {
            let mut zip = whole.clone();
            zip[bit / 8] ^= 1 << (bit % 8);
            let Ok(reader) = open(&zip.into()) else { continue };
            for index in 0..reader.len() {
                if let Ok(bytes) = image(&reader, index) {
                    assert_eq!(bytes, fixtures::PNG_RGB, "bit {bit}");
                    n_found += 1;
                }
            }
        }
        // Most bits are in the data of one file, or in times and similar fields.
        assert!(n_found > whole.len() * 4);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_survived(mut tail in prop::collection::vec(any::<u8>(), 0..200), at in 0..500_usize) {
        let mut zip = zip(&small());
        let at = at.min(zip.len());
        let end = (at + tail.len()).min(zip.len());
        zip.splice(at..end, tail.iter().copied());
        tail.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0\x20\0\0\0\0\0\0\0\0\0");
        for zip in [zip, tail] {
            if let Ok(reader) = open(&zip.into()) {
                for index in 0..reader.len() + 1 {
                    let _ = (image(&reader, index), reader.verify_sample(index));
                }
            }
        }
    }
}
