//! Options, by their names in the library.
//!
//! Errors and remarks carry options as values ([`OptionRef`]), and each front end spells them: the
//! command as flags, Python as keywords. A test compares [`ALL`] with the existing fields, flags
//! and keywords.
use std::fmt::{self, Display, Formatter};

/// Name of an option of the library or of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionName(&'static str);

/// An option before a text about it, or after a text as a cure.
///
/// ```
/// use fdconvert_core::option;
///
/// assert_eq!(option::ON_ERROR.with("skip").to_string(), "on_error=skip");
/// assert_eq!(option::OVERWRITE.on().to_string(), "overwrite=true");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionRef {
    /// Name of the option.
    pub name: &'static str,
    /// Its setting in the text.
    pub setting: Setting,
}

/// Setting of an option in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// None: it is a function parameter, with the same name everywhere.
    Argument,
    /// Any value.
    Any,
    /// On: it takes no value.
    On,
    /// A specific value.
    To(String),
}

impl OptionName {
    /// Returns the name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }

    /// Refers to the option with this value.
    #[must_use]
    pub fn with(self, value: impl Display) -> OptionRef {
        OptionRef { name: self.0, setting: Setting::To(value.to_string()) }
    }

    /// Refers to the option as switched on.
    #[must_use]
    pub const fn on(self) -> OptionRef {
        OptionRef { name: self.0, setting: Setting::On }
    }
}

/// Refers to the option without a value: for a text about it.
impl Display for OptionName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl From<OptionName> for OptionRef {
    fn from(name: OptionName) -> Self {
        Self { name: name.0, setting: Setting::Any }
    }
}

/// An argument, not an option.
impl From<&'static str> for OptionRef {
    fn from(name: &'static str) -> Self {
        Self { name, setting: Setting::Argument }
    }
}

/// The library's spelling.
impl Display for OptionRef {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.setting {
            Setting::Argument | Setting::Any => f.write_str(self.name),
            Setting::On => write!(f, "{}=true", self.name),
            Setting::To(value) => write!(f, "{}={value}", self.name),
        }
    }
}

macro_rules! options {
    ($($constant:ident $name:literal,)*) => {
        $(
            #[doc = concat!("The option `", $name, "`.")]
            pub const $constant: OptionName = OptionName($name);
        )*
        /// All options.
        pub const ALL: &[OptionName] = &[$($constant),*];
    };
}

options! {
    BASELINE "baseline",
    BESIDE "beside",
    BOXES "boxes",
    BY "by",
    CLASSES "classes",
    DEDUP "dedup",
    DROP_CROWD "drop_crowd",
    DROP_FIELDS "drop_fields",
    ENCODE "encode",
    FILTER "filter",
    FOLLOW_LINKS "follow_links",
    FORMAT "format",
    FORMATS "formats",
    JPEG_INDEX "jpeg_index",
    JPEG_QUALITY "jpeg_quality",
    KEEP_VERSIONS "keep_versions",
    KEYS "keys",
    LABELS "labels",
    LABEL_COLUMNS "label_columns",
    LAYOUT "layout",
    MAP_LABELS "map_labels",
    MAX_BMP_SIZE "max_bmp_size",
    MAX_DECOMPRESSED "max_decompressed",
    MAX_FAILURES "max_failures",
    MAX_FILE_BYTES "max_file_bytes",
    MAX_PIXELS "max_pixels",
    MAX_SIDE "max_side",
    MIN_BOX "min_box",
    NO_SPLIT_FOLDERS "no_split_folders",
    ON_ERROR "on_error",
    OPTIMIZE_HUFFMAN "optimize_huffman",
    OUTPUT "output",
    OVERWRITE "overwrite",
    PAIR "pair",
    PART "part",
    PARTS "parts",
    PER "per",
    PLAN "plan",
    PREFIX "prefix",
    RATIO "ratio",
    REPORT "report",
    RESTART_ROWS "restart_rows",
    RUNS "runs",
    SAMPLE "sample",
    SAMPLES "samples",
    SEED "seed",
    SHARDS "shards",
    SHARDS_MULTIPLE_OF "shards_multiple_of",
    SHARD_COUNT "shard_count",
    SHARD_SIZE "shard_size",
    SHORT_SIDE "short_side",
    SMART_RATIO "smart_ratio",
    SPLIT "split",
    STORE_OPTION "store_option",
    STRICT "strict",
    STRIP_METADATA "strip_metadata",
    SUBSAMPLING "subsampling",
    TARGET "target",
    THREADS "threads",
    WHERE "where",

    // Options of formats, with a dash in place of the underscore of others.
    ANNOTATIONS "annotations",
    COMPACT "compact",
    COMPAT "compat",
    COMPRESSION "compression",
    HASHES "hashes",
    IMAGE_FIELD "image_field",
    IMAGES "images",
    PAGE_SIZE "page_size",
    SIDECARS "sidecars",
    TASK "task",
}
