//! Options by the name that the library gives them.
//!
//! An error or a remark carries the options that it is about as values ([`OptionRef`]), and who
//! prints it spells them: the command as flags, Python as keywords. A test compares [`ALL`] with the
//! fields, the flags and the keywords there are.
use std::fmt::{self, Display, Formatter};

/// Name of an option of the library or of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionName(&'static str);

/// An option in front of a text about it, or as a cure behind one.
///
/// ```
/// use fdconvert_core::option;
///
/// assert_eq!(option::ON_ERROR.with("skip").to_string(), "on_error=skip");
/// assert_eq!(option::OVERWRITE.on().to_string(), "overwrite=true");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionRef {
    /// Its name.
    pub name: &'static str,
    /// What it is set to.
    pub setting: Setting,
}

/// What an option is set to where a text names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// Nothing: it is a parameter of a function, which has one name everywhere.
    Argument,
    /// Any value.
    Any,
    /// On: it takes no value.
    On,
    /// This value.
    To(String),
}

impl OptionName {
    /// The name itself.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }

    /// With this value.
    #[must_use]
    pub fn with(self, value: impl Display) -> OptionRef {
        OptionRef { name: self.0, setting: Setting::To(value.to_string()) }
    }

    /// Switched on.
    #[must_use]
    pub const fn on(self) -> OptionRef {
        OptionRef { name: self.0, setting: Setting::On }
    }
}

/// Without a value: in a text about it.
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

/// As the library spells it.
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
        /// All of them.
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
    DROP_FIELDS "drop_fields",
    ENCODE "encode",
    FILTER "filter",
    FOLLOW_LINKS "follow_links",
    FORMAT "format",
    FORMATS "formats",
    JPEG_INDEX "jpeg_index",
    JPEG_QUALITY "jpeg_quality",
    KEYS "keys",
    LABELS "labels",
    LABEL_COLUMNS "label_columns",
    MAX_BMP_SIZE "max_bmp_size",
    MAX_DECOMPRESSED "max_decompressed",
    MAX_FAILURES "max_failures",
    MAX_FILE_BYTES "max_file_bytes",
    MAX_PIXELS "max_pixels",
    MAX_SIDE "max_side",
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

    // Of formats, which have a dash where the others have an underscore.
    COMPACT "compact",
    COMPAT "compat",
    COMPRESSION "compression",
    HASHES "hashes",
    IMAGE_FIELD "image-field",
    PAGE_SIZE "page-size",
    SIDECARS "sidecars",
}
