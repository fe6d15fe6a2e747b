//! The reference decoder against a pixel decoder: coefficients, dequantised and transformed by the
//! formula of the standard, give the gray levels of a JPEG to within rounding.
#![allow(clippy::unwrap_used, clippy::panic)]

use fdconvert_codec::{Decoder, Encoder, JpegOptions};
use fdconvert_core::{Codec, Encoded, Limits};
use fdconvert_jpeg::{parse, reference};
use fdconvert_testkit::fixtures::pixels;
use std::f64::consts::{FRAC_1_SQRT_2, PI};

#[test]
fn coefficients_are_those_of_the_pixels() {
    for (width, height, quality) in [(8, 8, 50), (33, 20, 90), (64, 48, 100)] {
        let image = pixels(width, height, 1, 5);
        let options = JpegOptions { quality, ..JpegOptions::default() };
        let bytes = Encoder::new().encode("", &image, Codec::Jpeg, &options, None).unwrap().bytes;
        let encoded = Encoded::new(Codec::Jpeg, width, height, bytes.clone());
        let expected = Decoder::new().decode("", &encoded, &Limits::DEFAULT).unwrap().pixels;
        let step = usize::from(expected.channels);

        let jpeg = parse(&bytes).unwrap();
        let blocks = reference::coefficients(&jpeg, &bytes).unwrap();
        let table = jpeg.quant_tables[usize::from(jpeg.components[0].quant_table)].unwrap();
        for y in 0..height {
            for x in 0..width {
                let block = &blocks[(y / 8 * jpeg.mcus_x + x / 8) as usize];
                let level = level(block, &table, x % 8, y % 8).round().clamp(0.0, 255.0);
                let found = expected.data[(y * width + x) as usize * step];
                assert!((level - f64::from(found)).abs() <= 1.0, "{x}, {y}: {level}, not {found}");
            }
        }
    }
}

/// T.81, A.3.3.
fn level(block: &reference::Block, table: &[u16; 64], x: u32, y: u32) -> f64 {
    let wave = |at: u32, frequency: u32| {
        let scale = if frequency == 0 { FRAC_1_SQRT_2 } else { 1.0 };
        scale * (f64::from((2 * at + 1) * frequency) * PI / 16.0).cos()
    };
    let mut sum = 0.0;
    for v in 0..8 {
        for u in 0..8 {
            let place = (8 * v + u) as usize;
            let value = f64::from(block[place]) * f64::from(table[place]);
            sum += value * wave(x, u) * wave(y, v);
        }
    }
    sum / 4.0 + 128.0
}
