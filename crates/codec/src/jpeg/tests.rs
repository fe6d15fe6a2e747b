use super::*;

fn photo(width: u32, height: u32, channels: u8) -> Pixels {
    let value = |x: u32, y: u32, c: u32| {
        let wave = f64::from(x * (c + 2)).mul_add(0.05, f64::from(y) * 0.11).sin();
        (128.0 + 100.0 * wave + f64::from((x * 7 + y * 13) % 9)) as u8
    };
    let rows = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    let data = rows.flat_map(|(x, y)| (0..u32::from(channels)).map(move |c| value(x, y, c)));
    Pixels { width, height, channels, data: data.collect() }
}

fn encode(pixels: &Pixels, options: &JpegOptions, source: Option<&[u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    let length = JpegEncoder::default().encode(pixels, options, source, &mut out).unwrap();
    out.truncate(length);
    out
}

fn decode(jpeg: &[u8]) -> Result<(Vec<u8>, u8, Notes), String> {
    let header = fdconvert_core::probe::probe(jpeg)?;
    let mut out = Vec::new();
    let (channels, notes) = JpegDecoder::default().decode(jpeg, &header, None, &mut out)?;
    Ok((out, channels, notes))
}

fn markers(jpeg: &[u8], wanted: impl Fn(u8) -> bool) -> usize {
    jpeg.windows(2).filter(|pair| pair[0] == 0xff && wanted(pair[1])).count()
}

/// Datasets record the versions: they must be those that are linked.
#[test]
fn names_agree_with_the_lock_file() {
    let lock = include_str!("../../../../Cargo.lock");
    let version = |name: &str| {
        let (_, rest) = lock.split_once(&format!("name = \"{name}\"\nversion = \"")).unwrap();
        rest.split_once('"').unwrap().0
    };
    let (zune, encoder) = (version("zune-jpeg"), version("jpeg-encoder"));
    let ours = version("fdconvert-jpeg-decode");
    let made_of =
        format!("fdconvert-jpeg-decode {ours}, zune-jpeg {zune} and jpeg-encoder {encoder}");
    assert_eq!(pure::NAME, made_of);
    #[cfg(feature = "turbo")]
    assert_eq!(
        (version("turbojpeg-sys"), turbo::NAME),
        ("1.2.0", "libjpeg-turbo 3.1.0"),
        "look up what the new version vendors: `set(VERSION` in its CMakeLists.txt"
    );
}

#[test]
fn every_option_decodes_to_nearly_the_same_pixels() {
    let pixels = photo(83, 61, 3);
    for subsampling in [Subsampling::S420, Subsampling::S422, Subsampling::S444] {
        for (optimize_huffman, restart_rows) in [(false, 0), (true, 0), (false, 2), (true, 1)] {
            if cfg!(not(feature = "turbo")) && optimize_huffman {
                continue;
            }
            let options = JpegOptions { quality: 95, subsampling, optimize_huffman, restart_rows };
            let (out, channels, notes) = decode(&encode(&pixels, &options, None)).unwrap();
            assert_eq!((channels, notes), (3, Notes::NONE));
            let sum: u64 =
                out.iter().zip(&pixels.data).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
            assert!(sum / (out.len() as u64) < 12, "{options:?}: {sum}");
        }
    }
}

#[test]
fn gray_stays_one_component() {
    let pixels = photo(40, 50, 1);
    let jpeg = encode(&pixels, &JpegOptions::default(), None);
    assert_eq!(fdconvert_core::probe::probe(&jpeg).unwrap().color, Color::Gray);
    let (out, channels, _) = decode(&jpeg).unwrap();
    assert_eq!(channels, 1);
    assert!(out.iter().zip(&pixels.data).all(|(a, b)| a.abs_diff(*b) < 24));
}

#[test]
fn restart_rows_count_rows_of_blocks() {
    let pixels = photo(100, 100, 3);
    let count = |subsampling, restart_rows| {
        let options = JpegOptions { subsampling, restart_rows, ..JpegOptions::default() };
        markers(&encode(&pixels, &options, None), |marker| (0xd0..=0xd7).contains(&marker))
    };
    assert_eq!(count(Subsampling::S420, 0), 0);
    // Seven rows of 16 lines, thirteen of 8.
    assert_eq!(count(Subsampling::S420, 1), 6);
    assert_eq!(count(Subsampling::S420, 2), 3);
    assert_eq!(count(Subsampling::S444, 1), 12);
}

#[test]
fn keep_takes_the_subsampling_of_the_source() {
    let pixels = photo(64, 64, 3);
    let with = |subsampling| JpegOptions { subsampling, ..JpegOptions::default() };
    for subsampling in [Subsampling::S420, Subsampling::S422, Subsampling::S444] {
        let source = encode(&pixels, &with(subsampling), None);
        assert_eq!(encode(&pixels, &with(Subsampling::Keep), Some(&source)), source);
    }
    let default = encode(&pixels, &with(Subsampling::S420), None);
    assert_eq!(encode(&pixels, &with(Subsampling::Keep), None), default);
}

#[test]
fn missing_end_is_noted_and_missing_data_is_an_error() {
    let jpeg = encode(&photo(200, 200, 3), &JpegOptions::default(), None);
    let (whole, _, notes) = decode(&jpeg).unwrap();
    assert_eq!(notes, Notes::NONE);
    for cut in [1, 2] {
        let (out, _, notes) = decode(&jpeg[..jpeg.len() - cut]).unwrap();
        assert_eq!((out == whole, notes), (true, Notes::NO_END_MARKER), "{cut}");
    }
    for keep in [jpeg.len() / 4, jpeg.len() / 2, jpeg.len() - 40] {
        assert!(decode(&jpeg[..keep]).is_err(), "{keep}");
        // Also with an end marker after the cut.
        if cfg!(feature = "turbo") || keep < jpeg.len() * 3 / 4 {
            assert!(decode(&[&jpeg[..keep], &[0xff, 0xd9]].concat()).is_err(), "{keep}");
        }
    }
    // Bytes after the end belong to no pixel.
    let (out, _, notes) = decode(&[&jpeg[..], b"trailing"].concat()).unwrap();
    assert_eq!((out == whole, notes), (true, Notes::NONE));
}

/// Returns the positions of the headers of scans.
#[cfg(feature = "turbo")]
fn scans(jpeg: &[u8]) -> Vec<usize> {
    let segments = fdconvert_jpeg::marker_segments(jpeg);
    segments.filter(|segment| segment.marker == 0xda).map(|segment| segment.at).collect()
}

#[cfg(feature = "turbo")]
#[test]
fn a_progressive_jpeg_cut_anywhere_is_an_error() {
    let jpeg = encode(&photo(200, 150, 3), &JpegOptions::default(), None);
    let jpeg = turbo::to_progressive(&jpeg).unwrap();
    let (whole, ..) = decode(&jpeg).unwrap();
    let scans = scans(&jpeg);
    assert!(scans.len() > 5, "{scans:?}");
    let (out, _, notes) = decode(&jpeg[..jpeg.len() - 2]).unwrap();
    assert_eq!((out == whole, notes), (true, Notes::NO_END_MARKER));
    let last = scans[scans.len() - 1];
    // Between two scans, within each, and within the last one.
    let within = scans.iter().map(|at| at + 40);
    for end in scans.iter().copied().chain(within).chain((last..jpeg.len() - 2).step_by(29)) {
        let what = decode(&jpeg[..end]).expect_err("cut");
        assert!(!what.contains("tj3"), "{what}");
    }
    // An end marker after a whole scan is legal, and noted.
    for end in scans.iter().skip(1) {
        let (_, _, notes) = decode(&[&jpeg[..*end], &[0xff, 0xd9]].concat()).unwrap();
        assert_eq!(notes, Notes::COEFFICIENTS_LEFT_OUT);
    }
}

/// libjpeg reports its first warning only; after one about the header, others may follow.
#[cfg(feature = "turbo")]
#[test]
fn a_harmless_warning_hides_no_missing_data() {
    let jpeg = encode(&photo(64, 200, 3), &JpegOptions::default(), None);
    let (whole, ..) = decode(&jpeg).unwrap();
    let version = jpeg.windows(5).position(|bytes| bytes == b"JFIF\0").unwrap() + 5;
    let scan = scans(&jpeg)[0];
    let parameters = scan + 2 + 1 + 1 + 1 + 6;
    let mut odd_version = jpeg.clone();
    odd_version[version] = 9;
    let mut odd_parameters = jpeg.clone();
    odd_parameters[parameters..parameters + 3].copy_from_slice(&[0, 0, 0]);
    let adobe = b"\xff\xee\0\x0eAdobe\0\x64\0\0\0\0\x07";
    let odd_transform = [&jpeg[..2], adobe, &jpeg[2..]].concat();
    let surplus = [&jpeg[..20], &[1, 2, 3], &jpeg[20..]].concat();
    for (which, odd) in [odd_version, odd_parameters, odd_transform, surplus].iter().enumerate() {
        assert!(decode(odd).unwrap().0 == whole, "{which}");
        let cut = [&odd[..odd.len() / 2], &[0xff, 0xd9]].concat();
        let what = decode(&cut).expect_err("cut");
        assert!(what.contains("premature end"), "{which}: {what}");
    }
}

#[test]
fn a_jpeg_without_a_scan_is_refused_in_our_own_words() {
    let jpeg = encode(&photo(64, 64, 3), &JpegOptions::default(), None);
    let scan = jpeg.windows(2).position(|pair| pair == [0xff, 0xda]).unwrap();
    let what = decode(&[&jpeg[..scan], &[0xff, 0xd9]].concat()).unwrap_err();
    assert!(what.contains("no image data"), "{what}");
}

#[test]
fn a_decoder_that_failed_continues() {
    let jpeg = encode(&photo(64, 64, 3), &JpegOptions::default(), None);
    let header = fdconvert_core::probe::probe(&jpeg).unwrap();
    let mut decoder = JpegDecoder::default();
    let mut out = Vec::new();
    for end in (2..jpeg.len() - 2).step_by(13) {
        assert!(decoder.decode(&jpeg[..end], &header, None, &mut out).is_err(), "{end}");
        decoder.decode(&jpeg, &header, None, &mut out).unwrap();
    }
}

#[test]
fn a_header_that_disagrees_with_the_file_is_refused() {
    let jpeg = encode(&photo(64, 64, 3), &JpegOptions::default(), None);
    let header = fdconvert_core::probe::probe(&jpeg).unwrap();
    let wrong = ImageHeader { width: 63, ..header };
    let mut out = Vec::new();
    JpegDecoder::default().decode(&jpeg, &wrong, None, &mut out).unwrap_err();
    assert!(out.is_empty());
}

#[cfg(feature = "turbo")]
#[test]
fn backends_agree_within_nine_levels() {
    for (width, height) in [(83, 61), (256, 170), (17, 300)] {
        for subsampling in [Subsampling::S420, Subsampling::S422, Subsampling::S444] {
            let options = JpegOptions { subsampling, ..JpegOptions::default() };
            let jpeg = encode(&photo(width, height, 3), &options, None);
            let (turbo, ..) = decode(&jpeg).unwrap();
            let frame = Frame { width, height, components: 3, progressive: false, whole: true };
            let mut out = Vec::new();
            pure::Decoder::default().decode(&jpeg, &frame, &mut out).unwrap();
            let worst = turbo.iter().zip(&out).map(|(a, b)| a.abs_diff(*b)).max();
            assert!(worst <= Some(9), "{worst:?}");
        }
    }
}

#[cfg(feature = "turbo")]
#[test]
fn what_the_rust_encoder_writes_is_near_what_libjpeg_writes() {
    let pixels = photo(83, 61, 3);
    for chroma in [Chroma::C444, Chroma::C422, Chroma::C420, Chroma::C440] {
        for restart_rows in 0..3 {
            let settings = Settings {
                width: 83,
                height: 61,
                gray: false,
                quality: 95,
                chroma,
                optimize_huffman: false,
                restart_rows,
            };
            let mut pure = Vec::new();
            pure::Encoder.encode(&pixels.data, &settings, &mut pure).unwrap();
            let mut turbo = Vec::new();
            let length = turbo::Encoder::default().encode(&pixels.data, &settings, &mut turbo);
            turbo.truncate(length.unwrap());
            let (pure, turbo) = (decode(&pure).unwrap().0, decode(&turbo).unwrap().0);
            let sum: u64 = pure.iter().zip(&turbo).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
            assert!(sum / (pure.len() as u64) < 3, "{settings:?}: {sum}");
        }
    }
}

#[cfg(feature = "turbo")]
#[test]
fn surplus_bytes_in_front_of_the_end_are_harmless() {
    let mut jpeg = encode(&photo(64, 64, 3), &JpegOptions::default(), None);
    let (whole, ..) = decode(&jpeg).unwrap();
    let end = jpeg.len() - 2;
    jpeg.splice(end..end, [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(decode(&jpeg).unwrap().0, whole);
}

/// Equal coefficients give equal files, because the tables are optimised for them: converting there
/// and back gives the same file as converting once.
#[cfg(feature = "turbo")]
#[test]
fn baseline_and_progressive_have_the_same_coefficients() {
    for (width, height, channels) in [(83, 61, 3), (17, 40, 1), (1, 1, 3), (640, 33, 3)] {
        for subsampling in [Subsampling::S420, Subsampling::S422, Subsampling::S444] {
            let options = JpegOptions { subsampling, ..JpegOptions::default() };
            let jpeg = encode(&photo(width, height, channels), &options, None);
            let progressive = turbo::to_progressive(&jpeg).unwrap();
            assert!(fdconvert_core::probe::probe(&progressive).unwrap().progressive);
            let back = to_baseline(&progressive).unwrap();
            assert!(!fdconvert_core::probe::probe(&back).unwrap().progressive);
            assert!(back == to_baseline(&jpeg).unwrap());
            assert_eq!(decode(&back).unwrap(), decode(&jpeg).unwrap());
            assert_eq!(decode(&progressive).unwrap(), decode(&jpeg).unwrap());
            // A truncated file is not converted.
            for len in [20, progressive.len() / 2, progressive.len() - 40] {
                if let Some(start) = progressive.get(..len) {
                    assert!(to_baseline(start).is_err(), "{len} of {}", progressive.len());
                }
            }
        }
    }
}
