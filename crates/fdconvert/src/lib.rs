//! Packs image datasets for fast training: the library behind the command
//! `fdconvert` and the Python package of that name.
//!
//! A source is a folder of images, a packed dataset, or a recipe for fractals
//! (`fractal:fractaldb?classes=1000`). [`Pack`] writes sources into a dataset as [`PackOptions`]
//! say; [`open`] reads one; [`plan`], [`Planned`] and [`merge`] write one with several machines;
//! [`profile`](fn@profile) finds the share of BMP images that a machine reads fastest; [`Loader`]
//! makes batches. What is not a path is packed by [`Pack::from_source`]: any [`Source`], or samples that
//! come one after another, by a [`TemporaryDataset`]. [`inspect`](fn@inspect), [`stats`](fn@stats),
//! [`sheet`](fn@sheet) and [`find_duplicates`] describe a dataset.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let photos = folder.path().join("photos/cats");
//! # std::fs::create_dir_all(&photos)?;
//! # std::fs::write(photos.join("1.png"), fdconvert_testkit::fixtures::png(64, 48, 1).bytes)?;
//! # let (photos, packed) = (folder.path().join("photos"), folder.path().join("photos.beton"));
//! use fdconvert::{Pack, PackOptions, Reader, Source};
//!
//! let options = PackOptions::default().jpeg_quality(90).max_side(32);
//! let report = Pack::new([&photos], &packed).options(options).run()?;
//! assert_eq!((report.samples, report.skipped.len()), (1, 0));
//!
//! let dataset = fdconvert::open(&packed)?;
//! assert_eq!(dataset.get(0)?.key, "cats/1.png");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Deliberately absent: printing, and arguments of a command line. A [`Progress`] listens.
#![forbid(unsafe_code)]

mod choose;
mod chunk;
mod classes;
mod diff;
mod document;
mod drop_fields;
mod duplicates;
mod formula;
mod images;
mod inputs;
mod inspect;
mod keys;
mod launcher;
mod merge;
mod options;
mod out;
mod pack;
mod page;
mod planned;
mod prefix;
mod profile;
mod progress;
mod ratio;
mod relabel;
mod replaced;
mod root_hash;
mod settings;
mod sheet;
mod sources;
mod splits;
mod stats;
mod temporary;
mod unused;
mod verify;

pub use diff::{DiffOptions, Differences, diff};
pub use document::document;
pub use duplicates::{Duplicates, DuplicatesOptions, Group, Member, find_duplicates};
pub use formula::{FormulaOutput, FormulaReport};
pub use inspect::{InspectOptions, Inspected, inspect};
pub use launcher::{FoundPart, PartOf, find_part};
pub use merge::{Merged, merge};
pub use options::{
    Boxes, ByteCount, ByteRate, Classes, Dedup, Encoding, JpegIndex, PackOptions, Pair, Per,
    Prefix, Ratio, Share, SplitShare, TimeSpan,
};
pub use pack::{Pack, Prepared, Samples, threads, unpack};
pub use planned::{Planned, check_plan_place, plan};
pub use profile::{ProfileOptions, Search, Verify, measured_on, profile, profile_document};
pub use progress::{Context, Event, Progress, Stage, Steps};
pub use root_hash::{RootHash, root_hash};
pub use sheet::{Sheet, SheetOptions, sheet, thumbnail};
pub use sources::{open_recipe, resolve};
pub use splits::SplitReport;
pub use stats::{DatasetStats, MetadataCounts, PixelStats, Stats, StatsOptions, spread, stats};
pub use temporary::{TemporaryDataset, fingerprint_of};
pub use verify::{Problem, Verified, VerifyOptions, verify};

pub use fdconvert_codec::{Alpha, By, Check, Filter, MetadataKind, Policy, Subsampling};
pub use fdconvert_core::{
    Amount, Codec, Encoded, Error, FieldSpec, Format, Ignored, Image, Kind, Look, Pixels, Reader,
    Result, Sample, Schema, Skipped, Source, SourceFacts, SplitChoice, Value,
};
pub use fdconvert_loader::{Batch, Datasets, Loader, Options as LoaderOptions};
pub use fdconvert_pipeline::{
    Cancel, Changed, Dataset, Difference, Observer, OnError, Part, PixelDifference, Plan, Report,
};
pub use fdconvert_profile::Report as ProfileReport;
pub use fdconvert_reader::{OpenOptions, formats, open_with};

pub use fdconvert_storage::{left_files, place::ReadingStopped};
use std::path::Path;

/// Opens a packed dataset, a folder of images, or the fractals of a recipe.
///
/// # Errors
/// `Io` when there is nothing there, `Usage` when no format recognises it, else what the format
/// says.
pub fn open(dataset: impl AsRef<Path>) -> Result<Box<dyn Reader>> {
    fdconvert_reader::open(dataset)
}

/// Sets options of the stores that URLs lead to, for the process as a whole: `endpoint`, `region`,
/// `access_key_id`, `skip_signature`, `account_name` and so on, as the crate `object_store` calls
/// them. They come on top of what the environment says. Stores that were used already keep theirs,
/// so call this first.
///
/// # Errors
/// `Usage` for a name that no store has, and in builds without the feature `stores`.
pub fn set_store_options(options: impl IntoIterator<Item = (String, String)>) -> Result<()> {
    fdconvert_storage::place::set_store_options(options)
}

/// As long as the result lives nothing is read from stores, in this process: requests end with
/// `Cancelled`. For those who have cancelled a run and wait for it, so that a server that is silent
/// does not keep them.
pub fn stop_reading() -> ReadingStopped {
    fdconvert_storage::place::stop_reading()
}

/// Opens sources as [`Pack`] does: joined, with the tables, pairs and limits of `options`.
///
/// # Errors
/// Those of the sources; `Usage` where they have different fields.
pub fn source<P: AsRef<Path>>(
    paths: impl IntoIterator<Item = P>,
    options: &PackOptions,
) -> Result<Box<dyn Source>> {
    let paths: Vec<_> = paths.into_iter().map(|path| path.as_ref().to_owned()).collect();
    let cancel = Cancel::default();
    let context = Context { cancel: &cancel, progress: &() };
    let options = classes::resolved(options, context)?;
    sources::Opening { options: &options, context }.open(&paths)
}
