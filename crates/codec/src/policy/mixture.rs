//! Two stored forms in one dataset: small ones that are slow to decode, and BMPs.

use super::{Encode, Nanos, Outcome, Policy, Worker};
use crate::{
    Notes,
    claim::{claim, claim_bilevel, claim_pixels},
    lossless::bmp_len,
};
use fdconvert_core::{Codec, Color, Error, Format, Image, ImageHeader, Result, named};
use std::{fmt, str::FromStr};

/// A share of the images stored as BMP, which take more bytes and next to nothing to decode, the
/// others as [`Policy::encode`] says. At the right share neither disk nor processor waits for the
/// other: Liquid (APSys 2023).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mixture {
    /// Share that becomes BMP, 0 to 1.
    pub share: f64,
    /// Which images.
    pub by: By,
    /// Draws the images, with their keys.
    pub seed: u64,
    /// BMPs larger than this are not made: a few of them would set the pace of whole batches.
    pub max_bytes: u64,
}

/// Which images of a [`Mixture`] become BMP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum By {
    /// Any: drawn by seed and key, so that the two forms are alike in all that matters to training.
    #[default]
    Random,
    /// Those that save the most decoding for every byte more.
    Benefit,
}

/// The stored form of an image in a [`Mixture`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As [`Policy::encode`] says.
    Encoded,
    /// BMP.
    Bmp,
}

/// What is known of an image before it is packed: enough to choose its [`Form`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outlook {
    /// Pixels that will be stored.
    pub pixels: u64,
    /// What its encoded form will be; `None` where encoding decides.
    pub codec: Option<Codec>,
    /// Bytes of its encoded form, where its bytes stay as they are.
    pub encoded_bytes: Option<u64>,
    /// Bytes of its BMP; `None` where a BMP would lose something or be too large.
    pub bmp_bytes: Option<u64>,
}

impl Mixture {
    /// What `max_bytes` is unless somebody says otherwise: 22 megapixels.
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
        found.ok_or_else(|| format!("`{text}` is none of: random, benefit"))
    }
}

impl By {
    /// Its name on the command line and in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Benefit => "benefit",
        }
    }
}

impl Policy {
    /// Returns what becomes of an image in either form, from its header alone.
    ///
    /// # Errors
    /// `Sample` or `Limit`, naming `key`, as [`apply`](Self::apply) would say.
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
            Encode::Jpeg => Some(Codec::Jpeg),
            _ => None,
        };
        Ok(Outlook {
            pixels: u64::from(size.0) * u64::from(size.1),
            codec,
            encoded_bytes: kept,
            bmp_bytes: self.bmp_bytes(&header),
        })
    }

    /// As [`apply`](Self::apply), but in that form as far as its rules allow: an image that a BMP
    /// cannot hold without loss stays encoded, and one whose BMP is no larger becomes BMP.
    /// Without a mixture there is nothing to choose.
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
        // A share of 0 means what it says: not even images that are smaller as BMP.
        let Some(mixture) = self.mixture else { return self.apply(key, image, format, worker) };
        let header = self.header(key, &image)?;
        let as_bmp = Self { encode: Encode::Bmp, mixture: None, ..self.clone() };
        let bmp_bytes = self.bmp_bytes(&header);
        if form == Form::Bmp && bmp_bytes.is_some() {
            return as_bmp.apply(key, image, format, worker);
        }
        let stored = match &image {
            Image::Encoded(encoded) => Some(encoded.clone()),
            Image::Pixels(_) | Image::Bilevel(_) => None,
        };
        let outcome = if self.encode == Encode::Keep && header.codec == Codec::Bmp {
            let as_png = Self { encode: Encode::Png, mixture: None, ..self.clone() };
            as_png.apply(key, image, format, worker)?
        } else {
            self.apply(key, image, format, worker)?
        };
        let encoded_bytes = outcome.encoded.bytes.len() as u64;
        match bmp_bytes {
            Some(bmp_bytes) if bmp_bytes <= encoded_bytes && mixture.share > 0.0 => {
                // What was made of pixels is read back rather than kept for this rare case.
                let from = stored.unwrap_or_else(|| outcome.encoded.clone());
                let mut again = as_bmp.apply(key, Image::Encoded(from), format, worker)?;
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

    /// Bytes of the BMP of such an image, after the policy's other rules; `None` where a BMP would
    /// not hold what the encoded form holds, or would be too large.
    fn bmp_bytes(&self, header: &ImageHeader) -> Option<u64> {
        let mixture = self.mixture?;
        let has_alpha = matches!(header.color, Color::Rgba | Color::GrayAlpha);
        // The orientation is in the EXIF, which a BMP has not.
        let lies = header.orientation > 1 && !self.orient;
        if has_alpha || header.color == Color::Cmyk || header.bits > 8 || lies {
            return None;
        }
        let (mut width, mut height) = self.target(header);
        if header.orientation >= 5 {
            (width, height) = (height, width);
        }
        let gray = header.color == Color::Gray && self.gray == super::Gray::Keep;
        let bytes = bmp_len(width, height, if gray { 1 } else { 3 })?;
        (bytes <= mixture.max_bytes).then_some(bytes)
    }

    /// Returns whether an image of that header is stored byte for byte in its encoded form.
    fn would_keep(&self, header: &ImageHeader, format: &dyn Format) -> bool {
        let resize = self.target(header) != (header.width, header.height);
        let changes = header.codec == Codec::Bmp || resize || self.rewrites(header);
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

    /// Refuses mixtures that mean nothing.
    pub(super) fn validate_mixture(&self) -> Result<()> {
        let Some(mixture) = self.mixture else { return Ok(()) };
        if !(0.0..=1.0).contains(&mixture.share) {
            return Err(Error::usage(
                named::RATIO,
                format!("{} is not from 0 to 1", mixture.share),
            ));
        }
        if !matches!(self.encode, Encode::Keep | Encode::Jpeg | Encode::Png) {
            let how = self.encode.name();
            let what = format!("images that stay encoded are kept, jpeg or png, not {how}");
            return Err(Error::usage(named::RATIO, what));
        }
        Ok(())
    }
}
