//! Formats measured on images in memory and on photographs.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use fdconvert_codec::{Encoder, JpegOptions};
use fdconvert_core::{
    Bilevel, Codec, Encoded, Error, FieldSpec, Image, Kind, Look, Pixels, Result, Sample, Schema,
    Source, SourceFacts, Value,
};
use fdconvert_profile::{Measuring, choose, measure_formats};
use fdconvert_testkit::fixtures;
use std::{collections::BTreeSet, sync::atomic::AtomicU64, sync::atomic::Ordering};

/// Images by name; a `None` cannot be read.
struct Memory {
    facts: SourceFacts,
    images: Vec<Option<Image>>,
}

impl Memory {
    fn new(images: impl IntoIterator<Item = Option<Image>>) -> Self {
        let fields = vec![FieldSpec::new("label", Kind::Int), FieldSpec::new("image", Kind::Image)];
        let images: Vec<_> = images.into_iter().collect();
        let schema = Schema::new(fields).unwrap();
        Self { facts: SourceFacts::new("memory", schema, images.len() as u64), images }
    }
}

impl Source for Memory {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        let key = self.key(index);
        let image = self.images[index as usize].clone();
        let image = image.ok_or_else(|| Error::sample(&key, "is broken"))?;
        Ok(Sample { key, values: vec![Value::Int(0), Value::Image(image)] })
    }

    fn key(&self, index: u64) -> String {
        index.to_string()
    }

    fn fingerprint(&self, _look: Look) -> Result<[u8; 16]> {
        Ok([0; 16])
    }
}

fn never() -> bool {
    false
}

fn quick() -> Measuring {
    Measuring { samples: 100, threads: 2, passes: 1, ..Measuring::default() }
}

#[test]
fn bytes_are_exact_and_the_source_is_kept() {
    let jpeg = |seed| {
        let pixels = fixtures::pixels(64, 48, 3, seed);
        let options = JpegOptions::default();
        Encoder::new().encode("a", &pixels, Codec::Jpeg, &options, None).unwrap()
    };
    let images: Vec<Encoded> = (0..4).map(jpeg).collect();
    let source = Memory::new(images.iter().map(|jpeg| Some(Image::Encoded(jpeg.clone()))));
    let formats = [Codec::Jpeg, Codec::Raw, Codec::Bmp, Codec::Png];
    let measured = measure_formats(&source, &formats, &quick(), &never).unwrap();
    let stored: usize = images.iter().map(|jpeg| jpeg.bytes.len()).sum();
    let bytes: Vec<f64> = measured.formats.iter().map(|f| f.cost.bytes_per_image).collect();
    assert_eq!(bytes[..3], [stored as f64 / 4.0, 64.0 * 48.0 * 3.0, 64.0 * 48.0 * 3.0 + 54.0]);
    assert_eq!((measured.n_images, measured.n_unreadable, measured.threads), (4, 0, 2));
    for (format, codec) in measured.formats.iter().zip(formats) {
        assert_eq!((format.codec, format.n_cannot_hold), (codec, 0));
        assert!(format.cost.cpu_seconds_per_image > 0.0 && format.cpu_seconds_all_threads > 0.0);
        assert!(format.effective_cores > 0.0 && format.effective_cores <= 2.0);
    }
    assert!(measured.effective_cores() > 0.0 && measured.effective_cores() <= 2.0);
}

#[test]
fn two_gray_levels_cost_what_they_cost_when_they_are_packed() {
    let bits = || Bilevel { width: 40, height: 30, levels: [0, 127], bits: vec![0xa5; 150] };
    let bmp =
        Encoder::new().encode_bilevel("a", &bits(), Codec::Bmp, &JpegOptions::default()).unwrap();
    for image in [Image::Bilevel(bits()), Image::Encoded(bmp)] {
        let source = Memory::new([Some(image)]);
        let formats = [Codec::Png, Codec::Bmp, Codec::Raw];
        let measured = measure_formats(&source, &formats, &quick(), &never).unwrap();
        let [png, bmp, raw] = &measured.formats[..] else { panic!("three formats") };
        // Rows of eight bytes after 62; a PNG of eight bits would be larger than that.
        assert_eq!(bmp.cost.bytes_per_image, 62.0 + 30.0 * 8.0);
        assert!(png.cost.bytes_per_image < 120.0, "{}", png.cost.bytes_per_image);
        assert_eq!(raw.cost.bytes_per_image, 1200.0);
    }
}

#[test]
fn what_a_format_cannot_hold_is_left_out_and_counted() {
    let good = Image::Pixels(fixtures::pixels(20, 10, 3, 1));
    let alpha = Image::Pixels(fixtures::pixels(20, 10, 4, 2));
    let bilevel =
        Image::Bilevel(Bilevel { width: 8, height: 2, levels: [0, 255], bits: vec![0x5a, 1] });
    let broken = Image::Encoded(Encoded::new(
        Codec::Png,
        20,
        10,
        fixtures::png(20, 10, 3).bytes.slice(..60),
    ));
    let images = [Some(good), Some(alpha), Some(bilevel), Some(broken), None];
    let source = Memory::new(images);
    let measured = measure_formats(&source, &[Codec::Png, Codec::Bmp], &quick(), &never).unwrap();
    let [png, bmp] = &measured.formats[..] else { panic!("two formats") };
    assert_eq!((measured.n_images, measured.n_unreadable), (2, 2));
    assert_eq!((png.n_cannot_hold, bmp.n_cannot_hold), (0, 1));
    assert!(bmp.first_reason.as_deref().unwrap().contains("`1`"), "{:?}", bmp.first_reason);
}

#[test]
fn nothing_to_measure_is_said() {
    let alpha = Image::Pixels(fixtures::pixels(20, 10, 4, 2));
    let source = Memory::new([Some(alpha)]);
    let error = measure_formats(&source, &[Codec::Bmp], &quick(), &never).unwrap_err();
    assert!(error.to_string().contains("cannot be encoded as bmp"), "{error}");
    let error = measure_formats(&Memory::new([]), &[Codec::Bmp], &quick(), &never).unwrap_err();
    assert!(error.to_string().contains("none could be read"), "{error}");
}

#[test]
fn cancelling_stops_reading_and_timing() {
    let source = Memory::new((0..8).map(|seed| Some(fixtures::bmp(9, 9, seed).into())));
    for after in [0, 4, 9, 20] {
        let asked = AtomicU64::new(0);
        let cancelled = || asked.fetch_add(1, Ordering::Relaxed) >= after;
        let error = measure_formats(&source, &[Codec::Raw], &quick(), &cancelled).unwrap_err();
        assert!(matches!(error, Error::Cancelled), "{error}");
    }
}

#[test]
fn memory_bounds_the_sample() {
    let source = Memory::new((0..50).map(|seed| Some(fixtures::bmp(100, 100, seed).into())));
    let options = Measuring { max_kept_bytes: 100_000, ..quick() };
    let measured = measure_formats(&source, &[Codec::Raw], &options, &never).unwrap();
    assert_eq!((measured.n_images, measured.memory_was_full), (3, true));

    // The kept images are not the start of the dataset, where the images are small.
    let growing = (1..=50).map(|height| Some(fixtures::bmp(10, height, 1).into()));
    let options = Measuring { max_kept_bytes: 10_000, ..quick() };
    let measured = measure_formats(&Memory::new(growing), &[Codec::Raw], &options, &never).unwrap();
    let bytes_per_image = measured.formats[0].cost.bytes_per_image;
    assert!((500.0..1000.0).contains(&bytes_per_image), "{bytes_per_image}");
}

#[test]
fn choice_is_keyed_exact_and_even() {
    assert_eq!(choose(10, 20, 0), (0..10).collect::<Vec<_>>());
    assert_eq!(choose(0, 5, 0), Vec::<u64>::new());
    assert_eq!(choose(1000, 30, 7), choose(1000, 30, 7));
    assert_ne!(choose(1000, 30, 7), choose(1000, 30, 8));
    let mut counts = [0_u32; 20];
    for seed in 0..2000 {
        let chosen = choose(20, 5, seed);
        assert_eq!(chosen.iter().collect::<BTreeSet<_>>().len(), 5);
        chosen.iter().for_each(|&index| counts[index as usize] += 1);
    }
    // 500 each on average, with a deviation of 19.
    assert!(counts.iter().all(|count| (400..600).contains(count)), "{counts:?}");
}

#[test]
fn photographs_cost_what_they_should() {
    let mut paths: Vec<_> =
        std::fs::read_dir(fixtures::kodak()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let png = |path| {
        let bytes: Vec<u8> = std::fs::read(path).unwrap();
        let side = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        let (width, height) = (side(16), side(20));
        Some(Image::Encoded(Encoded::new(Codec::Png, width, height, bytes.into())))
    };
    let source = Memory::new(paths.iter().take(3).map(png));
    let costs_more = || {
        let formats = [Codec::Png, Codec::Bmp];
        let measured = measure_formats(&source, &formats, &quick(), &never).unwrap();
        let [png, bmp] = &measured.formats[..] else { panic!("two formats") };
        assert_eq!(bmp.cost.bytes_per_image, (Pixels::byte_len(768, 512, 3) + 54) as f64);
        assert!(png.cost.bytes_per_image < bmp.cost.bytes_per_image);
        png.cost.cpu_seconds_per_image > bmp.cost.cpu_seconds_per_image
    };
    // A busy machine may disturb some measurements, but not all.
    assert!((0..10).any(|_| costs_more()), "decoding PNG costs less than BMP each time");
}
