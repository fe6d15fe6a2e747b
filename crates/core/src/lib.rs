//! The types that all other crates share: samples, schemas, images, sources, formats, errors.
//!
//! Data flows one way. A [`Source`] yields `Sample<Image>`; a policy (in `fdconvert-codec`) turns
//! every [`Image`] into an [`Encoded`] one; a [`ShardWriter`] of some [`Format`] stores
//! `Sample<Encoded>`. Because of the two sample types, a format that handles pixels does not
//! compile. A [`Reader`] of a stored dataset is again a [`Source`], so that repacking, conversion
//! and unpacking need no extra code.
//!
//! ```
//! use fdconvert_core::{FieldSpec, Kind, Schema};
//!
//! let schema = Schema::new(vec![
//!     FieldSpec::new("image", Kind::Image),
//!     FieldSpec::new("label", Kind::Int),
//! ])?;
//! assert_eq!(schema.position("label"), Some(1));
//! # Ok::<(), fdconvert_core::Error>(())
//! ```
//!
//! Deliberately absent: files, threads and codecs. Nothing here opens files, decodes images or
//! spawns threads.
#![forbid(unsafe_code)]

mod ahead;
mod array;
mod bands;
mod bilevel;
pub mod bytes;
mod categories;
mod classes;
mod error;
mod facts;
mod format;
mod ignored;
mod image;
pub mod image_list;
mod json;
mod lanes;
mod limits;
pub mod objects;
pub mod option;
mod options;
mod panics;
pub mod probe;
mod provenance;
mod random;
mod reader;
mod remark;
mod run_lengths;
mod sample;
mod setters;
mod shown;
mod source;
mod splits;
mod subset;
mod turn;
mod units;
mod version;

pub use ahead::{Ahead, Coming, Window};
pub use array::{ArraySpec, DType};
pub use bands::Bands;
pub use bilevel::Bilevel;
pub use categories::Categories;
pub use classes::{
    InnerClasses, join_class_names, misread_number, other_inner_class, renumber_classes,
};
pub use error::{Class, Error, Result};
pub use facts::{FieldFacts, Remarks, SourceFacts};
pub use format::{
    Capabilities, Common, Complete, Create, Existing, Format, Layout, OpenOptions, Shard,
    ShardSummary, ShardWriter,
};
pub use ignored::Ignored;
pub use image::{Codec, Color, Encoded, Image, ImageHeader, Pixels};
pub use json::{check_json, with_null_for};
pub use lanes::LanesImage;
pub use limits::{Limits, MaxDecompressed};
pub use option::{OptionName, OptionRef, Setting};
pub use options::{FormatOption, OptionKind, OptionValues};
pub use panics::{caught, confined, panic_message};
pub use provenance::{Provenance, Skipped};
pub use random::{GOLDEN, KeyedRandom, mix};
pub use reader::{Drawn, Extent, Generated, Reader};
pub use remark::{Cure, Remark};
pub use run_lengths::{RunLengths, StoredRunLengths};
pub use sample::{FieldSpec, Kind, Sample, Schema, Value};
pub use shown::{Shown, ShownText, shell_word};
pub use source::{Amount, Look, Source, read_value};
pub use splits::{
    SplitChoice, Splits, packed_splits, split_named, split_names, split_of_file, split_of_folder,
    split_ranges, split_sizes, split_word, splits_of_files,
};
pub use subset::{Indices, Subset, indices_of_splits};
pub use turn::Turn;
pub use units::{bandwidth, images_per_s, size};
pub use version::{Edit, LogEntry, NextShard, Version};
