//! JPEG. Baseline and progressive files are decoded by our decoder, with the pixels of
//! libjpeg-turbo. All others are decoded, and all are encoded, by one of two backends with the same functions, chosen at
//! build time: `turbo` calls libjpeg-turbo, `pure` is Rust only. Their pixels differ by a few
//! levels, so a dataset records the backend.

mod chroma;
#[cfg(feature = "turbo")]
mod ffi;
mod markers;
mod ours;
#[cfg(any(test, not(feature = "turbo")))]
mod pure;
#[cfg(feature = "turbo")]
mod turbo;

#[cfg(not(feature = "turbo"))]
use pure as chosen;
#[cfg(feature = "turbo")]
use turbo as chosen;

use crate::{Notes, Region};
use chroma::Chroma;
use fdconvert_core::probe::{Ending, jpeg_ending};
use fdconvert_core::{Color, ImageHeader, Pixels};
use fdconvert_jpeg_decode::Entropy;
use std::{fmt, str::FromStr};

/// Returns the JPEG library of this build and its version, as recorded in datasets.
#[must_use]
pub fn backend() -> &'static str {
    chosen::NAME
}

/// Returns how this process reads the codes of JPEGs with entry points or many restart markers:
/// `"streams"` or `"lanes"`, whichever is faster on this processor, or `None` until enough images
/// were decoded to know.
#[must_use]
pub fn jpeg_entropy() -> Option<&'static str> {
    fdconvert_jpeg_decode::fastest_entropy().map(|entropy| match entropy {
        Entropy::Streams(_) => "streams",
        Entropy::Lanes(_) => "lanes",
    })
}

/// Resolution of the colour planes of a written JPEG.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Subsampling {
    /// 4:2:0: half the columns and half the rows.
    #[default]
    S420,
    /// 4:2:2: half the columns.
    S422,
    /// 4:4:4: all columns and rows.
    S444,
    /// The subsampling of the source if it is a JPEG, else 4:2:0.
    Keep,
}

impl fmt::Display for Subsampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Subsampling {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::S420, Self::S422, Self::S444, Self::Keep];
        let found = all.into_iter().find(|value| value.name() == text);
        found.ok_or_else(|| format!("unknown `{text}`; expected one of: 420, 422, 444, keep"))
    }
}

impl Subsampling {
    /// Returns its name on the command line and in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::S420 => "420",
            Self::S422 => "422",
            Self::S444 => "444",
            Self::Keep => "keep",
        }
    }
}

/// Options for writing a JPEG. The default equals FFCV and Pillow at quality 90, byte for byte with
/// libjpeg-turbo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JpegOptions {
    /// Quality from 1 to 100, on the scale of libjpeg.
    pub quality: u8,
    /// Resolution of the colour planes.
    pub subsampling: Subsampling,
    /// True to optimise the Huffman tables for the image: some 5 % smaller, 2.7 times the work.
    /// Only with the feature `turbo`.
    pub optimize_huffman: bool,
    /// Number of rows of blocks between restart markers, for parallel decoding; 0 for none.
    pub restart_rows: u16,
}

impl Default for JpegOptions {
    fn default() -> Self {
        Self {
            quality: 90,
            subsampling: Subsampling::S420,
            optimize_huffman: false,
            restart_rows: 0,
        }
    }
}

/// Rewrites a JPEG with the same coefficients and markers in one scan of Huffman codes, which entry
/// points and hardware decoders need. Only with the feature `turbo`.
pub(crate) fn to_baseline(jpeg: &[u8]) -> Result<Vec<u8>, String> {
    chosen::to_baseline(jpeg)
}

#[derive(Debug, Clone, Copy)]
struct Frame {
    width: u32,
    height: u32,
    /// 1, 3 or 4.
    components: u8,
    #[cfg_attr(feature = "turbo", allow(dead_code))]
    progressive: bool,
    /// True if the file had its end marker. If one was appended here, doubtful data counts as
    /// missing.
    whole: bool,
}

/// Settings of a backend for encoding; sizes and channels are checked.
#[derive(Debug, Clone, Copy)]
struct Settings {
    width: u16,
    height: u16,
    gray: bool,
    quality: u8,
    chroma: Chroma,
    optimize_huffman: bool,
    restart_rows: u16,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct WantedPart {
    /// In pixels of the reduced image.
    pub(crate) region: Region,
    pub(crate) shrink: u8,
    /// True if one channel may be decoded instead of three.
    pub(crate) luma: bool,
}

pub(crate) struct DecodedPart {
    /// In pixels of the reduced image.
    pub(crate) region: Region,
    /// Factor by which the image was reduced.
    pub(crate) shrink: u8,
    pub(crate) channels: u8,
    pub(crate) notes: Notes,
}

/// Decodes JPEGs; keeps its handle and buffer.
#[derive(Default)]
pub(crate) struct JpegDecoder {
    ours: ours::Ours,
    backend: chosen::Decoder,
    closed: Vec<u8>,
}

impl JpegDecoder {
    /// Creates a decoder that leaves everything to the backend.
    pub(crate) fn of_backend() -> Self {
        Self { ours: ours::Ours::off(), ..Self::default() }
    }

    /// Decodes to 1 or 3 channels and returns their number. Entry points save work without changing
    /// pixels.
    pub(crate) fn decode(
        &mut self,
        jpeg: &[u8],
        header: &ImageHeader,
        entry_points: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<(u8, Notes), String> {
        let decoded = self.decode_any(jpeg, header, None, entry_points, out)?;
        Ok((decoded.channels, decoded.notes))
    }

    /// As [`decode`](Self::decode), for a region of the image reduced `shrink` times, both as far
    /// as the backend can; returns the actual region and reduction. The region is in pixels of the
    /// reduced image. Entry points save work where possible.
    pub(crate) fn decode_part(
        &mut self,
        jpeg: &[u8],
        header: &ImageHeader,
        wanted: WantedPart,
        entry_points: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<DecodedPart, String> {
        self.decode_any(jpeg, header, Some(wanted), entry_points, out)
    }

    fn decode_any(
        &mut self,
        jpeg: &[u8],
        header: &ImageHeader,
        wanted: Option<WantedPart>,
        entry_points: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<DecodedPart, String> {
        let components = match header.color {
            Color::Gray => 1,
            Color::Rgb => 3,
            Color::Cmyk => 4,
            Color::GrayAlpha | Color::Rgba => {
                return Err("a JPEG with an alpha channel cannot be decoded".into());
            }
        };
        if header.bits != 8 {
            let what =
                format!("its samples have {} bits, and only those of 8 are decoded", header.bits);
            return Err(what);
        }
        let ending = jpeg_ending(jpeg)?;
        let whole = ending != Ending::NoEndMarker;
        let ImageHeader { width, height, progressive, .. } = *header;
        let frame = Frame { width, height, components, progressive, whole };
        // With the end marker in place, any other missing data shows as missing pixels.
        let jpeg = if whole {
            jpeg
        } else {
            self.closed.clear();
            self.closed.extend_from_slice(jpeg);
            self.closed.extend_from_slice(&[0xff, 0xd9]);
            &self.closed
        };
        let channels = if components == 1 { 1 } else { 3 };
        let notes = Notes::NO_END_MARKER.when(!whole)
            | Notes::COEFFICIENTS_LEFT_OUT.when(ending == Ending::CoefficientsLeftOut)
            | Notes::CMYK_CONVERTED.when(components == 4);
        let usable = entry_points.filter(|_| whole);
        if let Some((region, channels)) = self.ours.decode(jpeg, &frame, wanted, usable, out) {
            let shrink = wanted.map_or(1, |it| it.shrink);
            return Ok(DecodedPart { region, shrink, channels, notes });
        }
        let (region, shrink) = match wanted {
            None => {
                self.backend.decode(jpeg, &frame, out)?;
                (Region { x: 0, y: 0, width, height }, 1)
            }
            Some(WantedPart { region, shrink, .. }) => {
                self.backend.decode_part(jpeg, &frame, (region, shrink), out)?
            }
        };
        Ok(DecodedPart { region, shrink, channels, notes })
    }
}

/// Encodes JPEGs; keeps its handle.
#[derive(Default)]
pub(crate) struct JpegEncoder {
    backend: chosen::Encoder,
}

impl JpegEncoder {
    /// Encodes 1 or 3 channels into the front of `out` and returns the length. `source` is the JPEG
    /// that the pixels came from, if any.
    pub(crate) fn encode(
        &mut self,
        pixels: &Pixels,
        options: &JpegOptions,
        source: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<usize, String> {
        let side = |side: u32| {
            let what = || format!("a side of {side} pixels is over the 65535 that JPEG can hold");
            u16::try_from(side).ok().filter(|&side| side > 0).ok_or_else(what)
        };
        let gray = match pixels.channels {
            1 => true,
            3 => false,
            other => return Err(format!("JPEG cannot hold {other} channels")),
        };
        let chroma = match options.subsampling {
            Subsampling::S420 => Chroma::C420,
            Subsampling::S422 => Chroma::C422,
            Subsampling::S444 => Chroma::C444,
            Subsampling::Keep => source.and_then(chroma::of).unwrap_or(Chroma::C420),
        };
        let settings = Settings {
            width: side(pixels.width)?,
            height: side(pixels.height)?,
            gray,
            quality: options.quality.clamp(1, 100),
            chroma,
            optimize_huffman: options.optimize_huffman,
            restart_rows: options.restart_rows,
        };
        self.backend.encode(&pixels.data, &settings, out)
    }
}

#[cfg(test)]
mod tests;
