//! Detects further images in a file: frames of an animation, or pages.
use crate::probe::{Ending, avif, jxl, mpo, png, tiff::Tiff};
use crate::{
    Codec,
    bytes::{array_at as array, u32_at},
};
use std::ops::Range;

/// Returns true if decoding the image ignores frames: of a GIF, WebP, PNG or AVIF with several, and
/// of a JPEG XL that says that it is an animation. Stops at the second frame; a damaged file counts
/// the frames that can be found.
#[must_use]
pub fn is_animated(bytes: &[u8], codec: Codec) -> bool {
    match codec {
        Codec::Gif => second_gif_frame(bytes).is_some(),
        Codec::Webp => second_webp_frame(bytes).is_some(),
        Codec::Png => png::frames(bytes).is_some_and(|n_frames| n_frames > 1),
        Codec::Avif => avif::is_sequence(bytes),
        Codec::Jxl => jxl::is_animated(bytes),
        _ => false,
    }
}

/// Returns true if a TIFF has further pages, or a JPEG further views, which decoding ignores.
/// Overviews (copies of lower resolution) and masks do not count.
#[must_use]
pub fn has_pages(bytes: &[u8], codec: Codec) -> bool {
    match codec {
        Codec::Tiff => Tiff::parse(bytes).is_ok_and(|tiff| tiff.has_pages()),
        Codec::Jpeg => mpo::has_views(bytes),
        _ => false,
    }
}

/// Finds the first frame of a GIF, and checks whether its data is complete.
pub(crate) fn gif_ending(bytes: &[u8]) -> Result<Ending, String> {
    let frame = gif_frame(bytes)?;
    let cut = || gif_is_cut(bytes);
    let [flags] = array(bytes, frame.at + 9).ok_or_else(cut)?;
    let at = frame.at + IMAGE_BYTES + color_table_bytes(flags);
    let [code_bits] = array(bytes, at).ok_or_else(cut)?;
    if !(1..=11).contains(&code_bits) {
        return Err(format!("the GIF's pixels have codes of {code_bits} bits, which cannot be"));
    }
    let end = past_sub_blocks(bytes, at + 1);
    Ok(if end.is_some() { Ending::Complete } else { Ending::Doubtful })
}

/// The first frame of a GIF, and the properties that affect its pixels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GifFrame {
    /// Offset of its block.
    pub at: usize,
    /// The preceding extension with its transparent colour.
    pub control: Option<Range<usize>>,
    /// Columns and rows of a screen that contains it.
    pub reach: (u16, u16),
    /// True if there is a colour table, local or global. Without one, pixels are gray levels.
    pub has_colors: bool,
    /// True if there are zeros between the preceding blocks, as some writers leave them.
    pub has_zeros: bool,
}

/// Finds the first frame of a GIF.
///
/// # Errors
/// A text for a sample's error: there is none, or the file ends before it.
pub fn gif_frame(bytes: &[u8]) -> Result<GifFrame, String> {
    const CONTROL: u8 = 0xf9;
    let cut = || gif_is_cut(bytes);
    let [screen] = array(bytes, 10).ok_or_else(cut)?;
    let mut at = SCREEN_BYTES + color_table_bytes(screen);
    let (mut control, mut has_zeros) = (None, false);
    loop {
        let [kind] = array(bytes, at).ok_or_else(cut)?;
        at = match kind {
            b'!' => {
                let end = past_sub_blocks(bytes, at + 2).ok_or_else(cut)?;
                if bytes.get(at + 1) == Some(&CONTROL) {
                    control = Some(at..end);
                }
                end
            }
            0 => {
                has_zeros = true;
                at + 1
            }
            b',' => break,
            b';' => return Err(format!("the GIF ends at byte {at} without a frame")),
            other => return Err(format!("the GIF has a block {other:#04x} at byte {at}")),
        };
    }
    let number = |offset| array(bytes, at + offset).map(u16::from_le_bytes).ok_or_else(cut);
    let reach = |place, size| Ok::<_, String>(number(place)?.saturating_add(number(size)?));
    let reach = (reach(1, 5)?, reach(3, 7)?);
    let [frame] = array(bytes, at + 9).ok_or_else(cut)?;
    Ok(GifFrame { at, control, reach, has_colors: (screen | frame) & 0x80 != 0, has_zeros })
}

fn gif_is_cut(bytes: &[u8]) -> String {
    format!("the GIF is cut off at byte {} before its first frame ends", bytes.len())
}

const SCREEN_BYTES: usize = 13;
const IMAGE_BYTES: usize = 10;

/// GIF89a specification: the screen, then blocks; images start with a comma.
fn second_gif_frame(bytes: &[u8]) -> Option<()> {
    let [flags] = array(bytes, 10)?;
    let mut at = SCREEN_BYTES + color_table_bytes(flags);
    let mut seen_one = false;
    loop {
        let [kind] = array(bytes, at)?;
        at = match kind {
            b'!' => past_sub_blocks(bytes, at + 2)?,
            0 => at + 1,
            b',' if seen_one => return Some(()),
            b',' => {
                seen_one = true;
                let [flags] = array(bytes, at + 9)?;
                // One byte of code size precedes the data.
                past_sub_blocks(bytes, at + IMAGE_BYTES + color_table_bytes(flags) + 1)?
            }
            _ => return None,
        };
    }
}

/// Three bytes per colour.
fn color_table_bytes(flags: u8) -> usize {
    if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) }
}

/// Each is preceded by its length; length 0 marks the last.
fn past_sub_blocks(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let [len] = array(bytes, at)?;
        at = at.checked_add(1 + usize::from(len))?;
        if len == 0 {
            return Some(at);
        }
    }
}

/// WebP Container Specification: `VP8X` with the animation flag, and frames in `ANMF` chunks.
fn second_webp_frame(bytes: &[u8]) -> Option<()> {
    const ANIMATION: u8 = 2;
    if array(bytes, 12)? != *b"VP8X" || array::<1>(bytes, 20)?[0] & ANIMATION == 0 {
        return None;
    }
    let mut at = 12_usize;
    let mut seen_one = false;
    loop {
        let kind: [u8; 4] = array(bytes, at)?;
        let len = usize::try_from(u32_at(bytes, at.checked_add(4)?)?).ok()?;
        if kind == *b"ANMF" && std::mem::replace(&mut seen_one, true) {
            return Some(());
        }
        // Chunks are padded to even sizes.
        at = at.checked_add(8)?.checked_add(len)?.checked_add(len & 1)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gif(n_frames: usize) -> Vec<u8> {
        let frame = b"!\xf9\x04\0\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0";
        let start =
            b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff!\xff\x0bNETSCAPE2.0\x03\x01\0\0\0";
        [&start[..], &frame.repeat(n_frames), b";"].concat()
    }

    fn webp(flags: u8, n_frames: usize) -> Vec<u8> {
        let start = [b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0", &[flags][..], &[0; 9]].concat();
        [start, b"ANMF\x03\0\0\0abc\0".repeat(n_frames)].concat()
    }

    #[test]
    fn a_second_frame_is_an_animation() {
        for (n_frames, animated) in [(0, false), (1, false), (2, true), (9, true)] {
            assert_eq!(is_animated(&gif(n_frames), Codec::Gif), animated, "{n_frames}");
            assert_eq!(is_animated(&webp(2, n_frames), Codec::Webp), animated, "{n_frames}");
        }
        // Zeros between frames are skipped.
        let zeros = [&gif(1)[..gif(1).len() - 1], b"\0\0", &gif(1)[38..]].concat();
        assert!(is_animated(&zeros, Codec::Gif));
        // Frames without the flag do not count; nor does a GIF with another codec.
        assert!(!is_animated(&webp(0, 3), Codec::Webp));
        assert!(!is_animated(&gif(2), Codec::Jpeg));
    }

    #[test]
    fn whatever_is_cut_is_no_panic() {
        for (bytes, codec) in [(gif(2), Codec::Gif), (webp(2, 2), Codec::Webp)] {
            let animated = (0..bytes.len()).filter(|&len| is_animated(&bytes[..len], codec));
            assert!(animated.count() < bytes.len() / 2);
        }
    }
}
