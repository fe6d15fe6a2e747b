//! Any bytes as a JPEG, and the rest of them as its entry points: a part of it, at any scale, with
//! vectors and several places at once, compared with portable code, which is the reference.
#![no_main]
use fdconvert_jpeg_decode::{
    Decoder, Entropy, Error, Header, Instructions, Options, PixelFormat, Region, Scale,
};
use libfuzzer_sys::fuzz_target;

/// Limits the time of the slow decoder.
const MAX_BYTES: u64 = 1 << 20;

fuzz_target!(|data: &[u8]| {
    let Some((&[how, places, x, y, width, height, split], rest)) = data.split_first_chunk() else {
        return;
    };
    let (stored, bytes) = rest.split_at(usize::from(split).min(rest.len()));
    let Ok(header) = Header::read(bytes) else { return };
    let scale = [Scale::Whole, Scale::Half, Scale::Quarter, Scale::Eighth][usize::from(how & 3)];
    let format = [PixelFormat::Rgb, PixelFormat::Luma][usize::from(how >> 2 & 1)];
    let span = |from: u8, length: u8, whole: u32| {
        let from = u32::from(from) % whole;
        (from, 1 + u32::from(length) % (whole - from))
    };
    let (x, width) = span(x, width, scale.reduced(header.width));
    let (y, height) = span(y, height, scale.reduced(header.height));
    let region = (how & 8 != 0).then_some(Region { x, y, width, height });
    let entropy = Some(match usize::from(places % 11) {
        lanes @ 9.. => Entropy::Lanes(lanes - 8),
        streams => Entropy::Streams(streams),
    });
    let options = Options { entry_points: None, entropy, format, scale, region };
    if header.n_bytes(&Options { region: None, ..options }) > MAX_BYTES {
        return;
    }
    let mut decoders: Vec<_> = Instructions::ALL.into_iter().filter_map(Decoder::with).collect();
    let mut found = Vec::new();
    for entry_points in [None, Some(stored)] {
        let options = Options { entry_points, ..options };
        for decoder in &mut decoders {
            let mut out = vec![0; header.n_bytes(&options) as usize];
            let decoded = decoder.decode(bytes, &options, &mut out);
            let of_header = matches!(decoded, Err(Error::Unsupported(_) | Error::Region { .. }));
            found.push((entry_points.is_some(), of_header, decoded.ok().map(|_| out)));
        }
    }
    // Without entry points there is one verdict. With them, not all are used, and wrong ones change
    // nothing in whole images; those of a progressive image are refused before its scans are read.
    let (_, of_header, measure) = found[0].clone();
    for (with_entry_points, refused, pixels) in found {
        assert!(refused == of_header || with_entry_points && pixels.is_none());
        let same = pixels == measure;
        assert!(same || with_entry_points && (pixels.is_none() || region.is_some()));
    }
});
