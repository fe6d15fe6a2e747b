//! The conformance suite, with and without an index beside the shards.
use crate::wds::Wds;
use fdconvert_core::{ArraySpec, DType, Kind, OptionValues};
use fdconvert_testkit::conformance::{Keys, Location, Profile, ends_of_files};

mod indexed {
    fdconvert_testkit::conformance_tests!(super::Wds::default(), super::profile());
}

mod bare {
    fdconvert_testkit::conformance_tests!(*super::bare(), super::bare_profile());
}

#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
fn bare() -> Box<dyn fdconvert_core::Format> {
    use fdconvert_core::Format as _;
    let values = [("sidecars".to_owned(), "none".to_owned())].into();
    Wds::default().with_options(&OptionValues(values)).unwrap()
}

#[cfg(feature = "stores")]
mod in_a_store {
    use super::Location;
    fdconvert_testkit::conformance_tests!(elsewhere: super::Wds::default(), super::profile().at(Location::Store));
}

#[cfg(feature = "stores")]
mod on_the_web {
    use super::Location;
    fdconvert_testkit::conformance_tests!(elsewhere: super::Wds::default(), super::profile().at(Location::Web));
}

fn profile() -> Profile {
    let array = ArraySpec { dtype: DType::F32, shape: vec![2, 3], torch: true };
    Profile {
        out: "packed.wds",
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
        opaque_images: true,
        replaces: true,
        finds_truncation: true,
        ranges: ends_of_files,
        location: Location::Disk,
    }
}

/// Without an index the reader identifies images by their bytes, and keys are limited by file
/// names.
fn bare_profile() -> Profile {
    Profile { keys: Keys::Lost, opaque_images: false, ..profile() }
}
