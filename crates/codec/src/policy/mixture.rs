//! Two stored forms in one dataset: small files that are slow to decode, and BMPs.

use super::{Encode, Nanos, Outcome, Policy, Worker};
use crate::{
    Notes,
    bmp::{Depth, PlainBmp, bmp_len, stored_bilevel},
    claim::{claim, claim_bilevel, claim_pixels},
};
use fdconvert_core::{Codec, Color, Error, Format, Image, ImageHeader, Result, option};
use std::{fmt, str::FromStr};

/// Stores a share of the images as BMP, which are larger and take almost no time to decode, and the
/// others by [`Policy::encode`]. At the right share neither disk nor processor waits for the other:
/// Liquid (APSys 2023).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mixture {
    /// Share that becomes BMP, 0 to 1.
    pub share: f64,
    /// How the images are chosen.
    pub by: By,
    /// Seed that, with the keys, chooses the images.
    pub seed: u64,
    /// Size above which no BMP is made: a few large ones would slow down whole batches.
    pub max_bytes: u64,
}

/// How the images of a [`Mixture`] that become BMP are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum By {
    /// At random, by seed and key, so that both forms have the same distribution of images.
    #[default]
    Random,
    /// Those that save the most decoding time per additional byte.
    Benefit,
}

/// The stored form of an image in a [`Mixture`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// By [`Policy::encode`].
    Encoded,
    /// BMP.
    Bmp,
}

/// Facts about an image before it is packed, which suffice to choose its [`Form`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outlook {
    /// Number of stored pixels.
    pub pixels: u64,
    /// Codec of its encoded form; `None` if only encoding decides it.
    pub codec: Option<Codec>,
    /// Size of its encoded form, if its bytes stay.
    pub encoded_bytes: Option<u64>,
    /// Size of its BMP; `None` if a BMP would lose something or be too large.
    pub bmp_bytes: Option<u64>,
}

impl Mixture {
    /// Default of `max_bytes`: 22 megapixels.
    pub const MAX_BYTES: u64 = 64 << 20;
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for By {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Random, Self::Benefit];
        let found = all.into_iter().find(|value| value.name() == text);
        found.ok_or_else(|| format!("unknown `{text}`; expected one of: random, benefit"))
    }
}

impl By {
    /// Returns its name on the command line and in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Benefit => "benefit",
        }
    }
}

impl Policy {
    /// Predicts both forms of an image from its header alone.
    ///
    /// # Errors
    /// `Sample` or `Limit`, naming `key`, as for [`apply`](Self::apply).
    pub fn outlook(&self, key: &str, image: &Image, format: &dyn Format) -> Result<Outlook> {
        let header = self.header(key, image)?;
        let size = self.target(&header);
        let kept = match image {
            Image::Encoded(encoded) if self.would_keep(&header, format) => {
                Some(encoded.bytes.len() as u64)
            }
            _ => None,
        };
        let codec = match self.encode {
            _ if kept.is_some() => Some(header.codec),
            Encode::Png => Some(Codec::Png),
            Encode::Webp => Some(Codec::Webp),
            Encode::Jpeg => Some(Codec::Jpeg),
            _ => None,
        };
        Ok(Outlook {
            pixels: u64::from(size.0) * u64::from(size.1),
            codec,
            encoded_bytes: kept,
            bmp_bytes: self.bmp_bytes(image, &header),
        })
    }

    /// As [`apply`](Self::apply), but in this form as far as its rules allow: an image that a BMP
    /// cannot hold without loss stays encoded, and one with a BMP that is no larger becomes BMP.
    /// Without a mixture `form` is ignored.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub fn apply_as(
        &self,
        form: Form,
        key: &str,
        image: Image,
        format: &dyn Format,
        worker: &mut Worker,
    ) -> Result<Outcome> {
        // A share of 0 has no exceptions, not even for images that are smaller as BMP.
        let Some(mixture) = self.mixture else { return self.apply(key, image, format, worker) };
        let header = self.header(key, &image)?;
        let bmp_bytes = self.bmp_bytes(&image, &header);
        if form == Form::Bmp && bmp_bytes.is_some() {
            return self.apply_as_bmp(key, image, &header, format, worker);
        }
        let source = match &image {
            Image::Pixels(_) => None,
            // Cheap: shared bytes, or an eighth of a byte for each pixel.
            other => Some(other.clone()),
        };
        let outcome = self.apply_as_encoded(key, image, &header, format, worker)?;
        let encoded_bytes = outcome.encoded.bytes.len() as u64;
        match bmp_bytes {
            Some(bmp_bytes) if bmp_bytes <= encoded_bytes && mixture.share > 0.0 => {
                // Freshly made pixels are decoded again, instead of being kept for this rare case.
                let from = source.unwrap_or_else(|| Image::Encoded(outcome.encoded.clone()));
                let mut again = self.apply_as_bmp(key, from, &header, format, worker)?;
                let Nanos { decode, resize, encode } = outcome.nanos;
                again.nanos.decode += decode;
                again.nanos.resize += resize;
                again.nanos.encode += encode;
                again.notes |= Notes::BMP_SMALLER;
                Ok(again)
            }
            None => {
                let stayed = Notes::STAYED_ENCODED.when(form == Form::Bmp);
                Ok(Outcome { notes: outcome.notes | stayed, ..outcome })
            }
            Some(_) => Ok(outcome),
        }
    }

    fn apply_as_bmp(
        &self,
        key: &str,
        image: Image,
        header: &ImageHeader,
        format: &dyn Format,
        worker: &mut Worker,
    ) -> Result<Outcome> {
        match image {
            Image::Bilevel(image) if !self.resizes(header) => {
                self.apply_bilevel_as_bmp(key, &image, format, worker)
            }
            other => self.with_encode(Encode::Bmp).apply(key, other, format, worker),
        }
    }

    /// Encodes by [`encode`](Policy::encode), but BMPs to be kept become PNG.
    fn apply_as_encoded(
        &self,
        key: &str,
        image: Image,
        header: &ImageHeader,
        format: &dyn Format,
        worker: &mut Worker,
    ) -> Result<Outcome> {
        if !matches!(self.encode, Encode::Keep | Encode::Png) || header.codec != Codec::Bmp {
            return self.apply(key, image, format, worker);
        }
        let as_png = self.with_encode(Encode::Png);
        let bits = match &image {
            Image::Encoded(encoded) if !self.resizes(header) => stored_bilevel(encoded),
            _ => None,
        };
        match bits {
            // A 1-bit BMP becomes a 1-bit PNG.
            Some(bits) => {
                let outcome = as_png.apply_bilevel(key, &bits, format, worker)?;
                let notes = outcome.notes.without(Notes::MADE) | Notes::REENCODED;
                Ok(Outcome { notes, ..outcome })
            }
            None => as_png.apply(key, image, format, worker),
        }
    }

    fn with_encode(&self, encode: Encode) -> Self {
        Self { encode, mixture: None, ..self.clone() }
    }

    fn resizes(&self, header: &ImageHeader) -> bool {
        self.target(header) != (header.width, header.height)
    }

    /// Returns the size of the BMP of such an image, after the policy's other rules; `None` if a
    /// BMP would lose content of the encoded form, or be too large.
    fn bmp_bytes(&self, image: &Image, header: &ImageHeader) -> Option<u64> {
        let mixture = self.mixture?;
        let has_alpha = matches!(header.color, Color::Rgba | Color::GrayAlpha);
        // The orientation is in the EXIF, which a BMP cannot have.
        let lies = header.orientation > 1 && !self.orient;
        if has_alpha || header.color == Color::Cmyk || header.bits > 8 || lies {
            return None;
        }
        let (mut width, mut height) = self.target(header);
        if header.orientation >= 5 {
            (width, height) = (height, width);
        }
        let gray = header.color == Color::Gray && self.gray == super::Gray::Keep;
        let depth = if self.is_bilevel(image, header) {
            Depth::Bit
        } else if gray {
            Depth::Gray
        } else {
            Depth::Color
        };
        let bytes = bmp_len(width, height, depth)?;
        (bytes <= mixture.max_bytes).then_some(bytes)
    }

    /// Returns true if the BMP of an image has one bit per pixel. For a stored image this holds
    /// only if it is such a BMP already; PNGs of one bit are decoded like any other.
    fn is_bilevel(&self, image: &Image, header: &ImageHeader) -> bool {
        let is_bilevel = match image {
            Image::Bilevel(_) => true,
            Image::Pixels(_) => false,
            Image::Encoded(encoded) => {
                PlainBmp::of(&encoded.bytes, header).is_some_and(|bmp| bmp.levels().is_some())
            }
        };
        is_bilevel && !self.resizes(header)
    }

    /// Returns true if the encoded form of such an image is its bytes.
    fn would_keep(&self, header: &ImageHeader, format: &dyn Format) -> bool {
        let changes = header.codec == Codec::Bmp || self.resizes(header) || self.rewrites(header);
        !changes && self.keeps(header) && format.holds(header)
    }

    fn header(&self, key: &str, image: &Image) -> Result<ImageHeader> {
        match image {
            Image::Encoded(encoded) => claim(key, encoded, &self.limits),
            Image::Pixels(pixels) => {
                let header = claim_pixels(key, pixels, &self.limits)?;
                let color = if pixels.channels == 4 { Color::Rgba } else { header.color };
                Ok(ImageHeader { color, ..header })
            }
            Image::Bilevel(image) => claim_bilevel(key, image, &self.limits),
        }
    }

    pub(super) fn validate_mixture(&self) -> Result<()> {
        let Some(mixture) = self.mixture else { return Ok(()) };
        if !(0.0..=1.0).contains(&mixture.share) {
            return Err(Error::usage(
                option::RATIO,
                format!("{} is not from 0 to 1", mixture.share),
            ));
        }
        if !matches!(self.encode, Encode::Keep | Encode::Jpeg | Encode::Png | Encode::Webp) {
            let how = self.encode.name();
            let what = format!("images that stay encoded are kept, jpeg, png or webp, not {how}");
            return Err(Error::usage(option::RATIO, what));
        }
        Ok(())
    }
}
