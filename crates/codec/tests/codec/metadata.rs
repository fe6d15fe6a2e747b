//! Metadata is removed, pixels and orientation stay.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use crate::common::{encoded, file, kodak};
use fdconvert_codec::{
    Decoder, Encode, Encoder, FoundMetadata, JpegOptions, Metadata, MetadataKind, Notes, Policy,
    Stripped, Worker, find_metadata, strip_metadata,
};
use fdconvert_core::{Codec, Encoded, Limits, Pixels, probe::probe};
use fdconvert_testkit::{
    fake::FILES,
    metadata::{LATITUDE, MAKER, TIME, XMP, XMP_WITH_GPS, exif, jpeg_with, png_with, webp_with},
};

const XMP_NAME: &[u8] = b"http://ns.adobe.com/xap/1.0/\0";

fn decoded(bytes: &[u8]) -> Pixels {
    Decoder::new().decode("k", &encoded(bytes.to_vec()), &Limits::DEFAULT).unwrap().pixels
}

fn has(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

fn strip(bytes: &[u8], kinds: &str) -> Option<Stripped> {
    let kinds: Vec<MetadataKind> = kinds.split(',').map(|kind| kind.parse().unwrap()).collect();
    let codec = probe(bytes).unwrap().codec;
    strip_metadata(bytes, codec, kinds.into_iter().collect()).unwrap()
}

/// Returns an image with an EXIF of this orientation, an XMP packet, a profile and a comment.
fn dressed(image: &Encoded, orientation: u16, xmp: &[u8]) -> Vec<u8> {
    let tiff = exif(orientation, orientation.is_multiple_of(2));
    let named = |name: &[u8], data: &[u8]| [name, data].concat();
    match image.codec {
        Codec::Jpeg => {
            let segments = [
                (0xE1, named(b"Exif\0\0", &tiff)),
                (0xE1, named(XMP_NAME, xmp)),
                (0xE2, named(b"ICC_PROFILE\0\x01\x01", b"colours")),
                (0xED, named(b"Photoshop 3.0\0", b"8BIMagency")),
                (0xFE, b"a comment".to_vec()),
                (0xE5, b"Maker's own".to_vec()),
            ];
            jpeg_with(&image.bytes, &segments)
        }
        Codec::Png => {
            let chunks: [(&[u8; 4], _); 5] = [
                (b"eXIf", tiff),
                (b"iTXt", named(b"XML:com.adobe.xmp\0\0\0\0\0", xmp)),
                (b"tEXt", b"Comment\0a comment".to_vec()),
                (b"tEXt", b"Raw profile type iptc\0\niptc\n 6\nagency".to_vec()),
                (b"prIv", b"Maker's own".to_vec()),
            ];
            png_with(&image.bytes, &chunks, false)
        }
        _ => {
            let chunks: [(&[u8; 4], _); 4] = [
                (b"ICCP", b"colours".to_vec()),
                (b"EXIF", tiff),
                (b"XMP ", xmp.to_vec()),
                (b"PRIV", b"Maker's own".to_vec()),
            ];
            webp_with(&image.bytes, (image.width, image.height), &chunks)
        }
    }
}

fn small(codec: Codec) -> Encoded {
    file(23, 17, 3, codec)
}

const CODECS: [Codec; 3] = [Codec::Jpeg, Codec::Png, Codec::Webp];

#[test]
fn all_but_orientation_and_colours_go() {
    for codec in CODECS {
        let image = small(codec);
        for orientation in 1..=8 {
            let bytes = dressed(&image, orientation, XMP);
            let stripped = strip(&bytes, "all").unwrap();
            for gone in [MAKER, TIME, &LATITUDE, XMP, b"comment", b"agency", b"Maker's own"] {
                assert!(!has(&stripped.bytes, gone), "{codec:?}: {gone:?}");
            }
            if codec != Codec::Png {
                assert!(has(&stripped.bytes, b"colours"), "{codec:?}");
                assert!(!has(&strip(&bytes, "all,icc").unwrap().bytes, b"colours"), "{codec:?}");
            }
            let header = probe(&stripped.bytes).unwrap();
            assert_eq!(u16::from(header.orientation), orientation, "{codec:?}");
            assert_eq!(decoded(&stripped.bytes), decoded(&bytes));
            let kept = stripped.notes.contains(Notes::ORIENTATION_KEPT);
            assert_eq!(kept, orientation > 1, "{codec:?}");
            assert!(stripped.notes.contains(Notes::GPS_REMOVED));
            // Nothing is left to remove.
            assert_eq!(strip(&stripped.bytes, "all"), None, "{codec:?} {orientation}");
            if orientation == 1 && codec != Codec::Webp {
                let bare = strip(&bytes, "all,icc").unwrap().bytes;
                assert_eq!(bare, image.bytes, "{codec:?}: as before it was dressed");
            }
        }
    }
}

#[test]
fn each_kind_goes_by_itself() {
    let bytes = dressed(&small(Codec::Jpeg), 6, XMP);
    let check = |kinds: &str, gone: &[&[u8]]| {
        let stripped = strip(&bytes, kinds).unwrap().bytes;
        for what in [MAKER, XMP, b"comment", b"agency", b"colours", b"Maker's own"] {
            assert_eq!(has(&stripped, what), !gone.contains(&what), "{kinds}: {what:?}");
        }
        assert_eq!(probe(&stripped).unwrap().orientation, 6);
    };
    check("exif", &[MAKER]);
    check("xmp", &[XMP]);
    check("iptc", &[b"agency"]);
    check("comments", &[b"comment"]);
    check("icc", &[b"colours"]);
    check("gps", &[]);
    check("exif,xmp,comments", &[MAKER, XMP, b"comment"]);
}

#[test]
fn a_position_goes_and_the_rest_of_the_exif_stays() {
    for codec in CODECS {
        for orientation in [1, 2, 6] {
            let bytes = dressed(&small(codec), orientation, XMP);
            assert!(find(&bytes).kinds.contains(Metadata::GPS) && has(&bytes, &LATITUDE));
            let stripped = strip(&bytes, "gps").unwrap();
            assert_eq!(stripped.notes, Notes::GPS_REMOVED, "{codec:?}");
            assert!(!find(&stripped.bytes).kinds.contains(Metadata::GPS));
            assert!(!has(&stripped.bytes, &LATITUDE));
            assert_eq!(u16::from(probe(&stripped.bytes).unwrap().orientation), orientation);
            assert_eq!(decoded(&stripped.bytes), decoded(&bytes));
            // In place: the pointers to maker, time and thumbnail stay valid.
            let tiff = exif(orientation, orientation.is_multiple_of(2));
            let at = bytes.windows(tiff.len()).position(|window| window == tiff).unwrap();
            let rest = &stripped.bytes[at..at + tiff.len()];
            let place = |text: &[u8]| tiff.windows(text.len()).position(|it| it == text).unwrap();
            for text in [MAKER, TIME] {
                assert_eq!(&rest[place(text)..][..text.len()], text, "{codec:?}");
            }
            let n_entries = if orientation % 2 == 0 { [0, 3] } else { [3, 0] };
            assert_eq!(rest[8..10], n_entries, "{codec:?}");
            assert_eq!(rest[10..46], tiff[10..46], "the other entries are as they were");
            assert_eq!(rest[46..50], tiff[58..62], "the next directory has moved up");
            assert_eq!(strip(&stripped.bytes, "gps"), None);
            // A packet that names a position is removed as a whole.
            let bytes = dressed(&small(codec), orientation, XMP_WITH_GPS);
            let stripped = strip(&bytes, "gps").unwrap();
            assert!(!has(&stripped.bytes, b"GPSL") && has(&stripped.bytes, MAKER));
        }
    }
}

fn find(bytes: &[u8]) -> FoundMetadata {
    find_metadata(bytes, probe(bytes).unwrap().codec)
}

#[test]
fn what_there_is_is_found() {
    for codec in CODECS {
        let found = find(&dressed(&small(codec), 6, XMP));
        assert!(found.is_turned);
        for kind in [Metadata::EXIF, Metadata::GPS, Metadata::XMP] {
            assert!(found.kinds.contains(kind), "{codec:?} {kind}");
        }
        assert_eq!(found.kinds.contains(Metadata::COMMENTS), codec != Codec::Webp);
        assert_eq!(find(&small(codec).bytes), FoundMetadata::default(), "{codec:?}");
    }
}

/// Some writers put the EXIF there, and Pillow reads it there.
#[test]
fn an_exif_behind_the_pixels_of_a_png_is_seen() {
    let image = small(Codec::Png);
    let bytes = png_with(&image.bytes, &[(b"eXIf", exif(6, true))], true);
    assert!(find(&bytes).is_turned);
    let stripped = strip(&bytes, "exif").unwrap();
    assert!(!has(&stripped.bytes, MAKER) && find(&stripped.bytes).is_turned);
    assert!(stripped.notes.contains(Notes::ORIENTATION_KEPT));
}

#[test]
fn what_lies_behind_the_image_goes_too() {
    for codec in [Codec::Jpeg, Codec::Png] {
        let image = small(codec);
        let second = dressed(&small(Codec::Jpeg), 1, XMP_WITH_GPS);
        let bytes = [&image.bytes[..], &second].concat();
        for kinds in ["gps", "exif", "xmp", "all"] {
            let stripped = strip(&bytes, kinds).unwrap();
            assert_eq!(stripped.bytes, image.bytes, "{codec:?} {kinds}");
            assert!(stripped.notes.contains(Notes::TAIL_REMOVED));
        }
        assert_eq!(strip(&bytes, "comments,icc"), None, "{codec:?}");
    }
}

#[test]
fn the_header_of_a_webp_says_what_is_left() {
    let image = small(Codec::Webp);
    let bytes = dressed(&image, 1, XMP);
    let flags = |bytes: &[u8]| bytes[20];
    assert_eq!(flags(&bytes), 0x2C);
    for (kinds, expected) in [("exif", 0x24), ("xmp", 0x28), ("icc", 0x0C), ("all,icc", 0)] {
        let stripped = strip(&bytes, kinds).unwrap().bytes;
        assert_eq!(flags(&stripped), expected, "{kinds}");
        let size = u32::from_le_bytes(stripped[4..8].try_into().unwrap());
        assert_eq!(size as usize + 8, stripped.len());
    }
    // An EXIF stays if it turns the image.
    assert_eq!(flags(&strip(&dressed(&image, 3, XMP), "all").unwrap().bytes), 0x28);
}

#[test]
fn comments_of_a_gif_go_and_its_frames_stay() {
    let plain = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff\
                  !\xff\x0bNETSCAPE2.0\x03\x01\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";
    let (start, rest) = plain.split_at(19);
    let bytes = [start, b"!\xfe\x03abc\0!\xff\x0bXMP DataXMP\x02ab\0", rest].concat();
    let stripped = strip_metadata(&bytes, Codec::Gif, Metadata::ALL).unwrap().unwrap();
    assert_eq!(stripped.bytes, plain);
    assert_eq!(strip_metadata(plain, Codec::Gif, Metadata::ALL).unwrap(), None);
}

/// Whatever an EXIF claims: no panic, no position afterwards, the same turn, and in doubt the whole
/// EXIF is removed.
#[test]
fn damaged_exif_goes_as_a_whole() {
    let image = small(Codec::Jpeg);
    let whole = exif(6, true);
    let wrap = |tiff: &[u8]| jpeg_with(&image.bytes, &[(0xE1, [b"Exif\0\0", tiff].concat())]);
    let mut dropped = 0;
    let mut check = |tiff: &[u8]| {
        let bytes = wrap(tiff);
        let before = probe(&bytes).unwrap().orientation;
        for kinds in ["gps", "exif", "all"] {
            let stripped = strip(&bytes, kinds);
            let rest = stripped.as_ref().map_or(&bytes, |stripped| &stripped.bytes);
            assert_eq!(probe(rest).unwrap().orientation, before);
            assert!(!find(rest).kinds.contains(Metadata::GPS));
            assert_eq!(strip(rest, kinds), None);
            let notes = stripped.as_ref().map_or(Notes::NONE, |stripped| stripped.notes);
            if notes.contains(Notes::EXIF_UNREADABLE) {
                dropped += 1;
                assert!(!has(rest, &LATITUDE) && !has(rest, MAKER));
            }
        }
    };
    for len in 0..whole.len() {
        check(&whole[..len]);
    }
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut tiff = whole.clone();
            tiff[at] ^= 1 << bit;
            check(&tiff);
        }
    }
    assert!(dropped > 100, "{dropped}");
}

/// Found by fuzzing: the result began with the junk, and no reader accepted it as a JPEG.
#[test]
fn junk_behind_a_segment_goes_with_it() {
    let image = small(Codec::Jpeg);
    let (start, rest) = image.bytes.split_at(2);
    let damaged = [start, b"\xFF\xFE\0\x04hi", b"junk", rest].concat();
    let stripped = strip(&damaged, "comments").unwrap();
    assert_eq!(stripped.bytes, image.bytes);
    assert_eq!(probe(&stripped.bytes), probe(&damaged));
}

/// Found by fuzzing: readers saw no image in the result, or another header.
#[test]
fn a_webp_whose_chunks_are_out_of_order_is_refused() {
    let image = small(Codec::Webp);
    let exif = [b"EXIF\x06\0\0\0".as_slice(), b"II*\0\0\0"].concat();
    let damaged = [&image.bytes[..12], &exif, &image.bytes[12..]].concat();
    let error = strip_metadata(&damaged, Codec::Webp, Metadata::ALL).unwrap_err();
    assert!(error.contains("its chunk at byte 12 belongs elsewhere"), "{error}");
}

#[test]
fn a_directory_that_shares_its_bytes_is_not_overwritten() {
    let image = small(Codec::Jpeg);
    let mut tiff = exif(1, true);
    // The position's directory is that of the camera.
    let camera: [u8; 4] = tiff[8 + 2 + 2 * 12 + 8..][..4].try_into().unwrap();
    tiff[8 + 2 + 3 * 12 + 8..][..4].copy_from_slice(&camera);
    let bytes = jpeg_with(&image.bytes, &[(0xE1, [b"Exif\0\0", &tiff[..]].concat())]);
    let stripped = strip(&bytes, "gps").unwrap();
    assert_eq!(stripped.bytes, image.bytes);
    assert!(stripped.notes.contains(Notes::EXIF_UNREADABLE));
}

#[test]
fn a_policy_strips_what_it_keeps() {
    let policy = Policy { strip: Metadata::ALL, ..Policy::default() };
    let apply = |policy: &Policy, bytes: Vec<u8>| {
        policy.apply("k", encoded(bytes).into(), &FILES, &mut Worker::new()).unwrap()
    };
    let plain = small(Codec::Jpeg);
    let outcome = apply(&policy, dressed(&plain, 1, XMP));
    assert_eq!(outcome.notes, Notes::STRIPPED | Notes::GPS_REMOVED);
    assert!(!has(&outcome.encoded.bytes, MAKER));
    assert_eq!(apply(&policy, plain.bytes.to_vec()).notes, Notes::KEPT);
    assert_eq!(policy.params()["strip-metadata"], "all");
    // In a TIFF it cannot be separated: the pixels are stored again.
    let tiff = fdconvert_testkit::fixtures::tiff_directory(&[]);
    assert!(strip_metadata(&tiff, Codec::Tiff, Metadata::ALL).is_err());
    assert!(policy.must_decode(Codec::Tiff) && !Policy::default().must_decode(Codec::Tiff));
    // Re-encoded images have none anyway.
    let png = Policy { encode: Encode::Png, ..policy };
    let outcome = apply(&png, dressed(&plain, 1, XMP));
    assert_eq!(find(&outcome.encoded.bytes), FoundMetadata::default());
}

/// Segments between the scans of a progressive JPEG, and photographs of each codec.
#[test]
fn pixels_of_photographs_stay() {
    let mut encoder = Encoder::new();
    let photos = kodak().into_iter().take(4).map(|(_, photo)| photo);
    for photo in photos.chain([file(64, 48, 1, Codec::Jpeg), file(64, 48, 4, Codec::Png)]) {
        let pixels = decoded(&photo.bytes);
        for codec in CODECS {
            let made = encoder.encode("k", &pixels, codec, &JpegOptions::default(), None);
            let Ok(image) = made else { continue };
            unchanged(&image);
        }
    }
}

fn unchanged(image: &Encoded) {
    let bytes = dressed(image, 6, XMP_WITH_GPS);
    let (pixels, header) = (decoded(&bytes), probe(&bytes).unwrap());
    for kinds in ["exif", "gps", "xmp", "all", "all,icc"] {
        let stripped = strip(&bytes, kinds).unwrap();
        assert!(decoded(&stripped.bytes) == pixels, "{kinds}");
        assert_eq!(probe(&stripped.bytes).unwrap(), header, "{kinds}");
    }
}

/// A long EXIF continues in segments that do not begin as one, and is removed with them.
#[test]
fn an_exif_in_parts_and_one_of_other_integers_leave_their_turn() {
    let image = small(Codec::Jpeg);
    let named = |tiff: &[u8]| (0xE1, [b"Exif\0\0", tiff].concat());
    let parts = [named(&exif(6, true)), named(b"the rest of it")];
    let behind = [named(b"no EXIF"), named(&exif(6, true))];
    let long = b"MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x04\0\0\0\x01\0\0\0\x06\0\0\0\0";
    for segments in [&parts[..], &behind, &[named(long)]] {
        let bytes = jpeg_with(&image.bytes, segments);
        assert!(find(&bytes).is_turned && probe(&bytes).unwrap().orientation == 6);
        let stripped = strip(&bytes, "exif").unwrap();
        assert_eq!(probe(&stripped.bytes).unwrap().orientation, 6);
        assert!(stripped.notes.contains(Notes::ORIENTATION_KEPT));
        assert_eq!(stripped.bytes.windows(5).filter(|it| it == b"Exif\0").count(), 1);
    }
}

/// Readers differ in the one of several that they use.
#[test]
fn each_of_several_exifs_keeps_its_turn() {
    let image = small(Codec::Jpeg);
    let exif = |turn| (0xE1, [b"Exif\0\0".as_slice(), &exif(turn, true)].concat());
    for (first, second) in [(6, 1), (1, 6), (3, 8), (1, 1)] {
        let bytes = jpeg_with(&image.bytes, &[exif(first), exif(second)]);
        let stripped = strip(&bytes, "all").unwrap().bytes;
        assert_eq!(u16::from(probe(&stripped).unwrap().orientation), first);
        // The place of the orientation in the replacement.
        let turn = stripped[2 + 4 + 6 + 18];
        let is_bare = (first, second) == (1, 1);
        assert_eq!(is_bare, stripped == image.bytes);
        assert!(is_bare || u16::from(turn) == first);
        assert_eq!(strip(&stripped, "all"), None);
    }
}

fdconvert_testkit::needs_shared! {
    /// All images, some of them progressive, unchanged and in two more codecs.
    fn pixels_of_five_hundred_images_stay() {
        let folder = fdconvert_testkit::fixtures::shared().join("data/images");
        let mut n_images = 0;
        for (_, image) in crate::common::files(&folder) {
            let Ok(found) = Decoder::new().decode("k", &image, &Limits::DEFAULT) else { continue };
            let mut pixels = found.pixels;
            pixels.height = pixels.height.min(64);
            let len = Pixels::byte_len(pixels.width, pixels.height, pixels.channels);
            pixels.data.truncate(len as usize);
            let again = [Codec::Png, Codec::Webp].into_iter().filter_map(|codec| {
                Encoder::new().encode("k", &pixels, codec, &JpegOptions::default(), None).ok()
            });
            for image in [image].into_iter().chain(again) {
                unchanged(&image);
                n_images += 1;
            }
        }
        assert!(n_images > 400, "{n_images}");
    }
}
