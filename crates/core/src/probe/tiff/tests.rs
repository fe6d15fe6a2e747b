use super::*;
use crate::probe::{bands_only, check_complete, has_pages, not_decoded, probe};

/// A TIFF of one strip of 8 bytes, with these SHORT entries in place of the usual ones.
fn tiff(changes: &[(u16, &[u16])], n_directories: usize) -> Vec<u8> {
    let mut out = b"MM\0\x2a\0\0\0\x10pixels!!".to_vec();
    for left in (0..n_directories).rev() {
        let mut entries: Vec<(u16, Vec<u16>)> = vec![
            (tag::WIDTH, vec![4]),
            (tag::HEIGHT, vec![2]),
            (tag::BITS, vec![8]),
            (tag::COMPRESSION, vec![1]),
            (tag::PHOTOMETRIC, vec![1]),
            (tag::STRIP_OFFSETS, vec![8]),
            (tag::SAMPLES, vec![1]),
            (tag::STRIP_COUNTS, vec![8]),
        ];
        for (tag, values) in changes {
            entries.retain(|(known, _)| known != tag);
            entries.push((*tag, values.to_vec()));
        }
        entries.sort();
        let start = out.len();
        let mut outside = start + 2 + 12 * entries.len() + 4;
        let mut values_outside = Vec::new();
        out.extend((entries.len() as u16).to_be_bytes());
        for (tag, values) in entries {
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_be_bytes()).collect();
            out.extend(tag.to_be_bytes());
            out.extend([0, 3]);
            out.extend((values.len() as u32).to_be_bytes());
            if bytes.len() > 4 {
                out.extend((outside as u32).to_be_bytes());
                outside += bytes.len();
                values_outside.extend(bytes);
            } else {
                out.extend([bytes, vec![0; 4]].concat().iter().take(4));
            }
        }
        out.extend(if left == 0 { [0; 4] } else { (outside as u32).to_be_bytes() });
        out.extend(values_outside);
    }
    out
}

fn refusal(changes: &[(u16, &[u16])]) -> String {
    let bytes = tiff(changes, 1);
    let header = probe(&bytes).unwrap();
    // Sound but unsupported files are not broken; these bands are not in the file.
    assert!(check_complete(&bytes, &header).is_ok() || bands_only(&bytes, &header).is_some());
    not_decoded(&bytes, &header).unwrap_or_default()
}

#[test]
fn tiff_headers_say_colours_bits_and_orientation() {
    let header = |changes: &[_]| probe(&tiff(changes, 1)).unwrap();
    let gray = header(&[(tag::ORIENTATION, &[6])]);
    assert_eq!((gray.width, gray.height, gray.orientation), (4, 2, 6));
    assert_eq!((gray.color, gray.bits), (Color::Gray, 8));
    let rgb: [(u16, &[u16]); 2] = [(tag::SAMPLES, &[4]), (tag::PHOTOMETRIC, &[2])];
    let extra = |values| header(&[rgb[0], rgb[1], (tag::EXTRA_SAMPLES, values)]).color;
    assert_eq!((extra(&[2]), extra(&[0])), (Color::Rgba, Color::Rgb));
    assert_eq!(header(&[(tag::BITS, &[16])]).bits, 16);
}

#[test]
fn kinds_of_tiffs_that_are_not_read_say_what_they_are_and_the_cure() {
    let kept = |what: &str, bands: &str| {
        format!(
            "TIFF with {what} is not an 8-bit picture: keep the file (any format except mixed), and read it \
             with the loader's Bands({bands})"
        )
    };
    assert_eq!(refusal(&[]), "");
    let channels = refusal(&[(tag::SAMPLES, &[13]), (tag::BITS, &[16; 13])]);
    assert_eq!(channels, kept("13 channels of 16 bits", "13, \"u16\""));
    let float = refusal(&[(tag::FORMAT, &[3]), (tag::BITS, &[32])]);
    assert_eq!(float, kept("floats of 32 bits", "1, \"f32\""));
    let signed = refusal(&[(tag::FORMAT, &[2])]);
    assert!(signed.contains("signed integers of 8 bits") && signed.contains("i16"), "{signed}");
    assert!(refusal(&[(tag::BITS, &[32])]).contains("integers of 32 bits"));
    assert!(refusal(&[(tag::SAMPLES, &[33]), (tag::BITS, &[8; 33])]).contains("more than 32"));
    let several = refusal(&[(tag::SAMPLES, &[13]), (tag::FORMAT, &[1, 1, 3])]);
    assert!(several.contains("bands of several types"), "{several}");
    assert!(refusal(&[(tag::COMPRESSION, &[6])]).contains("the old form"));
    assert!(refusal(&[(tag::COMPRESSION, &[34_925])]).contains("LZMA"));
    assert!(refusal(&[(tag::PHOTOMETRIC, &[8])]).contains("CIE Lab"));
    assert!(refusal(&[(tag::PHOTOMETRIC, &[4])]).contains("that is a mask"));
    let mixed = refusal(&[(tag::SAMPLES, &[3]), (tag::PHOTOMETRIC, &[2]), (tag::BITS, &[5, 6, 5])]);
    assert!(mixed.contains("5, 6, 5 bits"), "{mixed}");
}

#[test]
fn strips_that_are_not_in_the_file_are_missed() {
    let broken = |changes: &[_]| {
        let bytes = tiff(changes, 1);
        check_complete(&bytes, &probe(&bytes).unwrap()).unwrap_err()
    };
    assert!(broken(&[(tag::STRIP_OFFSETS, &[9000])]).contains("strip 0 at byte 9000"));
    assert!(broken(&[(tag::HEIGHT, &[900])]).contains("cut off"));
    let lzw: (u16, &[u16]) = (tag::COMPRESSION, &[5]);
    let two: (u16, &[u16]) = (tag::ROWS_PER_STRIP, &[1]);
    let places: (u16, &[u16]) = (tag::STRIP_OFFSETS, &[8, 9]);
    assert!(broken(&[lzw, two, places, (tag::STRIP_COUNTS, &[0, 0])]).contains("empty"));
    // With a single strip it can only mean the rest of the file.
    assert_eq!(refusal(&[lzw, (tag::STRIP_COUNTS, &[0])]), "");
    assert!(broken(&[lzw, (tag::STRIP_COUNTS, &[9000])]).contains("cut off"));
    // Some writers omit the number of rows per strip, and two strips need two offsets.
    assert!(broken(&[(tag::ROWS_PER_STRIP, &[1])]).contains("no place of strip 1"));
}

/// The same with another type and number of values for a tag.
fn retyped(mut bytes: Vec<u8>, tag: u16, kind: u8, count: u8) -> Vec<u8> {
    let entry = [tag.to_be_bytes(), [0, 3]].concat();
    let at = bytes.windows(4).position(|it| it == entry).unwrap();
    (bytes[at + 3], bytes[at + 7]) = (kind, count);
    bytes
}

/// OpenCV and libtiff write the values after the pixels, at the end of the file.
#[test]
fn values_of_tags_that_are_cut_off_are_no_defaults() {
    let rgb: [(u16, &[u16]); 3] =
        [(tag::SAMPLES, &[3]), (tag::PHOTOMETRIC, &[2]), (tag::BITS, &[8, 8, 8])];
    let whole = tiff(&rgb, 1);
    for missing in 1..=6 {
        let error = probe(&whole[..whole.len() - missing]).unwrap_err();
        assert!(error.contains("cut off: the values of its tag 258 are behind"), "{error}");
    }
    let error = probe(&retyped(whole, tag::BITS, 12, 3)).unwrap_err();
    assert!(error.contains("tag 258 has values of type 12, not numbers"), "{error}");
}

#[test]
fn numbers_may_have_a_type_with_a_sign() {
    const SIGNED_SHORT: u8 = 8;
    let of =
        |bits: u16| probe(&retyped(tiff(&[(tag::BITS, &[bits])], 1), tag::BITS, SIGNED_SHORT, 1));
    assert_eq!(of(16).unwrap().bits, 16);
    assert!(of(0xfff8).unwrap_err().contains("below zero"));
}

#[test]
fn places_of_tiles_may_stand_under_the_tag_for_strips() {
    let tiles: [(u16, &[u16]); 2] = [(tag::TILE_WIDTH, &[16]), (tag::TILE_HEIGHT, &[16])];
    assert!(Tiff::parse(&tiff(&tiles, 1)).unwrap().is_tiled);
    let strips = [tiles[0], tiles[1], (tag::ROWS_PER_STRIP, &[2])];
    assert!(!Tiff::parse(&tiff(&strips, 1)).unwrap().is_tiled);
}

#[test]
fn ycbcr_of_its_own_levels_or_coefficients_is_not_read_as_the_usual_one() {
    const RATIONAL: u8 = 5;
    let of = |tag, [first, over]: [u16; 2]| {
        let full = [0, 255, 128, 255, 128, 255].map(|value| [0, value, 0, 1]).concat();
        let mut values = if tag == tag::BLACK_AND_WHITE {
            full
        } else {
            [299, 587, 114].map(|value| [0, value, 0, 1000]).concat()
        };
        (values[1], values[3]) = (first, over);
        let bits: (u16, &[u16]) = (tag::BITS, &[8, 8, 8]);
        let kind: [(u16, &[u16]); 3] = [(tag::PHOTOMETRIC, &[6]), (tag::SAMPLES, &[3]), bits];
        let ycbcr = [kind[0], kind[1], kind[2], (tag::SUBSAMPLING, &[1, 1]), (tag, &values)];
        let bytes = retyped(tiff(&ycbcr, 1), tag, RATIONAL, values.len() as u8 / 4);
        Tiff::parse(&bytes).unwrap().not_decoded()
    };
    assert_eq!(of(tag::BLACK_AND_WHITE, [0, 1]), None);
    assert!(of(tag::BLACK_AND_WHITE, [16, 1]).unwrap().contains("black and white"));
    assert_eq!(of(tag::COEFFICIENTS, [299, 1000]), None);
    assert!(of(tag::COEFFICIENTS, [2125, 10_000]).unwrap().contains("coefficients"));
}

#[test]
fn pages_are_no_smaller_copies() {
    let pages = |n, changes: &[_]| has_pages(&tiff(changes, n), Codec::Tiff);
    assert!(!pages(1, &[]));
    assert!(pages(2, &[]) && pages(5, &[]));
    assert!(!pages(3, &[(tag::NEW_SUBFILE_TYPE, &[1])]));
    assert!(!pages(3, &[(tag::SUBFILE_TYPE, &[2])]));
    // A stack of ImageJ or tifffile may have a single directory for all its images.
    let texts = [
        ("ImageJ=1.54f\nimages=10\n", true),
        ("ImageJ=1.54f\nimages=1\n", false),
        (r#"{"shape": [5, 2, 4]}"#, true),
        (r#"{"shape": [2, 4], "axes": "YX"}"#, false),
    ];
    for (text, is_stack) in texts {
        let text = [text.as_bytes(), if text.len() % 2 == 0 { b"\0\0" } else { b"\0" }].concat();
        let values: Vec<_> = text.chunks(2).map(|it| u16::from_be_bytes([it[0], it[1]])).collect();
        let stack = tiff(&[(tag::DESCRIPTION, &values)], 1);
        let stack = retyped(stack, tag::DESCRIPTION, 2, text.len() as u8);
        assert_eq!(has_pages(&stack, Codec::Tiff), is_stack);
    }
}

#[test]
fn no_damage_to_a_directory_trips_it() {
    let whole = tiff(&[(tag::SAMPLES, &[3]), (tag::BITS, &[8, 8, 8])], 2);
    for at in 0..whole.len() {
        for flip in [1, 2, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= flip;
            if let Ok(header) = probe(&bytes) {
                let _ = check_complete(&bytes, &header);
            }
            let _ = has_pages(&bytes, Codec::Tiff);
        }
        if let Ok(header) = probe(&whole[..at]) {
            let _ = check_complete(&whole[..at], &header);
        }
    }
}
