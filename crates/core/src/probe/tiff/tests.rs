use super::*;
use crate::probe::{check_complete, has_pages, not_decoded, probe};

/// A TIFF of one strip of 8 bytes, with these entries of SHORT instead of the usual ones.
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
    // What is sound and not supported is not broken.
    assert!(check_complete(&bytes, &header).is_ok());
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
    let array = |kind: &str, shape: &str| {
        format!("pack it as an array, from Python: schema={{\"x\": (\"{kind}\", {shape})}}")
    };
    assert_eq!(refusal(&[]), "");
    let channels = refusal(&[(tag::SAMPLES, &[13]), (tag::BITS, &[16; 13])]);
    let cure = array("uint16", "(2, 4, 13)");
    assert_eq!(channels, format!("TIFF with 13 channels of 16 bits is not supported; {cure}"));
    let float = refusal(&[(tag::FORMAT, &[3]), (tag::BITS, &[32])]);
    let cure = array("float32", "(2, 4)");
    assert_eq!(float, format!("TIFF with floats of 32 bits is not supported; {cure}"));
    let signed = refusal(&[(tag::FORMAT, &[2])]);
    assert!(signed.contains("signed integers of 8 bits") && signed.contains("int8"), "{signed}");
    assert!(refusal(&[(tag::BITS, &[32])]).contains("integers of 32 bits"));
    assert!(refusal(&[(tag::COMPRESSION, &[6])]).contains("the old form"));
    assert!(refusal(&[(tag::COMPRESSION, &[34_925])]).contains("LZMA"));
    assert!(refusal(&[(tag::PHOTOMETRIC, &[8])]).contains("CIE Lab"));
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
    assert!(broken(&[lzw, (tag::STRIP_COUNTS, &[0])]).contains("empty"));
    assert!(broken(&[lzw, (tag::STRIP_COUNTS, &[9000])]).contains("cut off"));
    // Numbers of strips are left out by some writers, and two strips need two places.
    assert!(broken(&[(tag::ROWS_PER_STRIP, &[1])]).contains("no place of strip 1"));
}

#[test]
fn pages_are_no_smaller_copies() {
    let pages = |n, changes: &[_]| has_pages(&tiff(changes, n), Codec::Tiff);
    assert!(!pages(1, &[]));
    assert!(pages(2, &[]) && pages(5, &[]));
    assert!(!pages(3, &[(tag::NEW_SUBFILE_TYPE, &[1])]));
    assert!(!pages(3, &[(tag::SUBFILE_TYPE, &[2])]));
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
