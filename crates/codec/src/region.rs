//! Decoding only what a crop needs.

use crate::{
    Decoder, Notes, Region, bmp::PlainBmp, claim::claim, decode::undecodable, guard::guarded,
    jpeg::WantedPart,
};
use fdconvert_core::{Codec, Encoded, Error, ImageHeader, Limits, Pixels, Result};

/// All of an image.
pub(crate) fn whole(header: &ImageHeader) -> Region {
    Region { x: 0, y: 0, width: header.width, height: header.height }
}

/// Part of an image to decode.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// In pixels of the stored image.
    pub region: Region,
    /// 1, 2, 4 or 8: how many times smaller the image is made; any other number is 1.
    pub shrink: u8,
    /// The stored entry points of a JPEG (`fdconvert_jpeg::stored_entry_points`), if there are
    /// any. They must be those of this image, which the one who keeps them has a checksum for.
    pub entry_points: Option<&'a [u8]>,
    /// Only the luma is wanted of a JPEG, which then may have one channel instead of 3: where the
    /// luma can be had alone, which is cheaper.
    pub luma: bool,
}

/// Part of an image, decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The decoded region, in pixels of the reduced image: it contains what was asked for.
    pub region: Region,
    /// 1, 2, 4 or 8: pixel `i` of the reduced image stands for the pixels from `i * shrink` to
    /// below `(i + 1) * shrink` of the stored one, as far as there are any.
    pub shrink: u8,
    /// 1, 3 or 4.
    pub channels: u8,
    /// Header of the encoded image.
    pub header: ImageHeader,
    /// Notes on what was converted or found odd.
    pub notes: Notes,
}

impl Decoder {
    /// Decodes at least the `wanted` region of the stored image, made `shrink` (1, 2, 4 or 8)
    /// times smaller, into `out`: rows of the part without gaps.
    ///
    /// The part may be larger than asked for and less reduced, depending on the codec: a baseline
    /// JPEG is cut exactly, others at blocks, and rows and columns outside are neither transformed
    /// nor converted (the entropy code above still has to be read); of raw pixels the rows are
    /// copied, of most BMPs the region; other images are decoded whole. Pixels of a part are those
    /// of the whole image, to the bit, at equal `shrink`. What is damaged in a JPEG below the region
    /// may go unnoticed.
    ///
    /// # Errors
    /// `Sample` or `Limit`, naming `key`; also for a region that is not in the image.
    pub fn decode_part(
        &mut self,
        key: &str,
        encoded: &Encoded,
        limits: &Limits,
        wanted: Region,
        shrink: u8,
        out: &mut Vec<u8>,
    ) -> Result<Part> {
        let wanted = Wanted { region: wanted, shrink, entry_points: None, luma: false };
        self.decode_part_with(key, encoded, limits, &wanted, out)
    }

    /// As [`decode_part`](Self::decode_part), with entry points: they spare the entropy code of a
    /// JPEG above the region, and let several places of the rest be read at once. The pixels are
    /// the same, but damage above the region may go unnoticed too.
    ///
    /// Entry points that are damaged or do not fit are ignored, and so they are for JPEGs that are
    /// not baseline. Those of another image that fit by chance lead to wrong pixels.
    ///
    /// # Errors
    /// As for `decode_part`.
    pub fn decode_part_with(
        &mut self,
        key: &str,
        encoded: &Encoded,
        limits: &Limits,
        wanted: &Wanted<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Part> {
        let Wanted { region: wanted, shrink, entry_points, luma } = *wanted;
        let header = claim(key, encoded, limits)?;
        check_inside(key, wanted, &header)?;
        let shrink = if matches!(shrink, 2 | 4 | 8) { shrink } else { 1 };
        let part = match header.codec {
            Codec::Jpeg => {
                let by = u32::from(shrink);
                let span = |from: u32, len: u32| (from / by, (from + len).div_ceil(by) - from / by);
                let ((x, width), (y, height)) =
                    (span(wanted.x, wanted.width), span(wanted.y, wanted.height));
                let region = Region { x, y, width, height };
                let wanted = WantedPart { region, shrink, luma };
                let decoded = guarded(|| {
                    self.jpeg().decode_part(&encoded.bytes, &header, wanted, entry_points, out)
                })
                .map_err(|what| Error::sample(key, undecodable(&encoded.bytes, &header, what)))?;
                let (region, shrink) = (decoded.region, decoded.shrink);
                let (channels, notes) = (decoded.channels, decoded.notes);
                Part { region, shrink, channels, header, notes }
            }
            Codec::Raw => {
                let (part, rows) = raw_rows(encoded, header, wanted);
                out.clear();
                out.extend_from_slice(rows);
                part
            }
            _ => match PlainBmp::of(&encoded.bytes, &header) {
                Some(bmp) => {
                    bmp.read(wanted, out);
                    let notes = Notes::NONE;
                    Part { region: wanted, shrink: 1, channels: 3, header, notes }
                }
                None => {
                    let (header, channels, notes) = self.decode_into(key, encoded, limits, out)?;
                    let region = whole(&header);
                    Part { region, shrink: 1, channels, header, notes }
                }
            },
        };
        part.check_len(key, out)?;
        Ok(part)
    }
}

impl Part {
    /// The part of an image that [`Decoder::decode_part`] gives for a region, where its pixels lie in
    /// the stored image as they are and need no copy: that of raw pixels. `None` for all others.
    ///
    /// # Errors
    /// As for `decode_part`.
    pub fn stored<'a>(
        key: &str,
        encoded: &'a Encoded,
        limits: &Limits,
        wanted: Region,
    ) -> Result<Option<(Self, &'a [u8])>> {
        if encoded.codec != Codec::Raw {
            return Ok(None);
        }
        let header = claim(key, encoded, limits)?;
        check_inside(key, wanted, &header)?;
        let (part, rows) = raw_rows(encoded, header, wanted);
        part.check_len(key, rows)?;
        Ok(Some((part, rows)))
    }

    fn check_len(&self, key: &str, pixels: &[u8]) -> Result<()> {
        let Region { width, height, .. } = self.region;
        if pixels.len() as u64 != Pixels::byte_len(width, height, self.channels) {
            return Err(Error::sample(key, "decodes to an unexpected number of bytes"));
        }
        Ok(())
    }
}

fn check_inside(key: &str, wanted: Region, header: &ImageHeader) -> Result<()> {
    let inside = |from: u32, len: u32, side: u32| len > 0 && len <= side && from <= side - len;
    let (width, height) = (header.width, header.height);
    if inside(wanted.x, wanted.width, width) && inside(wanted.y, wanted.height, height) {
        return Ok(());
    }
    let what = format!("{wanted:?} is not inside an image of {width}x{height}");
    Err(Error::sample(key, what))
}

/// The rows of a region of raw pixels, whole.
fn raw_rows(encoded: &Encoded, header: ImageHeader, wanted: Region) -> (Part, &[u8]) {
    let channels = header.color.channels();
    let row = header.width as usize * usize::from(channels);
    let rows = wanted.y as usize * row..(wanted.y + wanted.height) as usize * row;
    let region = Region { x: 0, width: header.width, ..wanted };
    let part = Part { region, shrink: 1, channels, header, notes: Notes::NONE };
    (part, encoded.bytes.get(rows).unwrap_or_default())
}
