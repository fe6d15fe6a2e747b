//! How an image is stored: the rules (here), applying them (`apply`), and the state of a thread
//! (`worker`).

mod apply;
mod bilevel;
mod mixture;
mod seat;
mod worker;

pub use mixture::{By, Form, Mixture, Outlook};
pub use worker::{Nanos, Outcome, Worker};

use crate::{Filter, JpegOptions, Metadata, Size, backend};
use fdconvert_core::{Error, Limits, Result, option};
use std::{collections::BTreeMap, fmt, str::FromStr};

/// Form in which images are stored.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Encode {
    /// The source's bytes, unless a resize is needed or the format cannot hold them.
    #[default]
    Keep,
    /// JPEG, always re-encoded.
    Jpeg,
    /// PNG; one that needs no change keeps its bytes.
    Png,
    /// BMP; one that needs no change keeps its bytes.
    Bmp,
    /// WebP without loss; one that needs no change keeps its bytes.
    Webp,
    /// Raw pixels.
    Raw,
    /// JPEG if it is more than `ratio` times smaller than raw pixels, else raw pixels.
    Smart {
        /// Raw bytes divided by JPEG bytes.
        ratio: f64,
    },
    /// JPEG for a share of the images, raw pixels for the rest. The choice depends only on seed and
    /// key, so that order, threads and skipped samples do not matter.
    Mix {
        /// Share that becomes JPEG, 0 to 1.
        jpeg_share: f64,
        /// Seed of the choice.
        seed: u64,
    },
}

impl Encode {
    /// Returns its name on the command line and in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Jpeg => "jpeg",
            Self::Png => "png",
            Self::Bmp => "bmp",
            Self::Webp => "webp",
            Self::Raw => "raw",
            Self::Smart { .. } => "smart",
            Self::Mix { .. } => "mix",
        }
    }
}

/// Treatment of an alpha channel if the stored form has none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Alpha {
    /// Drops it and keeps the colours, as Pillow's `convert("RGB")` does.
    #[default]
    Drop,
    /// Composites the image onto this colour.
    Blend([u8; 3]),
    /// Makes the sample an error.
    Refuse,
}

impl fmt::Display for Alpha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drop => f.write_str("drop"),
            Self::Blend([r, g, b]) => write!(f, "{r:02x}{g:02x}{b:02x}"),
            Self::Refuse => f.write_str("refuse"),
        }
    }
}

impl FromStr for Alpha {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "drop" => return Ok(Self::Drop),
            "refuse" => return Ok(Self::Refuse),
            "white" => return Ok(Self::Blend([255; 3])),
            "black" => return Ok(Self::Blend([0; 3])),
            _ => {}
        }
        match u32::from_str_radix(text, 16) {
            Ok(rgb) if text.len() == 6 => {
                let [_, r, g, b] = rgb.to_be_bytes();
                Ok(Self::Blend([r, g, b]))
            }
            _ => Err(format!(
                "unknown `{text}`; expected one of: drop, white, black, refuse, RRGGBB"
            )),
        }
    }
}

/// Number of channels of a gray image when it is encoded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Gray {
    /// One if the format can hold that, else three. A 1-bit PNG of two levels other than black and
    /// white has a palette, and so three.
    #[default]
    Keep,
    /// Always three. Kept bytes are not changed.
    Expand,
}

/// Check of images with bytes that stay. Re-encoded ones are decoded anyway.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Check {
    /// Checks headers, tables and places of the pixels, at the speed of memory.
    #[default]
    Header,
    /// Decodes the pixels.
    Pixels,
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Header => "header",
            Self::Pixels => "pixels",
        })
    }
}

impl FromStr for Check {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "header" => Ok(Self::Header),
            "pixels" => Ok(Self::Pixels),
            _ => Err(format!("unknown `{text}`; expected one of: header, pixels")),
        }
    }
}

/// Treatment of all images of a dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Form in which images are stored.
    pub encode: Encode,
    /// The share of the images that is stored as BMP instead.
    pub mixture: Option<Mixture>,
    /// Limit on the size of images; `None` keeps sizes.
    pub size: Option<Size>,
    /// Filter for resizing.
    pub filter: Filter,
    /// Options for writing JPEGs.
    pub jpeg: JpegOptions,
    /// Treatment of alpha channels.
    pub alpha: Alpha,
    /// Treatment of gray images.
    pub gray: Gray,
    /// True to apply the EXIF orientation to re-encoded pixels, which lose their EXIF.
    pub orient: bool,
    /// True to rewrite a progressive JPEG with bytes that could stay as a baseline one, with the
    /// same coefficients and markers. Only with the feature `turbo`.
    pub baseline: bool,
    /// True to turn doubts and losses into errors: a JPEG without its end marker even if all its
    /// pixels are complete, a progressive one that leaves coefficients out, an animation or TIFF of
    /// which only the first frame or page would be stored, more than 8 bits that would be rounded,
    /// further channels that would be left out, and a kind of image that is not decoded here.
    pub strict: bool,
    /// Check of images with bytes that stay.
    pub check: Check,
    /// Metadata to remove from images with bytes that could stay. Re-encoded ones have none.
    pub strip: Metadata,
    /// Limits that no image may exceed.
    pub limits: Limits,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            encode: Encode::Keep,
            mixture: None,
            size: None,
            filter: Filter::Area,
            jpeg: JpegOptions::default(),
            alpha: Alpha::Drop,
            gray: Gray::Keep,
            orient: true,
            baseline: false,
            strict: false,
            check: Check::Header,
            strip: Metadata::NONE,
            limits: Limits::DEFAULT,
        }
    }
}

impl Policy {
    /// Refuses invalid values.
    ///
    /// # Errors
    /// `Usage`, naming the option.
    pub fn validate(&self) -> Result<()> {
        let quality = self.jpeg.quality;
        if !(1..=100).contains(&quality) {
            return Err(Error::usage(
                option::JPEG_QUALITY,
                format!("{quality} is not from 1 to 100"),
            ));
        }
        if self.jpeg.optimize_huffman && cfg!(not(feature = "turbo")) {
            let what = "this build has no libjpeg-turbo, which makes optimised Huffman tables";
            return Err(Error::usage(option::OPTIMIZE_HUFFMAN, what));
        }
        if self.baseline && cfg!(not(feature = "turbo")) {
            let what = "this build has no libjpeg-turbo, which rewrites JPEGs without loss";
            return Err(Error::usage(option::BASELINE, what));
        }
        match self.size {
            Some(Size::MaxSide(0)) => {
                return Err(Error::usage(option::MAX_SIDE, "an image needs at least 1 pixel"));
            }
            Some(Size::ShortSide(0)) => {
                return Err(Error::usage(option::SHORT_SIDE, "an image needs at least 1 pixel"));
            }
            _ => {}
        }
        self.validate_mixture()?;
        match self.encode {
            Encode::Smart { ratio } if !(ratio.is_finite() && ratio > 0.0) => {
                Err(Error::usage(option::SMART_RATIO, format!("{ratio} is not a number above 0")))
            }
            Encode::Mix { jpeg_share, .. } if !(0.0..=1.0).contains(&jpeg_share) => {
                Err(Error::usage(
                    option::ENCODE,
                    format!("mix:{jpeg_share} is not a share from 0 to 1"),
                ))
            }
            _ => Ok(()),
        }
    }

    /// Returns true if this policy can write JPEGs.
    #[must_use]
    pub fn writes_jpeg(&self) -> bool {
        match self.encode {
            Encode::Keep => self.size.is_some(),
            Encode::Jpeg | Encode::Smart { .. } | Encode::Mix { .. } => true,
            Encode::Png | Encode::Bmp | Encode::Webp | Encode::Raw => false,
        }
    }

    /// Returns every parameter that affects the bytes, under stable names, for the record of a
    /// dataset's origin. Parameters without effect under this policy are left out.
    #[must_use]
    pub fn params(&self) -> BTreeMap<String, String> {
        let mut params = BTreeMap::new();
        let mut put = |name: &str, value: String| params.insert(name.into(), value);
        put("encode", self.encode.name().into());
        match self.encode {
            Encode::Smart { ratio } => {
                put("smart-ratio", ratio.to_string());
            }
            Encode::Mix { jpeg_share, seed } => {
                put("jpeg-share", jpeg_share.to_string());
                put("mix-seed", seed.to_string());
            }
            _ => {}
        }
        if let Some(mixture) = self.mixture {
            put("ratio", mixture.share.to_string());
            put("ratio-by", mixture.by.name().into());
            put("ratio-seed", mixture.seed.to_string());
            put("max-bmp-bytes", mixture.max_bytes.to_string());
        }
        match self.size {
            Some(Size::MaxSide(side)) => {
                put("max-side", side.to_string());
            }
            Some(Size::ShortSide(side)) => {
                put("short-side", side.to_string());
            }
            None => {}
        }
        if self.size.is_some() {
            put("filter", self.filter.name().into());
        }
        if self.writes_jpeg() {
            put("quality", self.jpeg.quality.to_string());
            put("subsampling", self.jpeg.subsampling.name().into());
            put("optimize-huffman", self.jpeg.optimize_huffman.to_string());
            put("restart-rows", self.jpeg.restart_rows.to_string());
        }
        let alpha = match self.alpha {
            Alpha::Drop => "drop".into(),
            Alpha::Blend([r, g, b]) => format!("#{r:02x}{g:02x}{b:02x}"),
            Alpha::Refuse => "refuse".into(),
        };
        put("alpha", alpha);
        put("gray", if self.gray == Gray::Keep { "keep" } else { "expand" }.into());
        put("orient", self.orient.to_string());
        put("strict", self.strict.to_string());
        if self.check != Check::Header {
            put("check", self.check.to_string());
        }
        if self.baseline {
            put("baseline", "true".into());
        }
        if !self.strip.is_empty() {
            put("strip-metadata", self.strip.to_string());
        }
        // Bytes to be kept are decoded too if a format cannot hold them.
        put("jpeg-library", backend().into());
        params
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Subsampling;

    fn usage(policy: &Policy) -> String {
        policy.validate().unwrap_err().to_string()
    }

    #[test]
    fn validate_names_the_option() {
        Policy::default().validate().unwrap();
        let jpeg = JpegOptions { quality: 0, ..JpegOptions::default() };
        assert!(usage(&Policy { jpeg, ..Policy::default() }).contains("jpeg_quality"));
        let size = Some(Size::MaxSide(0));
        assert!(usage(&Policy { size, ..Policy::default() }).contains("max_side"));
        for ratio in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let encode = Encode::Smart { ratio };
            assert!(usage(&Policy { encode, ..Policy::default() }).contains("smart_ratio"));
        }
        for jpeg_share in [-0.1, 1.1, f64::NAN] {
            let encode = Encode::Mix { jpeg_share, seed: 1 };
            assert!(usage(&Policy { encode, ..Policy::default() }).contains("encode"));
        }
    }

    #[test]
    fn params_name_what_matters_and_nothing_else() {
        let names = |policy: &Policy| policy.params().into_keys().collect::<Vec<_>>().join(" ");
        let keep = Policy::default();
        assert_eq!(names(&keep), "alpha encode gray jpeg-library orient strict");
        let mut all = Policy {
            encode: Encode::Mix { jpeg_share: 0.25, seed: 7 },
            size: Some(Size::ShortSide(256)),
            alpha: Alpha::Blend([255, 0, 16]),
            ..keep
        };
        all.jpeg.subsampling = Subsampling::S444;
        let params = all.params();
        let expected = [
            ("alpha", "#ff0010"),
            ("encode", "mix"),
            ("filter", "area"),
            ("gray", "keep"),
            ("jpeg-library", backend()),
            ("jpeg-share", "0.25"),
            ("mix-seed", "7"),
            ("optimize-huffman", "false"),
            ("orient", "true"),
            ("quality", "90"),
            ("restart-rows", "0"),
            ("short-side", "256"),
            ("strict", "false"),
            ("subsampling", "444"),
        ];
        let found: Vec<_> = params.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(found, expected);
    }
}
