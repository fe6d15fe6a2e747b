//! Any bytes as an image with metadata to remove: none of it is found afterwards, and the header is
//! unchanged.
#![no_main]
use fdconvert_codec::{Metadata, Notes, find_metadata, strip_metadata};
use fdconvert_core::probe::{probe, sniff};
use libfuzzer_sys::fuzz_target;

const KINDS: [Metadata; 7] = [
    Metadata::EXIF,
    Metadata::GPS,
    Metadata::XMP,
    Metadata::IPTC,
    Metadata::COMMENTS,
    Metadata::ICC,
    Metadata::ALL,
];

fuzz_target!(|data: &[u8]| {
    let Some((&kinds, bytes)) = data.split_first() else { return };
    let Some(codec) = sniff(bytes) else { return };
    let _ = find_metadata(bytes, codec);
    let asked = KINDS.into_iter().enumerate().filter(|(at, _)| kinds >> at & 1 == 1);
    let asked = asked.fold(Metadata::NONE, |all, (_, kind)| all | kind);
    let Ok(Some(stripped)) = strip_metadata(bytes, codec, asked) else { return };
    assert_eq!(strip_metadata(&stripped.bytes, codec, asked), Ok(None));
    let left = find_metadata(&stripped.bytes, codec);
    assert!(!asked.contains(Metadata::GPS) || !left.kinds.contains(Metadata::GPS));
    // Some readers also look for an EXIF after the end.
    if let (Ok(before), false) = (probe(bytes), stripped.notes.contains(Notes::TAIL_REMOVED)) {
        assert_eq!(probe(&stripped.bytes), Ok(before));
    }
});
