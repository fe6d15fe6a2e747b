//! Conversion of the components to RGB (`jdcolor.c`), as in JFIF with constants of 16 bits. Like
//! libjpeg, it adds a half to the sum of the two parts of green.
use fdconvert_jpeg::Color;

const HALF: i32 = 1 << 15;
/// Factors of 65536: 1.40200, 0.34414, 0.71414 and 1.77200.
pub(crate) const RED_BY_CR: i32 = 91881;
pub(crate) const GREEN_BY_CB: i32 = 22554;
pub(crate) const GREEN_BY_CR: i32 = 46802;
pub(crate) const BLUE_BY_CB: i32 = 116_130;

/// Writes a row of pixels, three bytes each, as many as fit.
pub(crate) fn row(color: Color, [first, second, third]: [&[u8]; 3], out: &mut [u8]) {
    let pixels = out.as_chunks_mut::<3>().0.iter_mut();
    match color {
        Color::Gray => pixels.zip(first).for_each(|(pixel, gray)| *pixel = [*gray; 3]),
        Color::Rgb => {
            for (((pixel, red), green), blue) in pixels.zip(first).zip(second).zip(third) {
                *pixel = [*red, *green, *blue];
            }
        }
        Color::YCbCr => {
            for (((pixel, luma), cb), cr) in pixels.zip(first).zip(second).zip(third) {
                *pixel = to_rgb((*luma).into(), i32::from(*cb) - 128, i32::from(*cr) - 128);
            }
        }
    }
}

#[inline]
fn to_rgb(luma: i32, cb: i32, cr: i32) -> [u8; 3] {
    let red = luma + ((RED_BY_CR * cr + HALF) >> 16);
    let green = luma + ((-GREEN_BY_CB * cb - GREEN_BY_CR * cr + HALF) >> 16);
    let blue = luma + ((BLUE_BY_CB * cb + HALF) >> 16);
    [red, green, blue].map(|level| level.clamp(0, 255) as u8)
}
