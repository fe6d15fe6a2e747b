//! The conformance suite.
use crate::parquet::Parquet;
use fdconvert_core::{ArraySpec, DType, Kind};
use fdconvert_testkit::conformance::{Keys, Location, Profile, ends_of_files};

mod on_disk {
    fdconvert_testkit::conformance_tests!(super::Parquet::default(), super::profile());
}

mod in_shards {
    fdconvert_testkit::conformance_tests!(super::sharded(), super::of_shards());
}

#[cfg(feature = "stores")]
mod shards_in_a_store {
    use super::Location;
    fdconvert_testkit::conformance_tests!(elsewhere: super::sharded(), super::of_shards().at(Location::Store));
}

#[cfg(feature = "stores")]
mod in_a_store {
    use super::Location;
    fdconvert_testkit::conformance_tests!(elsewhere: super::Parquet::default(), super::profile().at(Location::Store));
}

#[cfg(feature = "stores")]
mod on_the_web {
    use super::Location;
    fdconvert_testkit::conformance_tests!(elsewhere: super::Parquet::default(), super::profile().at(Location::Web));
}

fn profile() -> Profile {
    let array = ArraySpec { dtype: DType::F32, shape: vec![2, 3], torch: true };
    Profile {
        out: "packed.parquet",
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

fn sharded() -> Parquet {
    Parquet { in_shards: true, ..Parquet::default() }
}

fn of_shards() -> Profile {
    Profile { out: "packed", ..profile() }
}
