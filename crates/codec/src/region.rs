//! Decoding only the part that a crop needs.

use crate::{
    Decoder, Notes, Region, bmp::PlainBmp, claim::claim, decode::undecodable, guard::guarded,
    jpeg::WantedPart,
};
use fdconvert_core::{Codec, Encoded, Error, ImageHeader, Limits, Pixels, Result};

pub(crate) fn whole(header: &ImageHeader) -> Region {
    Region { x: 0, y: 0, width: header.width, height: header.height }
}

/// Part of an image to decode.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// In pixels of the stored image.
    pub region: Region,
    /// Factor by which to reduce the image: 1, 2, 4 or 8; any other number counts as 1.
    pub shrink: u8,
    /// The stored entry points of a JPEG (`fdconvert_jpeg::stored_entry_points`), if any. They must
    /// belong to this image, which their owner checks by a checksum.
    pub entry_points: Option<&'a [u8]>,
    /// True if only the luma of a JPEG is needed, which may then have one channel instead of 3, if
    /// it can be decoded alone, which is cheaper.
    pub luma: bool,
}

/// A decoded part of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The decoded region, in pixels of the reduced image: it contains the wanted one.
    pub region: Region,
    /// Factor of the reduction, 1, 2, 4 or 8: pixel `i` of the reduced image stands for the pixels
    /// from `i * shrink` to below `(i + 1) * shrink` of the stored one, as far as they exist.
    pub shrink: u8,
    /// Number of channels: 1, 3 or 4.
    pub channels: u8,
    /// Header of the encoded image.
    pub header: ImageHeader,
    /// Notes on conversions and oddities.
    pub notes: Notes,
}

impl Decoder {
    /// Decodes at least the `wanted` region of the stored image, reduced `shrink` (1, 2, 4 or 8)
    /// times, into `out`: rows of the part without gaps.
    ///
    /// The part may be larger than wanted and less reduced, depending on the codec. A baseline JPEG
    /// is cropped exactly, others at blocks, and rows and columns outside are neither transformed
    /// nor converted (the entropy code above must still be read); of raw pixels only the rows are
    /// copied, of most BMPs only the region; other images are decoded whole. The pixels of a part
    /// equal those of the whole image bit for bit, at equal `shrink`. Damage of a JPEG below the
    /// region may go unnoticed.
    ///
    /// # Errors
    /// `Sample` or `Limit`, naming `key`; also for a region outside the image.
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

    /// As [`decode_part`](Self::decode_part), with entry points: they save reading the entropy code
    /// of a JPEG above the region, and allow several places of the rest to be read at once. The
    /// pixels are the same, but damage above the region may go unnoticed too.
    ///
    /// Entry points that are damaged or do not fit are ignored, as are those of JPEGs that are not
    /// baseline. Entry points of another image that fit by chance lead to wrong pixels.
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
    /// Returns the part that [`Decoder::decode_part`] gives for a region, if its pixels are stored
    /// as they are and need no copy: for raw pixels. `None` for all others.
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

pub(crate) fn check_inside(key: &str, wanted: Region, header: &ImageHeader) -> Result<()> {
    let inside = |from: u32, len: u32, side: u32| len > 0 && len <= side && from <= side - len;
    let (width, height) = (header.width, header.height);
    if inside(wanted.x, wanted.width, width) && inside(wanted.y, wanted.height, height) {
        return Ok(());
    }
    let what = format!("{wanted:?} is not inside an image of {width}x{height}");
    Err(Error::sample(key, what))
}

/// Returns the rows of a region of raw pixels, in full width.
fn raw_rows(encoded: &Encoded, header: ImageHeader, wanted: Region) -> (Part, &[u8]) {
    let channels = header.color.channels();
    let row = header.width as usize * usize::from(channels);
    let rows = wanted.y as usize * row..(wanted.y + wanted.height) as usize * row;
    let region = Region { x: 0, width: header.width, ..wanted };
    let part = Part { region, shrink: 1, channels, header, notes: Notes::NONE };
    (part, encoded.bytes.get(rows).unwrap_or_default())
}
