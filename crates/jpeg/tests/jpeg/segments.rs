//! The walk over the markers, with valid files and with arbitrary bytes.
#![allow(clippy::panic, reason = "a failure here is a failed test")]

use fdconvert_jpeg::{BadLength, marker, marker_segments};
use proptest::prelude::*;

/// Code, first byte, content and the byte offset after it.
type Walked<'a> = (u8, usize, Result<&'a [u8], BadLength>, usize);

fn walked(jpeg: &[u8]) -> Vec<Walked<'_>> {
    marker_segments(jpeg).map(|it| (it.marker, it.at, it.body, it.end)).collect()
}

#[test]
fn segments_restarts_and_the_end_are_found() {
    let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xda\0\x03c\x01\xff\0\x02\xff\xd0\x03\xff\xd9\xff\xe0";
    let found: [Walked<'_>; 4] = [
        (marker::APP0, 2, Ok(b"ab"), 8),
        (marker::SOS, 8, Ok(b"c"), 13),
        (0xD0, 17, Ok(b""), 19),
        (marker::EOI, 20, Ok(b""), 22),
    ];
    assert_eq!(walked(jpeg), found);
    let mut segments = marker_segments(jpeg);
    assert_eq!(segments.by_ref().count(), 4);
    assert_eq!(segments.rest(), b"\xff\xe0");
}

#[test]
fn stray_bytes_are_passed_over_and_told() {
    for (between, stray) in [
        (&b""[..], None),
        (b"\xff\xff\xff", None),
        (b"\x07", Some(7)),
        (b"\xff\xff\0", Some(0)),
        (b"\xff\0\x09\xff", Some(0)),
    ] {
        let jpeg = [b"\xff\xd8", between, b"\xff\xfe\0\x02"].concat();
        let [segment] = marker_segments(&jpeg).collect::<Vec<_>>()[..] else { panic!() };
        assert_eq!((segment.marker, segment.before, segment.stray()), (0xFE, between, stray));
        assert_eq!((segment.from(), segment.at), (2, 2 + between.len()));
    }
    for rest in [&b""[..], b"\xff", b"\xff\xff", b"abc", b"\xff\0"] {
        let jpeg = [b"\xff\xd8", rest].concat();
        let mut segments = marker_segments(&jpeg);
        assert_eq!((segments.next(), segments.rest()), (None, rest));
    }
}

#[test]
fn a_bad_length_ends_the_walk() {
    for (content, why) in [
        (&b""[..], BadLength::Ends),
        (b"\0", BadLength::Ends),
        (b"\0\0", BadLength::Impossible(0)),
        (b"\0\x01", BadLength::Impossible(1)),
        (b"\0\x03", BadLength::Ends),
        (b"\xff\xff", BadLength::Ends),
    ] {
        let jpeg = [b"\xff\xd8\xff\xe1", content].concat();
        assert_eq!(walked(&jpeg), [(marker::APP1, 2, Err(why), 4)]);
    }
}

proptest! {
    /// Every byte is visited once, from front to back.
    #[test]
    fn any_bytes_are_walked_over(
        bytes in proptest::collection::vec(prop_oneof![Just(0xFF), Just(0), any::<u8>()], 0..400),
    ) {
        let mut segments = marker_segments(&bytes);
        let mut at = 2;
        for segment in segments.by_ref() {
            prop_assert_eq!(segment.from(), at);
            prop_assert_eq!(&bytes[at..segment.at], segment.before);
            prop_assert_eq!(&bytes[segment.at..segment.at + 2], &[0xFF, segment.marker][..]);
            prop_assert!(segment.end >= segment.at + 2);
            at = segment.end;
        }
        prop_assert_eq!(segments.rest(), bytes.get(at..).unwrap_or_default());
    }
}
