//! Any bytes as an AVIF: an error, or an image of the claimed size and kind.
#![no_main]
use fdconvert_codec::Decoder;
use fdconvert_core::{Codec, Encoded, Limits, probe};
use libfuzzer_sys::fuzz_target;

const LIMITS: Limits = Limits { max_pixels: 1 << 16, ..Limits::DEFAULT };

fuzz_target!(|data: &[u8]| {
    let Ok(header) = probe::probe(data) else { return };
    if header.codec != Codec::Avif {
        return;
    }
    let _ = probe::check_complete(data, &header);
    let _ = probe::is_animated(data, header.codec);
    let _ = probe::boxed_metadata(data, header.codec);
    let image = Encoded::new(header.codec, header.width, header.height, data.to_vec().into());
    match Decoder::new().decode("k", &image, &LIMITS) {
        Ok(decoded) => {
            let pixels = decoded.pixels;
            assert_eq!((pixels.width, pixels.height), (header.width, header.height));
            assert_eq!(pixels.channels == 4, header.color.has_alpha());
        }
        // A panic of the library is contained, and told, so that its authors may be.
        Err(error) if error.to_string().contains("a fault of the decoder") => eprintln!("{error}"),
        Err(_) => {}
    }
});
