//! Options by the name that the library gives them.
//!
//! A text of the library names an option by one of these constants, never by a flag or a keyword:
//! a program in Rust has fields. What prints the text translates it, see
//! [`Message::in_style`](crate::Message::in_style). [`ALL`] is the one list: what it lacks cannot be
//! named, and a test compares it with the fields, the flags and the keywords there are.
use crate::message::as_name;
use std::{
    borrow::Cow,
    fmt::{self, Display, Formatter},
};

/// An option of the library, perhaps with the value that is meant, or an argument of a function.
///
/// ```
/// use fdconvert_core::named;
///
/// assert_eq!(named::MAX_PIXELS.with(5).to_string(), "`max_pixels=5`");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    name: &'static str,
    kind: Kind,
    value: Cow<'static, str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A parameter of a function, which has one name.
    Argument,
    /// On or off.
    Switch,
    /// Takes a value.
    Value,
}

impl Named {
    const fn new(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, value: Cow::Borrowed("") }
    }

    /// The option of that name, be it the library's or a format's.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        ALL.iter().find(|named| named.name == name).cloned()
    }

    /// With this value.
    #[must_use]
    pub fn with(&self, value: impl Display) -> Self {
        Self { value: Cow::Owned(value.to_string()), ..self.clone() }
    }

    /// Returns what it is called, without its value.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns whether it is on or off and takes no value.
    #[must_use]
    pub fn is_switch(&self) -> bool {
        self.kind == Kind::Switch
    }

    /// As in front of a text about it: without the backticks.
    pub(crate) fn heading(&self) -> Heading<'_> {
        Heading(self)
    }

    fn is_option(&self) -> bool {
        self.kind != Kind::Argument
    }
}

/// An argument, not an option.
impl From<&'static str> for Named {
    fn from(name: &'static str) -> Self {
        Self::new(name, Kind::Argument)
    }
}

impl Display for Named {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        as_name(self.is_option(), || match &*self.value {
            "" => write!(f, "`{}`", self.name),
            value => write!(f, "`{}={value}`", self.name),
        })
    }
}

pub(crate) struct Heading<'a>(&'a Named);

impl Display for Heading<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let named = self.0;
        as_name(named.is_option(), || match &*named.value {
            "" => f.write_str(named.name),
            value => write!(f, "{}={value}", named.name),
        })
    }
}

macro_rules! options {
    ($($constant:ident: $kind:ident $name:literal,)*) => {
        $(
            #[doc = concat!("The option `", $name, "`.")]
            pub const $constant: Named = Named::new($name, Kind::$kind);
        )*
        /// All options that a text may name.
        pub const ALL: &[Named] = &[$($constant),*];
    };
}

options! {
    ALPHA: Value "alpha",
    BASELINE: Switch "baseline",
    BESIDE: Value "beside",
    BOXES: Value "boxes",
    BY: Value "by",
    CLASSES: Value "classes",
    DEDUP: Value "dedup",
    DROP_FIELDS: Value "drop_fields",
    ENCODE: Value "encode",
    FILTER: Value "filter",
    FOLLOW_LINKS: Switch "follow_links",
    FORMAT: Value "format",
    FORMATS: Value "formats",
    JPEG_INDEX: Value "jpeg_index",
    JPEG_QUALITY: Value "jpeg_quality",
    KEYS: Value "keys",
    LABELS: Value "labels",
    LABEL_COLUMNS: Value "label_columns",
    MAX_BMP_SIZE: Value "max_bmp_size",
    MAX_DECOMPRESSED: Value "max_decompressed",
    MAX_FAILURES: Value "max_failures",
    MAX_FILE_BYTES: Value "max_file_bytes",
    MAX_PIXELS: Value "max_pixels",
    MAX_SIDE: Value "max_side",
    NO_EXIF_ROTATION: Switch "no_exif_rotation",
    NO_SPLIT_FOLDERS: Switch "no_split_folders",
    ON_ERROR: Value "on_error",
    OPTIMIZE_HUFFMAN: Switch "optimize_huffman",
    OUTPUT: Value "output",
    OVERWRITE: Switch "overwrite",
    PAIR: Value "pair",
    PART: Value "part",
    PARTS: Value "parts",
    PER: Value "per",
    PLAN: Value "plan",
    PREFIX: Value "prefix",
    RATIO: Value "ratio",
    REPORT: Value "report",
    RESTART_ROWS: Value "restart_rows",
    RUNS: Value "runs",
    SAMPLE: Value "sample",
    SAMPLES: Value "samples",
    SEED: Value "seed",
    SHARDS: Value "shards",
    SHARDS_MULTIPLE_OF: Value "shards_multiple_of",
    SHARD_COUNT: Value "shard_count",
    SHARD_SIZE: Value "shard_size",
    SHORT_SIDE: Value "short_side",
    SHUFFLE: Switch "shuffle",
    SMART_RATIO: Value "smart_ratio",
    SPLIT: Value "split",
    STORE_OPTION: Value "store_option",
    STRICT: Switch "strict",
    STRIP_METADATA: Value "strip_metadata",
    SUBSAMPLING: Value "subsampling",
    TARGET: Value "target",
    THREADS: Value "threads",
    WHERE: Value "where",

    // Of formats.
    COMPACT: Switch "compact",
    COMPAT: Value "compat",
    COMPRESSION: Value "compression",
    HASHES: Value "hashes",
    IMAGE_FIELD: Value "image_field",
    PAGE_SIZE: Value "page_size",
    SIDECARS: Value "sidecars",
}
