//! Decoded pixels equal Pillow's: `tests/fixtures/make.py` recorded their hashes.
#![cfg(feature = "turbo")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common::encoded;
use fdconvert_codec::{Decoder, orient};
use fdconvert_core::Limits;
use fdconvert_testkit::{
    compare::sha256,
    fixtures::{fixture, table},
};

#[test]
fn every_fixture_shows_what_pillow_sees() {
    let (rows, mut decoder, mut n_turned) = (table("pixels.csv"), Decoder::new(), 0);
    assert_eq!(rows.len(), 26 + 14);
    for row in rows {
        let [path, width, height, channels, stored, upright] = &row[..] else { panic!("{row:?}") };
        let image = encoded(std::fs::read(fixture(path)).unwrap());
        let decoded = decoder.decode(path, &image, &Limits::DEFAULT).unwrap();
        let pixels = decoded.pixels;
        let found = [pixels.width, pixels.height, u32::from(pixels.channels)];
        assert_eq!(
            found.map(|number| number.to_string()),
            [&width[..], height, channels],
            "{path}"
        );
        assert_eq!(sha256(&pixels.data), *stored, "{path}");
        assert_eq!(sha256(&orient(pixels, decoded.header.orientation).data), *upright, "{path}");
        n_turned += usize::from(stored != upright);
    }
    assert_eq!(n_turned, 8);
}
