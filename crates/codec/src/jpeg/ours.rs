//! Our own decoder of baseline JPEGs, which is asked first: its pixels are those of libjpeg-turbo
//! or none. Nothing here is an error: what it leaves out or does not like, the library of the
//! build decodes, or says what is wrong.
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

    /// Decodes a region of the image made `shrink` times smaller, or all of it. Returns the region
    /// that is in `out`, in pixels of the reduced image, and its channels; of what `out` holds
    /// nothing is promised when there is none.
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
        // Without vectors libjpeg-turbo is faster. Where there is none, or only the luma is wanted,
        // which it does not give alone, pixels are not to depend on the processor.
        let is_slow = cfg!(feature = "turbo")
            && !luma
            && self.decoder.instructions() == Instructions::Portable;
        if self.is_off || is_slow || frame.progressive {
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
                // They may be to blame.
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
