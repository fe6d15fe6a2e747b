//! The suite every format passes: what [`Format`](fdconvert_core::Format),
//! [`ShardWriter`](fdconvert_core::ShardWriter)
//! and [`Reader`](fdconvert_core::Reader) promise, asked from outside.
//!
//! A format says in a [`Profile`] what it can keep, and gets one test per check:
//!
//! ```ignore
//! fdconvert_testkit::conformance_tests!(Folder::default(), profile());
//! ```
//!
//! Not asked here: that a killed process can be continued (that takes a process to kill), and
//! that other programs read what was written.

mod bench;
mod damage;
mod entry_points;
#[cfg(feature = "fault")]
mod faults;
mod output;
mod places;
mod reading;
mod round_trip;

pub use damage::{bit_flips, healing, truncation};
pub use entry_points::entry_points;
#[cfg(feature = "fault")]
pub use faults::{full_disk, read_errors};
pub use output::{determinism, dropped, existing_output, fewer_samples, keys};
pub use places::places;
pub use reading::{concurrency, reader_contract, verify};
pub use round_trip::{bad_samples, every_kind, image_sizes, round_trip, sizes, skips};

use fdconvert_core::Kind;
use std::{ops::Range, path::Path};

/// Parts of its input that a format keeps; the suite demands that much.
#[derive(Debug, Clone)]
pub struct Profile {
    /// File name of the output.
    pub out: &'static str,
    /// Kinds of fields that come back as they went in.
    pub kinds: Vec<Kind>,
    /// Treatment of keys.
    pub keys: Keys,
    /// True if samples come back in the order they were written in, else in that of their keys.
    pub keeps_order: bool,
    /// True if class names come back.
    pub keeps_class_names: bool,
    /// True if image bytes are stored unseen; else they have to be images.
    pub opaque_images: bool,
    /// True if `overwrite` replaces a finished output.
    pub replaces: bool,
    /// True if opening or verifying tells a file that was cut short at any byte.
    pub finds_truncation: bool,
    /// The byte ranges of an output file (its name and size are given) in which every bit is
    /// flipped and every length cut at; elsewhere a few are.
    pub ranges: fn(&Path, u64) -> Vec<Range<u64>>,
    /// Location of the datasets.
    pub location: Location,
}

impl Profile {
    /// The same elsewhere.
    #[must_use]
    pub fn at(self, location: Location) -> Self {
        Self { location, ..self }
    }
}

/// Location of datasets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Location {
    /// In a folder.
    Disk,
    /// In a bucket of S3, into which they are written and from which they are read.
    Store,
    /// In a folder that a web server reads out.
    Web,
}

/// Treatment of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// Every key that is accepted comes back as it was.
    Kept,
    /// Keys that are relative paths with the extension of an image come back as they were.
    Paths,
    /// Keys are not stored.
    Lost,
}

/// All of small files, the first and last kibibyte of larger ones.
#[must_use]
pub fn ends_of_files(_: &Path, len: u64) -> Vec<Range<u64>> {
    let end = 1024;
    if len <= 4 * end { std::iter::once(0..len).collect() } else { vec![0..end, len - end..len] }
}

/// One `#[test]` per check of the suite, for the format and [`Profile`](crate::conformance::Profile)
/// that two expressions give; with `elsewhere:` in front, those that look at no files.
#[macro_export]
macro_rules! conformance_tests {
    ($format:expr, $profile:expr) => {
        $crate::conformance_tests!(@each $format, $profile;
            round_trip every_kind sizes image_sizes bad_samples skips keys determinism fewer_samples
            dropped existing_output reader_contract places entry_points concurrency verify truncation bit_flips healing);
        $crate::fault_tests!($format, $profile);
    };
    (elsewhere: $format:expr, $profile:expr) => {
        $crate::conformance_tests!(@each $format, $profile;
            round_trip every_kind sizes image_sizes bad_samples skips reader_contract concurrency
            verify);
    };
    (@each $format:expr, $profile:expr; $($check:ident)*) => {
        $(
            #[test]
            fn $check() {
                $crate::conformance::$check(&$format, &$profile);
            }
        )*
    };
}

/// The checks for which reads and writes fail on purpose.
#[cfg(feature = "fault")]
#[doc(hidden)]
#[macro_export]
macro_rules! fault_tests {
    ($format:expr, $profile:expr) => {
        $crate::conformance_tests!(@each $format, $profile; full_disk read_errors);
    };
}

/// Defines the tests of faults as ignored ones, counted with the reason: nothing can fail on
/// purpose.
#[cfg(not(feature = "fault"))]
#[doc(hidden)]
#[macro_export]
macro_rules! fault_tests {
    ($format:expr, $profile:expr) => {
        #[test]
        #[ignore = "needs the feature `fault` of fdconvert-testkit"]
        fn full_disk() {
            panic!("the feature `fault` is off");
        }

        #[test]
        #[ignore = "needs the feature `fault` of fdconvert-testkit"]
        fn read_errors() {
            panic!("the feature `fault` is off");
        }
    };
}
