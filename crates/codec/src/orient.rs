use fdconvert_core::{Codec, Encoded, Pixels};

/// Side of the square blocks of a transposition: input and output of a block of RGBA fit into the
/// first-level cache, so that neither reading nor writing misses on every pixel.
const BLOCK: usize = 32;

/// Returns the EXIF orientation of an image of any codec, 1 to 8; 1 if it has none. Reads headers
/// only.
#[must_use]
pub fn orientation(image: &Encoded) -> u8 {
    match image.codec {
        // Codecs without EXIF.
        Codec::Raw | Codec::Bmp | Codec::Gif => 1,
        _ => fdconvert_core::probe::probe(&image.bytes).map_or(1, |header| header.orientation),
    }
}

/// Turns and mirrors pixels so that an image with this EXIF orientation stands upright.
///
/// 1 is upright already; 2 to 8 are as in the EXIF standard; anything else counts as 1. Pixels with
/// data that does not fit their size are returned unchanged.
#[must_use]
pub fn orient(pixels: Pixels, orientation: u8) -> Pixels {
    let mut data = Vec::new();
    match orient_into(&pixels, orientation, &mut data) {
        None => pixels,
        Some((width, height)) => Pixels { width, height, channels: pixels.channels, data },
    }
}

/// As [`orient`], into a buffer; `None` when there is nothing to do.
pub(crate) fn orient_into(
    pixels: &Pixels,
    orientation: u8,
    out: &mut Vec<u8>,
) -> Option<(u32, u32)> {
    let (width, height) = (pixels.width as usize, pixels.height as usize);
    let expected = Pixels::byte_len(pixels.width, pixels.height, pixels.channels);
    if !(2..=8).contains(&orientation) || pixels.data.len() as u64 != expected {
        return None;
    }
    // Every pixel is written below: only the added part is cleared.
    out.resize(pixels.data.len(), 0);
    match pixels.channels {
        1 => turn::<1>(&pixels.data, width, height, orientation, out),
        // Values of 16 bits.
        2 => turn::<2>(&pixels.data, width, height, orientation, out),
        3 => turn::<3>(&pixels.data, width, height, orientation, out),
        4 => turn::<4>(&pixels.data, width, height, orientation, out),
        _ => return None,
    }
    let swapped = orientation >= 5;
    Some(if swapped { (pixels.height, pixels.width) } else { (pixels.width, pixels.height) })
}

/// As [`orient`], for pixels of any number of bytes; returns width and height.
#[must_use]
pub fn orient_bands(
    data: &mut Vec<u8>,
    (width, height): (u32, u32),
    pixel_bytes: usize,
    orientation: u8,
) -> (u32, u32) {
    if !(2..=8).contains(&orientation) {
        return (width, height);
    }
    let (columns, rows) = (width as usize, height as usize);
    let (new_width, new_height) = if orientation >= 5 { (height, width) } else { (width, height) };
    let mut out = Vec::with_capacity(data.len());
    for y in 0..new_height as usize {
        for x in 0..new_width as usize {
            let (column, row) = if orientation >= 5 { (y, x) } else { (x, y) };
            let from_right = matches!(orientation, 2 | 3 | 7 | 8);
            let from_bottom = matches!(orientation, 3 | 4 | 6 | 7);
            let column = if from_right { columns - 1 - column } else { column };
            let row = if from_bottom { rows - 1 - row } else { row };
            let at = (row * columns + column) * pixel_bytes;
            out.extend_from_slice(data.get(at..at + pixel_bytes).unwrap_or_default());
        }
    }
    *data = out;
    (new_width, new_height)
}

fn turn<const C: usize>(data: &[u8], width: usize, height: usize, orientation: u8, out: &mut [u8]) {
    let (from, _) = data.as_chunks::<C>();
    let (to, _) = out.as_chunks_mut::<C>();
    match orientation {
        2 => {
            for (to, from) in to.chunks_exact_mut(width).zip(from.chunks_exact(width)) {
                mirror(to, from);
            }
        }
        3 => mirror(to, from),
        4 => {
            for (to, from) in to.chunks_exact_mut(width).zip(from.chunks_exact(width).rev()) {
                to.copy_from_slice(from);
            }
        }
        _ => transpose(to, from, width, height, orientation),
    }
}

fn mirror<const C: usize>(to: &mut [[u8; C]], from: &[[u8; C]]) {
    for (to, from) in to.iter_mut().zip(from.iter().rev()) {
        *to = *from;
    }
}

/// Output row `y`, column `x` comes from input column `y` and row `x`, each counted from the other
/// end if the orientation requires it.
fn transpose<const C: usize>(
    to: &mut [[u8; C]],
    from: &[[u8; C]],
    width: usize,
    height: usize,
    orientation: u8,
) {
    let from_right = matches!(orientation, 7 | 8);
    let from_bottom = matches!(orientation, 6 | 7);
    for top in (0..width).step_by(BLOCK) {
        for left in (0..height).step_by(BLOCK) {
            for y in top..(top + BLOCK).min(width) {
                let column = if from_right { width - 1 - y } else { y };
                for x in left..(left + BLOCK).min(height) {
                    let row = if from_bottom { height - 1 - x } else { x };
                    let pair = (to.get_mut(y * height + x), from.get(row * width + column));
                    if let (Some(to), Some(from)) = pair {
                        *to = *from;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(width: u32, text: &str) -> Pixels {
        let data = text.bytes().collect::<Vec<_>>();
        Pixels { width, height: data.len() as u32 / width, channels: 1, data }
    }

    #[test]
    fn all_eight_orientations_of_six_letters() {
        // Stored as "abc" over "def".
        let expected = [
            (1, 3, "abcdef"),
            (2, 3, "cbafed"),
            (3, 3, "fedcba"),
            (4, 3, "defabc"),
            (5, 2, "adbecf"),
            (6, 2, "daebfc"),
            (7, 2, "fcebda"),
            (8, 2, "cfbead"),
        ];
        for (orientation, width, text) in expected {
            assert_eq!(orient(letters(3, "abcdef"), orientation), letters(width, text));
            let mut bands = b"abcdef".to_vec();
            let size = orient_bands(&mut bands, (3, 2), 1, orientation);
            assert_eq!((size, bands), ((width, 6 / width), text.as_bytes().to_vec()));
        }
        assert_eq!(orient(letters(3, "abcdef"), 0), letters(3, "abcdef"));
        assert_eq!(orient(letters(3, "abcdef"), 200), letters(3, "abcdef"));
    }

    #[test]
    fn turning_there_and_back_is_the_identity_at_any_size() {
        for (orientation, back) in [(2, 2), (3, 3), (4, 4), (5, 5), (6, 8), (7, 7), (8, 6)] {
            for (width, height) in [(1, 1), (1, 70), (33, 64), (100, 31)] {
                for channels in [1, 3, 4] {
                    let length = Pixels::byte_len(width, height, channels) as usize;
                    let data = (0..length).map(|i| (i * 31 % 251) as u8).collect();
                    let pixels = Pixels { width, height, channels, data };
                    assert_eq!(orient(orient(pixels.clone(), orientation), back), pixels);
                }
            }
        }
    }

    #[test]
    fn pixels_of_the_wrong_length_are_left_alone() {
        let wrong = Pixels { width: 4, height: 4, channels: 3, data: vec![1; 5] };
        assert_eq!(orient(wrong.clone(), 6), wrong);
    }
}
