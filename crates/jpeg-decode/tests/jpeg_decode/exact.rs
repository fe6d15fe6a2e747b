//! The pixels equal those of libjpeg-turbo.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{N_WAYS, QUALITIES, by_libjpeg, decoders, kinds, part, photographs, stored};
use crate::synthetic;
use fdconvert_jpeg::{Color, stored_entry_points};
use fdconvert_jpeg_decode::{
    Decoder, Entropy, Error, Header, Options, PixelFormat, Unsupported, fastest_entropy,
};
use fdconvert_testkit::{
    fixtures::{photos, pixels},
    workload::files_below,
};

/// Decodes with entry points and without, with several numbers of streams, with lanes, and with all
/// instruction sets, to RGB and to luma.
fn check(decoders: &mut [Decoder], name: &str, bytes: &[u8], numbers_of_streams: &[usize]) {
    let header = Header::read(bytes).unwrap();
    let expected = by_libjpeg(bytes, header.width, header.height).unwrap();
    let entry_points = stored_entry_points(bytes, 512).unwrap();
    let mut out = vec![1; header.n_bytes(&Options::default()) as usize];
    for decoder in decoders {
        let mut luma = None;
        for entry_points in [None, Some(&entry_points[..])] {
            for entropy in kinds(decoder.instructions(), numbers_of_streams) {
                let entropy = Some(entropy);
                let options = Options { entry_points, entropy, ..Options::default() };
                let name = format!(
                    "{name}, {entropy:?}, entry points: {}, {:?}",
                    entry_points.is_some(),
                    decoder.instructions()
                );
                assert_eq!(decoder.decode(bytes, &options, &mut out), Ok(header), "{name}");
                let differing = out.iter().zip(&expected).filter(|(it, due)| it != due).count();
                assert_eq!(differing, 0, "{name}");
                out.fill(2);
                if header.color != Color::Rgb {
                    let options = Options { format: PixelFormat::Luma, ..options };
                    let mut out = vec![1; header.n_bytes(&options) as usize];
                    decoder.decode(bytes, &options, &mut out).unwrap();
                    assert!(*luma.get_or_insert_with(|| out.clone()) == out, "{name}");
                }
            }
        }
        if header.color == Color::Gray {
            let first_of_three: Vec<_> = expected.iter().step_by(3).copied().collect();
            assert!(luma.unwrap() == first_of_three, "{name}");
        }
    }
}

#[test]
fn parts_of_photographs_in_every_way() {
    let mut decoders = decoders();
    for (number, image) in photographs().iter().enumerate() {
        let image = part(image, (300, 200), (151, 117));
        for way in (number % 2..N_WAYS).step_by(2) {
            let quality = QUALITIES[(number / 2 + way) % 4];
            let bytes = stored(&image, quality, way + number / 4 * N_WAYS);
            let name = format!("photograph {number}, quality {quality}, way {way}");
            check(&mut decoders, &name, &bytes, &[1 + number % 4, 5 + way % 4]);
        }
    }
}

/// Large enough for several windows.
#[test]
fn whole_photographs() {
    let mut decoders = decoders();
    for (number, image) in photographs().iter().enumerate() {
        let (quality, way) = (QUALITIES[number % 4], number);
        let name = format!("photograph {number}, quality {quality}, way {way}");
        check(&mut decoders, &name, &stored(image, quality, way), &[1 + number % 8]);
    }
}

#[test]
fn every_number_of_places() {
    let image = part(&photographs()[4], (0, 0), (400, 300));
    let mut decoders = decoders();
    for (way, quality) in (0..N_WAYS).zip(QUALITIES.into_iter().cycle()) {
        let bytes = stored(&image, quality, way);
        check(&mut decoders, &format!("way {way}"), &bytes, &[1, 2, 3, 4, 5, 6, 7, 8]);
    }
}

#[test]
fn every_small_size() {
    let mut decoders = decoders();
    for width in 1..=67 {
        for height in (1 + width % 3..=67).step_by(3) {
            let seed = u64::from(width * 67 + height);
            let (way, quality) = ((seed * 5) as usize, QUALITIES[seed as usize / 3 % 4]);
            let bytes = stored(&pixels(width, height, 3, seed), quality, way);
            let name = format!("{width}x{height}, quality {quality}, way {way}");
            check(&mut decoders, &name, &bytes, &[1 + way % 8]);
        }
    }
}

#[test]
fn every_sampling_at_narrow_sizes() {
    let mut decoders = decoders();
    for (width, height) in [(1, 1), (2, 2), (3, 5), (4, 17), (5, 1), (6, 35), (9, 8), (33, 1)] {
        for way in 0..3 * N_WAYS {
            let bytes = stored(&pixels(width, height, 3, 9), 90, way);
            check(&mut decoders, &format!("{width}x{height}, way {way}"), &bytes, &[3]);
        }
    }
}

/// Coefficients that no encoder makes: factors of 3 and 4, chroma finer than luma, and values far
/// outside the range of samples.
#[test]
fn made_up_coefficients() {
    let mut decoders = decoders();
    for (seed, sampling) in (1..).zip([
        &[(4, 1), (1, 1), (1, 1)][..],
        &[(1, 4), (1, 1), (1, 1)],
        &[(4, 2), (1, 1), (1, 1)],
        &[(3, 1), (1, 1), (1, 1)],
        &[(1, 1), (2, 2), (1, 2)],
        &[(2, 2), (2, 1), (1, 2)],
        &[(2, 2), (1, 2), (2, 2)],
        &[(4, 1), (2, 1), (1, 1)],
        &[(2, 2)],
    ]) {
        for (width, height) in [(1, 1), (5, 3), (17, 33), (40, 70)] {
            for (restart_interval, n_values) in [(0, 3), (1, 0), (2, 64)] {
                let recipe = synthetic::Recipe::new(width, height, sampling);
                let recipe = synthetic::Recipe { restart_interval, n_values, seed, ..recipe };
                let mut bytes = synthetic::jpeg(&recipe).0;
                if cfg!(not(target_arch = "x86_64")) {
                    soften(&mut bytes);
                }
                check(&mut decoders, &format!("{recipe:?}"), &bytes, &[2, 8]);
            }
        }
    }
}

/// Sets all quantisation factors to 1: with large ones the values leave the range in which the
/// vectors of libjpeg-turbo for other processors are known to give the same samples.
fn soften(bytes: &mut [u8]) {
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(2).position(|it| it == [0xFF, 0xDB]) {
        let (start, wide) = (at + found + 5, bytes[at + found + 4] >> 4 == 1);
        for place in 0..64 {
            match wide {
                true => bytes[start + 2 * place..][..2].copy_from_slice(&[0, 1]),
                false => bytes[start + place] = 1,
            }
        }
        at = start;
    }
}

#[test]
fn the_kind_of_entropy_decoding_is_found_by_trial() {
    let image = &photographs()[0];
    let bytes = stored(image, 90, 0);
    let entry_points = stored_entry_points(&bytes, 512).unwrap();
    let options = Options { entry_points: Some(&entry_points), ..Options::default() };
    let expected = by_libjpeg(&bytes, image.width, image.height).unwrap();
    let mut decoder = Decoder::new();
    for _ in 0..10 {
        let mut out = vec![0; expected.len()];
        decoder.decode(&bytes, &options, &mut out).unwrap();
        assert!(out == expected);
    }
    let found = fastest_entropy().unwrap();
    assert!([Entropy::STREAMS, Entropy::LANES].contains(&found), "{found:?}");
}

/// JPEGs of other encoders.
#[test]
fn photographs_of_all_sorts() {
    let mut decoders = decoders();
    let mut n_decoded = 0;
    for file in files_below(&photos()).unwrap() {
        let bytes = std::fs::read(&file).unwrap();
        match Header::read(&bytes) {
            Ok(_) => check(&mut decoders, &file.display().to_string(), &bytes, &[4]),
            Err(error) => assert!(matches!(error, Error::Unsupported(_)), "{error}"),
        }
        n_decoded += usize::from(Header::read(&bytes).is_ok());
    }
    assert!(n_decoded > 0);
}

#[test]
fn what_is_left_to_others_has_a_name() {
    let recipe = synthetic::Recipe::new(20, 20, &[(3, 1), (2, 1), (1, 1)]);
    let (bytes, _) = synthetic::jpeg(&recipe);
    let sampling = Unsupported::Sampling { h: 2, v: 1, max_h: 3, max_v: 1 };
    assert_eq!(Header::read(&bytes), Err(Error::Unsupported(sampling)));

    let mut bytes = stored(&pixels(20, 20, 3, 1), 90, 0);
    let mut out = [0; 10];
    let found = Decoder::new().decode(&bytes, &Options::default(), &mut out);
    assert_eq!(found, Err(Error::Output { expected: 1200, found: 10 }));

    let frame = bytes.windows(2).position(|it| it == [0xFF, 0xC0]).unwrap();
    // Arithmetic.
    bytes[frame + 1] = 0xC9;
    assert!(matches!(Header::read(&bytes), Err(Error::Unsupported(Unsupported::File(_)))));
}
