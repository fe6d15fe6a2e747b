//! Parts of images, and reduced ones, have the pixels that libjpeg-turbo gives for the whole.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::{
    common::{N_WAYS, QUALITIES, decoders, kind, part, photographs, stored, turbo::Turbo},
    synthetic::{Recipe, jpeg},
};
use fdconvert_jpeg::{Color, Refused, stored_entry_points};
use fdconvert_jpeg_decode::{Decoder, Error, Header, Options, PixelFormat, Region, Scale};
use fdconvert_testkit::fixtures::{Random, pixels};

const SCALES: [Scale; 4] = [Scale::Whole, Scale::Half, Scale::Quarter, Scale::Eighth];

/// Decodes some regions at each scale, with all instruction sets, with entry points, where a file can
/// have some, and without.
pub(crate) fn check(
    decoders: &mut [Decoder],
    name: &str,
    bytes: &[u8],
    n_regions: usize,
    seed: u64,
) {
    let header = Header::read(bytes).unwrap();
    let mut random = Random::new(seed);
    let entry_points = match fdconvert_jpeg::parse(bytes) {
        Err(Refused::Progressive { .. }) => Vec::new(),
        _ => [512, 2048].map(|grid| stored_entry_points(bytes, grid).unwrap()).to_vec(),
    };
    for (scale, shrink) in SCALES.into_iter().zip([1, 2, 4, 8]) {
        for format in [PixelFormat::Rgb, PixelFormat::Luma] {
            if format == PixelFormat::Luma && header.color == Color::Rgb {
                continue;
            }
            let whole = Options { scale, format, ..Options::default() };
            let n_channels = format.n_channels();
            let mut expected = vec![0; header.n_bytes(&whole) as usize];
            assert!(Turbo::new().decode(bytes, shrink, n_channels, &mut expected), "{name}");
            let (width, height) = (scale.reduced(header.width), scale.reduced(header.height));
            let regions: Vec<_> =
                (0..n_regions).map(|_| region(&mut random, width, height)).collect();
            for region in [None].into_iter().chain(regions.into_iter().map(Some)) {
                let due = match region {
                    None => expected.clone(),
                    Some(region) => cut(&expected, width as usize * n_channels, n_channels, region),
                };
                for decoder in &mut *decoders {
                    let stored = entry_points.iter().map(|it| Some(&it[..]));
                    for entry_points in [None].into_iter().chain(stored) {
                        let entropy = Some(kind(1 + random.below(10) as usize));
                        let options = Options { entry_points, entropy, region, ..whole };
                        let mut out = vec![3; header.n_bytes(&options) as usize];
                        let name = format!("{name}, {options:?}, {:?}", decoder.instructions());
                        assert_eq!(decoder.decode(bytes, &options, &mut out), Ok(header), "{name}");
                        let first = out.iter().zip(&due).position(|(it, due)| it != due);
                        assert_eq!(first, None, "{name}");
                    }
                }
            }
        }
    }
}

fn region(random: &mut Random, width: u32, height: u32) -> Region {
    let mut span = |length: u32| {
        let from = random.below(length.into()) as u32;
        (from, 1 + random.below((length - from).into()) as u32)
    };
    let ((x, width), (y, height)) = (span(width), span(height));
    Region { x, y, width, height }
}

fn cut(pixels: &[u8], stride: usize, n_channels: usize, region: Region) -> Vec<u8> {
    let [x, width] = [region.x, region.width].map(|it| it as usize * n_channels);
    let rows = pixels.chunks(stride).skip(region.y as usize).take(region.height as usize);
    rows.flat_map(|row| &row[x..x + width]).copied().collect()
}

#[test]
fn parts_of_photographs_in_every_way() {
    let mut decoders = decoders();
    for (number, image) in photographs().iter().enumerate() {
        let image = part(image, (300, 200), (211, 187));
        for way in (number % 3..N_WAYS).step_by(3) {
            let quality = QUALITIES[(number + way) % 4];
            let bytes = stored(&image, quality, way + number / 4 * N_WAYS);
            let name = format!("photograph {number}, quality {quality}, way {way}");
            check(&mut decoders, &name, &bytes, 2, (number * N_WAYS + way) as u64);
        }
    }
}

#[test]
fn whole_photographs() {
    let mut decoders = decoders();
    for (number, image) in photographs().iter().enumerate().step_by(3) {
        let name = format!("photograph {number}");
        let bytes = stored(image, QUALITIES[number % 4], number);
        check(&mut decoders, &name, &bytes, 3, number as u64);
    }
}

#[test]
fn small_sizes() {
    let mut decoders = decoders();
    for side in 1..=67 {
        for (width, height) in [(side, 1 + side * 7 % 67), (1 + side * 5 % 67, side)] {
            let way = (side * 3 + width) as usize;
            let bytes = stored(&pixels(width, height, 3, side.into()), QUALITIES[way % 4], way);
            check(&mut decoders, &format!("{width}x{height}, way {way}"), &bytes, 1, side.into());
        }
    }
}

/// Values that no encoder makes: all instruction sets wrap around and saturate alike.
#[test]
fn made_up_coefficients() {
    let mut decoders = decoders();
    for (seed, sampling) in (1..).zip([
        &[(1, 1), (1, 1), (1, 1)][..],
        &[(2, 2), (1, 1), (1, 1)],
        &[(4, 1), (2, 1)],
        &[(1, 1)],
    ]) {
        for (width, height, n_values) in [(40, 70, 3), (17, 33, 64), (9, 5, 20)] {
            let recipe = Recipe { n_values, seed, ..Recipe::new(width, height, sampling) };
            let bytes = jpeg(&recipe).0;
            let Ok(header) = Header::read(&bytes) else { continue };
            let formats = [PixelFormat::Rgb, PixelFormat::Luma];
            let luma_too = usize::from(header.color != Color::Rgb);
            for (scale, format) in SCALES
                .into_iter()
                .flat_map(|scale| formats[..=luma_too].iter().map(move |format| (scale, *format)))
            {
                let options = Options { scale, format, ..Options::default() };
                let mut all = decoders.iter_mut().map(|decoder| {
                    let mut out = vec![7; header.n_bytes(&options) as usize];
                    decoder.decode(&bytes, &options, &mut out).unwrap();
                    out
                });
                let first = all.next().unwrap();
                assert!(all.all(|it| it == first), "{scale:?}, {format:?}, {recipe:?}");
            }
        }
    }
}

#[test]
fn regions_must_be_inside() {
    let bytes = stored(&pixels(20, 30, 3, 1), 90, 0);
    for (scale, region) in [
        (Scale::Whole, Region { x: 0, y: 0, width: 0, height: 5 }),
        (Scale::Whole, Region { x: 19, y: 0, width: 2, height: 5 }),
        (Scale::Half, Region { x: 0, y: 14, width: 2, height: 2 }),
        (Scale::Eighth, Region { x: 3, y: 0, width: u32::MAX, height: 2 }),
    ] {
        let options = Options { scale, region: Some(region), ..Options::default() };
        let found = Decoder::new().decode(&bytes, &options, &mut [0; 4]);
        let (width, height) = (scale.reduced(20), scale.reduced(30));
        assert_eq!(found, Err(Error::Region { region, width, height }));
    }
}
