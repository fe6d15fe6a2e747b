//! Damaged AVIFs are errors or images of the claimed size, and a panic of their decoder does not end
//! the process. A program of its own, because the test harness waits for ever after such a panic: at
//! its end it changes the panic hook.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use fdconvert_codec::Decoder;
use fdconvert_core::{Encoded, Limits, caught, confined, probe::probe};
use fdconvert_testkit::fixtures::fixture;

extern "C" fn fails_at_7(number: u32) -> u32 {
    assert!(number != 7, "the number is {number}");
    number
}

fn main() {
    let (mut n_errors, mut n_images) = (0, 0);
    let limits = Limits { max_pixels: 1 << 20, ..Limits::DEFAULT };
    let mut check = |bytes: Vec<u8>| {
        let Ok(header) = probe(&bytes) else { return };
        let image = Encoded::new(header.codec, header.width, header.height, bytes.into());
        match Decoder::new().decode("k", &image, &limits) {
            Ok(decoded) => {
                let size = (decoded.pixels.width, decoded.pixels.height);
                assert_eq!(size, (header.width, header.height));
                n_images += 1;
            }
            Err(error) => {
                assert!(error.to_string().contains("sample `k`"), "{error}");
                n_errors += 1;
            }
        }
    };
    for name in ["alpha.avif", "grid.avif", "10-bits.avif", "422-limited.avif"] {
        let bytes = std::fs::read(fixture("codecs").join(name)).unwrap();
        for at in (0..bytes.len()).step_by(bytes.len() / 60) {
            check(bytes[..at].to_vec());
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            check(damaged);
        }
    }
    assert!(n_errors > 100 && (n_images > 20 || !cfg!(feature = "avif")), "{n_errors}, {n_images}");
    assert_eq!(confined(|| fails_at_7(7)), Err("the number is 7".into()));
    assert_eq!(confined(|| fails_at_7(8)), Ok(8));
    assert!(caught(|| panic!("another")).is_err());
}
