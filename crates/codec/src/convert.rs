//! Conversions between channel layouts, pixel by pixel.

/// 16 bits to 8, `round(v / 257)`, without a division: exact for every value.
pub(crate) fn narrow(value: u16) -> u8 {
    ((u32::from(value) * 255 + 32_895) >> 16) as u8
}

/// `a * b / 255`, rounded, as Pillow's `MULDIV255`.
fn muldiv255(a: u8, b: u8) -> u8 {
    let product = u32::from(a) * u32::from(b) + 128;
    (((product >> 8) + product) >> 8) as u8
}

/// Converts Adobe's inverted CMYK (255 is not ink) to RGB in place, with Pillow's rounding, and
/// cuts the buffer down to three channels.
#[cfg_attr(not(feature = "turbo"), allow(dead_code))]
pub(crate) fn inverted_cmyk_to_rgb(data: &mut Vec<u8>) {
    let n_pixels = data.len() / 4;
    for i in 0..n_pixels {
        let Some(&[c, m, y, k]) = data.get(i * 4..).and_then(<[u8]>::first_chunk) else { return };
        // The three bytes of pixel `i` never reach the four of pixel `i + 1`.
        if let Some(rgb) = data.get_mut(i * 3..).and_then(<[u8]>::first_chunk_mut) {
            *rgb = [c, m, y].map(|ink| k - muldiv255(255 - ink, k));
        }
    }
    data.truncate(n_pixels * 3);
}

pub(crate) fn gray_to_rgb(gray: &[u8], rgb: &mut Vec<u8>) {
    rgb.clear();
    rgb.reserve(gray.len() * 3);
    rgb.extend(gray.iter().flat_map(|&value| [value; 3]));
}

pub(crate) fn gray_alpha_to_rgba(gray_alpha: &[u8], rgba: &mut Vec<u8>) {
    rgba.clear();
    rgba.reserve(gray_alpha.len() * 2);
    let (pairs, _) = gray_alpha.as_chunks::<2>();
    rgba.extend(pairs.iter().flat_map(|&[gray, alpha]| [gray, gray, gray, alpha]));
}

/// Drops the alpha channel; gray images that were expanded to RGBA become gray again.
pub(crate) fn drop_alpha(rgba: &[u8], gray: bool, out: &mut Vec<u8>) {
    out.clear();
    let (pixels, _) = rgba.as_chunks::<4>();
    if gray {
        out.extend(pixels.iter().map(|[value, ..]| value));
    } else {
        out.extend(pixels.iter().flat_map(|&[r, g, b, _]| [r, g, b]));
    }
}

/// Composites onto a background of one colour, rounding to nearest.
pub(crate) fn blend_alpha(rgba: &[u8], background: [u8; 3], out: &mut Vec<u8>) {
    out.clear();
    let [back_r, back_g, back_b] = background;
    let (pixels, _) = rgba.as_chunks::<4>();
    out.extend(pixels.iter().flat_map(|&[r, g, b, alpha]| {
        let mix = |fore: u8, back: u8| {
            let sum = u32::from(fore) * u32::from(alpha) + u32::from(back) * u32::from(255 - alpha);
            ((sum * 2 + 255) / 510) as u8
        };
        [mix(r, back_r), mix(g, back_g), mix(b, back_b)]
    }));
}

/// Divides premultiplied colours by the alpha channel after them; rounded. Where alpha is 0 the
/// colour is unknown, and stays as stored.
pub(crate) fn unpremultiply<const N: usize>(pixels: &mut [u8]) {
    for pixel in pixels.as_chunks_mut::<N>().0 {
        let Some((alpha, colors)) = pixel.split_last_mut() else { continue };
        let alpha = u32::from(*alpha);
        for color in colors.iter_mut().filter(|_| alpha > 0) {
            *color = ((u32::from(*color) * 255 + alpha / 2) / alpha).min(255) as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_rounds_every_value_to_nearest() {
        for value in 0..=u16::MAX {
            assert_eq!(narrow(value), (f64::from(value) / 257.0).round() as u8, "{value}");
        }
    }

    #[test]
    fn cmyk_is_ink_times_ink() {
        // Stored inverted: white has no ink, and full black is black whatever the other inks.
        let mut data = vec![255, 255, 255, 255, 10, 20, 30, 0, 255, 0, 128, 255, 255, 0, 128, 100];
        inverted_cmyk_to_rgb(&mut data);
        assert_eq!(data, [255, 255, 255, 0, 0, 0, 255, 0, 128, 100, 0, 50]);
    }

    #[test]
    fn blend_keeps_the_ends_exact() {
        let mut out = Vec::new();
        blend_alpha(&[9, 8, 7, 255, 9, 8, 7, 0, 255, 255, 255, 128], [1, 2, 3], &mut out);
        assert_eq!(out, [9, 8, 7, 1, 2, 3, 128, 129, 129]);
    }
}
