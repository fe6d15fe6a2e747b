//! Blends of the four pixels around a place.
//!
//! torch adds up the four levels with fused operations. Here sixteen pixels are blended at a time
//! without them, which compiles to vector instructions; sums so close to a half that this could
//! decide how they are rounded, about one in two thousand, are computed again as by torch.

use super::Pixel;
use super::lanes::{channel, floor, lane, larger, limit, nearest};
use super::warp::BLOCK;

/// Levels for which sums may be wrong: more than all roundings together.
const DOUBT: f32 = 1.0 / 4096.0;

/// Writes the blends at places of an image of this size.
#[inline(always)]
pub(super) fn blend(
    from: &[Pixel],
    size: (u32, u32),
    to: &mut [Pixel],
    [x, y]: &[[f32; BLOCK]; 2],
    fill: Option<Pixel>,
) {
    let mut left = [0; BLOCK];
    let mut top = [0; BLOCK];
    let mut weights = [[0.0; BLOCK]; 4];
    for at in 0..BLOCK {
        let (corner, parts) = weigh(x[at], y[at]);
        [left[at], top[at]] = corner;
        (0..4).for_each(|corner| weights[corner][at] = parts[corner]);
    }
    let mut corners = [[0; BLOCK]; 4];
    for at in 0..to.len().min(BLOCK) {
        let pixels = fetch(from, size, left[at], top[at]);
        (0..4).for_each(|corner| corners[corner][at] = pixels[corner]);
    }
    // In small loops, each of which becomes vector instructions.
    let mut levels = [[0.0; BLOCK]; 3];
    for (levels, number) in levels.iter_mut().zip(0..) {
        for at in 0..BLOCK {
            let [a, b, c, d] = &corners;
            levels[at] = channel(a[at], number) * weights[0][at]
                + channel(b[at], number) * weights[1][at]
                + channel(c[at], number) * weights[2][at]
                + channel(d[at], number) * weights[3][at];
        }
    }
    if let Some(fill) = fill {
        for at in 0..BLOCK {
            let [a, b, c, d] = &corners;
            let inside = channel(a[at], 3) * weights[0][at]
                + channel(b[at], 3) * weights[1][at]
                + channel(c[at], 3) * weights[2][at]
                + channel(d[at], 3) * weights[3][at];
            for (levels, fill) in levels.iter_mut().zip(fill) {
                levels[at] = (levels[at] - f32::from(fill)) * inside + f32::from(fill);
            }
        }
    }
    let mut blended = [0; BLOCK];
    let mut doubts = [0.0; BLOCK];
    for at in 0..BLOCK {
        let (red, green, blue) = (levels[0][at], levels[1][at], levels[2][at]);
        let rounded = (nearest(red), nearest(green), nearest(blue));
        let doubt = |level: f32, rounded: i32| (level - rounded as f32).abs();
        let most = larger(doubt(red, rounded.0), doubt(green, rounded.1));
        doubts[at] = larger(most, doubt(blue, rounded.2));
        blended[at] = lane([rounded.0 as u32, rounded.1 as u32, rounded.2 as u32]);
    }
    for (to, blended) in to.iter_mut().zip(blended) {
        let [red, green, blue, _] = blended.to_le_bytes();
        *to = [red, green, blue];
    }
    let mut n_doubtful = 0;
    doubts.iter().for_each(|doubt| n_doubtful += u32::from(*doubt > 0.5 - DOUBT));
    if n_doubtful > 0 {
        for (at, to) in to.iter_mut().enumerate().filter(|(at, _)| doubts[*at] > 0.5 - DOUBT) {
            *to = fused(corners.map(|corner| corner[at]), weights.map(|weight| weight[at]), fill);
        }
    }
}

/// Returns the upper left one of four pixels, as x and y, and how each of them counts.
#[inline(always)]
fn weigh(x: f32, y: f32) -> ([i32; 2], [f32; 4]) {
    // Far outside is outside.
    let (x, y) = (limit(x, -2.0, 4_194_304.0), limit(y, -2.0, 4_194_304.0));
    let (left, top) = (floor(x), floor(y));
    let (right_part, lower_part) = (x - left, y - top);
    let (left_part, upper_part) = (1.0 - right_part, 1.0 - lower_part);
    let weights = [
        left_part * upper_part,
        right_part * upper_part,
        left_part * lower_part,
        right_part * lower_part,
    ];
    ([nearest(left), nearest(top)], weights)
}

/// Returns four pixels with a 1 in the upper byte, or 0 outside the image.
#[inline(always)]
fn fetch(from: &[Pixel], (width, height): (u32, u32), left: i32, top: i32) -> [u32; 4] {
    const INSIDE: u32 = 1 << 24;
    let is_inner =
        (left as u32) < width.saturating_sub(1) && (top as u32) < height.saturating_sub(1);
    let width_bytes = 3 * width as usize;
    if is_inner {
        let start = top as usize * width_bytes + 3 * left as usize;
        // Two pixels, and two bytes behind them that do not count.
        let two = |start: usize| {
            let bits = u64::from_le_bytes(*from.as_flattened().get(start..)?.first_chunk()?);
            let [left, right] = [bits as u32, (bits >> 24) as u32];
            Some([left & 0x00ff_ffff | INSIDE, right & 0x00ff_ffff | INSIDE])
        };
        if let (Some(upper), Some(lower)) = (two(start), two(start + width_bytes)) {
            return [upper[0], upper[1], lower[0], lower[1]];
        }
    }
    let one = |left: i32, top: i32| {
        let is_inside = (left as u32) < width && (top as u32) < height;
        let start = || top as usize * width as usize + left as usize;
        let pixel = is_inside.then(start).and_then(|start| from.get(start));
        pixel.map_or(0, |&[red, green, blue]| u32::from_le_bytes([red, green, blue, 1]))
    };
    [one(left, top), one(left + 1, top), one(left, top + 1), one(left + 1, top + 1)]
}

/// Blends four pixels with the operations of torch.
#[cold]
fn fused(corners: [u32; 4], weights: [f32; 4], fill: Option<Pixel>) -> Pixel {
    let sum = |number: u32| {
        let [a, b, c, d] = corners.map(|corner| channel(corner, number));
        let add = |sum: f32, level: f32, weight: f32| {
            (f64::from(level) * f64::from(weight) + f64::from(sum)) as f32
        };
        add(add(add(a * weights[0], b, weights[1]), c, weights[2]), d, weights[3])
    };
    let inside = sum(3);
    [0, 1, 2].map(|number: u32| {
        let level = sum(number);
        let level = fill.map_or(level, |fill| {
            let fill = f32::from(fill[number as usize]);
            (level - fill) * inside + fill
        });
        nearest(level) as u8
    })
}
