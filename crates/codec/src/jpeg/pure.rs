//! The backend without C: slower, and a few levels away from libjpeg-turbo in single pixels.

use super::{Chroma, Frame, Settings};
use jpeg_encoder::{ChromaSubsamplingMethod, ColorType, Encoder as Writer, SamplingFactor};
use zune_core::{bytestream::ZCursor, colorspace::ColorSpace, options::DecoderOptions};
use zune_jpeg::JpegDecoder;

/// A test holds this against the lock file.
#[cfg_attr(feature = "turbo", allow(dead_code))]
pub(super) const NAME: &str = "zune-jpeg 0.5.15 and jpeg-encoder 0.7.1";

/// Decodes; keeps nothing between images.
#[derive(Default)]
pub(super) struct Decoder;

impl Decoder {
    #[expect(clippy::unused_self, reason = "the same shape as the other backend")]
    pub(super) fn decode(
        &mut self,
        jpeg: &[u8],
        frame: &Frame,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        // Strict, because what the decoder otherwise tolerates it does not report.
        let (space, channels) =
            if frame.components == 1 { (ColorSpace::Luma, 1) } else { (ColorSpace::RGB, 3) };
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
}

/// Encodes; keeps nothing between images.
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
        out.clear();
        let mut writer = Writer::new(&mut *out, settings.quality);
        writer.set_sampling_factor(match settings.chroma {
            Chroma::C444 => SamplingFactor::R_4_4_4,
            Chroma::C422 => SamplingFactor::R_4_2_2,
            Chroma::C420 => SamplingFactor::R_4_2_0,
            Chroma::C440 => SamplingFactor::R_4_4_0,
            Chroma::C411 => SamplingFactor::R_4_1_1,
        });
        // The crate's default takes the nearest pixel, which costs 0.8 dB.
        writer.set_chroma_subsampling_method(ChromaSubsamplingMethod::Average);
        writer.set_optimized_huffman_tables(settings.optimize_huffman);
        if settings.restart_rows > 0 {
            let (block_width, _) = if settings.gray { (8, 8) } else { settings.chroma.block() };
            let blocks = u32::from(settings.width).div_ceil(block_width);
            let interval = blocks.saturating_mul(settings.restart_rows.into());
            // No marker where the interval does not fit: the image is then smaller than it.
            writer.set_restart_interval(u16::try_from(interval).unwrap_or(0));
        }
        let color = if settings.gray { ColorType::Luma } else { ColorType::Rgb };
        let encoded = writer.encode(data, settings.width, settings.height, color);
        encoded.map_err(|error| error.to_string())?;
        Ok(out.len())
    }
}
