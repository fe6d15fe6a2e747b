use super::*;
use crate::probe::{Ending, check_complete, not_decoded, probe};

fn boxed(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let len = (content.len() as u32 + 8).to_be_bytes();
    [&len, &kind[..], content].concat()
}

/// With version and flags of 0.
fn full(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    boxed(kind, &[&[0; 4], content].concat())
}

fn ispe(width: u32, height: u32) -> Vec<u8> {
    full(b"ispe", &[width.to_be_bytes(), height.to_be_bytes()].concat())
}

/// Flags of the third byte: 8 bits and one channel, or 10 bits and three.
fn av1c(flags: u8) -> Vec<u8> {
    boxed(b"av1C", &[0x81, 0, flags, 0])
}

/// An item of the file: its kind, the place of its data, its properties from 1 on.
type Entry<'a> = (&'a [u8; 4], (u8, u32, u32), &'a [u8]);

/// A file of items from 1 on, with properties, references and data for them.
fn file(items: &[Entry<'_>], properties: &[Vec<u8>], references: &[u8], idat: &[u8]) -> Vec<u8> {
    let (mut infe, mut iloc, mut ipma) = (Vec::new(), vec![0x44, 0, 0, items.len() as u8], vec![]);
    ipma.extend((items.len() as u32).to_be_bytes());
    for (index, (kind, (construction, offset, len), of_item)) in items.iter().enumerate() {
        let id = [0, index as u8 + 1];
        infe.extend(boxed(b"infe", &[&[2, 0, 0, 0], &id[..], &[0, 0], &kind[..], b"\0"].concat()));
        iloc.extend([&id[..], &[0, *construction, 0, 0, 0, 1]].concat());
        iloc.extend([offset.to_be_bytes(), len.to_be_bytes()].concat());
        ipma.extend([&id[..], &[of_item.len() as u8], of_item].concat());
    }
    let iloc = boxed(b"iloc", &[&[1, 0, 0, 0], &iloc[..]].concat());
    let iinf = full(b"iinf", &[&[0, items.len() as u8], &infe[..]].concat());
    let ipco = boxed(b"ipco", &properties.concat());
    let iprp = boxed(b"iprp", &[ipco, full(b"ipma", &ipma)].concat());
    let parts = [full(b"pitm", &[0, 1]), iloc, iinf, iprp, full(b"iref", references)];
    let meta = full(b"meta", &[parts.concat(), boxed(b"idat", idat)].concat());
    [boxed(b"ftyp", b"avif\0\0\0\0mif1"), meta].concat()
}

fn refers(kind: &[u8; 4], from: u8, to: &[u8]) -> Vec<u8> {
    let to_ids: Vec<u8> = to.iter().flat_map(|id| [0, *id]).collect();
    boxed(kind, &[&[0, from, 0, to.len() as u8], &to_ids[..]].concat())
}

#[test]
fn a_grid_has_the_size_of_the_whole_and_the_bits_of_its_tiles() {
    // Rows and columns less one, then width and height.
    let grid = [0, 0, 0, 1, 0, 30, 0, 10];
    let properties = [ispe(30, 10), ispe(16, 10), av1c(0x40)];
    let tile: Entry<'_> = (b"av01", (1, 8, 3), &[2, 0x83]);
    let items: [Entry<'_>; 3] = [(b"grid", (1, 0, 8), &[1]), tile, tile];
    let idat = [&grid[..], b"av1"].concat();
    let bytes = file(&items, &properties, &refers(b"dimg", 1, &[2, 3]), &idat);
    let header = probe(&bytes).unwrap();
    assert_eq!((header.width, header.height, header.bits), (30, 10, 10));
    assert_eq!((header.codec, header.color), (Codec::Avif, Color::Rgb));
    assert_eq!(check_complete(&bytes, &header), Ok(Ending::Complete));
    assert_eq!(not_decoded(&bytes, &header), None);
    let avif = Avif::parse(&bytes).unwrap();
    assert_eq!((avif.picture.across, avif.picture.tiles.len()), (2, 2));
    assert_eq!(*avif.data(&avif.picture.tiles[1]).unwrap(), *b"av1");
    // libavif writes the description among the data instead.
    let mut items_outside = items;
    items_outside[0].1 = (0, bytes.len() as u32, 8);
    let outside = file(&items_outside, &properties, &refers(b"dimg", 1, &[2, 3]), &idat);
    assert!(probe(&outside).unwrap_err().contains("description of its grid is missing"));
    assert_eq!(probe(&[&outside[..], &grid].concat()), Ok(header));
    // One tile is missing, or they do not cover the image.
    let one = file(&items, &properties, &refers(b"dimg", 1, &[2]), &idat);
    assert!(probe(&one).unwrap_err().contains("has 1 tiles"));
    let narrow = [ispe(33, 10), ispe(16, 10), av1c(0x40)];
    let narrow = file(&items, &narrow, &refers(b"dimg", 1, &[2, 3]), &idat);
    assert!(probe(&narrow).unwrap_err().contains("not an image of 33x10"));
}

#[test]
fn turns_alpha_and_colours_come_from_properties() {
    let name = b"urn:mpeg:mpegB:cicp:systems:auxiliary:alpha\0";
    let colr = boxed(b"colr", b"nclx\0\x01\0\x0d\0\x06\x80");
    let turn = [boxed(b"irot", &[1]), boxed(b"imir", &[1])];
    let [irot, imir] = turn;
    let properties = [ispe(4, 2), av1c(0), av1c(0x1c), full(b"auxC", name), irot, imir, colr];
    let items: [Entry<'_>; 2] =
        [(b"av01", (1, 0, 1), &[1, 0x82, 0x85, 0x86, 7]), (b"av01", (1, 1, 1), &[1, 0x83, 4])];
    let references = [refers(b"auxl", 2, &[1]), refers(b"prem", 1, &[2])].concat();
    let bytes = file(&items, &properties, &references, b"ca");
    let header = probe(&bytes).unwrap();
    assert_eq!((header.color, header.orientation, header.bits), (Color::Rgba, 7, 8));
    let avif = Avif::parse(&bytes).unwrap();
    assert!(avif.is_premultiplied && avif.alpha.is_some_and(|alpha| alpha.is_gray));
    let colors = AvifColors { primaries: 1, matrix: 6, is_full_range: true };
    assert_eq!(avif.colors, Some(colors));
}

#[test]
fn what_changes_pixels_and_is_not_done_is_refused_with_the_cure() {
    let clap = |width: u32| {
        let numbers = [width, 1, 2, 1, 0, 1, 0, 1].map(u32::to_be_bytes);
        boxed(b"clap", numbers.as_flattened())
    };
    let refused = |property: Vec<u8>, entry| {
        let items: [Entry<'_>; 1] = [(b"av01", (1, 0, 1), &[1, 0x82, entry])];
        let bytes = file(&items, &[ispe(4, 2), av1c(0), property], &[], b"c");
        not_decoded(&bytes, &probe(&bytes).unwrap())
    };
    assert!(refused(clap(3), 0x83).is_some_and(|what| what.contains("`avifdec")));
    assert_eq!(refused(clap(4), 0x83), None);
    assert!(refused(boxed(b"lsel", &[0, 1]), 0x83).is_some_and(|what| what.contains("`lsel`")));
    // Not essential.
    assert_eq!(refused(boxed(b"abcd", &[0, 1]), 3), None);
}

#[test]
fn cut_files_and_films_say_so() {
    let items: [Entry<'_>; 1] = [(b"av01", (0, 0, 1), &[1, 2])];
    let whole = |offset: u32| {
        let items = [(items[0].0, (0, offset, 4), items[0].2)];
        [&file(&items, &[ispe(4, 2), av1c(0)], &[], &[]), &boxed(b"mdat", b"data")[..]].concat()
    };
    let offset = whole(0).len() as u32 - 4;
    let bytes = whole(offset);
    let header = probe(&bytes).unwrap();
    assert_eq!(check_complete(&bytes, &header), Ok(Ending::Complete));
    for len in 12..bytes.len() {
        match probe(&bytes[..len]) {
            Ok(header) => {
                let what = check_complete(&bytes[..len], &header).unwrap_err();
                assert!(what.contains("cut off at byte"), "{what}");
            }
            Err(what) => assert!(what.contains("AVIF"), "{len}: {what}"),
        }
    }
    let film = [boxed(b"ftyp", b"avis\0\0\0\0avif"), boxed(b"moov", b"")].concat();
    assert!(probe(&film).unwrap_err().contains("ffmpeg"));
}

#[test]
fn pieces_without_length_do_not_fill_memory() {
    // An item of 65,535 pieces that take no byte, again and again.
    let item = [0, 1, 0, 0, 0xff, 0xff];
    let iloc = [&[0, 0, 0, 0, 0, 0, 0xff, 0xff], &item.repeat(65_535)[..]].concat();
    let meta = full(b"meta", &boxed(b"iloc", &iloc));
    let bytes = [boxed(b"ftyp", b"avif\0\0\0\0mif1"), meta].concat();
    assert!(probe(&bytes).unwrap_err().contains("pieces"));
}
