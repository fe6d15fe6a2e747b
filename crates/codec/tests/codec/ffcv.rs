//! FFCV's results for the Kodak photos, byte for byte.

#![cfg(feature = "turbo")]
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use crate::common::{JPEG_OR_RAW, kodak};
use fdconvert_codec::{Encode, Notes, Policy, Size, Worker};
use fdconvert_core::Image;
use sha2::{Digest, Sha256};

/// SHA-256 of the JPEGs that FFCV 1.0.2 (opencv-python-headless 4.9.0.80) wrote with quality 90
/// and a maximal resolution of 256.
const FFCV: [(&str, u32, u32, &str); 12] = [
    (
        "PhotoCD_PCD0992_01.png",
        256,
        170,
        "3ce54eda33004f66a873d6537d80c3022a6f682e600f974dead57ee7ed5c1135",
    ),
    (
        "PhotoCD_PCD0992_03.png",
        256,
        170,
        "7f19e7171485fe4b0cf127c4a4eae0d3ef431bfaba43b0bb31f74bd471d6f189",
    ),
    (
        "PhotoCD_PCD0992_05.png",
        256,
        170,
        "711042085a39871b5cb5cb4fea67a22f12f00eabd1947404ab5f25bf9ffffe38",
    ),
    (
        "PhotoCD_PCD0992_07.png",
        256,
        170,
        "d433efb1f00a51c157d81b5a4ad95ba74426cb76b2a08a708ae113c11a999963",
    ),
    (
        "PhotoCD_PCD0992_09.png",
        170,
        256,
        "df833a9ed70df366a0389c86f1f1a1ea5e5fb39335197709556a104062416779",
    ),
    (
        "PhotoCD_PCD0992_11.png",
        256,
        170,
        "632e57ada3a4141a45aebf71987f757dd4ad2f3c36a28990ead8e4323ff79bec",
    ),
    (
        "PhotoCD_PCD0992_13.png",
        256,
        170,
        "c595e6e94effa316e3efdde0a2719d0f89ebbcf49eff86ecfa4cb7f82c02342e",
    ),
    (
        "PhotoCD_PCD0992_15.png",
        256,
        170,
        "d9701a3abaef9402a5e8ac7b9fe1ec6b8a7bdb0cceb9d9aa05ff1d8c872f859d",
    ),
    (
        "PhotoCD_PCD0992_17.png",
        170,
        256,
        "2c2f157cf33c12c4406992036c7877ffd0138057b7f62d72bee8d60e03458ffe",
    ),
    (
        "PhotoCD_PCD0992_19.png",
        170,
        256,
        "1f9b74473d2054913073d248cd42b317f195a8bb3db8d152e864333a788a1226",
    ),
    (
        "PhotoCD_PCD0992_21.png",
        256,
        170,
        "e7245f1e32480a0178af9c66248b134f472f48d70f2f9964799a2ddc602c5d3b",
    ),
    (
        "PhotoCD_PCD0992_23.png",
        256,
        170,
        "206cc06395809ccb4d5bf1a50b90e36b1c42ea1310626a0660c181aa0f854c21",
    ),
];

#[test]
fn jpegs_at_max_side_256_are_those_of_ffcv() {
    let policy =
        Policy { encode: Encode::Jpeg, size: Some(Size::MaxSide(256)), ..Policy::default() };
    let mut worker = Worker::new();
    let photos = kodak();
    assert_eq!(photos.len(), FFCV.len());
    for ((name, photo), (expected_name, width, height, sha256)) in photos.into_iter().zip(FFCV) {
        assert_eq!(name, expected_name);
        let image = Image::Encoded(photo);
        let outcome = policy.apply(&name, image, &JPEG_OR_RAW, &mut worker).unwrap();
        assert_eq!((outcome.encoded.width, outcome.encoded.height), (width, height), "{name}");
        let digest = Sha256::digest(&outcome.encoded.bytes);
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, sha256, "{name}");
        assert_eq!(outcome.notes, Notes::REENCODED | Notes::RESIZED);
    }
}
