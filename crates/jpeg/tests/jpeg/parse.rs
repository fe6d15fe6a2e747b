//! Parsed markers, and every refusal by its name.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{
    Named, of_all_sorts, originals,
    synthetic::{self, Recipe},
};
use fdconvert_jpeg::{Class, Color, Component, EntryPoints, Refused, Slot, parse};
use fdconvert_testkit::{
    fixtures::{self, JPEG_420, JPEG_GRAY, pixels},
    needs_shared,
};
use std::path::Path;

/// The 4:2:0 fixture with `from` replaced by `to`, which must occur once.
#[track_caller]
fn changed(from: &[u8], to: &[u8]) -> Vec<u8> {
    let places: Vec<_> =
        (0..JPEG_420.len()).filter(|at| JPEG_420[*at..].starts_with(from)).collect();
    let [at] = places[..] else { panic!("{from:02x?} occurs {} times", places.len()) };
    [&JPEG_420[..at], to, &JPEG_420[at + from.len()..]].concat()
}

/// Returns the name of the refusal of a file, by parsing or by building.
#[track_caller]
fn refusal(bytes: &[u8]) -> String {
    let made = parse(bytes).and_then(|jpeg| EntryPoints::build(&jpeg, bytes, 2048));
    let refused = made.unwrap_err();
    let text = refused.to_string();
    assert!(!text.ends_with('.') && !text.contains('\n'), "{text}");
    let name = format!("{refused:?}");
    name.split([' ', '{']).next().unwrap().to_owned()
}

#[test]
fn header_is_read() {
    let jpeg = parse(JPEG_420).unwrap();
    assert_eq!((jpeg.width, jpeg.height, jpeg.color), (32, 24, Color::YCbCr));
    assert_eq!((jpeg.mcus_x, jpeg.mcus_y, jpeg.n_blocks), (2, 2, 24));
    let luma = Component { id: 1, h: 2, v: 2, quant_table: 0, dc_table: 0, ac_table: 0 };
    let other = |id| Component { id, h: 1, v: 1, quant_table: 1, dc_table: 1, ac_table: 1 };
    assert_eq!(jpeg.components, [luma, other(2), other(3)]);
    let slots: Vec<_> = jpeg.slots.iter().map(|slot| (slot.component, slot.x, slot.y)).collect();
    assert_eq!(slots, [(0, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 1), (1, 0, 0), (2, 0, 0)]);
    assert_eq!(&JPEG_420[jpeg.scan.end..], [0xFF, 0xD9]);
    assert_eq!(JPEG_420[jpeg.scan.start - 3..jpeg.scan.start], [0, 63, 0]);
    assert_eq!((jpeg.blocks_per_restart(), jpeg.n_restarts()), (None, 0));

    let gray = parse(JPEG_GRAY).unwrap();
    assert_eq!((gray.color, gray.n_blocks), (Color::Gray, 12));
    assert_eq!(gray.slots, [Slot { component: 0, x: 0, y: 0 }]);
}

#[test]
fn tables_are_in_natural_order() {
    let recipe = Recipe { restart_interval: 2, ..Recipe::new(40, 9, &[(2, 2), (1, 1), (1, 1)]) };
    let (bytes, _) = synthetic::jpeg(&recipe);
    let jpeg = parse(&bytes).unwrap();
    let table = jpeg.quant_tables[0].unwrap();
    assert_eq!((table[0], table[1], table[8], table[16], table[9], table[63]), (1, 2, 3, 4, 5, 64));
    assert_eq!(jpeg.quant_tables[1].unwrap()[8], 900);
    assert_eq!(jpeg.quant_tables[2], None);
    assert_eq!(jpeg.components[1].quant_table, 1);
    assert_eq!((jpeg.components[1].dc_table, jpeg.components[1].ac_table), (2, 3));
    assert_eq!((jpeg.blocks_per_restart(), jpeg.n_restarts()), (Some(12), 1));
    // A single component has one block per MCU, whatever its sampling.
    let jpeg = parse(&synthetic::jpeg(&Recipe::new(40, 9, &[(2, 2)])).0).unwrap();
    assert_eq!((jpeg.mcus_x, jpeg.mcus_y, jpeg.n_blocks), (5, 2, 10));
}

#[test]
fn colours_are_told_as_libjpeg_does() {
    let adobe = |transform| [b"\xFF\xEE\0\x0EAdobe\0\x64\0\0\0\0", &[transform][..]].concat();
    let jfif = &JPEG_420[2..20];
    assert!(jfif.starts_with(b"\xFF\xE0\0\x10JFIF\0"));
    let color = |bytes: &[u8]| parse(bytes).unwrap().color;
    assert_eq!(color(&changed(jfif, &adobe(0))), Color::Rgb);
    assert_eq!(color(&changed(jfif, &adobe(1))), Color::YCbCr);
    assert_eq!(color(&changed(jfif, &[jfif, &adobe(0)].concat())), Color::YCbCr);
    assert_eq!(color(&changed(jfif, b"")), Color::YCbCr);
    let mut named = changed(jfif, b"");
    let frame = named.windows(2).position(|pair| pair == b"\xFF\xC0").unwrap();
    let scan = named.windows(2).position(|pair| pair == b"\xFF\xDA").unwrap();
    for (number, name) in b"RGB".iter().enumerate() {
        named[frame + 10 + 3 * number] = *name;
        named[scan + 5 + 2 * number] = *name;
    }
    assert_eq!(color(&named), Color::Rgb);
}

#[test]
fn other_kinds_are_refused_by_name() {
    let frame = |code| refusal(&changed(b"\xFF\xC0", &[0xFF, code]));
    assert_eq!(frame(0xC2), "Progressive");
    assert_eq!(frame(0xC3), "Lossless");
    assert_eq!([frame(0xC5), frame(0xC6), frame(0xC7)], ["Hierarchical"; 3]);
    assert_eq!([frame(0xDE), frame(0xDF)], ["Hierarchical"; 2]);
    assert_eq!([frame(0xC9), frame(0xCA), frame(0xCB), frame(0xCD)], ["Arithmetic"; 4]);
    assert_eq!(frame(0xDC), "LateHeight");
    assert_eq!([frame(0xC8), frame(0x02), frame(0xD8), frame(0xD9)], ["Marker"; 4]);
    assert_eq!(frame(0xFE), "NoFrame");

    // Precision, height, width, number of components, then the components.
    let header = |to: &[u8]| refusal(&changed(b"\x08\0\x18\0\x20\x03\x01\x22\0", to));
    assert_eq!(header(b"\x0C\0\x18\0\x20\x03\x01\x22\0"), "Precision");
    assert_eq!(header(b"\x08\0\0\0\x20\x03\x01\x22\0"), "OpenHeight");
    assert_eq!(header(b"\x08\0\x18\0\0\x03\x01\x22\0"), "NoWidth");
    assert_eq!(header(b"\x08\0\x18\0\x20\x04\x01\x22\0"), "Cmyk");
    assert_eq!(header(b"\x08\0\x18\0\x20\x02\x01\x22\0"), "Components");
    assert_eq!(header(b"\x08\0\x18\0\x20\x01\x01\x22\0"), "Length");
    assert_eq!(header(b"\x08\0\x18\0\x20\x03\x01\x02\0"), "Sampling");
    assert_eq!(header(b"\x08\0\x18\0\x20\x03\x01\x25\0"), "Sampling");
    assert_eq!(header(b"\x08\0\x18\0\x20\x03\x01\x33\0"), "BlocksPerMcu");
    assert_eq!(header(b"\x08\0\x18\0\x20\x03\x01\x22\x02"), "NoQuantTable");
    assert_eq!(header(b"\x08\0\x18\0\x20\x03\x01\x22\x09"), "NoQuantTable");
    assert_eq!(header(b"\x08\0\x28\0\x20\x03\x01\x22\0"), "DataEnds");
    assert_eq!(header(b"\x08\0\x08\0\x20\x03\x01\x22\0"), "DataLeft");

    let scan =
        |to: &[u8]| refusal(&changed(b"\xFF\xDA\0\x0C\x03\x01\0\x02\x11\x03\x11\0\x3F\0", to));
    assert_eq!(scan(b"\xFF\xDA\0\x08\x01\x01\0\0\x3F\0"), "MultiScan");
    assert_eq!(scan(b"\xFF\xDA\0\x0C\x03\x02\0\x01\x11\x03\x11\0\x3F\0"), "ScanComponents");
    assert_eq!(scan(b"\xFF\xDA\0\x0C\x03\x01\0\x02\x11\x03\x11\0\0\0"), "ScanParameters");
    assert_eq!(scan(b"\xFF\xDA\0\x0C\x03\x01\x20\x02\x11\x03\x11\0\x3F\0"), "NoHuffmanTable");
    assert_eq!(scan(b"\xFF\xDA\0\x0C\x03\x01\x02\x02\x11\x03\x11\0\x3F\0"), "NoHuffmanTable");
    assert_eq!(scan(b"\xFF\xDA\0\x0B\x03\x01\0\x02\x11\x03\x11\0\x3F\0"), "Length");

    assert_eq!(refusal(b""), "NotJpeg");
    assert_eq!(refusal(b"\x89PNG\r\n"), "NotJpeg");
    assert_eq!(refusal(b"\xFF\xD8"), "Ends");
    assert_eq!(refusal(&JPEG_420[..100]), "Ends");
}

#[test]
fn what_follows_the_scan_matters() {
    let jpeg = parse(JPEG_420).unwrap();
    let scan = &JPEG_420[..jpeg.scan.end];
    assert_eq!(refusal(&[scan, b"\xFF\xDA\0\x08"].concat()), "MultiScan");
    assert_eq!(refusal(&[scan, b"\xFF\xDC\0\x04"].concat()), "LateHeight");
    assert_eq!(refusal(&[scan, b"\xFF\xC4\0\x04"].concat()), "AfterScan");
    assert_eq!(refusal(&[scan, b"\xFF\xD0\xFF\xD9"].concat()), "AfterScan");
    assert_eq!(refusal(&[scan, b"\xFF\xFF\0\xFF\xD9"].concat()), "FillByte");
    assert_eq!(refusal(&[scan, b"ab\xFF\xD9"].concat()), "DataLeft");
    // No end marker, fill bytes before it, and other bytes after it.
    for end in [&b""[..], b"\xFF", b"\xFF\xFF\xD9", b"\xFF\xD9\xFF\xD8\xFF\xDA"] {
        let bytes = [scan, end].concat();
        let same = parse(&bytes).unwrap();
        assert_eq!(same, jpeg);
        EntryPoints::build(&same, &bytes, 512).unwrap();
    }
}

#[test]
fn tables_must_be_prefix_codes() {
    let with = |counts: [u8; 16], values: &[u8], class: u8| {
        let len = (values.len() as u16 + 19).to_be_bytes();
        let table = [&[0xFF, 0xC4][..], &len, &[class << 4], &counts, values].concat();
        changed(b"\xFF\xDA", &[&table[..], &[0xFF, 0xDA]].concat())
    };
    let mut full = [0; 16];
    full[0] = 2;
    let expected = |class, what| Refused::BadHuffmanTable { offset: 0, class, index: 0, what };
    let refused = |bytes: &[u8]| match parse(bytes).unwrap_err() {
        Refused::BadHuffmanTable { class, index, what, .. } => {
            Refused::BadHuffmanTable { offset: 0, class, index, what }
        }
        other => other,
    };
    let too_many = "has more codes than there are bits for";
    assert_eq!(refused(&with(full, &[0, 1], 0)), expected(Class::Dc, too_many));
    assert_eq!(refused(&with(full, &[0, 1], 1)), expected(Class::Ac, too_many));
    assert_eq!(refused(&with([0; 16], &[], 1)), expected(Class::Ac, "is empty"));
    full[0] = 1;
    assert_eq!(refused(&with(full, &[16], 0)), expected(Class::Dc, "has values above 15"));
    full[0] = 3;
    assert_eq!(refused(&with(full, &[1, 2, 3], 1)), expected(Class::Ac, too_many));
    assert_eq!(refusal(&with(full, &[1], 1)), "Length");
    assert_eq!(refusal(&with([255; 16], &[0; 4080], 1)), "Length");
    assert_eq!(refusal(&with(full, &[1, 2, 3], 2)), "TableKind");
}

#[test]
fn restarts_must_be_in_turn() {
    let recipe = Recipe { restart_interval: 3, ..Recipe::new(90, 80, &[(1, 1)]) };
    let (bytes, _) = synthetic::jpeg(&recipe);
    EntryPoints::build(&parse(&bytes).unwrap(), &bytes, 2048).unwrap();
    let marker = |number: u8| {
        let pair = [0xFF, 0xD0 + number];
        bytes.windows(2).position(|found| found == pair).unwrap()
    };
    let mut wrong = bytes.clone();
    wrong[marker(3) + 1] = 0xD4;
    assert_eq!(refusal(&wrong), "Restart");
    let mut missing = bytes.clone();
    missing.drain(marker(1)..marker(1) + 2);
    assert_eq!(refusal(&missing), "Restart");
    let cut = &bytes[..marker(7)];
    assert_eq!(refusal(cut), "Restarts");
    let mut none = bytes.clone();
    let interval = none.windows(6).position(|found| found == b"\xFF\xDD\0\x04\0\x03").unwrap();
    none[interval + 5] = 0;
    assert_eq!(refusal(&none), "AfterScan");
    let mut moved = bytes.clone();
    let at = marker(4);
    moved.swap(at - 1, at);
    moved.swap(at, at + 1);
    assert!(parse(&moved).and_then(|jpeg| EntryPoints::build(&jpeg, &moved, 512)).is_err());
}

#[test]
fn other_bytes_and_grids_are_refused() {
    let jpeg = parse(JPEG_420).unwrap();
    let other = EntryPoints::build(&jpeg, &JPEG_420[..200], 512).unwrap_err();
    assert_eq!(other, Refused::OtherBytes { offset: jpeg.scan.start });
    for grid_bits in [0, 1, 511, 1000, 8192] {
        let refused = EntryPoints::build(&jpeg, JPEG_420, grid_bits).unwrap_err();
        assert_eq!(refused, Refused::Grid { grid_bits });
    }
}

#[test]
fn encoders_of_other_kinds() {
    use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
    let image = pixels(40, 30, 3, 1);
    let made = |set: &dyn Fn(&mut Encoder<&mut Vec<u8>>), color, data: &[u8]| {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, 80);
        set(&mut encoder);
        encoder.encode(data, 40, 30, color).unwrap();
        refusal(&bytes)
    };
    let rgb = ColorType::Rgb;
    assert_eq!(made(&|it| it.set_progressive(true), rgb, &image.data), "Progressive");
    let sampling = SamplingFactor::F_4_1;
    assert_eq!(made(&|it| it.set_sampling_factor(sampling), rgb, &image.data), "MultiScan");
    let four = pixels(40, 30, 4, 1);
    assert_eq!(made(&|_| {}, ColorType::Cmyk, &four.data), "Cmyk");
}

fn check_bad(folder: &Path) {
    let refused = |name: &str| refusal(&std::fs::read(folder.join(name)).unwrap());
    assert_eq!(refused("progressive.jpg"), "Progressive");
    assert_eq!(refused("cmyk.jpg"), "Cmyk");
    assert_eq!(refused("zero_height.jpg"), "OpenHeight");
    assert_eq!(refused("truncated_half.jpg"), "DataEnds");
    assert_eq!(refused("garbage.jpg"), "NotJpeg");
    assert_eq!(refused("soi_only.jpg"), "Ends");
    for name in ["gray.jpg", "exif_rotated.jpg", "one_pixel_wide.jpg", "truncated_last2.jpg"] {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let made = parse(&bytes).and_then(|jpeg| EntryPoints::build(&jpeg, &bytes, 2048));
        made.unwrap_or_else(|refused| panic!("{name}: {refused}"));
    }
}

#[test]
fn bad_files() {
    check_bad(&fixtures::fixture("bad"));
}

#[test]
fn photographs_are_not_refused() {
    check_accepted(of_all_sorts());
}

needs_shared! {
    fn bad_originals() {
        check_bad(&fixtures::shared().join("data/bad"));
    }

    fn originals_are_not_refused() {
        check_accepted(originals());
    }
}

fn check_accepted(images: Vec<Named>) {
    assert!(images.len() >= 26);
    for (name, bytes) in images {
        let made = parse(&bytes).and_then(|jpeg| EntryPoints::build(&jpeg, &bytes, 2048));
        let refused = made.err().map(|refused| refused.to_string());
        assert!(refused.is_none(), "{name}: {refused:?}");
    }
}
