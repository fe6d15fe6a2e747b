//! The suite every format passes: the contracts of [`Format`](fdconvert_core::Format),
//! [`ShardWriter`](fdconvert_core::ShardWriter) and [`Reader`](fdconvert_core::Reader), tested from
//! outside.
//!
//! A format declares in a [`Profile`] what it can keep, and gets one test per check:
//!
//! ```ignore
//! fdconvert_testkit::conformance_tests!(Folder::default(), profile());
//! ```
//!
//! Not tested here: that a killed process can be resumed (which needs a process to kill), and that
//! other programs read the output.

mod bench;
mod damage;
mod entry_points;
#[cfg(feature = "fault")]
mod faults;
mod narrowed;
mod output;
mod places;
mod reading;
mod round_trip;

pub use damage::{bit_flips, healing, truncation};
pub use entry_points::entry_points;
#[cfg(feature = "fault")]
pub use faults::{full_disk, read_errors};
pub use narrowed::narrowed;
pub use output::{determinism, dropped, existing_output, fewer_samples, keys};
pub use places::places;
pub use reading::{concurrency, reader_contract, verify};
pub use round_trip::{bad_samples, every_kind, image_sizes, round_trip, sizes, skips};

use fdconvert_core::Kind;
use std::{ops::Range, path::Path};

/// Parts of its input that a format keeps; the suite requires exactly these.
#[derive(Debug, Clone)]
pub struct Profile {
    /// File name of the output.
    pub out: &'static str,
    /// Kinds of fields that are read back unchanged.
    pub kinds: Vec<Kind>,
    /// Treatment of keys.
    pub keys: Keys,
    /// True if samples are read in the order of writing, false for that of their keys.
    pub keeps_order: bool,
    /// True if class names are read back.
    pub keeps_class_names: bool,
    /// True if image bytes are stored unparsed; else they must be images.
    pub opaque_images: bool,
    /// True if `overwrite` replaces a finished output.
    pub replaces: bool,
    /// True if opening or verifying detects a file truncated at any byte.
    pub finds_truncation: bool,
    /// Returns the byte ranges of an output file, given its name and size, in which every bit is
    /// flipped and every truncation tried; elsewhere only a few are.
    pub ranges: fn(&Path, u64) -> Vec<Range<u64>>,
    /// Location of the datasets.
    pub location: Location,
}

impl Profile {
    /// Uses another location.
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
    /// In a bucket of S3, to which they are written and from which they are read.
    Store,
    /// In a folder served by a web server.
    Web,
}

/// Treatment of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// Every accepted key is read back unchanged.
    Kept,
    /// Keys that are relative paths with the extension of an image are read back unchanged.
    Paths,
    /// Keys are not stored.
    Lost,
}

/// Returns all of small files, and the first and last kibibyte of larger ones.
#[must_use]
pub fn ends_of_files(_: &Path, len: u64) -> Vec<Range<u64>> {
    let end = 1024;
    if len <= 4 * end { std::iter::once(0..len).collect() } else { vec![0..end, len - end..len] }
}

/// Defines one `#[test]` per check of the suite, for the format and
/// [`Profile`](crate::conformance::Profile) given by two expressions; with `elsewhere:` first, only
/// the checks that read no files.
#[macro_export]
macro_rules! conformance_tests {
    ($format:expr, $profile:expr) => {
        $crate::conformance_tests!(@each $format, $profile;
            round_trip every_kind sizes image_sizes bad_samples skips keys determinism fewer_samples
            dropped existing_output reader_contract places narrowed entry_points concurrency verify truncation bit_flips
            healing);
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

/// The checks in which reads and writes fail on purpose.
#[cfg(feature = "fault")]
#[doc(hidden)]
#[macro_export]
macro_rules! fault_tests {
    ($format:expr, $profile:expr) => {
        $crate::conformance_tests!(@each $format, $profile; full_disk read_errors);
    };
}

/// Defines the tests of faults as ignored ones, counted with the reason: this build cannot inject
/// faults.
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
