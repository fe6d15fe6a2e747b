//! Conversion of blocks of lumas with one sample of each colour (TIFF 6.0, section 21) to RGB.

/// Converts rows of such blocks into rows of RGB, of `width` pixels each.
pub(super) fn to_rgb(
    blocks: &[u8],
    (across, down): (usize, usize),
    (width, n_rows): (usize, usize),
    out: &mut [u8],
) {
    let lumas = across * down;
    let per_row = width.div_ceil(across.max(1));
    for (index, block) in blocks.chunks_exact(lumas + 2).enumerate() {
        let (left, top) = (index % per_row.max(1) * across, index / per_row.max(1) * down);
        let Some((lumas, &[blue, red])) = block.split_last_chunk() else { return };
        for (place, luma) in lumas.iter().enumerate() {
            let (x, y) = (left + place % across, top + place / across);
            if x >= width || y >= n_rows {
                continue;
            }
            let at = (y * width + x) * 3;
            if let Some(pixel) = out.get_mut(at..at + 3) {
                pixel.copy_from_slice(&color(*luma, blue, red));
            }
        }
    }
}

/// Converts with the coefficients of CCIR 601 and the full range of levels.
fn color(luma: u8, blue: u8, red: u8) -> [u8; 3] {
    let (luma, blue, red) = (f32::from(luma), f32::from(blue) - 128.0, f32::from(red) - 128.0);
    let levels =
        [luma + 1.402 * red, luma - 0.344_136 * blue - 0.714_136 * red, luma + 1.772 * blue];
    // A cast saturates to 8 bits.
    levels.map(|level| level.round() as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gray_stays_gray_and_blocks_are_cut_at_the_edge() {
        assert_eq!(color(77, 128, 128), [77; 3]);
        assert_eq!(color(76, 85, 255), [254, 0, 0]);
        let mut out = [0; 9];
        to_rgb(&[1, 2, 3, 4, 128, 128, 5, 6, 7, 8, 128, 128], (2, 2), (3, 1), &mut out);
        assert_eq!(out, [1, 1, 1, 2, 2, 2, 5, 5, 5]);
    }
}
