//! The conformance suite.
use crate::folder::Folder;
use fdconvert_core::{ArraySpec, DType, Kind};
use fdconvert_testkit::conformance::{Keys, Location, Profile, ends_of_files};

fdconvert_testkit::conformance_tests!(Folder::default(), profile());

fn profile() -> Profile {
    let array = ArraySpec { dtype: DType::F32, shape: vec![2, 3], torch: true };
    Profile {
        out: "unpacked",
        kinds: vec![
            Kind::Image,
            Kind::Images,
            Kind::Int,
            Kind::Float,
            Kind::Bytes,
            Kind::Text,
            Kind::Json,
            Kind::Array(array),
        ],
        keys: Keys::Paths,
        keeps_order: false,
        keeps_class_names: true,
        opaque_images: false,
        replaces: false,
        // A JPEG without its end marker may still be complete.
        finds_truncation: false,
        ranges: ends_of_files,
        location: Location::Disk,
    }
}
