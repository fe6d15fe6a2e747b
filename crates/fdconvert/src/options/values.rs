//! Values of options, and their text form.
use fdconvert_core::Format;
use fdconvert_jpeg::{DEFAULT_GRID_BITS, GRIDS_BITS};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{fmt, num::NonZeroU64, path::PathBuf, str::FromStr, time::Duration};

/// Number of bytes: `8MiB`, `500kB`, `1048576B`. As text it requires a unit (except 0): a bare
/// number may be meant in bytes or in megabytes, which is a shard for each sample or one for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteCount(pub u64);

impl FromStr for ByteCount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let size = text.parse::<bytesize::ByteSize>().map(|size| size.as_u64()).map_err(|_| {
            format!("`{text}` is not a size; write a number with its unit, e.g. 8MiB or 1048576B")
        })?;
        if size > 0 && text.ends_with(|last: char| !last.is_ascii_alphabetic()) {
            return Err(format!("`{text}` has no unit; write {text}MiB, or {text}B for bytes"));
        }
        Ok(Self(size))
    }
}

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}B", self.0)
    }
}

/// Serialized as a number; parsed from a number of bytes, or from its text.
impl Serialize for ByteCount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for ByteCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Number(u64),
            Text(String),
        }
        match Either::deserialize(deserializer)? {
            Either::Number(bytes) => Ok(Self(bytes)),
            Either::Text(text) => text.parse().map_err(de::Error::custom),
        }
    }
}

/// Bytes per second: as [`ByteCount`], with an optional `/s` after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteRate(u64);

impl ByteRate {
    /// Returns the bytes per second.
    #[must_use]
    pub fn bytes_per_s(self) -> u64 {
        self.0
    }
}

impl FromStr for ByteRate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rate = text.strip_suffix("/s").unwrap_or(text).parse::<ByteCount>().ok();
        let rate = rate.map(|bytes| bytes.0).filter(|rate| *rate > 0);
        rate.map(Self)
            .ok_or_else(|| format!("`{text}` is not a rate of reading; write e.g. 200MiB/s"))
    }
}

impl<'de> Deserialize<'de> for ByteRate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Number(NonZeroU64),
            Text(String),
        }
        match Either::deserialize(deserializer)? {
            Either::Number(rate) => Ok(Self(rate.get())),
            Either::Text(text) => text.parse().map_err(de::Error::custom),
        }
    }
}

/// Duration: `65ms`, `60s`, `5min`, `1h`, `1d`. A bare number is in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeSpan(pub Duration);

impl FromStr for TimeSpan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let units = [("min", 60.0), ("h", 3600.0), ("ms", 0.001), ("s", 1.0), ("d", 86_400.0)];
        let found = units
            .iter()
            .find_map(|(unit, seconds)| Some((text.trim().strip_suffix(unit)?, *seconds)));
        let (number, seconds) = found.unwrap_or((text, 1.0));
        let number = number.trim().parse::<f64>().ok();
        let span = number.and_then(|n| Duration::try_from_secs_f64(n * seconds).ok());
        span.map(Self).ok_or_else(|| format!("`{text}` is not a time; write e.g. 60s or 5min"))
    }
}

impl fmt::Display for TimeSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}s", self.0.as_secs_f64())
    }
}

/// Share of the samples, from 0 to 1: `0.1` or `10%`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Share(f64);

impl Share {
    /// Share without samples.
    pub const ZERO: Self = Self(0.0);

    /// Creates the share, if it is from 0 to 1.
    #[must_use]
    pub fn new(share: f64) -> Option<Self> {
        (0.0..=1.0).contains(&share).then_some(Self(share))
    }

    /// Returns the number from 0 to 1.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let share = match text.strip_suffix('%') {
            Some(percent) => percent.trim().parse::<f64>().ok().map(|percent| percent / 100.0),
            None => text.trim().parse().ok(),
        };
        let share = share.and_then(Self::new);
        share.ok_or_else(|| format!("`{text}` is not a share; write e.g. 10% or 0.1"))
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Criterion for equal samples, of which only the first is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dedup {
    /// Images with the same bytes in the source.
    Exact,
}

impl FromStr for Dedup {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "exact" => Ok(Self::Exact),
            _ => Err(format!("`{text}` is not exact")),
        }
    }
}

impl fmt::Display for Dedup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact => f.write_str("exact"),
        }
    }
}

/// Prefix of the keys of each of several sources, followed by a slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prefix {
    /// Name of the source's folder or file.
    Auto,
    /// Explicit names, one for each source.
    Names(Vec<String>),
}

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        let is_name = |name: &&str| {
            let legal = |c: char| c.is_alphanumeric() || "-_.".contains(c);
            !name.is_empty() && !name.starts_with('.') && name.chars().all(legal)
        };
        match text.split(',').find(|name| !is_name(name)) {
            None => Ok(Self::Names(text.split(',').map(str::to_owned).collect())),
            Some(name) => Err(format!(
                "`{name}` is not a name; write auto, or a name for each source (letters, digits, \
                 `-`, `_`, `.`)"
            )),
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Names(names) => f.write_str(&names.join(",")),
        }
    }
}

/// Groups from which a share of the samples is taken separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Per {
    /// The samples of every class.
    Class,
}

impl FromStr for Per {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "class" => Ok(Self::Class),
            _ => Err(format!("`{text}` is not class")),
        }
    }
}

impl fmt::Display for Per {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Class => f.write_str("class"),
        }
    }
}

/// Split of the output: `train=0.9`, or `rest=drop` for samples in no split.
#[derive(Debug, Clone, PartialEq)]
pub enum SplitShare {
    /// A split and its share of the samples.
    Part(String, Share),
    /// Omission of the samples in no split.
    DropRest,
}

impl FromStr for SplitShare {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, part) = text
            .split_once('=')
            .ok_or_else(|| format!("`{text}` is not NAME=SHARE, e.g. val=0.1"))?;
        match (name.trim(), part.trim()) {
            ("rest", "drop") => Ok(Self::DropRest),
            (_, "drop") => Err(format!("`{text}`: only the rest can be dropped; write rest=drop")),
            (name, share) => Ok(Self::Part(name.to_owned(), share.parse()?)),
        }
    }
}

impl fmt::Display for SplitShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Part(name, share) => write!(f, "{name}={share}"),
            Self::DropRest => f.write_str("rest=drop"),
        }
    }
}

/// Additional image field: `mask=DIR`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// Name of the field.
    pub field: String,
    /// Folder or dataset with its images, under the keys of the source.
    pub path: PathBuf,
}

impl FromStr for Pair {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((field, path)) if !field.is_empty() && !path.is_empty() => {
                Ok(Self { field: field.to_owned(), path: path.into() })
            }
            _ => Err(format!("`{text}` is not FIELD=DIR, e.g. mask=annotations")),
        }
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.field, self.path.display())
    }
}

/// Encoding of stored images.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Encoding {
    /// The source's bytes, unless the image must be resized or the format cannot hold them.
    Keep,
    /// Re-encoded as JPEG.
    Jpeg,
    /// PNG.
    Png,
    /// BMP.
    Bmp,
    /// WebP without loss.
    Webp,
    /// 8-bit RGB pixels.
    Raw,
    /// JPEG if that is `smart_ratio` times smaller than raw pixels, else raw pixels.
    Smart,
    /// JPEG for this share of the images, raw pixels for the rest.
    Mix(Share),
}

impl FromStr for Encoding {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "keep" => Self::Keep,
            "jpeg" | "jpg" => Self::Jpeg,
            "png" => Self::Png,
            "bmp" => Self::Bmp,
            "webp" => Self::Webp,
            "raw" => Self::Raw,
            "smart" => Self::Smart,
            _ => {
                let share = text.strip_prefix("mix:").and_then(|share| share.parse().ok());
                let share = share.and_then(Share::new).ok_or_else(|| {
                    format!(
                        "unknown `{text}`; expected one of: keep, jpeg, png, bmp, webp, raw, smart, \
                         mix:P (P from 0 to 1)"
                    )
                })?;
                Self::Mix(share)
            }
        })
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Keep => "keep",
            Self::Jpeg => "jpeg",
            Self::Png => "png",
            Self::Bmp => "bmp",
            Self::Webp => "webp",
            Self::Raw => "raw",
            Self::Smart => "smart",
            Self::Mix(share) => return write!(f, "mix:{share}"),
        })
    }
}

/// Share of BMP images in a mixed set: `0.3`, `30%`, `3:7`, `auto`, or a profile's path.
#[derive(Debug, Clone, PartialEq)]
pub enum Ratio {
    /// Explicit share.
    Share(Share),
    /// Share that this machine reads fastest, found by a profile before packing.
    Auto,
    /// Share that this profile (`.json`) chose.
    Profile(PathBuf),
}

impl FromStr for Ratio {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        if text.ends_with(".json") {
            return Ok(Self::Profile(text.into()));
        }
        if let Some((bmp, others)) = text.split_once(':') {
            let part = |text: &str| text.trim().parse::<f64>().ok().filter(|part| *part >= 0.0);
            let parts = part(bmp).zip(part(others)).map(|(bmp, others)| bmp / (bmp + others));
            if let Some(share) = parts.and_then(Share::new) {
                return Ok(Self::Share(share));
            }
        }
        text.parse().map(Self::Share).map_err(|_: String| {
            format!("invalid ratio `{text}`: expected auto, 0.3, 30%, 3:7 or a .json profile")
        })
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(share) => share.fmt(f),
            Self::Auto => f.write_str("auto"),
            Self::Profile(path) => path.display().fmt(f),
        }
    }
}

/// Distance in bits between entry points of a JPEG, at which a decoder may start: `off`, `on` (the
/// default distance), one of 512, 1024, 2048, 4096, or `auto`: `on` where the format and its
/// options can store them, else `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JpegIndex {
    bits: Option<u32>,
    only_if_possible: bool,
}

impl JpegIndex {
    /// Entry points at the default distance, where they can be stored.
    pub const AUTO: Self = Self { bits: Some(DEFAULT_GRID_BITS), only_if_possible: true };
    /// No entry points.
    pub const OFF: Self = Self { bits: None, only_if_possible: false };
    /// Entry points at the default distance.
    pub const ON: Self = Self { bits: Some(DEFAULT_GRID_BITS), only_if_possible: false };

    /// Returns the bits between two entry points, where they can be stored; `None` if it is off.
    #[must_use]
    pub fn bits(self) -> Option<u32> {
        self.bits
    }

    /// Returns the bits between two entry points in a dataset of a format.
    pub(crate) fn bits_in(self, format: &dyn Format) -> Option<u32> {
        self.bits.filter(|_| !self.only_if_possible || format.capabilities().entry_points)
    }
}

impl Default for JpegIndex {
    fn default() -> Self {
        Self::AUTO
    }
}

impl FromStr for JpegIndex {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => return Ok(Self::AUTO),
            "on" => return Ok(Self::ON),
            "off" => return Ok(Self::OFF),
            _ => {}
        }
        let bits = text.parse().ok().filter(|bits| GRIDS_BITS.contains(bits));
        bits.map(|bits| Self { bits: Some(bits), ..Self::ON }).ok_or_else(|| {
            format!(
                "unknown `{text}`; expected one of: auto, on, off, 512, 1024, 2048, 4096 (bits)"
            )
        })
    }
}

impl fmt::Display for JpegIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bits {
            Some(_) if self.only_if_possible => f.write_str("auto"),
            Some(bits) => bits.fmt(f),
            None => f.write_str("off"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_from_their_text() {
        fn check<T: FromStr<Err = String> + fmt::Display + PartialEq + fmt::Debug>(texts: &[&str]) {
            for text in texts {
                let value: T = text.parse().unwrap();
                assert_eq!(value.to_string().parse(), Ok(value), "{text}");
            }
        }
        check::<ByteCount>(&["8MiB", "500kB", "1048576B", "0"]);
        check::<Share>(&["0", "0.1", "10%", "1"]);
        check::<SplitShare>(&["train=0.9", "val=10%", "rest=drop"]);
        check::<Per>(&["class"]);
        check::<Dedup>(&["exact"]);
        check::<Prefix>(&["auto", "left", "cats,more-dogs,v1.5"]);
        check::<Pair>(&["mask=annotations"]);
        check::<Encoding>(&["keep", "jpeg", "png", "bmp", "raw", "smart", "mix:0.5"]);
        check::<Ratio>(&["0.3", "30%", "3:7", "auto", "p.json"]);
        check::<JpegIndex>(&["auto", "on", "off", "512"]);
    }

    #[test]
    fn what_means_nothing_is_refused() {
        assert!("256".parse::<ByteCount>().unwrap_err().contains("256MiB"));
        for text in ["", "1.1", "-1", "nan", "x%"] {
            assert!(text.parse::<Share>().is_err(), "{text}");
        }
        for text in ["", "0", "1000", "8192", "yes"] {
            assert!(text.parse::<JpegIndex>().is_err(), "{text}");
        }
        for text in ["train", "train=2", "val=drop"] {
            assert!(text.parse::<SplitShare>().is_err(), "{text}");
        }
        for text in ["mix:2", "mix:", "gif"] {
            assert!(text.parse::<Encoding>().is_err(), "{text}");
        }
        for text in ["", "a,", "a/b", "..", "a b"] {
            assert!(text.parse::<Prefix>().is_err(), "{text}");
        }
        for text in ["1:", "0:0", "2", "half"] {
            assert!(text.parse::<Ratio>().is_err(), "{text}");
        }
    }
}
