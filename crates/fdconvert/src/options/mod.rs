//! All options that affect the bytes of an output, as one value.
//!
//! Programs set [`PackOptions`], the command's flags and Python's keyword arguments become one, and
//! plan files store it, so that each option has one name everywhere: `jpeg_quality` here is
//! `--jpeg-quality` there. A run checks it against a format and a source when it begins.

mod labels;
mod text;
mod values;

pub(crate) use fdconvert_core::setters;
pub use labels::{Boxes, Classes, SourceLayout};
pub use values::{
    ByteCount, ByteRate, Dedup, Encoding, JpegIndex, Pair, Per, Prefix, Ratio, Share, SplitShare,
    TimeSpan,
};

use fdconvert_codec::{Alpha, By, Check, Filter, MetadataKind, Mixture, Subsampling};
use fdconvert_core::{Error, Limits, OptionKind, Result};
use fdconvert_pipeline::LabelMap;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, path::PathBuf};

/// Options for packing a source: selection and encoding. The default keeps the bytes of every
/// image.
///
/// ```
/// use fdconvert::PackOptions;
///
/// let options = PackOptions::default().jpeg_quality(90).max_side(512).shuffle(true).seed(7);
/// let stored = serde_json::to_string(&options)?;
/// assert_eq!(serde_json::from_str::<PackOptions>(&stored)?, options);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct PackOptions {
    /// Name of the format; `None` for the one of the output's extension.
    pub format: Option<String>,
    /// Options of the format by name, e.g. `page_size`; the value of a flag is empty.
    pub format_options: BTreeMap<String, String>,
    /// Table that lists the samples of a folder: `.csv`, `.tsv` or `.jsonl`; or annotations:
    /// `.json` (COCO), `.yaml` (YOLO), a folder of `.txt` (YOLO) or `.xml` files (Pascal VOC).
    pub labels: Option<PathBuf>,
    /// Layout of the source's files; [`Auto`](SourceLayout::Auto) to tell it by their names.
    #[serde(with = "text", skip_serializing_if = "is_auto")]
    pub layout: SourceLayout,
    /// Image that the coordinates of annotations refer to; `None` to decide by their stated sizes.
    #[serde(with = "text::option", skip_serializing_if = "Option::is_none")]
    pub boxes: Option<Boxes>,
    /// Columns of 0 and 1 of the table that become one label: an array with a number for each.
    #[serde(with = "text::list", skip_serializing_if = "Vec::is_empty")]
    pub label_columns: Vec<String>,
    /// New names for the categories of objects, e.g. `car,truck=vehicle;*=drop`.
    #[serde(with = "text::option", skip_serializing_if = "Option::is_none")]
    pub map_labels: Option<LabelMap>,
    /// Smallest width and height of the box of an object in pixels; smaller ones are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_box: Option<f64>,
    /// Whether to leave out objects that stand for a crowd.
    #[serde(skip_serializing_if = "is_false")]
    pub drop_crowd: bool,
    /// Names of all classes in the order of their numbers; `None` for those of the sources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classes: Option<Classes>,
    /// Further images of every sample.
    #[serde(with = "text::list")]
    pub pair: Vec<Pair>,
    /// Extensions of the files next to each image that become fields, such as `txt`.
    #[serde(with = "text::list", skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<String>,
    /// Fields of the source to leave out; empty for none.
    #[serde(with = "text::list", skip_serializing_if = "Vec::is_empty")]
    pub drop_fields: Vec<String>,
    /// Whether to follow links in folders to any place.
    pub follow_links: bool,
    /// Seed of every random choice.
    pub seed: u64,
    /// Prefixes for the keys of several sources.
    #[serde(with = "text::option", skip_serializing_if = "Option::is_none")]
    pub prefix: Option<Prefix>,

    /// File with the keys of the samples to take, one per line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keys: Option<PathBuf>,
    /// Expression that selects samples, e.g. `split == "train" && width >= 256`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#where: Option<String>,
    /// Criterion for equal samples, of which only the first is taken; `None` to take all.
    #[serde(with = "text::option", skip_serializing_if = "Option::is_none")]
    pub dedup: Option<Dedup>,
    /// Share of the samples to take, drawn by seed and name.
    #[serde(with = "text::option")]
    pub sample: Option<Share>,
    /// Groups from which the share is taken separately; `None` for the samples as a whole.
    #[serde(with = "text::option", skip_serializing_if = "Option::is_none")]
    pub per: Option<Per>,
    /// Whether to shuffle all samples by the seed.
    pub shuffle: bool,
    /// Splits of the output; empty for those of the source, or else one.
    #[serde(with = "text::list")]
    pub split: Vec<SplitShare>,
    /// Whether to mix the splits of packed datasets, and take folders called train, val or test as
    /// classes.
    pub no_split_folders: bool,

    /// Maximum number of samples in a shard.
    pub shard_count: Option<u64>,
    /// Maximum number of bytes in a shard, including framing.
    pub shard_size: Option<ByteCount>,
    /// Number of shards in each split, equal within one sample.
    pub shards: Option<u64>,
    /// Divisor of the number of shards.
    pub shards_multiple_of: u64,

    /// Encoding of images; `None` for JPEG if a quality is given, else for unchanged images.
    #[serde(with = "text::option")]
    pub encode: Option<Encoding>,
    /// JPEG quality, 1 to 100.
    pub jpeg_quality: Option<u8>,
    /// Resolution of the colour planes of JPEGs.
    #[serde(with = "text")]
    pub subsampling: Subsampling,
    /// Whether to optimise the Huffman tables of each JPEG.
    pub optimize_huffman: bool,
    /// Whether to rewrite progressive JPEGs as baseline ones, without loss.
    pub baseline: bool,
    /// Rows of blocks between restart markers; 0 for none.
    pub restart_rows: u16,
    /// Ratio for [`Encoding::Smart`]: how many times smaller than raw pixels a JPEG must be.
    pub smart_ratio: f64,
    /// Entry points of JPEGs to store next to them, at which decoders may start.
    #[serde(with = "text")]
    pub jpeg_index: JpegIndex,
    /// Share of BMP images, for the format `mixed`.
    #[serde(with = "text::option")]
    pub ratio: Option<Ratio>,
    /// Choice of the images that become BMP.
    #[serde(with = "text")]
    pub by: By,
    /// Size of the largest BMP; images with a larger one stay encoded.
    pub max_bmp_size: ByteCount,
    /// Maximum pixels of the longer side; images are never scaled up.
    pub max_side: Option<u32>,
    /// Maximum pixels of the shorter side; images are never scaled up.
    pub short_side: Option<u32>,
    /// Filter for resizing images.
    #[serde(with = "text")]
    pub filter: Filter,
    /// Treatment of alpha if it cannot be stored.
    #[serde(with = "text")]
    pub alpha: Alpha,
    /// Whether to re-encode gray images with three equal channels.
    pub gray_to_rgb: bool,
    /// Whether to keep re-encoded images from being turned upright by their EXIF orientation.
    pub no_exif_rotation: bool,
    /// Metadata to remove from images that otherwise keep their bytes; re-encoded images have none.
    #[serde(with = "text::list", skip_serializing_if = "Vec::is_empty")]
    pub strip_metadata: Vec<MetadataKind>,

    /// Whether doubtful images, and images that would lose something that no option requests, are
    /// errors.
    pub strict: bool,
    /// Check of images that keep their bytes.
    #[serde(with = "text", skip_serializing_if = "is_header")]
    pub check: Check,
    /// Limit on the pixels of an image; larger images are refused.
    pub max_pixels: u64,
    /// Limit on the size of an image file; larger files are refused.
    pub max_file_bytes: ByteCount,
    /// Limit on the decompressed bytes of compressed shards; `None` for 4 GiB, and 100 times their
    /// size.
    pub max_decompressed: Option<ByteCount>,
}

impl Default for PackOptions {
    fn default() -> Self {
        Self {
            format: None,
            format_options: BTreeMap::new(),
            labels: None,
            layout: SourceLayout::Auto,
            boxes: None,
            label_columns: Vec::new(),
            map_labels: None,
            min_box: None,
            drop_crowd: false,
            classes: None,
            pair: Vec::new(),
            beside: Vec::new(),
            drop_fields: Vec::new(),
            follow_links: false,
            seed: 0,
            prefix: None,
            keys: None,
            r#where: None,
            dedup: None,
            sample: None,
            per: None,
            shuffle: false,
            split: Vec::new(),
            no_split_folders: false,
            shard_count: None,
            shard_size: None,
            shards: None,
            shards_multiple_of: 1,
            encode: None,
            jpeg_quality: None,
            subsampling: Subsampling::S420,
            optimize_huffman: false,
            baseline: false,
            restart_rows: 0,
            smart_ratio: 4.0,
            jpeg_index: JpegIndex::AUTO,
            ratio: None,
            by: By::Random,
            max_bmp_size: ByteCount(Mixture::MAX_BYTES),
            max_side: None,
            short_side: None,
            filter: Filter::Area,
            alpha: Alpha::Drop,
            gray_to_rgb: false,
            no_exif_rotation: false,
            strip_metadata: Vec::new(),
            strict: false,
            check: Check::Header,
            max_pixels: Limits::DEFAULT.max_pixels,
            max_file_bytes: ByteCount(Limits::DEFAULT.max_file_bytes),
            max_decompressed: None,
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes references.
fn is_false(is: &bool) -> bool {
    !is
}

/// Returns true for the default, which plan files leave out, like those of earlier versions.
fn is_header(check: &Check) -> bool {
    *check == Check::Header
}

/// Returns true for the default, which plan files leave out, too.
fn is_auto(layout: &SourceLayout) -> bool {
    *layout == SourceLayout::Auto
}

impl PackOptions {
    setters! {
        labels: Option<PathBuf>,
        boxes: Option<Boxes>,
        map_labels: Option<LabelMap>,
        min_box: Option<f64>,
        classes: Option<Classes>,
        keys: Option<PathBuf>,
        prefix: Option<Prefix>,
        dedup: Option<Dedup>,
        sample: Option<Share>,
        per: Option<Per>,
        shard_count: Option<u64>,
        shard_size: Option<ByteCount>,
        shards: Option<u64>,
        encode: Option<Encoding>,
        jpeg_quality: Option<u8>,
        ratio: Option<Ratio>,
        max_side: Option<u32>,
        short_side: Option<u32>,
        max_decompressed: Option<ByteCount>,
        ;
        drop_crowd: bool,
        layout: SourceLayout,
        follow_links: bool,
        seed: u64,
        shuffle: bool,
        no_split_folders: bool,
        shards_multiple_of: u64,
        subsampling: Subsampling,
        optimize_huffman: bool,
        baseline: bool,
        restart_rows: u16,
        smart_ratio: f64,
        jpeg_index: JpegIndex,
        by: By,
        max_bmp_size: ByteCount,
        filter: Filter,
        alpha: Alpha,
        gray_to_rgb: bool,
        no_exif_rotation: bool,
        strict: bool,
        check: Check,
        max_pixels: u64,
        max_file_bytes: ByteCount,
    }

    /// Sets [`format`](field@Self::format), e.g. `wds`.
    #[must_use]
    pub fn format(mut self, name: impl Into<String>) -> Self {
        self.format = Some(name.into());
        self
    }

    /// Sets one of [`format_options`](field@Self::format_options).
    #[must_use]
    pub fn format_option(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.format_options.insert(name.into(), value.into());
        self
    }

    /// Adds to [`label_columns`](field@Self::label_columns).
    #[must_use]
    pub fn label_column(mut self, name: impl Into<String>) -> Self {
        self.label_columns.push(name.into());
        self
    }

    /// Adds to [`pair`](field@Self::pair).
    #[must_use]
    pub fn pair(mut self, field: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        self.pair.push(Pair { field: field.into(), path: path.into() });
        self
    }

    /// Adds to [`beside`](field@Self::beside).
    #[must_use]
    pub fn beside(mut self, extension: impl Into<String>) -> Self {
        self.beside.push(extension.into());
        self
    }

    /// Adds to [`drop_fields`](field@Self::drop_fields).
    #[must_use]
    pub fn drop_field(mut self, name: impl Into<String>) -> Self {
        self.drop_fields.push(name.into());
        self
    }

    /// Sets [`where`](field@Self::where), e.g. `width >= 256 && label == "cat"`.
    #[must_use]
    pub fn r#where(mut self, expression: impl Into<String>) -> Self {
        self.r#where = Some(expression.into());
        self
    }

    /// Adds to [`strip_metadata`](field@Self::strip_metadata).
    #[must_use]
    pub fn strip_metadata(mut self, kind: MetadataKind) -> Self {
        self.strip_metadata.push(kind);
        self
    }

    /// Adds a part to [`split`](field@Self::split). Shares are from 0 to 1; others are clamped.
    #[must_use]
    pub fn split(mut self, name: impl Into<String>, share: f64) -> Self {
        let share = Share::new(share.clamp(0.0, 1.0)).unwrap_or(Share::ZERO);
        self.split.push(SplitShare::Part(name.into(), share));
        self
    }

    /// Parses options from a JSON object with the names of the fields, and values as numbers or as
    /// the command's text. Options of formats have their own names.
    ///
    /// # Errors
    /// `Usage` for unknown names and for invalid values.
    pub fn from_json(mut object: Map<String, Value>) -> Result<Self> {
        let formats = fdconvert_reader::formats();
        let mut format_options = Map::new();
        for option in formats.iter().flat_map(|format| format.options()) {
            let Some(value) = object.remove(option.name) else { continue };
            let text = match value {
                Value::Null | Value::Bool(false) => continue,
                Value::Bool(true) => String::new(),
                Value::String(text) if option.kind == OptionKind::Bytes => {
                    let bytes = text.parse::<ByteCount>();
                    bytes.map_err(|what| Error::usage(option.name, what))?.0.to_string()
                }
                Value::String(text) => text,
                Value::Array(values) => {
                    let text = |value: &Value| value.as_str().map(str::to_owned);
                    values.iter().filter_map(text).collect::<Vec<_>>().join(",")
                }
                other => other.to_string(),
            };
            format_options.insert(option.name.to_owned(), text.into());
        }
        if !format_options.is_empty() {
            object.insert("format_options".to_owned(), format_options.into());
        }
        from_object(object)
    }

    /// Returns the options that differ from their defaults, by name, in JSON form.
    ///
    /// # Errors
    /// `Usage` for paths that are not UTF-8.
    pub fn given(&self) -> Result<Map<String, Value>> {
        let as_json = |options: &Self| match serde_json::to_value(options) {
            Ok(Value::Object(object)) => Ok(object),
            Ok(_) => Ok(Map::new()),
            Err(cause) => Err(Error::usage("options", cause.to_string())),
        };
        let (mut given, default) = (as_json(self)?, as_json(&Self::default())?);
        given.retain(|name, value| default.get(name) != Some(value));
        Ok(given)
    }

    /// Returns the limits on images.
    pub(crate) fn limits(&self) -> Limits {
        Limits { max_pixels: self.max_pixels, max_file_bytes: self.max_file_bytes.0 }
    }
}

/// Parses options of any kind from a JSON object. Errors name the option with the invalid value.
///
/// # Errors
/// `Usage`.
pub(crate) fn from_object<T: DeserializeOwned>(object: Map<String, Value>) -> Result<T> {
    let all = T::deserialize(Value::Object(object.clone()));
    all.map_err(|cause| {
        // One at a time, so that the error names the option.
        let single = object.into_iter().find_map(|(name, value)| {
            let alone = Map::from_iter([(name.clone(), value.clone())]);
            let cause = T::deserialize(Value::Object(alone)).err()?.to_string();
            let unknown = cause.strip_prefix("unknown field");
            Some(match unknown.and_then(|rest| rest.split_once("expected")) {
                Some((_, known)) => unknown_option(&name, known),
                None => format!("{name}={value}: {cause}"),
            })
        });
        Error::usage("options", single.unwrap_or_else(|| cause.to_string()))
    })
}

/// Returns the message for an unknown option, with the one that is likely meant: `known` quotes all
/// of them.
fn unknown_option(name: &str, known: &str) -> String {
    /// Less similar words are not typing errors of each other.
    const ALIKE: f64 = 0.8;
    let known = known.split('`').skip(1).step_by(2);
    let alike = known.map(|option| (strsim::jaro(name, option), option));
    let alike = alike.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(alike, _)| *alike >= ALIKE);
    match alike {
        Some((_, option)) => format!("`{name}` is unknown; did you mean `{option}`?"),
        None => format!("`{name}` is unknown"),
    }
}
