//! The backend that calls libjpeg-turbo: accurate DCT, smooth upsampling, never the fast variants.

use super::{
    Chroma, Frame, Settings,
    ffi::{Compressor, Decompressor, Layout, Parameters, Transformer, Wanted},
};
use crate::{Region, convert};
use turbojpeg_sys as tj;

/// What turbojpeg-sys 1.2.0 vendors; a test holds this against the lock file.
pub(super) const NAME: &str = "libjpeg-turbo 3.1.0";

/// Whether images can be made smaller while they are decoded.
pub(super) const SHRINKS: bool = true;

/// Decodes; keeps its instance between images.
#[derive(Default)]
pub(super) struct Decoder(Option<Decompressor>);

impl Decoder {
    pub(super) fn decode(
        &mut self,
        jpeg: &[u8],
        frame: &Frame,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        self.decode_any(jpeg, frame, None, out).map(drop)
    }

    /// Decodes a region of the image, reduced `shrink` times; says which region it became.
    pub(super) fn decode_part(
        &mut self,
        jpeg: &[u8],
        frame: &Frame,
        (region, shrink): (Region, u8),
        out: &mut Vec<u8>,
    ) -> Result<Region, String> {
        self.decode_any(jpeg, frame, Some(Wanted { region, shrink }), out)
    }

    fn decode_any(
        &mut self,
        jpeg: &[u8],
        frame: &Frame,
        wanted: Option<Wanted>,
        out: &mut Vec<u8>,
    ) -> Result<Region, String> {
        let layout = match frame.components {
            1 => Layout::Gray,
            4 => Layout::Cmyk,
            _ => Layout::Rgb,
        };
        // Taken, not borrowed: an instance that failed may be in the middle of a header.
        let mut instance = match self.0.take() {
            Some(instance) => instance,
            None => Decompressor::new()?,
        };
        let size = (frame.width, frame.height);
        let (warnings, part) = instance.decode(jpeg, size, layout, wanted, out)?;
        self.0 = Some(instance);
        if let Some(first) = warnings.first
            && (frame.strict || !(harmless(&first) || warnings.header && frame.whole))
        {
            return Err(first);
        }
        if frame.components == 4 {
            convert::inverted_cmyk_to_rgb(out);
        }
        Ok(part)
    }
}

/// Whether a warning leaves every pixel as it was meant.
///
/// libjpeg decodes on after a warning and reports only the first. Warnings in front of the scans
/// (a strange JFIF version, an unknown Adobe transform) touch no pixel, and surplus bytes after
/// the last scan come when all pixels are there. Surplus bytes anywhere else mean that a decoder
/// lost its place, and the other warnings all mean missing data.
fn harmless(warning: &str) -> bool {
    warning.ends_with("extraneous bytes before marker 0xd9")
        || warning.starts_with("Warning: unknown JFIF revision")
        || warning.starts_with("Unknown Adobe color transform")
        || warning.starts_with("Invalid SOS parameters for sequential JPEG")
}

/// Encodes; keeps its instance between images.
#[derive(Default)]
pub(super) struct Encoder(Option<Compressor>);

impl Encoder {
    pub(super) fn encode(
        &mut self,
        data: &[u8],
        settings: &Settings,
        out: &mut Vec<u8>,
    ) -> Result<usize, String> {
        let mut instance = match self.0.take() {
            Some(instance) => instance,
            None => Compressor::new()?,
        };
        let subsampling = match settings.chroma {
            _ if settings.gray => tj::TJSAMP_TJSAMP_GRAY,
            Chroma::C444 => tj::TJSAMP_TJSAMP_444,
            Chroma::C422 => tj::TJSAMP_TJSAMP_422,
            Chroma::C420 => tj::TJSAMP_TJSAMP_420,
            Chroma::C440 => tj::TJSAMP_TJSAMP_440,
            Chroma::C411 => tj::TJSAMP_TJSAMP_411,
        };
        let parameters = Parameters {
            quality: settings.quality,
            subsampling,
            optimize: settings.optimize_huffman,
            restart_rows: settings.restart_rows,
        };
        let layout = if settings.gray { Layout::Gray } else { Layout::Rgb };
        let size = (settings.width, settings.height);
        let length = instance.encode(data, size, layout, &parameters, out)?;
        self.0 = Some(instance);
        Ok(length)
    }
}

/// The JPEG with the same coefficients and markers, in one scan of Huffman codes.
pub(super) fn to_baseline(jpeg: &[u8]) -> Result<Vec<u8>, String> {
    let (bytes, warning) = Transformer::new()?.reorder(jpeg, false)?;
    match warning.filter(|warning| !harmless(warning)) {
        None => Ok(bytes),
        Some(warning) => Err(warning),
    }
}

/// The other way round, to have something to try it with.
#[cfg(test)]
pub(super) fn to_progressive(jpeg: &[u8]) -> Result<Vec<u8>, String> {
    Ok(Transformer::new()?.reorder(jpeg, true)?.0)
}
