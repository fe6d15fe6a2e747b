//! Lossless codecs return what was written.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use crate::common::{encoded, picture};
use fdconvert_codec::{Decoder, Encoder, JpegOptions, Notes, stored_bilevel};
use fdconvert_core::{Bilevel, Codec, Color, Limits, Pixels};
use proptest::prelude::*;

fn check(pixels: &Pixels, codec: Codec) {
    let image = Encoder::new().encode("k", pixels, codec, &JpegOptions::default(), None).unwrap();
    assert_eq!((image.codec, image.width, image.height), (codec, pixels.width, pixels.height));
    if codec != Codec::Raw {
        assert_eq!(encoded(image.bytes.to_vec()), image, "the label is what the bytes say");
        let header = fdconvert_core::probe::probe(&image.bytes).unwrap();
        fdconvert_core::probe::check_complete(&image.bytes, &header).unwrap();
        let color = match (codec, pixels.channels) {
            // A gray palette is a palette, and WebP has no gray.
            (Codec::Bmp, _) | (Codec::Webp, 1) | (_, 3) => Color::Rgb,
            (_, 1) => Color::Gray,
            _ => Color::Rgba,
        };
        assert_eq!((header.color, header.bits), (color, 8));
    }
    let decoded = Decoder::new().decode("k", &image, &Limits::DEFAULT).unwrap();
    if matches!(codec, Codec::Bmp | Codec::Webp) && pixels.channels == 1 {
        // Three equal channels of a gray palette, and of codecs without gray.
        let gray: Vec<_> =
            decoded.pixels.data.chunks(decoded.pixels.channels.into()).map(|p| p[0]).collect();
        assert_eq!(gray, pixels.data);
    } else {
        assert_eq!(&decoded.pixels, pixels);
    }
    assert_eq!(decoded.notes, Notes::NONE);
}

proptest! {
    #[test]
    fn png_bmp_webp_and_raw_lose_nothing(
        width in 1..40u32,
        height in 1..40u32,
        (codec, channels) in prop::sample::select(vec![
            (Codec::Png, 1u8), (Codec::Png, 3), (Codec::Png, 4),
            (Codec::Bmp, 1), (Codec::Bmp, 3),
            (Codec::Webp, 1), (Codec::Webp, 3), (Codec::Webp, 4),
            (Codec::Raw, 1), (Codec::Raw, 3),
        ]),
    ) {
        check(&picture(width, height, channels), codec);
    }
}

proptest! {
    #[test]
    fn two_gray_levels_lose_nothing(
        (width, height) in (1..70u32, 1..20u32),
        levels: [u8; 2],
        noise in prop::collection::vec(any::<u8>(), 9 * 20),
        codec in prop::sample::select(vec![Codec::Png, Codec::Bmp, Codec::Raw]),
    ) {
        let row_bytes = width.div_ceil(8) as usize;
        let mut bits = noise[..row_bytes * height as usize].to_vec();
        let within = if width % 8 == 0 { 0xff } else { !(0xff_u8 >> (width % 8)) };
        bits.chunks_mut(row_bytes).for_each(|row| row[row_bytes - 1] &= within);
        let image = Bilevel { width, height, levels, bits };
        let options = JpegOptions::default();
        let stored = Encoder::new().encode_bilevel("k", &image, codec, &options).unwrap();
        if codec != Codec::Raw {
            prop_assert_eq!(&encoded(stored.bytes.to_vec()), &stored);
            let header = fdconvert_core::probe::probe(&stored.bytes).unwrap();
            fdconvert_core::probe::check_complete(&stored.bytes, &header).unwrap();
        }
        let decoded = Decoder::new().decode("k", &stored, &Limits::DEFAULT).unwrap();
        let channels = usize::from(decoded.pixels.channels);
        let expected = image.to_pixels().data;
        let expected = expected.iter().flat_map(|level| vec![*level; channels]);
        prop_assert!(decoded.pixels.data.iter().copied().eq(expected));
        // Only the BMP returns the bits.
        let back = stored_bilevel(&stored);
        prop_assert_eq!(back, (codec == Codec::Bmp).then_some(image));
    }
}

#[test]
fn what_a_codec_cannot_hold_is_refused_by_name() {
    let mut encoder = Encoder::new();
    let options = JpegOptions::default();
    for codec in [Codec::Jpeg, Codec::Bmp, Codec::Raw, Codec::Tiff, Codec::Gif] {
        let error = encoder.encode("a/b", &picture(4, 4, 4), codec, &options, None).unwrap_err();
        assert!(error.to_string().contains("a/b"), "{error}");
    }
    let wide = Pixels { width: 70_000, height: 1, channels: 1, data: vec![0; 70_000] };
    let error = encoder.encode("a/b", &wide, Codec::Jpeg, &options, None).unwrap_err();
    assert!(error.to_string().contains("65535"), "{error}");
    let error = encoder.encode("a/b", &wide, Codec::Webp, &options, None).unwrap_err();
    assert!(error.to_string().contains("16384"), "{error}");
    let short = Pixels { data: vec![0; 3], ..wide };
    for codec in Codec::ALL {
        assert!(encoder.encode("a/b", &short, codec, &options, None).is_err());
    }
}
