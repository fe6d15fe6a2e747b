//! WebP and GIF: sizes come from the `imagesize` crate; colour and depth are those of decoding.
use crate::probe::{Ending, exif, frames::gif_frame};
use crate::{
    Codec, Color, ImageHeader,
    bytes::{array_at, u32_at},
};

pub(crate) fn header(bytes: &[u8], codec: Codec) -> Result<ImageHeader, String> {
    let name = codec.extension();
    let size = imagesize::blob_size(bytes)
        .map_err(|cause| format!("the {name} file has no readable header: {cause}"))?;
    let (width, height) = u32::try_from(size.width)
        .ok()
        .zip(u32::try_from(size.height).ok())
        .ok_or_else(|| format!("the {name} file claims an impossible size"))?;
    // Some writers leave the screen size of a GIF at 0: then that of its first frame counts.
    let (width, height) = match codec {
        Codec::Gif if width == 0 || height == 0 => {
            let (right, bottom) = gif_frame(bytes)?.reach;
            (width.max(right.into()), height.max(bottom.into()))
        }
        _ => (width, height),
    };
    let orientation = match codec {
        Codec::Webp => webp_exif(bytes)
            .and_then(|chunk| exif::orientation(chunk.strip_prefix(b"Exif\0\0").unwrap_or(chunk))),
        _ => None,
    };
    Ok(ImageHeader {
        codec,
        width,
        height,
        color: if codec == Codec::Webp { webp_color(bytes) } else { Color::Rgba },
        bits: 8,
        orientation: orientation.unwrap_or(1),
        progressive: false,
    })
}

/// The EXIF of a WebP in the extended form with the EXIF flag; decoders ignore it elsewhere.
fn webp_exif(bytes: &[u8]) -> Option<&[u8]> {
    const EXIF: u8 = 0x08;
    let [flags] = array_at(bytes, 20)?;
    let has_exif = array_at(bytes, 12)? == *b"VP8X" && flags & EXIF != 0;
    has_exif.then(|| webp_chunk(bytes, *b"EXIF"))?
}

/// Returns true if the pixels have alpha: by the flags of the extended and of the lossless form;
/// lossy pixels alone have none (WebP Container Specification; lossless bitstream, section 3).
fn webp_color(bytes: &[u8]) -> Color {
    const EXTENDED_ALPHA: u8 = 0x10;
    const LOSSLESS_ALPHA: u32 = 1 << 28;
    let has_alpha = match array_at::<4>(bytes, 12).as_ref() {
        Some(b"VP8 ") => Some(false),
        // After the signature byte.
        Some(b"VP8L") => u32_at(bytes, 21).map(|sizes| sizes & LOSSLESS_ALPHA != 0),
        Some(b"VP8X") => array_at(bytes, 20).map(|[flags]: [u8; 1]| flags & EXTENDED_ALPHA != 0),
        _ => None,
    };
    if has_alpha == Some(false) { Color::Rgb } else { Color::Rgba }
}

/// Returns true if the pixels of a WebP are in the file: those of the image, or of the first frame.
pub(crate) fn webp_ending(bytes: &[u8]) -> Ending {
    let mut at = 12_usize;
    let is_whole = loop {
        let chunk = array_at::<4>(bytes, at).zip(u32_at(bytes, at.saturating_add(4)));
        let Some((kind, len)) = chunk else { break false };
        let end = usize::try_from(len).ok().and_then(|len| (at + 8).checked_add(len));
        let Some(end) = end.filter(|end| *end <= bytes.len()) else { break false };
        if matches!(&kind, b"VP8 " | b"VP8L" | b"ANMF") {
            break true;
        }
        // Chunks are padded to even sizes.
        at = end + (end & 1);
    };
    if is_whole { Ending::Complete } else { Ending::Doubtful }
}

/// The data of the first RIFF chunk of that kind (WebP Container Specification).
fn webp_chunk(bytes: &[u8], wanted: [u8; 4]) -> Option<&[u8]> {
    let mut at = 12_usize;
    loop {
        let kind: [u8; 4] = array_at(bytes, at)?;
        let len = usize::try_from(u32_at(bytes, at.checked_add(4)?)?).ok()?;
        let start = at.checked_add(8)?;
        let end = start.checked_add(len)?;
        if kind == wanted {
            return bytes.get(start..end);
        }
        // Chunks are padded to even sizes.
        at = end.checked_add(len & 1)?;
    }
}
