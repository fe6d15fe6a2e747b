//! Small images compared with the slow path: decode all, resize, turn.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{file, turned};
use fdconvert_codec::{Decoder, Filter, Resizer, Size, Thumbnailer, orient, orientation};
use fdconvert_core::{Codec, Encoded, Limits, Pixels};

fn thumbnail(image: &Encoded, side: u32) -> Pixels {
    Thumbnailer::new().thumbnail("k", image, &Limits::DEFAULT, side).unwrap()
}

/// Decodes all of the image, whatever the side.
fn slow(image: &Encoded, side: u32) -> Pixels {
    let pixels = Decoder::new().decode("k", image, &Limits::DEFAULT).unwrap().pixels;
    let (width, height) = Size::MaxSide(side).target(pixels.width, pixels.height);
    let mut data = Vec::new();
    Resizer::new().resize("k", &pixels, (width, height), Filter::Area, &mut data).unwrap();
    let small = Pixels { width, height, channels: pixels.channels, data };
    orient(if side >= pixels.width.max(pixels.height) { pixels } else { small }, orientation(image))
}

#[test]
fn what_cannot_be_decoded_smaller_is_the_slow_way() {
    for codec in [Codec::Png, Codec::Bmp, Codec::Webp, Codec::Raw] {
        let image = file(64, 48, 3, codec);
        for side in [1, 7, 40, 63, 64, 100, u32::MAX] {
            assert_eq!(thumbnail(&image, side), slow(&image, side), "{codec:?} at {side}");
        }
    }
    for channels in [1, 4] {
        let image = file(64, 48, channels, Codec::Png);
        assert_eq!(thumbnail(&image, 20), slow(&image, 20), "{channels} channels");
    }
}

#[test]
fn all_orientations_become_upright() {
    for orientation in 1..=8 {
        let image = turned(orientation);
        // More than half its size: decoded as it is.
        for side in [40, 64, u32::MAX] {
            let small = thumbnail(&image, side);
            assert_eq!(small, slow(&image, side), "{orientation} at {side}");
            assert_eq!(small.width < small.height, orientation > 4);
        }
    }
}

#[test]
fn jpegs_that_are_decoded_smaller_look_the_same() {
    let image = file(640, 480, 3, Codec::Jpeg);
    for side in [20, 80, 100, 160, 300] {
        let (small, slow) = (thumbnail(&image, side), slow(&image, side));
        assert_eq!((small.width, small.height), (slow.width, slow.height), "at {side}");
        let pairs = small.data.iter().zip(&slow.data);
        let off: u64 = pairs.map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
        let mean = off as f64 / small.data.len() as f64;
        assert!(mean < 4.0, "{mean} levels at {side}");
    }
}

#[test]
fn limits_hold_for_small_images_too() {
    let image = file(64, 48, 3, Codec::Png);
    let limits = Limits { max_pixels: 1000, ..Limits::DEFAULT };
    let refused = Thumbnailer::new().thumbnail("its name", &image, &limits, 8).unwrap_err();
    assert!(refused.to_string().contains("its name"), "{refused}");
}
