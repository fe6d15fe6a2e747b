//! The turn of the colour circle.

use super::Pixel;
use super::lanes::{self, channel, lane, limit, whole};

/// `adjust_hue`: exactly torchvision's. `turn` is the part of the circle, from -0.5 to 0.5. Pillow's
/// hues are whole numbers of 256.
pub(crate) fn hue(image: &mut [Pixel], turn: f64) {
    let turn = turn as f32;
    lanes::map(image, |lanes| {
        for pixel in lanes {
            *pixel = turned(*pixel, turn);
        }
    });
}

/// The operations of torchvision in its order, each of which rounds.
#[inline(always)]
fn turned(pixel: u32, turn: f32) -> u32 {
    let [red, green, blue] = [0, 1, 2].map(|number| channel(pixel, number) * (1.0 / 255.0));
    let (most, least) = (larger(larger(red, green), blue), smaller(smaller(red, green), blue));
    let range = most - least;
    let is_gray = most == least;
    let saturation = range / if is_gray { 1.0 } else { most };
    let divisor = if is_gray { 1.0 } else { range };
    let [from_red, from_green, from_blue] =
        [red, green, blue].map(|level| (most - level) / divisor);
    let of_green = (from_red + 2.0) - from_blue;
    let of_blue = (from_green + 4.0) - from_red;
    let sixth = if most == green { of_green } else { of_blue };
    let sixth = if most == red { from_blue - from_green } else { sixth };
    let before = sixth * (1.0 / 6.0) + 1.0;
    let before = before - floor(before);
    // Between -0.5 and 1.5. Below 0 a whole turn is added, which may give 1.
    let after = before + turn;
    let after = if after >= 1.0 { after - 1.0 } else { after };
    let after = if after < 0.0 { after + 1.0 } else { after };

    let after = after * 6.0;
    let sector = floor(after);
    let fraction = after - sector;
    let part = saturation * fraction;
    let rest = 1.0 - saturation;
    let falling = limit((1.0 - part) * most, 0.0, 1.0);
    let rising = limit((part + rest) * most, 0.0, 1.0);
    let lowest = limit(rest * most, 0.0, 1.0);
    // The brightest channel in two sectors, the darkest in two, and between them on its way.
    let choose = |first: f32| {
        // Sectors since the one in which the channel begins to fall.
        let since = sector - first;
        let since = if since < 0.0 { since + 6.0 } else { since };
        let level = if since < 3.0 { lowest } else { rising };
        let level = if since < 1.0 { falling } else { level };
        let level = if since >= 4.0 { most } else { level };
        whole(level * 255.999)
    };
    lane([choose(1.0), choose(3.0), choose(5.0)])
}

/// Rounds down a number from -1 to 2^22.
#[inline(always)]
fn floor(number: f32) -> f32 {
    const WHOLE: f32 = 8_388_608.0 + 4_194_304.0;
    let rounded = number + WHOLE - WHOLE;
    if rounded > number { rounded - 1.0 } else { rounded }
}

#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

#[inline(always)]
fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}
