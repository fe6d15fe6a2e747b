//! WebP, TIFF and GIF: sizes by the `imagesize` crate; they are always decoded before storing, so
//! colour and depth are only what decoding will give.
use crate::probe::exif;
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
    let orientation = match codec {
        Codec::Tiff => exif::orientation(bytes),
        Codec::Webp => webp_chunk(bytes, *b"EXIF")
            .and_then(|chunk| exif::orientation(chunk.strip_prefix(b"Exif\0\0").unwrap_or(chunk))),
        _ => None,
    };
    Ok(ImageHeader {
        codec,
        width,
        height,
        color: Color::Rgba,
        bits: 8,
        orientation: orientation.unwrap_or(1),
        progressive: false,
    })
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
