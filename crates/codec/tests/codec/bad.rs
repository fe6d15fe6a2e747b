//! Broken and unusual files: each gives the expected result, and nothing panics or allocates
//! without bounds.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a failure here is a failed test, and the errors are worth reading"
)]

use crate::common::{self, JPEG_OR_RAW, encoded, files};
use fdconvert_codec::{Decoder, Encode, Notes, Policy, Worker};
use fdconvert_core::{
    Codec, Encoded, Error, Image, Limits,
    probe::{check_complete, probe},
};
use fdconvert_testkit::{
    fake::FILES,
    fixtures::{self, fixture},
    needs_shared,
};
use std::path::Path;

fn bad(name: &str) -> Encoded {
    read(&fixture("bad"), name)
}

fn read(folder: &Path, name: &str) -> Encoded {
    encoded(std::fs::read(folder.join(name)).unwrap())
}

fn decode(encoded: &Encoded) -> Result<(u8, Notes), Error> {
    let decoded = Decoder::new().decode("the/key", encoded, &Limits::DEFAULT)?;
    let pixels = &decoded.pixels;
    let length = pixels.width as usize * pixels.height as usize * usize::from(pixels.channels);
    assert_eq!(pixels.data.len(), length);
    Ok((pixels.channels, decoded.notes))
}

fn check_broken(folder: &Path) {
    for name in [
        "empty.jpg",
        "one_byte.jpg",
        "soi_only.jpg",
        "truncated_half.jpg",
        "garbage.jpg",
        "text_as_jpg.jpg",
        "zero_height.jpg",
        "bomb_100000x100000.png",
        "bomb_65500x65500.jpg",
        "truncated.png",
        "truncated.bmp",
        "bad_crc.png",
        "bomb.bmp",
    ] {
        let image = read(folder, name);
        let error = decode(&image).expect_err(name);
        eprintln!("{name}: {error}");
        assert!(error.to_string().contains("the/key"), "{name}: {error}");
        for encode in [Encode::Keep, Encode::Jpeg] {
            let policy = Policy { encode, ..Policy::default() };
            let mut worker = Worker::new();
            let image = Image::Encoded(image.clone());
            let error = policy.apply("the/key", image, &FILES, &mut worker).expect_err(name);
            assert!(error.to_string().contains("the/key"), "{name}: {error}");
        }
    }
}

#[test]
fn broken_files_are_errors_that_name_the_sample() {
    check_broken(&fixture("bad"));
}

fn check_unusual(folder: &Path) {
    let none = Notes::NONE;
    for (name, channels, notes) in [
        ("truncated_last2.jpg", 3, Notes::NO_END_MARKER),
        ("progressive.jpg", 3, none),
        ("gray.jpg", 1, none),
        ("exif_rotated.jpg", 3, none),
        ("rgba.png", 4, none),
        ("palette.png", 3, none),
        ("gray16.png", 1, Notes::DEPTH_REDUCED),
        ("bilevel.png", 1, none),
        ("png_named.png", 3, none),
        ("jpeg_named.jpg", 3, none),
        ("good.bmp", 3, none),
        ("topdown.bmp", 3, none),
        ("one_pixel_wide.jpg", 3, none),
        ("cmyk.jpg", 3, Notes::CMYK_CONVERTED),
        ("bitflip_scan.jpg", 3, none),
    ] {
        let image = read(folder, name);
        let found = decode(&image).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(found, (channels, notes), "{name}");
    }
}

#[test]
fn unusual_files_decode() {
    check_unusual(&fixture("bad"));
}

needs_shared! {
    fn bad_originals_are_errors_or_images() {
        let folder = fixtures::shared().join("data/bad");
        check_broken(&folder);
        check_unusual(&folder);
    }
}

#[test]
fn strict_refuses_a_missing_end_marker() {
    let image = bad("truncated_last2.jpg");
    for encode in [Encode::Keep, Encode::Jpeg, Encode::Raw] {
        let apply = |strict| {
            let policy = Policy { encode, strict, ..Policy::default() };
            let image = Image::Encoded(image.clone());
            policy.apply("k", image, &JPEG_OR_RAW, &mut Worker::new())
        };
        assert!(apply(false).unwrap().notes.contains(Notes::NO_END_MARKER));
        assert!(apply(true).unwrap_err().to_string().contains("end marker"));
    }
}

#[test]
fn cmyk_is_converted_or_refused_with_the_cure() {
    let image = bad("cmyk.jpg");
    let apply = |encode, format| {
        let policy = Policy { encode, ..Policy::default() };
        policy.apply("k", Image::Encoded(image.clone()), format, &mut Worker::new())
    };
    assert!(apply(Encode::Keep, &FILES).unwrap().notes.contains(Notes::KEPT));
    let refused = apply(Encode::Keep, &JPEG_OR_RAW).unwrap_err().to_string();
    assert!(
        refused.contains("CMYK") && refused.contains("to convert it to RGB: encode=jpeg"),
        "{refused}"
    );
    for (encode, codec) in [(Encode::Jpeg, Codec::Jpeg), (Encode::Raw, Codec::Raw)] {
        let outcome = apply(encode, &JPEG_OR_RAW).unwrap();
        assert!(outcome.notes.contains(Notes::CMYK_CONVERTED | Notes::REENCODED));
        assert_eq!(outcome.encoded.codec, codec);
    }
}

#[test]
fn limits_are_checked_before_any_pixel() {
    let image = bad("good.bmp");
    let pixels = u64::from(image.width) * u64::from(image.height);
    let decode = |limits: Limits| Decoder::new().decode("k", &image, &limits);
    decode(Limits { max_pixels: pixels, ..Limits::DEFAULT }).unwrap();
    let error = decode(Limits { max_pixels: pixels - 1, ..Limits::DEFAULT }).unwrap_err();
    assert!(error.to_string().contains("to raise it: max_pixels"), "{error}");
    let error = decode(Limits { max_file_bytes: 100, ..Limits::DEFAULT }).unwrap_err();
    assert!(error.to_string().contains("to raise it: max_file_bytes"), "{error}");
}

/// Checks that all images decode without a note; returns their number.
fn decode_all(folder: &Path) -> usize {
    let (mut decoder, images) = (Decoder::new(), files(folder));
    for (name, image) in &images {
        let decoded = decoder.decode(name, image, &Limits::DEFAULT).unwrap();
        assert_eq!(decoded.notes, Notes::NONE, "{name}");
    }
    images.len()
}

#[test]
fn every_photo_decodes() {
    assert_eq!(decode_all(&fixtures::photos()), 26);
}

needs_shared! {
    fn every_original_decodes() {
        assert!(decode_all(&fixtures::shared().join("data/images")) > 100);
    }
}

#[test]
fn a_label_that_lies_is_refused() {
    let (_, image) = common::kodak().swap_remove(0);
    for lie in [
        Encoded { codec: Codec::Jpeg, ..image.clone() },
        Encoded { width: image.width + 1, ..image.clone() },
        Encoded { codec: Codec::Raw, ..image.clone() },
    ] {
        let error = decode(&lie).unwrap_err();
        assert!(error.to_string().contains("the/key"), "{error}");
    }
}

/// Truncations and single changed bytes of small images of every codec: an error or pixels of the
/// declared size, never a panic.
#[test]
fn damage_anywhere_never_panics() {
    let mut decoder = Decoder::new();
    let mut out = Vec::new();
    for whole in common::small_images() {
        let mut check = |bytes: Vec<u8>| {
            let image = Encoded { bytes: bytes.into(), ..whole.clone() };
            if let Ok((header, channels, _)) =
                decoder.decode_into("k", &image, &Limits::DEFAULT, &mut out)
            {
                let length = header.pixels() as usize * usize::from(channels);
                assert_eq!(out.len(), length);
            }
        };
        for i in 0..whole.bytes.len() {
            check(whole.bytes[..i].to_vec());
            for flip in [0x01, 0x80, 0xff] {
                let mut bytes = whole.bytes.to_vec();
                bytes[i] ^= flip;
                check(bytes);
            }
        }
    }
}

/// Kept bytes are checked without decoding, which must not refuse a decodable image.
#[test]
fn what_decodes_is_not_called_broken() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut images = [files(&fixture("bad")), files(&own), crate::tiff::samples()].concat();
    let gif = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff!\xf9\x04\0\0\0\0\0\
                ,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";
    images.push(("gif".into(), encoded(gif.to_vec())));
    for channels in [3, 4] {
        images.push(("webp".into(), common::file(23, 17, channels, Codec::Webp)));
    }
    let runs = [4, 0x12, 0, 0, 0, 3, 0x45, 0x60, 0, 1];
    images.push(("rle".into(), encoded(bmp(40, 4, 2, [3, 2], &runs))));
    images.push(("os2".into(), encoded(bmp(64, 4, 0, [3, 2], &[0x12, 0x30, 0, 0, 4, 6, 0, 0]))));
    images.retain(|(_, image)| image.bytes.len() < 60_000);
    let mut decoder = Decoder::new();
    let (mut n_decoded, mut n_seen, mut n_missed) = (0, 0, 0);
    for (name, image) in images {
        let head = image.bytes.len().min(400);
        let tail = image.bytes.len().saturating_sub(300)..image.bytes.len();
        for at in (0..head).chain(tail.step_by(7)) {
            for flip in [1_u8, 0x80, 0xff] {
                let mut bytes = image.bytes.to_vec();
                bytes[at] ^= flip;
                let Ok(header) = probe(&bytes) else { continue };
                if header.pixels() > 1_000_000 {
                    continue;
                }
                let damaged = encoded(bytes.clone());
                let decoded = decoder.decode("k", &damaged, &Limits::DEFAULT);
                let checked = check_complete(&bytes, &header);
                match (decoded.is_ok(), checked) {
                    (true, Ok(_)) => n_decoded += 1,
                    (true, Err(what)) => panic!("{name}, byte {at} ^ {flip}: {what}"),
                    (false, Err(_)) => n_seen += 1,
                    (false, Ok(_)) => n_missed += 1,
                }
            }
        }
    }
    println!(
        "{n_decoded} decode; of the others {n_seen} are seen without decoding, {n_missed} not"
    );
    assert!(n_decoded > 1000 && n_seen > n_missed / 2);
}

/// Returns the start of a BMP with a header of this length.
fn bmp(header_bytes: u32, bits: u16, compression: u32, size: [i32; 2], rest: &[u8]) -> Vec<u8> {
    let colors = if bits > 8 { 0 } else { 4_u32 << bits };
    let mut out = b"BM\0\0\0\0\0\0\0\0".to_vec();
    out.extend((14 + header_bytes + colors).to_le_bytes());
    let mut header = header_bytes.to_le_bytes().to_vec();
    header.extend(size.map(i32::to_le_bytes).as_flattened());
    header.extend([1, 0]);
    header.extend(bits.to_le_bytes());
    header.extend(compression.to_le_bytes());
    header.resize(header_bytes as usize, 0);
    out.extend(header);
    out.extend((0..colors / 4).flat_map(|level| [(level as u8).wrapping_mul(16); 4]));
    out.extend(rest);
    out
}

fn levels(bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    let found = Decoder::new().decode("k", &encoded(bytes), &Limits::DEFAULT);
    let found = found.map_err(|error| error.to_string())?;
    assert_eq!(found.pixels.channels, 3);
    Ok(found.pixels.data.chunks(3).map(|pixel| pixel[0] / 16).collect())
}

#[test]
fn bmps_with_headers_of_os2_have_their_pixels() {
    let rows = [0x12, 0x30, 0, 0, 0x45, 0x60, 0, 0];
    for header_bytes in [16, 40, 64] {
        assert_eq!(levels(bmp(header_bytes, 4, 0, [3, 2], &rows)).unwrap(), [4, 5, 6, 1, 2, 3]);
    }
    let coded = bmp(64, 4, 4, [3, 2], &rows);
    assert!(levels(coded).unwrap_err().contains("run lengths of 24 bits of OS/2"));
}

#[test]
fn bmps_with_run_lengths_have_their_pixels() {
    // Four pixels in a row of three, as some writers round them up; then three single ones.
    let runs = [4, 0x12, 0, 0, 0, 3, 0x45, 0x60, 0, 1];
    assert_eq!(levels(bmp(40, 4, 2, [3, 2], &runs)).unwrap(), [4, 5, 6, 1, 2, 1]);
    let runs = [2, 7, 0, 0, 0, 3, 1, 2, 3, 0, 0, 1];
    assert_eq!(levels(bmp(40, 8, 1, [3, 2], &runs)).unwrap(), [1, 2, 3, 7, 7, 0]);
    // A step to the right and up.
    let runs = [1, 7, 0, 2, 1, 1, 1, 5, 0, 1];
    assert_eq!(levels(bmp(64, 8, 1, [3, 2], &runs)).unwrap(), [0, 0, 5, 7, 0, 0]);
    assert!(levels(bmp(40, 8, 1, [3, 2], &[2, 7])).unwrap_err().contains("end in row 0"));
}
