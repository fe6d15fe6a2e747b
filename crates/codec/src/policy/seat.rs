//! The seat of a re-encoded image: a codec and channels that the format can hold.

use super::{Alpha, Encode, Gray, Policy};
use fdconvert_core::{Codec, Color, Error, Format, ImageHeader, Result, option};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The wanted encoding, before the format is consulted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Goal {
    /// This codec, named by the user.
    Exact(Codec),
    /// This codec if the format can hold it, else the format's fallback.
    Prefer(Codec),
    /// The format's fallback.
    Fallback,
    /// See [`Encode::Smart`].
    Smart(f64),
}

/// The chosen encoding: a codec and the number of channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seat {
    pub(super) codec: Codec,
    pub(super) channels: u8,
    pub(super) fell_back: bool,
}

/// Properties that the seat must fit: the final size, the decoded channels, the source's colours.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) channels: u8,
    pub(super) color: Color,
}

impl Policy {
    /// Refuses an encoding that the format cannot hold, whatever the image.
    ///
    /// # Errors
    /// `Usage`, naming `--encode`.
    pub fn check_format(&self, format: &dyn Format) -> Result<()> {
        let codec = match self.encode {
            Encode::Jpeg => Codec::Jpeg,
            Encode::Png => Codec::Png,
            Encode::Bmp => Codec::Bmp,
            Encode::Webp => Codec::Webp,
            Encode::Raw => Codec::Raw,
            // These use another codec if the format cannot hold one.
            Encode::Keep | Encode::Smart { .. } | Encode::Mix { .. } => return Ok(()),
        };
        let colors = [Color::Rgb, Color::Gray, Color::Rgba, Color::GrayAlpha];
        let blank = ImageHeader::raw(1, 1, 3);
        if colors.iter().any(|&color| format.holds(&ImageHeader { codec, color, ..blank })) {
            return Ok(());
        }
        let (name, codec) = (format.name(), self.encode.name());
        let what = format!("the format `{name}` cannot hold {codec} images; choose another");
        Err(Error::usage(option::ENCODE, what))
    }

    /// Returns true if the image with this key must be stored as raw pixels.
    #[must_use]
    pub fn wants_raw(&self, key: &str) -> bool {
        match self.encode {
            Encode::Raw => true,
            Encode::Mix { jpeg_share, seed } => !draws_jpeg(key, jpeg_share, seed),
            _ => false,
        }
    }

    /// Returns the wanted encoding of an image, given its codec if it was encoded.
    pub(super) fn goal(
        &self,
        key: &str,
        source: Option<&ImageHeader>,
        resize: bool,
        format: &dyn Format,
    ) -> Result<Goal> {
        Ok(match self.encode {
            Encode::Jpeg => Goal::Exact(Codec::Jpeg),
            Encode::Png => Goal::Exact(Codec::Png),
            Encode::Bmp => Goal::Exact(Codec::Bmp),
            Encode::Webp => Goal::Exact(Codec::Webp),
            Encode::Raw => Goal::Exact(Codec::Raw),
            Encode::Smart { ratio } => Goal::Smart(ratio),
            Encode::Mix { jpeg_share, seed } => {
                let jpeg = draws_jpeg(key, jpeg_share, seed);
                Goal::Prefer(if jpeg { Codec::Jpeg } else { Codec::Raw })
            }
            Encode::Keep => match source {
                Some(header) if resize && matches!(header.codec, Codec::Jpeg | Codec::Png) => {
                    Goal::Prefer(header.codec)
                }
                Some(header) if self.must_decode(header.codec) => Goal::Prefer(Codec::Png),
                Some(header) if !resize && header.color == Color::Cmyk => {
                    let name = format.name();
                    let what = format!("the format `{name}` cannot hold a CMYK image as it is");
                    return Err(Error::sample(key, what)
                        .cure("to convert it to RGB", option::ENCODE.with("jpeg"))
                        .cure("or to raw pixels", option::ENCODE.with("raw")));
                }
                _ => Goal::Fallback,
            },
        })
    }

    /// Returns the seat for a goal. For `Smart` it is the one to try first.
    pub(super) fn seat(
        &self,
        key: &str,
        goal: Goal,
        shape: Shape,
        format: &dyn Format,
    ) -> Result<Seat> {
        let fit = |codec| {
            let channels = self.fit(codec, shape, format)?;
            Some(Seat { codec, channels, fell_back: false })
        };
        let cannot = |codec: Codec| {
            let (name, codec) = (format.name(), codec.extension());
            let Shape { width, height, channels, .. } = shape;
            let image = format!("{width}x{height} {codec} of {channels} channels");
            Error::sample(key, format!("the format `{name}` cannot hold a {image}"))
        };
        let wanted = match goal {
            Goal::Exact(codec) => {
                let other = "to choose another codec";
                return fit(codec).ok_or_else(|| cannot(codec).cure(other, option::ENCODE));
            }
            Goal::Prefer(codec) => fit(codec),
            Goal::Smart(_) => fit(Codec::Jpeg).or_else(|| fit(Codec::Raw)),
            Goal::Fallback => None,
        };
        let fallback = format.fallback();
        wanted
            .or_else(|| fit(fallback).map(|seat| Seat { fell_back: true, ..seat }))
            .ok_or_else(|| cannot(fallback))
    }

    /// Returns the channels of an image in this codec; `None` when the format cannot hold any.
    fn fit(&self, codec: Codec, shape: Shape, format: &dyn Format) -> Option<u8> {
        let Shape { width, height, .. } = shape;
        let holds = |color| {
            let blank = ImageHeader::raw(width, height, 3);
            format.holds(&ImageHeader { codec, color, ..blank })
        };
        let gray = match (shape.channels, self.alpha) {
            (1, _) => true,
            // On a coloured background gray becomes coloured.
            (4, Alpha::Blend([r, g, b])) if r != g || g != b => false,
            (channels, _) => channels == 4 && shape.color == Color::GrayAlpha,
        };
        let keeps_alpha = matches!(codec, Codec::Png | Codec::Webp);
        if shape.channels == 4 && keeps_alpha && holds(Color::Rgba) {
            Some(4)
        } else if gray && self.gray == Gray::Keep && codec != Codec::Webp && holds(Color::Gray) {
            Some(1)
        } else {
            holds(Color::Rgb).then_some(3)
        }
    }
}

fn draws_jpeg(key: &str, jpeg_share: f64, seed: u64) -> bool {
    // The upper 53 bits, as a number from 0 to below 1.
    let draw = (xxh3_64_with_seed(key.as_bytes(), seed) >> 11) as f64;
    draw * 2f64.powi(-53) < jpeg_share
}
