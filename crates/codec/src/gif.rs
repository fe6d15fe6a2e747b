//! Rewrites GIFs that the crate `gif` does not read: with zeros between blocks, without a colour
//! table, or with an empty screen.
use fdconvert_core::{
    ImageHeader,
    probe::{GifFrame, gif_frame},
};

/// Rewrites such a file with its first frame only; `None` if it can be read as it is.
pub(crate) fn rewritten(bytes: &[u8], header: &ImageHeader) -> Result<Option<Vec<u8>>, String> {
    const SIZE: std::ops::Range<usize> = 6..10;
    const TABLE_OF_256: u8 = 0x87;
    let GifFrame { at, control, has_colors, has_zeros, .. } = gif_frame(bytes)?;
    let (width, height) = (header.width as u16, header.height as u16);
    let size = [width.to_le_bytes(), height.to_le_bytes()].concat();
    if has_colors && !has_zeros && bytes.get(SIZE) == Some(&size) {
        return Ok(None);
    }
    let [flags, background, aspect] =
        *bytes.get(SIZE.end..).and_then(<[u8]>::first_chunk).ok_or("it is cut off")?;
    let table_from = SIZE.end + 3;
    // Before the frame come the colour table and extensions, one of which describes the frame.
    let table_bytes = if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) };
    let mut out = [bytes.get(..SIZE.start).unwrap_or_default(), &size].concat();
    if has_colors {
        out.extend([flags, background, aspect]);
        out.extend_from_slice(bytes.get(table_from..table_from + table_bytes).unwrap_or_default());
    } else {
        out.extend([TABLE_OF_256, 0, aspect]);
        out.extend((0..=u8::MAX).flat_map(|level| [level; 3]));
    }
    out.extend_from_slice(control.and_then(|range| bytes.get(range)).unwrap_or_default());
    out.extend_from_slice(bytes.get(at..).unwrap_or_default());
    Ok(Some(out))
}
