//! The backend without C, for JPEGs that are not baseline: slower, and a few levels away from
//! libjpeg-turbo in single pixels.

use super::{
    Frame, Settings,
    chroma::{self, Chroma},
};
use crate::Region;
use jpeg_encoder::{ChromaSubsamplingMethod, ColorType, Encoder as Writer, SamplingFactor};
use zune_core::{bytestream::ZCursor, colorspace::ColorSpace, options::DecoderOptions};
use zune_jpeg::JpegDecoder;

/// A test compares this with the lock file.
#[cfg_attr(feature = "turbo", allow(dead_code))]
pub(super) const NAME: &str =
    "fdconvert-jpeg-decode 0.1.0, zune-jpeg 0.5.15 and jpeg-encoder 0.7.1";

/// jpeg-encoder 0.7.1 counts symbols without the restarts and so writes codes that its optimised
/// tables lack; it also gives every plane its own scan, which few readers are tested with.
const NO_OPTIMIZED: &str = "this build, without libjpeg-turbo, has no optimised Huffman tables";

/// Message of zune-jpeg when the data ends before the last rows of blocks.
const SHORT: &str = "Premature end of buffer";

/// This library gives no access to coefficients.
#[cfg_attr(feature = "turbo", allow(dead_code))]
pub(super) fn to_baseline(_: &[u8]) -> Result<Vec<u8>, String> {
    Err("this build, without libjpeg-turbo, cannot rewrite a JPEG without loss".into())
}

#[derive(Default)]
pub(super) struct Decoder {
    tailed: Vec<u8>,
    again: Vec<u8>,
}

impl Decoder {
    /// Unlike libjpeg, zune-jpeg does not report an end marker that comes too early, but fills up
    /// with flat blocks. It does notice the end of its input, though rows of blocks too late; so it
    /// gets the scan without its end marker, and if that leaves doubt, or the marker had been
    /// appended, [`is_short`](Self::is_short) decides. An early end marker in the last row of
    /// blocks remains unnoticed.
    pub(super) fn decode(
        &mut self,
        jpeg: &[u8],
        frame: &Frame,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        if chroma::in_parts(jpeg) {
            let what = "its planes are in separate scans, which only libjpeg-turbo reads correctly";
            return Err(what.into());
        }
        let scan = if frame.progressive { jpeg } else { without_end(jpeg) };
        let doubt = match decode(scan, frame, out) {
            Ok(()) => !frame.whole,
            Err(what) if what.contains(SHORT) => true,
            Err(what) => return Err(what),
        };
        if doubt && self.is_short(without_end(jpeg), frame, out)? {
            return Err("premature end of the image data".into());
        }
        Ok(())
    }

    /// Decodes all of the image: zune-jpeg can neither crop nor reduce.
    #[cfg_attr(feature = "turbo", allow(dead_code))]
    pub(super) fn decode_part(
        &mut self,
        jpeg: &[u8],
        frame: &Frame,
        _: (Region, u8),
        out: &mut Vec<u8>,
    ) -> Result<(Region, u8), String> {
        self.decode(jpeg, frame, out)?;
        Ok((Region { x: 0, y: 0, width: frame.width, height: frame.height }, 1))
    }

    /// Returns true if the scan ends before its last pixels, and leaves the pixels in `out`. It does if
    /// other bytes after the data change the decoded pixels.
    fn is_short(&mut self, scan: &[u8], frame: &Frame, out: &mut Vec<u8>) -> Result<bool, String> {
        let scan = scan.strip_suffix(&[0xff]).unwrap_or(scan);
        // The tails differ from their first bit on: one alone may happen to fit.
        for (tail, pixels) in [(0x00, &mut *out), (0xaa, &mut self.again)] {
            self.tailed.clear();
            self.tailed.extend_from_slice(scan);
            self.tailed.resize(scan.len() + 256, tail);
            self.tailed.extend_from_slice(&END);
            match decode(&self.tailed, frame, pixels) {
                Err(what) if what.contains(SHORT) => return Ok(true),
                result => result?,
            }
        }
        Ok(*out != self.again)
    }
}

const END: [u8; 2] = [0xff, 0xd9];

/// Returns the file up to its last end marker.
fn without_end(jpeg: &[u8]) -> &[u8] {
    let end = jpeg.windows(2).rposition(|pair| pair == END);
    end.and_then(|end| jpeg.get(..end)).unwrap_or(jpeg)
}

fn decode(jpeg: &[u8], frame: &Frame, out: &mut Vec<u8>) -> Result<(), String> {
    let (space, channels) =
        if frame.components == 1 { (ColorSpace::Luma, 1) } else { (ColorSpace::RGB, 3) };
    // Strict, because the decoder does not report what it tolerates.
    let options = DecoderOptions::default()
        .set_strict_mode(true)
        .set_max_width(frame.width as usize)
        .set_max_height(frame.height as usize)
        .jpeg_set_max_scans(200)
        .jpeg_set_out_colorspace(space);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(jpeg), options);
    decoder.decode_headers().map_err(|error| format!("{error:?}"))?;
    let (width, height) = decoder.dimensions().unwrap_or_default();
    if (width, height) != (frame.width as usize, frame.height as usize) {
        let (stated_width, stated_height) = (frame.width, frame.height);
        return Err(format!("decodes to {width}x{height}, not {stated_width}x{stated_height}"));
    }
    let length = width * height * channels;
    if decoder.output_buffer_size() != Some(length) {
        return Err("decodes to an unexpected number of channels".into());
    }
    out.resize(length, 0);
    decoder.decode_into(out).map_err(|error| format!("{error:?}"))
}

/// Encodes; keeps no state between images.
#[derive(Default)]
#[cfg_attr(feature = "turbo", allow(dead_code))]
pub(super) struct Encoder;

#[cfg_attr(feature = "turbo", allow(dead_code))]
impl Encoder {
    #[expect(clippy::unused_self, reason = "the same shape as the other backend")]
    pub(super) fn encode(
        &mut self,
        data: &[u8],
        settings: &Settings,
        out: &mut Vec<u8>,
    ) -> Result<usize, String> {
        if settings.optimize_huffman {
            return Err(NO_OPTIMIZED.into());
        }
        out.clear();
        let mut writer = Writer::new(&mut *out, settings.quality);
        writer.set_sampling_factor(match settings.chroma {
            Chroma::C444 => SamplingFactor::R_4_4_4,
            Chroma::C422 => SamplingFactor::R_4_2_2,
            // The crate would write 4:1:1 with one scan for each plane.
            Chroma::C420 | Chroma::C411 => SamplingFactor::R_4_2_0,
            Chroma::C440 => SamplingFactor::R_4_4_0,
        });
        // The crate's default takes the nearest pixel, which costs 0.8 dB.
        writer.set_chroma_subsampling_method(ChromaSubsamplingMethod::Average);
        if settings.restart_rows > 0 {
            let block_width = match settings.chroma {
                _ if settings.gray => 8,
                Chroma::C444 | Chroma::C440 => 8,
                Chroma::C422 | Chroma::C420 | Chroma::C411 => 16,
            };
            let blocks = u32::from(settings.width).div_ceil(block_width);
            let interval = blocks.saturating_mul(settings.restart_rows.into());
            // No marker if the interval does not fit: the image is then smaller than the interval.
            writer.set_restart_interval(u16::try_from(interval).unwrap_or(0));
        }
        let color = if settings.gray { ColorType::Luma } else { ColorType::Rgb };
        let encoded = writer.encode(data, settings.width, settings.height, color);
        encoded.map_err(|error| error.to_string())?;
        Ok(out.len())
    }
}
