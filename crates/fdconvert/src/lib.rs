//! Packs image datasets for fast training: the library behind the command
//! `fdconvert` and the Python package of that name.
//!
//! A source is a folder of images, a packed dataset, or a recipe for fractals
//! (`fractal:fractaldb?classes=1000`). [`Pack`] writes sources into a dataset with [`PackOptions`];
//! [`open`] reads a [`Dataset`]; a [`Loader`] makes batches of it with [`LoaderOptions`], of which
//! a list of [`Transform`]s says what is done to images. [`plan`],
//! [`Planned`] and [`merge`] write one with several machines; [`profile`](fn@profile) finds the
//! share of BMP images that a machine reads fastest. Sources other than paths are packed by
//! [`Pack::from_source`]: any [`Source`], or samples that come one after another, through a
//! [`TemporaryDataset`]. [`inspect`](fn@inspect), [`stats`](fn@stats), [`sheet`](fn@sheet) and
//! [`find_duplicates`] describe a dataset; each takes options that are built like those of packing.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let photos = folder.path().join("photos/cats");
//! # std::fs::create_dir_all(&photos)?;
//! # std::fs::write(photos.join("1.png"), fdconvert_testkit::fixtures::png(64, 48, 1).bytes)?;
//! # let (photos, packed) = (folder.path().join("photos"), folder.path().join("photos.beton"));
//! use fdconvert::{Pack, PackOptions};
//!
//! let options = PackOptions::default().jpeg_quality(90).max_side(32);
//! let report = Pack::new([&photos], &packed).options(options).run()?;
//! assert_eq!((report.samples, report.skipped.len()), (1, 0));
//!
//! let dataset = fdconvert::open(&packed)?;
//! assert_eq!(dataset.get(0)?.key, "cats/1.png");
//!
//! let mut loader = fdconvert::Loader::builder(dataset)
//!     .batch_size(256)
//!     .transform(fdconvert::TransformList::rrc(224)?)?
//!     .build()?;
//! while let Some(batch) = loader.next_batch() {
//!     assert_eq!(batch?.shape().dimensions(), [1, 224, 224, 3]);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Deliberately absent: printing, and command-line arguments. A [`Progress`] receives events.
#![forbid(unsafe_code)]

mod annotated;
mod check;
mod choose;
mod chunk;
mod classes;
mod dataset;
mod diff;
mod document;
mod drop_fields;
mod duplicates;
mod edit;
mod formula;
mod images;
mod inputs;
mod inspect;
mod keys;
mod launcher;
mod merge;
mod notes;
mod options;
mod out;
mod outcome;
mod pack;
mod page;
mod planned;
mod policy;
mod prefix;
mod profile;
mod progress;
mod provenance;
mod ratio;
mod relabel;
mod replaced;
mod request;
mod resolve;
mod root_hash;
mod samples;
mod sheet;
mod sources;
mod splits;
mod stats;
mod stores;
mod temporary;
mod unused;
mod verify;

pub use dataset::{Dataset, concat, mix, open, open_with};
pub use diff::{DiffOptions, Differences, diff};
pub use duplicates::{Duplicates, DuplicatesOptions, find_duplicates};
pub use edit::{Append, Edited, Remove, Update, kept_versions, log};
pub use inspect::{InspectOptions, Inspected, inspect};
pub use merge::{Merged, merge};
pub use options::{
    Boxes, ByteCount, ByteRate, Classes, Dedup, Encoding, JpegIndex, PackOptions, Pair, Per,
    Prefix, Ratio, Share, SourceLayout, SplitShare,
};
pub use pack::{Pack, Prepared, convert, unpack};
pub use planned::{Planned, plan};
pub use profile::{ProfileOptions, Search, Verify, profile};
pub use progress::{Context, Event, Progress, Stage, Steps};
pub use root_hash::{RootHash, root_hash};
pub use sheet::{Sheet, SheetOptions, sheet};
pub use sources::source;
pub use stats::{DatasetStats, StatsOptions, stats};
pub use stores::set_store_options;
pub use temporary::{TemporaryDataset, fingerprint_of};
pub use verify::{Verified, VerifyOptions, verify};

pub use fdconvert_codec::{Alpha, By, Check, Filter, MetadataKind, Subsampling};
pub use fdconvert_core::{
    Amount, Codec, Encoded, Error, FieldSpec, Image, Indices, Kind, LogEntry, Look, Pixels, Reader,
    Result, Sample, Schema, Skipped, Source, SourceFacts, SplitChoice, Value,
};
pub use fdconvert_loader::{
    Access, Batch, Builder as LoaderBuilder, DType, Datasets, DeviceOptions, Failures, Label, Last,
    Layout, Loader, MaskOptions, ObjectOptions, OnError as OnLoadError, Options as LoaderOptions,
    RowGeometry, SampleList, Sampling, State, Transform, TransformList, ViewGroup, ViewLayout,
    Weights, World,
};
pub use fdconvert_pipeline::LabelMap;
pub use fdconvert_pipeline::{Cancel, Observer, OnError as OnPackError, Report};
pub use fdconvert_profile::Report as ProfileReport;
pub use fdconvert_reader::OpenOptions;

/// Arguments of a [`Transform`].
pub mod transforms {
    pub use fdconvert_loader::parts::{
        EraseValue, Fill, Interpolation, PaddingMode, Policy, ResizeTo,
    };
}

/// Types within the results of functions, for programs that name them.
pub mod results {
    pub use crate::{
        duplicates::{Group, Member},
        stats::{CategoryCounts, MetadataCounts, ObjectCounts, PixelStats, Stats},
        verify::Problem,
    };
    pub use fdconvert_core::Ignored;
    pub use fdconvert_pipeline::{Changed, Checked, Difference, PixelDifference, Plan};
}

/// Items for the command and the Python package, which other programs do not need.
#[doc(hidden)]
pub mod plumbing {
    pub use crate::{
        document::document,
        edit::log_document,
        formula::FormulaOutput,
        launcher::PartOf,
        options::TimeSpan,
        planned::check_plan_place,
        profile::{measured_on, profile_document},
        samples::Samples,
        sheet::thumbnail,
        sources::open_recipe,
        stats::spread,
    };
    pub use fdconvert_pipeline::{PackJob, Part, threads};
    pub use fdconvert_storage::{
        left_files,
        place::{left_out, stop_requests},
    };
}
