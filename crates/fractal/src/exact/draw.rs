use super::color::{N_HUES, PALETTE};
use crate::bitmap::Bitmap;
use crate::frame::{Draw, Frame};
use crate::mt::MersenneTwister;
use crate::owners::Owners;
use fdconvert_core::Pixels;

const GRAY: [u8; 1] = [127];

/// Draws the image of the points, turned as `flip0`.
pub(super) fn render(
    points: &[(u16, u16)],
    frame: Frame,
    draw: Draw,
    masks: &mut MersenneTwister,
) -> Pixels {
    let hues = |point: usize| PALETTE.get(point % N_HUES).copied().unwrap_or_default();
    match draw {
        Draw::PointGray => draw_points(points, Canvas::new(frame), |_| GRAY),
        Draw::PointColor => draw_points(points, Canvas::new(frame), hues),
        Draw::PatchGray => draw_patches(points, Canvas::new(frame), |_| GRAY, masks),
        Draw::PatchColor => draw_patches(points, Canvas::new(frame), hues, masks),
    }
}

/// Sets the hit pixels in `out`.
pub(super) fn cover(points: &[(u16, u16)], out: &mut Bitmap) {
    out.words_mut().fill(0);
    for &(x, y) in points {
        out.set(u32::from(x), u32::from(y));
    }
}

/// Returns the last point of every pixel.
pub(super) fn owners(points: &[(u16, u16)], frame: Frame) -> Owners {
    let mut canvas = Canvas::new(frame);
    for (ordinal, &(x, y)) in (1..).zip(points) {
        canvas.set(u32::from(x), u32::from(y), [ordinal]);
    }
    let ordinals = canvas.pixels.into_iter().flatten().collect();
    Owners { width: frame.size(), height: frame.size(), ordinals }
}

fn draw_points<const C: usize>(
    points: &[(u16, u16)],
    mut canvas: Canvas<u8, C>,
    color: impl Fn(usize) -> [u8; C],
) -> Pixels {
    for (point, &(x, y)) in points.iter().enumerate() {
        canvas.set(u32::from(x), u32::from(y), color(point));
    }
    canvas.into_pixels()
}

/// Every point takes a mask, drawn or not. The highest of its nine bits is the first pixel of the
/// first row. The patch starts one pixel beyond the point, and its unlit pixels become black.
fn draw_patches<const C: usize>(
    points: &[(u16, u16)],
    mut canvas: Canvas<u8, C>,
    color: impl Fn(usize) -> [u8; C],
    masks: &mut MersenneTwister,
) -> Pixels {
    for (point, &(x, y)) in points.iter().enumerate() {
        let (mask, color) = (masks.patch_mask(), color(point));
        for cell in 0..9 {
            let lit = mask >> (8 - cell) & 1 == 1;
            let (x, y) = (u32::from(x) + 1 + cell % 3, u32::from(y) + 1 + cell / 3);
            canvas.set(x, y, if lit { color } else { [0; C] });
        }
    }
    canvas.into_pixels()
}

/// A square of pixels with `C` values each, rows upwards.
struct Canvas<T, const C: usize> {
    size: u32,
    pixels: Vec<[T; C]>,
}

impl<T: Copy + Default, const C: usize> Canvas<T, C> {
    fn new(frame: Frame) -> Self {
        let size = frame.size();
        Self { size, pixels: vec![[T::default(); C]; size as usize * size as usize] }
    }

    /// Sets a pixel; does nothing outside.
    #[inline]
    fn set(&mut self, x: u32, y: u32, value: [T; C]) {
        if x >= self.size {
            return;
        }
        if let Some(pixel) = self.pixels.get_mut(y as usize * self.size as usize + x as usize) {
            *pixel = value;
        }
    }
}

impl<const C: usize> Canvas<u8, C> {
    /// Returns the pixels, turned top to bottom.
    fn into_pixels(self) -> Pixels {
        let rows = self.pixels.chunks_exact(self.size as usize).rev();
        let data = rows.flatten().flatten().copied().collect();
        Pixels { width: self.size, height: self.size, channels: C as u8, data }
    }
}
