//! The conformance suite, in every layout that keeps the fields of the suite.
use fdconvert_core::{ArraySpec, DType, Kind};
use fdconvert_testkit::conformance::{Keys, Location, Profile};
use std::{ops::Range, path::Path};

mod aligned {
    // Every check covers every byte between samples: use the smallest page that holds the suite's
    // largest value.
    fdconvert_testkit::conformance_tests!(
        *super::super::common::beton(&[("page_size", "4194304")]),
        super::profile()
    );
}

mod compact {
    fdconvert_testkit::conformance_tests!(
        *super::super::common::beton(&[("compact", "")]),
        super::profile()
    );
}

#[cfg(feature = "stores")]
mod in_a_store {
    use super::Location;
    fdconvert_testkit::conformance_tests!(elsewhere: *super::super::common::beton(&[("page_size", "4194304")]), super::profile().at(Location::Store));
}

#[cfg(feature = "stores")]
mod on_the_web {
    use super::Location;
    fdconvert_testkit::conformance_tests!(elsewhere: *super::super::common::beton(&[("page_size", "4194304")]), super::profile().at(Location::Web));
}

fn profile() -> Profile {
    let array = ArraySpec { dtype: DType::F32, shape: vec![2, 3], torch: true };
    Profile {
        out: "packed.beton",
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
        ranges: tables,
        location: Location::Disk,
    }
}

/// Byte ranges: the start of the header, the start of the rows, and index block with table.
fn tables(path: &Path, len: u64) -> Vec<Range<u64>> {
    let file = std::fs::read(path).unwrap_or_default();
    let word = |at: usize| {
        let word = file.get(at..at + 8).and_then(|word| word.try_into().ok());
        word.map_or(0, u64::from_le_bytes)
    };
    let table = word(16);
    let block = table - word(usize::try_from(table).unwrap_or(32) - 32);
    let fields = u64::from(file.get(2).copied().unwrap_or(0));
    // Descriptors are mostly zeros, the same in every file.
    let rows = 24 + 1041 * fields;
    vec![0..64, rows..(rows + 256).min(block), block..len]
}
