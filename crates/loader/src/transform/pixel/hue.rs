//! The turn of the colour circle.

use super::Pixel;
use super::lanes::{self, channel, floor, lane, larger, smaller, whole};
use std::hint::select_unpredictable as select;

/// `adjust_hue`: exactly torchvision's. `turn` is the part of the circle, from -0.5 to 0.5.
/// Pillow's hues are whole numbers of 256.
pub(crate) fn hue(image: &mut [Pixel], turn: f64) {
    let turn = turn as f32;
    lanes::map(image, |pixel| turned(pixel, turn));
}

/// The operations of torchvision, each of which rounds, in its order; but what it limits to 0 to 1
/// is within. Choices are not written as `if`: branches that know of each other would keep this
/// from vector instructions.
#[inline(always)]
fn turned(pixel: u32, turn: f32) -> u32 {
    const UNIT: f32 = 1.0 / 255.0;
    let (red, green, blue) = (channel(pixel, 0), channel(pixel, 1), channel(pixel, 2));
    let brightest = larger(larger(red, green), blue);
    let (red, green, blue) = (red * UNIT, green * UNIT, blue * UNIT);
    let (most, least) = (brightest * UNIT, smaller(smaller(red, green), blue));
    let range = most - least;
    // Of gray pixels the range is 0, and so are the quotients, whatever it is divided by but 0.
    let saturation = range / larger(most, f32::MIN_POSITIVE);
    let divisor = larger(range, f32::MIN_POSITIVE);
    let from_red = (most - red) / divisor;
    let from_green = (most - green) / divisor;
    let from_blue = (most - blue) / divisor;
    let of_green = (from_red + 2.0) - from_blue;
    let of_blue = (from_green + 4.0) - from_red;
    let sixth = select(most == green, of_green, of_blue);
    let sixth = select(most == red, from_blue - from_green, sixth);
    // Between 0.8 and 1.9; the fraction counts.
    let before = sixth * (1.0 / 6.0) + 1.0;
    let before = before - one_if(before >= 1.0);
    // Between -0.5 and 1.5. Below 0 a whole turn is added, which may give 1.
    let after = before + turn;
    let after = after - one_if(after >= 1.0);
    let after = after + one_if(after < 0.0);

    let after = after * 6.0;
    // Whether the sector is at least this one.
    let from = |sector: f32| after >= sector;
    let sector = floor(after);
    let fraction = after - sector;
    let part = saturation * fraction;
    let rest = 1.0 - saturation;
    let is_falling = from(1.0) ^ from(2.0) ^ from(3.0) ^ from(4.0) ^ from(5.0) ^ from(6.0);
    let middle = select(is_falling, 1.0 - part, part + rest) * most;
    let level = |part: f32| whole(part * 255.999);
    let (bright, middle, dark) = (whole(brightest), level(middle), level(rest * most));
    // The brightest is red, green from sector 1, blue from 3, and red from 5; the darkest is blue,
    // red from sector 2, green from 4, and blue from 6, which is 0.
    let choose = |is_bright, is_dark| select(is_bright, bright, select(is_dark, dark, middle));
    lane([
        choose(!from(1.0) | from(5.0), from(2.0) & !from(4.0)),
        choose(from(1.0) & !from(3.0), from(4.0) & !from(6.0)),
        choose(from(3.0) & !from(5.0), !from(2.0) | from(6.0)),
    ])
}

#[inline(always)]
fn one_if(condition: bool) -> f32 {
    select(condition, 1.0, 0.0)
}
