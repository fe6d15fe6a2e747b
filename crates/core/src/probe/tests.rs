use super::*;
use crate::Color;
use fdconvert_testkit::{fixtures, needs_shared};
use proptest::prelude::*;
use std::path::Path;

fn segment(marker: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![0xFF, marker];
    out.extend((body.len() as u16 + 2).to_be_bytes());
    out.extend(body);
    out
}

/// Table number 0.
const QUANTISATION: [u8; 65] = [0; 65];

fn jpeg(before_frame: &[u8], marker: u8, components: u8, width: u16, height: u16) -> Vec<u8> {
    let mut frame = vec![8];
    frame.extend(height.to_be_bytes());
    frame.extend(width.to_be_bytes());
    frame.push(components);
    for id in 0..components {
        frame.extend([id, 0x11, 0]);
    }
    let mut out = vec![0xFF, 0xD8];
    out.extend(before_frame);
    // Every component has the same quantisation.
    out.extend(segment(0xDB, &QUANTISATION));
    out.extend(segment(marker, &frame));
    out
}

fn exif_app1(orientation: u16) -> Vec<u8> {
    let mut body = b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01".to_vec();
    body.extend(orientation.to_be_bytes());
    body.extend([0, 0]);
    segment(0xE1, &body)
}

#[test]
fn jpeg_headers() {
    let header = probe(&jpeg(&[], 0xC0, 3, 640, 480)).unwrap();
    assert_eq!((header.width, header.height), (640, 480));
    assert_eq!((header.color, header.progressive), (Color::Rgb, false));
    assert_eq!(probe(&jpeg(&[], 0xC2, 1, 1, 1)).unwrap().color, Color::Gray);
    assert!(probe(&jpeg(&[], 0xC2, 1, 1, 1)).unwrap().progressive);
    assert_eq!(probe(&jpeg(&[], 0xC0, 4, 1, 1)).unwrap().color, Color::Cmyk);
    assert!(probe(&jpeg(&[], 0xC0, 2, 1, 1)).is_err());
    assert!(probe(&jpeg(&[], 0xC0, 3, 1, 0)).unwrap_err().contains("height"));
    assert!(probe(&[0xFF, 0xD8]).is_err());
    assert!(probe(&[0xFF]).is_err());
}

#[test]
fn exif_orientation_is_found_and_nonsense_is_upright() {
    for (tag, expected) in [(1, 1), (6, 6), (8, 8), (0, 1), (9, 1)] {
        let header = probe(&jpeg(&exif_app1(tag), 0xC0, 3, 2, 2)).unwrap();
        assert_eq!(header.orientation, expected, "tag {tag}");
    }
}

/// Pillow and OpenCV use the first of several, anywhere before the scan, and a long one continues
/// in segments without the start of an EXIF.
#[test]
fn the_first_exif_turns_a_jpeg() {
    let turn = |before: &[Vec<u8>], behind: &[Vec<u8>]| {
        let whole = [jpeg(&before.concat(), 0xC0, 3, 2, 2), behind.concat()].concat();
        probe(&whole).unwrap().orientation
    };
    let rest = || segment(0xE1, b"Exif\0\0more of it");
    let without = || segment(0xE1, b"Exif\0\0MM\0\x2a\0\0\0\x08\0\0");
    assert_eq!(turn(&[exif_app1(6), exif_app1(1)], &[]), 6);
    assert_eq!(turn(&[exif_app1(6), without()], &[]), 6);
    assert_eq!(turn(&[without(), exif_app1(6)], &[]), 1);
    assert_eq!(turn(&[exif_app1(6), rest()], &[]), 6);
    assert_eq!(turn(&[rest(), exif_app1(6)], &[]), 6);
    assert_eq!(turn(&[], &[segment(0xC4, &[]), exif_app1(6)]), 6);
    assert_eq!(turn(&[], &[scan(&[0], 0, 63, 0), exif_app1(6)]), 1);
    assert_eq!(turn(&[exif_app1(3)], &[exif_app1(6)]), 3);
}

#[test]
fn an_orientation_may_have_the_type_of_another_integer() {
    for (kind, value) in
        [(1, [6, 0, 0, 0]), (3, [0, 6, 0, 0]), (4, [0, 0, 0, 6]), (8, [0, 6, 0, 0])]
    {
        let start = b"MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0".to_vec();
        let mut tiff = [start, vec![kind, 0, 0, 0, 1], value.to_vec()].concat();
        assert_eq!(exif_orientation(&tiff), Some(6), "{kind}");
        tiff[13] = 2;
        assert_eq!(exif_orientation(&tiff), None);
    }
}

#[test]
fn the_exif_of_a_webp_counts_where_its_header_names_it() {
    let exif = b"MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0";
    let chunk =
        |kind: &[u8; 4], data: &[u8]| [kind, &(data.len() as u32).to_le_bytes()[..], data].concat();
    let webp = |flags: u8| {
        let head = chunk(b"VP8X", &[flags, 0, 0, 0, 1, 0, 0, 1, 0, 0]);
        probe(&[b"RIFF\0\0\0\0WEBP", &head[..], &chunk(b"EXIF", exif)].concat()).unwrap()
    };
    assert_eq!((webp(8).orientation, webp(0).orientation), (6, 1));
}

#[test]
fn fill_bytes_and_huge_app_segments_are_walked_over() {
    let mut before = segment(0xE2, &[0; 60_000]);
    before.extend([0xFF, 0xFF, 0xFF]);
    assert_eq!(probe(&jpeg(&before, 0xC0, 3, 7, 5)).unwrap().width, 7);
}

#[test]
fn missing_end_markers_are_seen() {
    let mut bytes = jpeg(&[], 0xC0, 3, 7, 5);
    let header = probe(&bytes).unwrap();
    assert!(check_complete(&bytes, &header).unwrap_err().contains("no image data"));
    bytes.extend(scan(&[0, 1, 2], 0, 63, 0));
    assert_eq!(check_complete(&bytes, &header), Ok(Ending::NoEndMarker));
    bytes.extend([0xFF, 0xD9, 0, 0]);
    assert_eq!(check_complete(&bytes, &header), Ok(Ending::Complete));
}

/// The header of a scan with some entropy-coded bytes, including a restart and a stuffed byte.
fn scan(components: &[u8], first: u8, last: u8, bits: u8) -> Vec<u8> {
    let mut body = vec![components.len() as u8];
    body.extend(components.iter().flat_map(|id| [*id, 0]));
    body.extend([first, last, bits]);
    let mut out = segment(0xDA, &body);
    out.extend([1, 2, 0xFF, 0, 3, 0xFF, 0xD0, 4]);
    out
}

#[test]
fn the_scans_of_a_progressive_jpeg_have_to_send_every_bit() {
    let scans = [
        scan(&[0, 1, 2], 0, 0, 1),
        scan(&[0], 1, 5, 2),
        scan(&[1], 1, 63, 0),
        scan(&[2], 1, 63, 0),
        scan(&[0], 6, 63, 0),
        scan(&[0], 1, 5, 0x21),
        scan(&[0, 1, 2], 0, 0, 0x10),
        scan(&[0], 1, 5, 0x10),
    ];
    for n_scans in 0..=scans.len() {
        for marker in [0xC2, 0xCA] {
            let mut bytes = jpeg(&[], marker, 3, 7, 5);
            bytes.extend(scans.iter().take(n_scans).flatten());
            let header = probe(&bytes).unwrap();
            let cut = check_complete(&bytes, &header);
            bytes.extend([0xFF, 0xD9, 0]);
            let closed = check_complete(&bytes, &header);
            if n_scans == scans.len() {
                assert_eq!((cut, closed), (Ok(Ending::NoEndMarker), Ok(Ending::Complete)));
            } else {
                assert!(cut.is_err(), "{n_scans} scans: {cut:?}");
                let legal = (n_scans > 0).then_some(Ending::CoefficientsLeftOut);
                assert_eq!(closed.ok(), legal, "{n_scans} scans");
            }
        }
    }
}

#[test]
fn a_component_that_no_scan_sends_is_missed() {
    for (n_sent, complete) in [(1, false), (2, false), (3, true)] {
        let mut bytes = jpeg(&[], 0xC0, 3, 7, 5);
        for id in 0..n_sent {
            bytes.extend(scan(&[id], 0, 63, 0));
        }
        let header = probe(&bytes).unwrap();
        assert_eq!(check_complete(&bytes, &header).is_ok(), complete, "{n_sent}");
        bytes.extend([0xFF, 0xD9]);
        assert_eq!(check_complete(&bytes, &header).is_ok(), complete, "{n_sent}");
    }
}

#[test]
fn no_damage_to_the_scans_trips_it() {
    let mut whole = jpeg(&[], 0xC2, 3, 7, 5);
    whole.extend(scan(&[0, 1, 2], 0, 0, 0));
    (0..3).for_each(|id| whole.extend(scan(&[id], 1, 63, 0)));
    whole.extend([0xFF, 0xD9]);
    let header = probe(&whole).unwrap();
    for at in 0..whole.len() {
        let _ = check_complete(&whole[..at], &header);
        for flip in 1..=u8::MAX {
            let mut bytes = whole.clone();
            bytes[at] ^= flip;
            let _ = check_complete(&bytes, &header);
        }
    }
}

#[test]
fn what_is_no_marker_between_segments_is_passed_over() {
    let mut before = segment(0xE0, b"JFIF");
    before.extend([0, 7, 0xFF, 0, 9]);
    assert_eq!(probe(&jpeg(&before, 0xC0, 3, 7, 5)).unwrap().width, 7);
}

#[test]
fn bad_files() {
    check_bad(&fixtures::fixture("bad"));
}

needs_shared! {
    fn bad_originals() {
        check_bad(&fixtures::shared().join("data/bad"));
    }
}

/// The set of broken files: those that a header check must catch, and those it must pass.
fn check_bad(bad: &Path) {
    let verdict = |name: &str| {
        let bytes = std::fs::read(bad.join(name)).unwrap();
        probe(&bytes).and_then(|header| check_complete(&bytes, &header).map(|end| (header, end)))
    };
    let broken = ["empty.jpg", "one_byte.jpg", "soi_only.jpg", "garbage.jpg", "text_as_jpg.jpg"];
    let broken_too =
        ["zero_height.jpg", "truncated.png", "truncated.bmp", "bad_crc.png", "bomb.bmp"];
    for name in broken.into_iter().chain(broken_too) {
        let error = verdict(name).unwrap_err();
        assert!(!error.is_empty(), "{name}");
        println!("{name}: {error}");
    }
    for name in ["truncated_half.jpg", "truncated_last2.jpg"] {
        assert_eq!(verdict(name).unwrap().1, Ending::NoEndMarker, "{name}");
    }
    let valid = ["progressive.jpg", "gray.jpg", "rgba.png", "palette.png", "good.bmp"];
    let valid_too = ["gray16.png", "bilevel.png", "topdown.bmp", "one_pixel_wide.jpg", "cmyk.jpg"];
    for name in valid.into_iter().chain(valid_too) {
        assert_eq!(verdict(name).unwrap().1, Ending::Complete, "{name}");
    }
    assert_eq!(verdict("png_named.png").unwrap().0.codec, Codec::Jpeg);
    assert_eq!(verdict("jpeg_named.jpg").unwrap().0.codec, Codec::Png);
    assert_ne!(verdict("exif_rotated.jpg").unwrap().0.orientation, 1);
    assert_eq!(verdict("gray16.png").unwrap().0.bits, 16);
    assert_eq!(verdict("rgba.png").unwrap().0.color, Color::Rgba);
}

fn verdict(bytes: &[u8]) -> Result<Ending, String> {
    check_complete(bytes, &probe(bytes)?)
}

/// Faults before a scan that libjpeg refuses are found without decoding.
#[test]
fn jpegs_whose_segments_make_no_sense_are_broken() {
    let of = |parts: &[Vec<u8>]| verdict(&[parts.concat(), vec![0xFF, 0xD9]].concat());
    let frame = || jpeg(&[], 0xC0, 1, 7, 5);
    let frame_alone = || segment(0xC0, &[8, 0, 5, 0, 7, 1, 0, 0x11, 0]);
    let end = || scan(&[0], 0, 63, 0);
    assert_eq!(of(&[frame(), end()]), Ok(Ending::Complete));
    let error = |parts: &[Vec<u8>]| of(parts).unwrap_err();
    assert!(error(&[frame(), frame_alone(), end()]).contains("second frame"));
    assert!(error(&[vec![0xFF, 0xD8], frame_alone(), end()]).contains("quantisation table"));
    let huffman = |counts: &[u8]| {
        let mut body = vec![0_u8; 17];
        body[1..=counts.len()].copy_from_slice(counts);
        body.extend(vec![0; counts.iter().map(|count| usize::from(*count)).sum()]);
        segment(0xC4, &body)
    };
    assert!(of(&[frame(), huffman(&[0, 1, 5]), end()]).is_ok());
    assert!(error(&[frame(), huffman(&[3]), end()]).contains("Huffman table"));
    assert!(error(&[frame(), segment(0xC4, &[0; 9]), end()]).contains("length"));
    assert!(error(&[frame(), segment(0xDB, &[4; 65]), end()]).contains("does not exist"));
    assert!(error(&[frame(), scan(&[9], 0, 63, 0)]).contains("component"));
}

#[test]
fn kinds_of_jpegs_that_are_not_read_are_no_damage() {
    let mut deep = [jpeg(&[], 0xC1, 3, 7, 5), scan(&[0, 1, 2], 0, 63, 0)].concat();
    let bits_at = deep.windows(2).position(|pair| pair == [0xFF, 0xC1]).unwrap() + 4;
    deep[bits_at] = 12;
    for bytes in [deep, [jpeg(&[], 0xC6, 3, 7, 5), scan(&[0, 1, 2], 0, 63, 0)].concat()] {
        let header = probe(&bytes).unwrap();
        assert!(not_decoded(&bytes, &header).unwrap().contains("not supported"));
        assert_eq!(check_complete(&bytes, &header), Ok(Ending::Complete));
    }
}

/// A gray PNG of chunks with their CRCs; a chunk with a lower-case name gets a wrong one.
fn png(chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    let ihdr: (&[u8; 4], &[u8]) = (b"IHDR", b"\0\0\0\x01\0\0\0\x01\x08\0\0\0\0");
    for (kind, data) in [&[ihdr], chunks].concat() {
        let mut crc = crc32fast::Hasher::new();
        crc.update(kind);
        crc.update(data);
        let wrong = u32::from(kind.iter().all(u8::is_ascii_lowercase));
        out.extend((data.len() as u32).to_be_bytes());
        out.extend(kind);
        out.extend(data);
        out.extend((crc.finalize() ^ wrong).to_be_bytes());
    }
    out
}

#[test]
fn pngs_are_checked_as_far_as_decoders_ask() {
    let end: (&[u8; 4], &[u8]) = (b"IEND", b"");
    let data: (&[u8; 4], &[u8]) = (b"IDAT", b"\x78\x9c...");
    assert!(verdict(&png(&[data, end])).is_ok());
    // In two chunks of one byte.
    assert!(verdict(&png(&[(b"IDAT", b"\x78"), (b"IDAT", b"\x9c"), end])).is_ok());
    let error = |chunks: &[_]| verdict(&png(chunks)).unwrap_err();
    assert!(error(&[end]).contains("no image data"));
    assert!(error(&[(b"IDAT", b"GIF89a"), end]).contains("deflated"));
    // Decoders skip ancillary chunks with a wrong CRC.
    assert!(verdict(&png(&[(b"gama", b"1234"), data, end])).is_ok());
    let mut broken = png(&[data, end]);
    let at = broken.windows(4).position(|kind| kind == b"IDAT").unwrap();
    broken[at + 8] ^= 1;
    assert!(verdict(&broken).unwrap_err().contains("CRC"));
}

#[test]
fn the_exif_of_a_png_may_stand_behind_its_pixels() {
    let exif: (&[u8; 4], &[u8]) =
        (b"eXIf", b"MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0");
    let data: (&[u8; 4], &[u8]) = (b"IDAT", b"\x78\x9c...");
    for chunks in [[exif, data], [data, exif]] {
        assert_eq!(probe(&png(&chunks)).unwrap().orientation, 6);
    }
}

#[test]
fn gifs_and_webps_without_pixels_are_broken_or_doubtful() {
    let frame = b",\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0";
    let gif = |flags: u8, rest: &[u8]| {
        let table = vec![0; if flags == 0 { 0 } else { 6 }];
        verdict(&[b"GIF89a\x01\0\x01\0", &[flags, 0, 0][..], &table, rest].concat())
    };
    assert!(gif(0x80, frame).is_ok());
    assert!(gif(0x80, b"!\xfe\x02hi\0;").unwrap_err().contains("without a frame"));
    assert_eq!(gif(0x80, &frame[..12]), Ok(Ending::Doubtful));
    assert!(gif(0x80, &frame[..10]).unwrap_err().contains("cut off"));
    // Without a table its pixels are gray levels, and some writers leave zeros between blocks.
    assert_eq!(gif(0, frame), Ok(Ending::Complete));
    assert_eq!(gif(0x80, &[b"\0!\xfe\x02hi\0\0\0", &frame[..]].concat()), Ok(Ending::Complete));
    let webp = |chunks: &[u8]| {
        let header = ImageHeader { codec: Codec::Webp, ..ImageHeader::raw(1, 1, 3) };
        check_complete(&[b"RIFF\0\0\0\0WEBP", chunks].concat(), &header)
    };
    assert_eq!(webp(b"VP8 \x03\0\0\0abc\0"), Ok(Ending::Complete));
    assert_eq!(webp(b"VP8 \x03\0\0\0ab"), Ok(Ending::Doubtful));
    assert_eq!(webp(b"VP8X\x03\0\0\0abc\0"), Ok(Ending::Doubtful));
}

/// The header of a 3x2 BMP, its second part of 40 bytes, and `n_behind` bytes after it.
fn bmp(bits: u16, compression: u32, n_colors: u32, n_behind: usize) -> Vec<u8> {
    let at = 54 + if bits > 8 { 0 } else { 4 << bits };
    let mut out = [b"BM\0\0\0\0\0\0\0\0".to_vec(), u32::to_le_bytes(at).to_vec()].concat();
    out.extend([40_u32, 3, 2].map(u32::to_le_bytes).as_flattened());
    out.extend([1, bits].map(u16::to_le_bytes).as_flattened());
    out.extend([compression, 0, 0, 0, n_colors, 0].map(u32::to_le_bytes).as_flattened());
    out.resize(54 + n_behind, 0);
    out
}

#[test]
fn bmps_that_cannot_be_decoded_are_told_by_their_headers() {
    let kind = |bits, compression| {
        let bytes = bmp(bits, compression, 0, 24);
        not_decoded(&bytes, &probe(&bytes).unwrap()).unwrap_or_default()
    };
    assert!(kind(0, 4).contains("JPEG") && kind(0, 5).contains("PNG"));
    assert!(kind(32, 6).contains("Windows CE") && kind(24, 9).contains("not known"));
    let error = |bytes: &[u8]| verdict(bytes).unwrap_err();
    assert!(error(&bmp(0, 0, 0, 24)).contains("0 bits per pixel"));
    assert!(error(&bmp(24, 1, 0, 24)).contains("24 bits per pixel in compression 1"));
    assert!(error(&bmp(8, 0, 300, 2000)).contains("a palette of 300 colours"));
    assert!(error(&bmp(8, 0, 0, 200)).contains("no palette"));
    let mut negative = bmp(24, 0, 0, 24);
    negative[18..22].copy_from_slice(&(-3_i32).to_le_bytes());
    assert!(error(&negative).contains("width below zero"));
    // The last row of three pixels has three bytes of padding.
    let of = |n_behind| verdict(&bmp(24, 0, 0, n_behind));
    assert_eq!((of(24), of(21)), (Ok(Ending::Complete), Ok(Ending::Complete)));
    assert!(of(20).unwrap_err().contains("cut off"));
}

#[test]
fn what_is_no_image_is_called_what_it_is_with_a_cure() {
    let said = |bytes: &[u8]| probe(bytes).unwrap_err();
    let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n";
    assert!(said(pointer).contains("git lfs pull"));
    assert!(said(b"\n<!DOCTYPE HTML><html>").contains("web page"));
    assert!(said(b"<?xml version=\"1.0\"?><Error/>").contains("XML"));
    assert!(said(b"<?xml version=\"1.0\"?><svg/>").contains("SVG"));
    assert!(said(b"{\"error\": \"not found\"}").contains("JSON"));
    assert!(said(b"P6\n2 2\n255\n").contains("pnmtopng"));
    assert!(said(&[&[0; 128][..], b"DICM"].concat()).contains("DICOM"));
    assert!(said(b"\0\0\0\x18ftypcrx \0\0").contains("CR3"));
    assert!(said(b"hello world!").contains("starts with the text"));
    let apple = b"\x89PNG\r\n\x1a\n\0\0\0\x04CgBI\x50\0\x20\x02\0\0\0\0";
    assert!(said(apple).contains("CgBI"));
}

proptest! {
    #[test]
    fn any_bytes_get_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..300), which in 0_usize..6) {
        let magics: [&[u8]; 6] = [
            b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"BM", b"RIFF\0\0\0\0WEBP", b"II\x2a\0", b"GIF89a",
        ];
        let mut file = magics[which].to_vec();
        file.extend(bytes);
        if let Ok(header) = probe(&file) {
            let _ = check_complete(&file, &header);
        }
    }
}
