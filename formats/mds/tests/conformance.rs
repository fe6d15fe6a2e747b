//! The conformance suite, raw and compressed.
use crate::mds::Mds;
use fdconvert_core::{ArraySpec, DType, Format, Kind, OptionValues};
use fdconvert_testkit::conformance::{Keys, Location, Profile, ends_of_files};

mod raw {
    fdconvert_testkit::conformance_tests!(super::Mds::default(), super::profile());
}

mod compressed {
    fdconvert_testkit::conformance_tests!(*super::zstd(), super::profile());
}

#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
fn zstd() -> Box<dyn Format> {
    let values = [("compression", "zstd"), ("hashes", "sha256,xxh3_64")];
    let values = values.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Mds::default().with_options(&OptionValues(values.into())).unwrap()
}

#[cfg(feature = "stores")]
mod in_a_store {
    use super::Location;
    fdconvert_testkit::conformance_tests!(elsewhere: super::Mds::default(), super::profile().at(Location::Store));
}

#[cfg(feature = "stores")]
mod on_the_web {
    use super::Location;
    fdconvert_testkit::conformance_tests!(elsewhere: super::Mds::default(), super::profile().at(Location::Web));
}

fn profile() -> Profile {
    let array = ArraySpec { dtype: DType::F32, shape: vec![2, 3], torch: true };
    Profile {
        out: "packed.mds",
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
        keys: Keys::Kept,
        keeps_order: true,
        keeps_class_names: true,
        opaque_images: false,
        replaces: true,
        finds_truncation: true,
        ranges: ends_of_files,
        location: Location::Disk,
    }
}
