//! Every kind of image under a policy, as a table.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use crate::common::{self, JPEG_OR_RAW, deep, encoded, file, picture, turned};
use fdconvert_codec::{
    Alpha, Decoder, Encode, Encoder, Gray, JpegOptions, Notes, Outcome, Policy, Size, Subsampling,
    Worker, orient,
};
use fdconvert_core::{Codec, Color, Encoded, Image, Limits, Pixels, Result};
use fdconvert_testkit::fake::{FILES, Fake};

fn gray_alpha() -> Encoded {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 2, 1);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_color(png::ColorType::GrayscaleAlpha);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&[100, 255, 200, 0]).unwrap();
    writer.finish().unwrap();
    encoded(bytes)
}

fn apply(policy: &Policy, image: impl Into<Image>, format: &Fake) -> Result<Outcome> {
    policy.apply("the/key", image.into(), format, &mut Worker::new())
}

fn pixels(image: &Encoded) -> Pixels {
    Decoder::new().decode("k", image, &Limits::DEFAULT).unwrap().pixels
}

#[test]
fn the_table() {
    use Codec::{Bmp, Jpeg, Png, Raw};
    use Encode as E;
    const KEPT: Notes = Notes::KEPT;
    const AGAIN: Notes = Notes::REENCODED;
    const BACK: Notes = Notes::FELL_BACK;
    let small = Some(Size::MaxSide(20));
    let none = None;
    // encode, size, source codec and channels, format -> codec, notes in addition to RESIZED
    for (encode, size, source, channels, format, codec, notes) in [
        (E::Keep, none, Jpeg, 3, &JPEG_OR_RAW, Jpeg, KEPT),
        (E::Keep, none, Jpeg, 1, &JPEG_OR_RAW, Jpeg, KEPT),
        (E::Keep, none, Png, 3, &JPEG_OR_RAW, Raw, BACK),
        (E::Keep, none, Png, 1, &JPEG_OR_RAW, Raw, BACK | Notes::GRAY_EXPANDED),
        (E::Keep, none, Png, 4, &JPEG_OR_RAW, Raw, BACK | Notes::ALPHA_DROPPED),
        (E::Keep, none, Png, 4, &FILES, Png, KEPT),
        (E::Keep, none, Bmp, 3, &FILES, Bmp, KEPT),
        (E::Keep, none, Raw, 3, &JPEG_OR_RAW, Raw, KEPT),
        (E::Keep, none, Raw, 3, &FILES, Png, BACK),
        (E::Keep, small, Jpeg, 3, &JPEG_OR_RAW, Jpeg, AGAIN),
        (E::Keep, small, Jpeg, 1, &JPEG_OR_RAW, Jpeg, AGAIN),
        (E::Keep, small, Png, 3, &JPEG_OR_RAW, Raw, BACK),
        (E::Keep, small, Png, 4, &FILES, Png, AGAIN),
        (E::Keep, small, Bmp, 3, &FILES, Png, BACK),
        (E::Keep, Some(Size::MaxSide(500)), Jpeg, 3, &JPEG_OR_RAW, Jpeg, KEPT),
        (E::Jpeg, none, Jpeg, 3, &JPEG_OR_RAW, Jpeg, AGAIN),
        (E::Jpeg, none, Jpeg, 1, &JPEG_OR_RAW, Jpeg, AGAIN),
        (E::Jpeg, none, Png, 4, &FILES, Jpeg, AGAIN | Notes::ALPHA_DROPPED),
        (E::Png, none, Png, 3, &FILES, Png, KEPT),
        (E::Png, none, Png, 4, &FILES, Png, KEPT),
        (E::Png, small, Png, 4, &FILES, Png, AGAIN),
        (E::Png, none, Jpeg, 3, &FILES, Png, AGAIN),
        (E::Bmp, none, Bmp, 3, &FILES, Bmp, KEPT),
        (E::Bmp, none, Png, 1, &FILES, Bmp, AGAIN),
        (E::Bmp, none, Png, 4, &FILES, Bmp, AGAIN | Notes::ALPHA_DROPPED),
        (E::Raw, none, Jpeg, 3, &JPEG_OR_RAW, Raw, AGAIN),
        (E::Raw, none, Jpeg, 1, &JPEG_OR_RAW, Raw, AGAIN | Notes::GRAY_EXPANDED),
        (E::Raw, none, Raw, 3, &JPEG_OR_RAW, Raw, KEPT),
        (E::Smart { ratio: 1.5 }, none, Png, 3, &JPEG_OR_RAW, Jpeg, AGAIN),
        (E::Smart { ratio: 1e6 }, none, Png, 3, &JPEG_OR_RAW, Raw, AGAIN),
        (E::Smart { ratio: 1e6 }, none, Png, 1, &JPEG_OR_RAW, Raw, AGAIN | Notes::GRAY_EXPANDED),
        (E::Smart { ratio: 1e6 }, none, Jpeg, 3, &FILES, Png, BACK),
        (E::Mix { jpeg_share: 1.0, seed: 1 }, none, Png, 3, &JPEG_OR_RAW, Jpeg, AGAIN),
        (E::Mix { jpeg_share: 0.0, seed: 1 }, none, Jpeg, 3, &JPEG_OR_RAW, Raw, AGAIN),
    ] {
        let policy = Policy { encode, size, ..Policy::default() };
        let image = file(64, 48, channels, source);
        let outcome = apply(&policy, image.clone(), format).unwrap();
        let case = format!("{encode:?} {size:?} {source:?} {channels}");
        assert_eq!(outcome.encoded.codec, codec, "{case}");
        let resized = size == small;
        let expected = if resized { notes | Notes::RESIZED } else { notes };
        assert_eq!(outcome.notes, expected, "{case}");
        let target = if resized { (20, 15) } else { (64, 48) };
        assert_eq!((outcome.encoded.width, outcome.encoded.height), target, "{case}");
        if notes == KEPT {
            assert_eq!(outcome.encoded, image, "{case}");
        } else {
            let decoded = pixels(&outcome.encoded);
            assert_eq!((decoded.width, decoded.height), target, "{case}");
            if codec == Png && !resized {
                assert_eq!(decoded, pixels(&image), "{case}: without loss");
            }
        }
    }
}

#[test]
fn fresh_pixels_become_the_fallback_or_what_is_asked_for() {
    let image = || Image::Pixels(picture(30, 20, 3));
    let keep = apply(&Policy::default(), image(), &JPEG_OR_RAW).unwrap();
    assert_eq!((keep.encoded.codec, keep.notes), (Codec::Raw, Notes::MADE));
    assert_eq!(keep.encoded.bytes, picture(30, 20, 3).data);
    let jpeg = Policy { encode: Encode::Jpeg, ..Policy::default() };
    let jpeg = apply(&jpeg, image(), &JPEG_OR_RAW).unwrap();
    assert_eq!((jpeg.encoded.codec, jpeg.notes), (Codec::Jpeg, Notes::MADE));
    let short = Pixels { data: vec![0; 10], ..picture(30, 20, 3) };
    let error = apply(&Policy::default(), Image::Pixels(short), &JPEG_OR_RAW).unwrap_err();
    assert!(error.to_string().contains("the/key"));
}

#[test]
fn what_the_format_cannot_hold_is_refused_with_the_cure() {
    let policy = Policy { encode: Encode::Png, ..Policy::default() };
    let error = apply(&policy, file(8, 8, 3, Codec::Jpeg), &JPEG_OR_RAW).unwrap_err().to_string();
    assert!(
        error.contains("the/key") && error.ends_with("to choose another codec: encode"),
        "{error}"
    );
    let nothing = Fake::new(|_| false, Codec::Raw);
    let error = apply(&Policy::default(), file(8, 8, 3, Codec::Jpeg), &nothing).unwrap_err();
    assert!(error.to_string().contains("cannot hold"), "{error}");
}

#[test]
fn orientation_is_applied_left_or_kept() {
    for orientation in 1..=8u8 {
        let image = turned(orientation);
        let stored = pixels(&image);
        let upright = orient(stored.clone(), orientation);
        let raw = |orient| Policy { encode: Encode::Raw, orient, ..Policy::default() };
        let turned = orientation > 1;

        let outcome = apply(&raw(true), image.clone(), &JPEG_OR_RAW).unwrap();
        assert_eq!(outcome.notes.contains(Notes::ROTATED), turned);
        assert_eq!(pixels(&outcome.encoded), upright, "{orientation}");

        let outcome = apply(&raw(false), image.clone(), &JPEG_OR_RAW).unwrap();
        assert_eq!(outcome.notes.contains(Notes::ROTATION_LEFT), turned);
        assert_eq!(pixels(&outcome.encoded), stored);

        let outcome = apply(&Policy::default(), image.clone(), &JPEG_OR_RAW).unwrap();
        assert_eq!(outcome.notes.contains(Notes::ROTATION_LEFT), turned);
        assert_eq!(outcome.encoded, image);

        let small = Policy { size: Some(Size::MaxSide(32)), ..raw(true) };
        let outcome = apply(&small, image, &JPEG_OR_RAW).unwrap();
        let size = (outcome.encoded.width, outcome.encoded.height);
        assert_eq!(size, if orientation >= 5 { (24, 32) } else { (32, 24) });
    }
}

#[test]
fn alpha_is_dropped_blended_or_refused() {
    let image = |[r, g, b, a]: [u8; 4]| {
        Image::Pixels(Pixels { width: 1, height: 1, channels: 4, data: vec![r, g, b, a] })
    };
    let policy = |alpha| Policy { encode: Encode::Raw, alpha, ..Policy::default() };
    let half = || image([100, 0, 255, 128]);
    let outcome = apply(&policy(Alpha::Drop), half(), &JPEG_OR_RAW).unwrap();
    assert_eq!(outcome.encoded.bytes[..], [100, 0, 255]);
    assert!(outcome.notes.contains(Notes::ALPHA_DROPPED));
    let outcome = apply(&policy(Alpha::Blend([255, 255, 255])), half(), &JPEG_OR_RAW).unwrap();
    assert_eq!(outcome.encoded.bytes[..], [177, 127, 255]);
    let error = apply(&policy(Alpha::Refuse), half(), &JPEG_OR_RAW).unwrap_err();
    assert!(error.to_string().contains("alpha"), "{error}");
    // Nothing is lost if the format holds alpha.
    let kept = apply(&policy(Alpha::Refuse), half(), &FILES);
    assert!(kept.is_err(), "raw pixels have no alpha");
    let png = Policy { encode: Encode::Png, ..policy(Alpha::Refuse) };
    assert_eq!(pixels(&apply(&png, half(), &FILES).unwrap().encoded).data, [100, 0, 255, 128]);
}

#[test]
fn gray_with_alpha_becomes_gray_again_unless_the_background_is_coloured() {
    let all = Fake::new(|_| true, Codec::Raw);
    let raw = |alpha| Policy { encode: Encode::Raw, alpha, ..Policy::default() };
    for (alpha, bytes) in [
        (Alpha::Drop, &[100u8, 200][..]),
        (Alpha::Blend([7, 7, 7]), &[100, 7]),
        (Alpha::Blend([7, 8, 9]), &[100, 100, 100, 7, 8, 9]),
    ] {
        let outcome = apply(&raw(alpha), gray_alpha(), &all).unwrap();
        assert_eq!(outcome.encoded.bytes, bytes, "{alpha:?}");
    }
}

#[test]
fn gray_is_expanded_on_demand() {
    let all = Fake::new(|_| true, Codec::Raw);
    let image = file(10, 10, 1, Codec::Png);
    for (gray, length) in [(Gray::Keep, 100), (Gray::Expand, 300)] {
        let policy = Policy { encode: Encode::Raw, gray, ..Policy::default() };
        let outcome = apply(&policy, image.clone(), &all).unwrap();
        assert_eq!(outcome.encoded.bytes.len(), length);
        assert_eq!(outcome.notes.contains(Notes::GRAY_EXPANDED), gray == Gray::Expand);
        let policy = Policy { encode: Encode::Jpeg, gray, ..Policy::default() };
        let outcome = apply(&policy, image.clone(), &all).unwrap();
        let color = fdconvert_core::probe::probe(&outcome.encoded.bytes).unwrap().color;
        assert_eq!(color, if gray == Gray::Keep { Color::Gray } else { Color::Rgb });
    }
}

#[test]
fn sixteen_bits_are_rounded_and_noted() {
    let all = Fake::new(|header| header.codec == Codec::Raw, Codec::Raw);
    let outcome = apply(&Policy::default(), deep(), &all).unwrap();
    assert_eq!(outcome.encoded.bytes[..], [1, 1]);
    assert_eq!(outcome.notes, Notes::FELL_BACK | Notes::DEPTH_REDUCED);
    assert_eq!(
        apply(&Policy::default(), deep(), &FILES).unwrap().notes,
        Notes::KEPT | Notes::DEPTH_KEPT
    );
}

#[test]
fn resizing_keeps_the_subsampling_where_asked() {
    let mut policy = Policy { size: Some(Size::MaxSide(40)), ..Policy::default() };
    policy.jpeg.subsampling = Subsampling::Keep;
    let pixels = picture(64, 64, 3);
    for subsampling in [Subsampling::S420, Subsampling::S422, Subsampling::S444] {
        let options = JpegOptions { subsampling, ..JpegOptions::default() };
        let source = Encoder::new().encode("k", &pixels, Codec::Jpeg, &options, None).unwrap();
        let kept = apply(&policy, source.clone(), &JPEG_OR_RAW).unwrap();
        let mut fixed = policy.clone();
        fixed.jpeg.subsampling = subsampling;
        assert_eq!(apply(&fixed, source, &JPEG_OR_RAW).unwrap().encoded, kept.encoded);
    }
}

#[test]
fn a_mix_depends_on_key_and_seed_alone() {
    let draw = |seed| {
        let policy = Policy { encode: Encode::Mix { jpeg_share: 0.3, seed }, ..Policy::default() };
        let mut worker = Worker::new();
        (0..1000)
            .map(|i| {
                let image = Image::Pixels(picture(8, 8, 3));
                let outcome = policy.apply(&format!("{i}.png"), image, &JPEG_OR_RAW, &mut worker);
                outcome.unwrap().encoded.codec == Codec::Jpeg
            })
            .collect::<Vec<_>>()
    };
    let first = draw(1);
    let n_jpegs = first.iter().filter(|&&jpeg| jpeg).count();
    assert!((250..350).contains(&n_jpegs), "{n_jpegs}");
    assert_eq!(draw(1), first);
    assert_ne!(draw(2), first);
}

#[test]
fn one_worker_gives_what_fresh_workers_give() {
    fn sync<T: Sync>(_: &T) {}
    fn send<T: Send>(_: &T) {}
    let policy = Policy {
        encode: Encode::Smart { ratio: 2.0 },
        size: Some(Size::MaxSide(30)),
        ..Policy::default()
    };
    let mut worker = Worker::new();
    sync(&policy);
    send(&worker);
    for round in 0..2 {
        for image in common::small_images().into_iter().chain([turned(6), turned(3), deep()]) {
            let broken = Encoded { bytes: image.bytes.slice(..10), ..image.clone() };
            policy.apply("k", broken.into(), &FILES, &mut worker).unwrap_err();
            let again = policy.apply("k", image.clone().into(), &FILES, &mut worker).unwrap();
            let fresh = apply(&policy, image, &FILES).unwrap();
            assert_eq!((again.encoded, again.notes), (fresh.encoded, fresh.notes), "{round}");
        }
    }
}
