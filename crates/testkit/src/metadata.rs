//! Images with metadata, made without the code under test, which removes it.

/// Camera maker in the EXIF of [`exif`].
pub const MAKER: &[u8] = b"Kamera & Sons\0";
/// Time in that EXIF.
pub const TIME: &[u8] = b"2026:02:03 04:05:06\0";
/// Bytes of a rational number of the latitude in that EXIF.
pub const LATITUDE: [u8; 4] = [0x4A, 0x3B, 0x2C, 0x1D];
/// An XMP packet that names a position.
pub const XMP_WITH_GPS: &[u8] =
    b"<x:xmpmeta><exif:GPSLatitude>48,8N</exif:GPSLatitude></x:xmpmeta>";
/// An XMP packet without a position.
pub const XMP: &[u8] = b"<x:xmpmeta><xmp:Rating>5</xmp:Rating></x:xmpmeta>";

/// Returns an EXIF with a maker, a time in the directory of the camera, a second directory like
/// that of a thumbnail, and a position, with this orientation and byte order.
#[must_use]
pub fn exif(orientation: u16, is_big: bool) -> Vec<u8> {
    let short = |n: u16| if is_big { n.to_be_bytes() } else { n.to_le_bytes() };
    let long = |n: u32| if is_big { n.to_be_bytes() } else { n.to_le_bytes() };
    let mut tiff = if is_big { b"MM\0\x2a".to_vec() } else { b"II\x2a\0".to_vec() };
    let entry = |tag: u16, kind: u16, count: u32, value: [u8; 4]| {
        [&short(tag)[..], &short(kind), &long(count), &value].concat()
    };
    let [a, b] = short(orientation);
    // Offsets of the parts: four entries, one, two of the position, one of the thumbnail.
    let camera = 8 + 2 + 4 * 12 + 4;
    let gps = camera + 2 + 12 + 4;
    let thumbnail = gps + 2 + 3 * 12 + 4;
    let maker = thumbnail + 2 + 12 + 4;
    let time = maker + MAKER.len() as u32;
    let latitude = time + TIME.len() as u32;
    tiff.extend(long(8));
    tiff.extend(short(4));
    tiff.extend(entry(0x010F, 2, MAKER.len() as u32, long(maker)));
    tiff.extend(entry(0x0112, 3, 1, [a, b, 0, 0]));
    tiff.extend(entry(0x8769, 4, 1, long(camera)));
    tiff.extend(entry(0x8825, 4, 1, long(gps)));
    tiff.extend(long(thumbnail));
    tiff.extend(short(1));
    tiff.extend(entry(0x9003, 2, TIME.len() as u32, long(time)));
    tiff.extend(long(0));
    tiff.extend(short(3));
    tiff.extend(entry(0, 1, 4, [2, 3, 0, 0]));
    tiff.extend(entry(1, 2, 2, [b'N', 0, 0, 0]));
    tiff.extend(entry(2, 5, 3, long(latitude)));
    tiff.extend(long(0));
    tiff.extend(short(1));
    tiff.extend(entry(0x0103, 3, 1, [0, 6, 0, 0]));
    tiff.extend(long(0));
    tiff.extend_from_slice(MAKER);
    tiff.extend_from_slice(TIME);
    tiff.extend(LATITUDE.repeat(6));
    tiff
}

/// Returns a JPEG with these segments after its first marker.
#[must_use]
pub fn jpeg_with(jpeg: &[u8], segments: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let (start, rest) = jpeg.split_at(2);
    let mut out = start.to_vec();
    for (marker, body) in segments {
        out.extend([0xFF, *marker]);
        out.extend((body.len() as u16 + 2).to_be_bytes());
        out.extend_from_slice(body);
    }
    out.extend_from_slice(rest);
    out
}

/// Returns a PNG with these chunks after its header, or before its end.
#[must_use]
pub fn png_with(png: &[u8], chunks: &[(&[u8; 4], Vec<u8>)], at_the_end: bool) -> Vec<u8> {
    let (before, behind) = png.split_at(if at_the_end { png.len() - 12 } else { 33 });
    let mut out = before.to_vec();
    for (kind, data) in chunks {
        let chunk = [&kind[..], data].concat();
        out.extend((data.len() as u32).to_be_bytes());
        out.extend_from_slice(&chunk);
        out.extend(crate::fixtures::crc32(&chunk).to_be_bytes());
    }
    out.extend_from_slice(behind);
    out
}

/// Returns a WebP in its extended form with these chunks after its image.
#[must_use]
pub fn webp_with(webp: &[u8], size: (u32, u32), chunks: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    let has = |name: &[u8; 4]| chunks.iter().any(|(kind, _)| *kind == name);
    let flags =
        u8::from(has(b"ICCP")) << 5 | u8::from(has(b"EXIF")) << 3 | u8::from(has(b"XMP ")) << 2;
    let image = webp.get(12..).unwrap_or_default();
    let mut out = b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0".to_vec();
    out.extend([flags, 0, 0, 0]);
    for side in [size.0, size.1] {
        out.extend_from_slice(&(side - 1).to_le_bytes()[..3]);
    }
    let mut put = |kind: &[u8; 4], data: &[u8]| {
        out.extend_from_slice(kind);
        out.extend((data.len() as u32).to_le_bytes());
        out.extend_from_slice(data);
        out.resize(out.len().next_multiple_of(2), 0);
    };
    // A profile comes before the image.
    for (kind, data) in chunks.iter().filter(|(kind, _)| *kind == b"ICCP") {
        put(kind, data);
    }
    let (kind, data) = (image.first_chunk().copied().unwrap_or_default(), image.get(8..));
    let len = image.get(4..8).and_then(|len| len.first_chunk()).copied().unwrap_or_default();
    put(&kind, data.and_then(|it| it.get(..u32::from_le_bytes(len) as usize)).unwrap_or_default());
    for (kind, data) in chunks.iter().filter(|(kind, _)| *kind != b"ICCP") {
        put(kind, data);
    }
    let riff = (out.len() as u32 - 8).to_le_bytes();
    out[4..8].copy_from_slice(&riff);
    out
}
