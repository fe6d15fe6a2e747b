//! The backend with libjpeg-turbo: accurate DCT, smooth upsampling, never the fast variants.

use super::{
    Chroma, Frame, Settings,
    ffi::{Compressor, Decompressor, Found, Layout, Parameters, Transformer, Wanted},
    markers::{is_arithmetic, with_tail, without_oddities},
};
use crate::{Region, convert};
use turbojpeg_sys as tj;

/// The library that turbojpeg-sys 1.2.0 vendors; a test compares this with the lock file.
pub(super) const NAME: &str = "libjpeg-turbo 3.1.0";

/// Decodes; keeps its buffers between images, but no instance: an instance of libjpeg keeps tables,
/// with which it would decode a later file that lacks some.
#[derive(Default)]
pub(super) struct Decoder {
    copy: Vec<u8>,
    again: Vec<u8>,
}

impl Decoder {
    pub(super) fn decode(
        &mut self,
        jpeg: &[u8],
        frame: &Frame,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        let found = self.decode_sound(jpeg, frame, None, out)?;
        if found.arithmetic {
            self.check_arithmetic(jpeg, frame, out)?;
        }
        finish(frame, out);
        Ok(())
    }

    /// Decodes a region of the image, reduced `shrink` times; returns the actual region and
    /// reduction.
    pub(super) fn decode_part(
        &mut self,
        jpeg: &[u8],
        frame: &Frame,
        (region, shrink): (Region, u8),
        out: &mut Vec<u8>,
    ) -> Result<(Region, u8), String> {
        let found = self.decode_sound(jpeg, frame, Some(Wanted { region, shrink }), out)?;
        finish(frame, out);
        Ok((found.region, found.shrink))
    }

    /// Decodes data that libjpeg finds complete.
    fn decode_sound(
        &mut self,
        jpeg: &[u8],
        frame: &Frame,
        wanted: Option<Wanted>,
        out: &mut Vec<u8>,
    ) -> Result<Found, String> {
        let found = Self::call(jpeg, frame, wanted, out)?;
        let Some(first) = &found.warning else { return Ok(found) };
        if !(found.odd_header || hides_others(first)) {
            return if harmless(first) { Ok(found) } else { Err(first.clone()) };
        }
        let mut copy = std::mem::take(&mut self.copy);
        let again = if without_oddities(jpeg, frame.components, &mut copy) {
            Self::call(&copy, frame, wanted, out)
        } else {
            Err(first.clone())
        };
        self.copy = copy;
        match again?.warning {
            Some(second) if !harmless(&second) => Err(second),
            _ => Ok(found),
        }
    }

    fn call(
        jpeg: &[u8],
        frame: &Frame,
        wanted: Option<Wanted>,
        out: &mut Vec<u8>,
    ) -> Result<Found, String> {
        let layout = match frame.components {
            1 => Layout::Gray,
            4 => Layout::Cmyk,
            _ => Layout::Rgb,
        };
        Decompressor::new()?.decode(jpeg, (frame.width, frame.height), layout, wanted, out)
    }

    /// Refuses arithmetic-coded data that stops before the image does, about which libjpeg does not
    /// warn: in that case, bytes after the data change the pixels.
    fn check_arithmetic(
        &mut self,
        jpeg: &[u8],
        frame: &Frame,
        pixels: &[u8],
    ) -> Result<(), String> {
        let (mut copy, mut again) =
            (std::mem::take(&mut self.copy), std::mem::take(&mut self.again));
        let decoded = with_tail(jpeg, n_zeros(frame.whole), &mut copy)
            && Self::call(&copy, frame, None, &mut again).is_ok();
        let same = if decoded {
            let pairs = pixels.iter().zip(&again);
            pairs.take_while(|(before, after)| before == after).count()
        } else {
            0
        };
        (self.copy, self.again) = (copy, again);
        if same == pixels.len() {
            return Ok(());
        }
        let n_rows = frame.height as usize;
        let row = same / (pixels.len() / n_rows.max(1)).max(1);
        Err(format!(
            "its arithmetic-coded data stops before the image does, at row {row} of {n_rows} (if \
             the file is complete and of one colour from there, rewrite it with Huffman codes: \
             jpegtran -copy all)"
        ))
    }
}

/// Returns how many bytes after arithmetic-coded data may be read as zeros: its last two, if they
/// are. A file without its end marker may have lost one.
fn n_zeros(whole: bool) -> usize {
    if whole { 2 } else { 1 }
}

fn finish(frame: &Frame, out: &mut Vec<u8>) {
    if frame.components == 4 {
        convert::inverted_cmyk_to_rgb(out);
    }
}

/// Returns true if all pixels are complete despite a warning: libjpeg reports surplus bytes after the
/// last scan only then. Surplus bytes anywhere else mean that a
/// decoder lost its place, and all other warnings mean missing data.
fn harmless(warning: &str) -> bool {
    warning.ends_with("extraneous bytes before marker 0xd9")
}

/// Returns true if a warning is about data before the scans (an unknown JFIF version or Adobe
/// transform), which affects no pixel. libjpeg continues and reports only the first warning,
/// so that data may be missing all the same.
fn hides_others(warning: &str) -> bool {
    warning.starts_with("Warning: unknown JFIF revision")
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

/// Rewrites a JPEG with the same coefficients and markers, in one scan of Huffman codes.
pub(super) fn to_baseline(jpeg: &[u8]) -> Result<Vec<u8>, String> {
    let (bytes, warning) = Transformer::new()?.reorder(jpeg, false)?;
    if let Some(first) = warning.filter(|warning| !harmless(warning)) {
        let mut copy = Vec::new();
        // Three or four components makes no difference for the parts that are kept of the copy.
        let copied = hides_others(&first) && without_oddities(jpeg, 3, &mut copy);
        let again = if copied { Transformer::new()?.reorder(&copy, false)?.1 } else { Some(first) };
        if let Some(warning) = again.filter(|warning| !harmless(warning)) {
            return Err(warning);
        }
    }
    if is_arithmetic(jpeg) {
        let mut copy = Vec::new();
        let complete = with_tail(jpeg, n_zeros(true), &mut copy)
            && Transformer::new()?.reorder(&copy, false).is_ok_and(|(again, _)| again == bytes);
        if !complete {
            return Err("its arithmetic-coded data stops before the image does".into());
        }
    }
    Ok(bytes)
}

/// The reverse of [`to_baseline`], for tests.
#[cfg(test)]
pub(super) fn to_progressive(jpeg: &[u8]) -> Result<Vec<u8>, String> {
    Ok(Transformer::new()?.reorder(jpeg, true)?.0)
}
