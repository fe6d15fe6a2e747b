//! Two forms of every kind of image, as a table: which become BMP, which cannot, and that both show
//! the same.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use crate::common::{deep, file, turned};
use fdconvert_codec::{
    Decoder, Encode, Form, Gray, Mixture, Notes, Outcome, Policy, Size, Worker, orient,
};
use fdconvert_core::{Bilevel, Codec, Encoded, Image, Limits, Pixels};
use fdconvert_testkit::fake::FILES;

fn mixed(encode: Encode) -> Policy {
    let mixture =
        Mixture { share: 0.5, by: fdconvert_codec::By::Random, seed: 0, max_bytes: 1 << 20 };
    Policy { encode, mixture: Some(mixture), ..Policy::default() }
}

fn apply(policy: &Policy, form: Form, image: impl Into<Image>) -> Outcome {
    policy.apply_as(form, "the/key", image.into(), &FILES, &mut Worker::new()).unwrap()
}

fn pixels(image: &Encoded) -> Pixels {
    let mut pixels = Decoder::new().decode("k", image, &Limits::DEFAULT).unwrap().pixels;
    if pixels.channels == 1 {
        pixels.data = pixels.data.iter().flat_map(|gray| [*gray; 3]).collect();
        pixels.channels = 3;
    }
    pixels
}

#[test]
fn every_image_has_the_form_that_it_can_have() {
    use Codec::{Bmp, Jpeg, Png, Webp};
    const STAYED: Notes = Notes::STAYED_ENCODED;
    const NONE: Notes = Notes::NONE;
    for (encode, source, channels, as_encoded, as_bmp, notes) in [
        (Encode::Keep, Png, 3, Png, Bmp, NONE),
        (Encode::Keep, Png, 1, Png, Bmp, NONE),
        (Encode::Keep, Png, 4, Png, Png, STAYED),
        (Encode::Keep, Jpeg, 3, Jpeg, Bmp, NONE),
        (Encode::Keep, Jpeg, 1, Jpeg, Bmp, NONE),
        // A set of BMP files has an encoded form, too.
        (Encode::Keep, Bmp, 3, Png, Bmp, NONE),
        (Encode::Png, Jpeg, 3, Png, Bmp, NONE),
        (Encode::Png, Bmp, 3, Png, Bmp, NONE),
        (Encode::Jpeg, Png, 3, Jpeg, Bmp, NONE),
        (Encode::Keep, Webp, 3, Webp, Bmp, NONE),
        (Encode::Keep, Webp, 4, Webp, Webp, STAYED),
        (Encode::Webp, Png, 1, Webp, Bmp, NONE),
        (Encode::Webp, Jpeg, 3, Webp, Bmp, NONE),
        (Encode::Webp, Bmp, 3, Webp, Bmp, NONE),
        (Encode::Webp, Png, 4, Webp, Webp, STAYED),
    ] {
        let case = format!("{encode:?} {source:?} {channels}");
        let image = file(64, 48, channels, source);
        let policy = mixed(encode);
        let small = apply(&policy, Form::Encoded, image.clone());
        let large = apply(&policy, Form::Bmp, image.clone());
        assert_eq!((small.encoded.codec, large.encoded.codec), (as_encoded, as_bmp), "{case}");
        assert!(large.notes.contains(notes), "{case}: {:?}", large.notes);
        assert_eq!(notes.is_empty(), !large.notes.contains(STAYED), "{case}");
        assert!(!small.notes.contains(STAYED), "{case}");
        assert_eq!(pixels(&large.encoded), pixels(&image), "{case}: without loss");
        if encode != Encode::Jpeg {
            assert_eq!(pixels(&small.encoded), pixels(&image), "{case}: without loss");
        }

        let outlook = policy.outlook("k", &image.into(), &FILES).unwrap();
        assert_eq!(outlook.bmp_bytes.is_some(), as_bmp == Bmp, "{case}");
        if let Some(bytes) = outlook.bmp_bytes {
            assert_eq!(bytes, large.encoded.bytes.len() as u64, "{case}");
        }
        if let Some(bytes) = outlook.encoded_bytes {
            assert_eq!(bytes, small.encoded.bytes.len() as u64, "{case}");
            assert_eq!(outlook.codec, Some(small.encoded.codec), "{case}");
        }
        assert_eq!(outlook.pixels, 64 * 48, "{case}");
    }
}

#[test]
fn resized_images_are_alike_in_both_forms() {
    let policy = Policy { size: Some(Size::MaxSide(20)), ..mixed(Encode::Png) };
    let image = file(63, 47, 3, Codec::Jpeg);
    let [small, large] =
        [Form::Encoded, Form::Bmp].map(|form| apply(&policy, form, image.clone()).encoded);
    assert_eq!((small.codec, large.codec), (Codec::Png, Codec::Bmp));
    assert_eq!((small.width, small.height), (20, 14));
    assert_eq!(pixels(&small), pixels(&large));
    let outlook = policy.outlook("k", &image.into(), &FILES).unwrap();
    assert_eq!(outlook.bmp_bytes, Some(large.bytes.len() as u64));
    assert_eq!((outlook.pixels, outlook.encoded_bytes), (280, None));
}

#[test]
fn an_image_that_is_no_larger_as_bmp_becomes_one() {
    let noise = Pixels {
        width: 16,
        height: 16,
        channels: 3,
        data: (0..768_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 21) as u8).collect(),
    };
    let policy = mixed(Encode::Png);
    let outcome = apply(&policy, Form::Encoded, Image::Pixels(noise.clone()));
    assert_eq!(outcome.encoded.codec, Codec::Bmp);
    assert!(outcome.notes.contains(Notes::BMP_SMALLER));
    assert_eq!(pixels(&outcome.encoded), noise);
    // At a share of 0 there are no exceptions.
    let mut none = policy;
    none.mixture.as_mut().unwrap().share = 0.0;
    assert_eq!(apply(&none, Form::Encoded, Image::Pixels(noise)).encoded.codec, Codec::Png);
}

#[test]
fn what_a_bmp_would_lose_stays() {
    let deep = deep();
    let policy = mixed(Encode::Keep);
    let outcome = apply(&policy, Form::Bmp, deep.clone());
    assert_eq!(outcome.encoded, deep);
    assert!(outcome.notes.contains(Notes::STAYED_ENCODED | Notes::KEPT));

    // Too large.
    let large = file(1000, 400, 3, Codec::Png);
    let outcome = apply(&policy, Form::Bmp, large.clone());
    assert_eq!(outcome.encoded, large);
    assert!(outcome.notes.contains(Notes::STAYED_ENCODED));

    // An orientation that is not applied.
    let lying = turned(6);
    let outcome = apply(&Policy { orient: false, ..policy.clone() }, Form::Bmp, lying.clone());
    assert_eq!(outcome.encoded, lying);
    // One that is applied: the same pixels as from decoding the JPEG.
    let outcome = apply(&policy, Form::Bmp, lying.clone());
    assert_eq!(outcome.encoded.codec, Codec::Bmp);
    let upright = orient(pixels(&lying), 6);
    assert_eq!(pixels(&outcome.encoded), upright);
    let outlook = policy.outlook("k", &lying.into(), &FILES).unwrap();
    assert_eq!(outlook.bmp_bytes, Some(outcome.encoded.bytes.len() as u64));
}

/// 16 times 16 pixels of the two levels.
fn bilevel(levels: [u8; 2]) -> Bilevel {
    let bits = (0..32_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 21) as u8 & 0x5f).collect();
    Bilevel { width: 16, height: 16, levels, bits }
}

/// Headers, palette and rows of the 1-bit BMP.
const ONE_BIT_BMP: usize = 54 + 8 + 16 * 4;

#[test]
fn two_levels_have_a_bit_for_each_pixel_in_both_forms() {
    for (levels, gray) in [
        ([0, 127], Gray::Keep),
        ([0, 127], Gray::Expand),
        ([0, 255], Gray::Keep),
        ([255, 0], Gray::Keep),
        ([7, 7], Gray::Keep),
    ] {
        let policy = Policy { gray, ..mixed(Encode::Keep) };
        let image = || Image::Bilevel(bilevel(levels));
        let large = apply(&policy, Form::Bmp, image());
        assert_eq!((large.encoded.codec, large.notes), (Codec::Bmp, Notes::MADE));
        assert_eq!(large.encoded.bytes.len(), ONE_BIT_BMP);
        let outlook = policy.outlook("k", &image(), &FILES).unwrap();
        assert_eq!(outlook.bmp_bytes, Some(ONE_BIT_BMP as u64));
        // Its pixels are those of the earlier 8-bit BMP.
        let gray = bilevel(levels).to_pixels();
        let rgb: Vec<u8> = gray.data.iter().flat_map(|level| [*level; 3]).collect();
        assert_eq!(pixels(&large.encoded).data, rgb);
        let small = apply(&policy, Form::Encoded, image());
        assert_eq!(pixels(&small.encoded).data, rgb);
    }
    // BMP without a mixture has not changed.
    let bmp = Policy { encode: Encode::Bmp, ..Policy::default() };
    let image = Image::Bilevel(bilevel([0, 127]));
    let plain = bmp.apply("k", image.clone(), &FILES, &mut Worker::new()).unwrap();
    assert_eq!(plain.encoded.bytes.len(), 54 + 1024 + 256);
    // A resize makes more than two levels.
    let resized = Policy { size: Some(Size::MaxSide(12)), ..mixed(Encode::Keep) };
    assert_eq!(apply(&resized, Form::Bmp, image).encoded.bytes.len(), 54 + 1024 + 144);
}

#[test]
fn a_one_bit_bmp_becomes_a_one_bit_png_and_comes_back() {
    let policy = mixed(Encode::Keep);
    let wide = Bilevel { width: 256, height: 64, levels: [3, 200], bits: vec![0x10; 2048] };
    let large = apply(&policy, Form::Bmp, Image::Bilevel(wide.clone())).encoded;
    let small = apply(&policy, Form::Encoded, Image::Bilevel(wide)).encoded;
    assert_eq!((small.codec, large.codec), (Codec::Png, Codec::Bmp));
    for encode in [Encode::Keep, Encode::Png] {
        let again = apply(&mixed(encode), Form::Encoded, large.clone());
        assert_eq!((again.encoded, again.notes), (small.clone(), Notes::REENCODED), "{encode:?}");
        let kept = apply(&mixed(encode), Form::Bmp, large.clone());
        assert_eq!((kept.encoded, kept.notes), (large.clone(), Notes::KEPT), "{encode:?}");
    }
    let outlook = policy.outlook("k", &large.clone().into(), &FILES).unwrap();
    assert_eq!(outlook.bmp_bytes, Some(large.bytes.len() as u64));
    // Bits with a BMP no larger than the PNG stay bits.
    let noise = Image::Bilevel(bilevel([0, 127]));
    let outcome = apply(&policy, Form::Encoded, noise);
    assert_eq!(outcome.encoded.bytes.len(), ONE_BIT_BMP);
    assert!(outcome.notes.contains(Notes::BMP_SMALLER | Notes::MADE));
}
