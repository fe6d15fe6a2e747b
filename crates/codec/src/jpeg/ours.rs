//! Our decoder of baseline and progressive JPEGs, which is tried first: it makes the pixels of libjpeg-turbo or
//! none. Nothing here is an error: the library of the build decodes the rest, or reports the fault.
use super::{Frame, WantedPart};
use crate::Region;
use fdconvert_jpeg_decode::{Decoder, Error, Instructions, Options, PixelFormat, Scale};

/// Decodes; keeps its memory and tables between images.
#[derive(Default)]
pub(super) struct Ours {
    decoder: Decoder,
    is_off: bool,
}

impl Ours {
    pub(super) fn off() -> Self {
        Self { is_off: true, ..Self::default() }
    }

    /// Decodes a region of the image reduced `shrink` times, or all of it. Returns the region in
    /// `out`, in pixels of the reduced image, and its channels. If there is none, the content of
    /// `out` is unspecified.
    pub(super) fn decode(
        &mut self,
        jpeg: &[u8],
        frame: &Frame,
        wanted: Option<WantedPart>,
        entry_points: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Option<(Region, u8)> {
        let Frame { width, height, .. } = *frame;
        let all = Region { x: 0, y: 0, width, height };
        let all = WantedPart { region: all, shrink: 1, luma: false };
        let WantedPart { region, shrink, luma } = wanted.unwrap_or(all);
        let format = match frame.components {
            1 => PixelFormat::Luma,
            3 if luma => PixelFormat::Luma,
            3 => PixelFormat::Rgb,
            _ => return None,
        };
        // Without vectors libjpeg-turbo is faster. In builds without it, or for luma, which it does
        // not decode alone, pixels must not depend on the processor.
        let is_slow = cfg!(feature = "turbo")
            && !luma
            && self.decoder.instructions() == Instructions::Portable;
        if self.is_off || is_slow {
            return None;
        }
        let scale = match shrink {
            1 => Scale::Whole,
            2 => Scale::Half,
            4 => Scale::Quarter,
            8 => Scale::Eighth,
            _ => return None,
        };
        let part = Some(region);
        let options = Options { entry_points, format, scale, region: part, ..Options::default() };
        let decoded = match self.decoder.decode_vec(jpeg, &options, out) {
            Err(Error::EntryPoints(_) | Error::OtherEntryPoints { .. } | Error::Damaged { .. })
                if entry_points.is_some() =>
            {
                // The entry points may be the cause.
                let options = Options { entry_points: None, ..options };
                self.decoder.decode_vec(jpeg, &options, out)
            }
            decoded => decoded,
        };
        let header = decoded.ok()?;
        let is_gray = header.color == fdconvert_jpeg::Color::Gray;
        let is_same =
            (header.width, header.height) == (width, height) && is_gray == (frame.components == 1);
        if !is_same {
            out.clear();
        }
        is_same.then_some((region, format.n_channels() as u8))
    }
}
