//! AVIF: which bytes of the file are the image, and how it is to be shown (AV1 Image File Format
//! 1.1; HEIF, ISO/IEC 23008-12).
//!
//! Deliberately absent: AV1 itself; sequences without a primary image; overlays.

mod items;
mod picture;
mod turn;

pub use picture::{AvifColors, AvifPicture, AvifTile};

use super::{
    boxed::{BoxedMetadata, after_offset},
    boxes::Boxes,
};
use crate::{Codec, Color, ImageHeader, bytes::array_at};
use items::{Extent, Meta};
use std::borrow::Cow;

/// An AVIF as its boxes describe it.
#[derive(Debug, Clone)]
pub struct Avif<'a> {
    bytes: &'a [u8],
    idat: &'a [u8],
    /// The colours.
    pub picture: AvifPicture,
    /// The alpha channel, a picture of one channel.
    pub alpha: Option<AvifPicture>,
    /// True if the colours are multiplied by the alpha channel.
    pub is_premultiplied: bool,
    /// Meaning of the samples as the container gives it, which counts more than the AV1 data's.
    pub colors: Option<AvifColors>,
    orientation: u8,
    not_decoded: Option<String>,
}

const IS_FILM: &str = "the AVIF is a film without a still image; take its frames out first: \
                       `ffmpeg -i in.avif out%04d.png` (FFmpeg)";

/// Returns true if the brands of a file say AVIF.
pub(super) fn is_avif(bytes: &[u8]) -> bool {
    is_branded(bytes, |brand| matches!(brand, b"avif" | b"avis"))
}

/// Returns true if one of the brands of an ISO base media file is wanted.
pub(super) fn is_branded(bytes: &[u8], is_wanted: impl Fn(&[u8; 4]) -> bool) -> bool {
    const MINOR_VERSION: usize = 1;
    let Some(brands) = Boxes::of_file(bytes).next().filter(|first| first.kind == *b"ftyp") else {
        return false;
    };
    let (brands, _) = brands.content.as_chunks::<4>();
    brands.iter().enumerate().any(|(at, brand)| at != MINOR_VERSION && is_wanted(brand))
}

impl<'a> Avif<'a> {
    /// Parses the boxes of a file.
    ///
    /// # Errors
    /// A text for a sample's error: the boxes are damaged or cut off, or there is no still image.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, String> {
        let block = Boxes::of_file(bytes).first(b"meta").ok_or_else(|| without_meta(bytes))?;
        if block.is_cut {
            return Err(format!("the AVIF is cut off at byte {}, in its header", bytes.len()));
        }
        let damaged = |what| format!("the AVIF is damaged: {what}");
        let meta = Meta::parse(&block, bytes).map_err(damaged)?;
        let id = meta.primary.ok_or_else(|| match Boxes::of_file(bytes).first(b"moov") {
            Some(_) => IS_FILM.to_owned(),
            None => damaged("it names no primary image".into()),
        })?;
        let (picture, refused) = AvifPicture::of(&meta, id).map_err(damaged)?;
        let alpha_id = picture::alpha_of(&meta, id);
        let alpha = alpha_id.map(|alpha| AvifPicture::of(&meta, alpha)).transpose();
        let (alpha, alpha_refused) = alpha.map_err(damaged)?.unzip();
        Ok(Self {
            bytes,
            idat: meta.idat,
            is_premultiplied: alpha_id.is_some_and(|it| meta.referred(*b"prem", id).contains(&it)),
            colors: AvifColors::of(&meta, id),
            orientation: turn::orientation(&meta, id),
            not_decoded: refused.or(alpha_refused.flatten()),
            picture,
            alpha,
        })
    }

    /// Returns the AV1 data of a tile.
    ///
    /// # Errors
    /// A text for a sample's error: it reaches beyond the end of the file.
    pub fn data(&self, tile: &AvifTile) -> Result<Cow<'a, [u8]>, String> {
        Ok(joined(&pieces(self.source(tile), &tile.extents)?))
    }

    fn source(&self, tile: &AvifTile) -> &'a [u8] {
        if tile.is_in_idat { self.idat } else { self.bytes }
    }

    /// Checks that all image data is in the file.
    pub(super) fn check(&self) -> Result<(), String> {
        let tiles = self.picture.tiles.iter();
        for tile in tiles.chain(self.alpha.iter().flat_map(|alpha| &alpha.tiles)) {
            pieces(self.source(tile), &tile.extents)?;
        }
        Ok(())
    }

    /// Returns why such a sound file is not decoded; `None` if it is.
    pub(super) fn not_decoded(self) -> Option<String> {
        self.not_decoded
    }
}

/// Returns the data of an item.
fn joined<'a>(pieces: &[&'a [u8]]) -> Cow<'a, [u8]> {
    match pieces {
        [piece] => Cow::Borrowed(piece),
        pieces => Cow::Owned(pieces.concat()),
    }
}

/// Returns the pieces of an item, which together are no longer than the file.
fn pieces<'a>(source: &'a [u8], extents: &[Extent]) -> Result<Vec<&'a [u8]>, String> {
    let pieces = extents.iter().map(|extent| {
        let start = usize::try_from(extent.offset).ok();
        let len = usize::try_from(extent.len).ok();
        let end = start.zip(len).and_then(|(start, len)| start.checked_add(len));
        let found = start.zip(end).and_then(|(start, end)| source.get(start..end));
        found.ok_or_else(|| {
            let (offset, end) = (extent.offset, extent.offset.saturating_add(extent.len));
            let len = source.len();
            format!("the AVIF is cut off at byte {len}: its data is at {offset} to {end}")
        })
    });
    let pieces = pieces.collect::<Result<Vec<_>, _>>()?;
    // They may overlap.
    let n_bytes = pieces.iter().fold(0_usize, |sum, piece| sum.saturating_add(piece.len()));
    if n_bytes > source.len() {
        return Err("the AVIF is damaged: an image has more data than the file".into());
    }
    Ok(pieces)
}

/// Returns EXIF and XMP, as far as they can be parsed.
pub(super) fn metadata(bytes: &[u8]) -> Option<Vec<BoxedMetadata<'_>>> {
    let meta = Meta::parse(&Boxes::of_file(bytes).first(b"meta")?, bytes).ok()?;
    // Items may overlap: all that are copied have to fit into the file.
    let mut n_left = bytes.len();
    let found = meta.items.values().filter_map(|item| {
        let mut data = || {
            let pieces = pieces(meta.source(item), &item.extents).ok()?;
            n_left = n_left.checked_sub(pieces.iter().map(|piece| piece.len()).sum())?;
            Some(joined(&pieces))
        };
        match &item.kind {
            b"Exif" => Some(BoxedMetadata::Exif(after_offset(data()?))),
            b"mime" => {
                let packet = data()?;
                let is_xmp = packet.windows(7).any(|word| word == b"xmpmeta");
                is_xmp.then_some(BoxedMetadata::Xmp(Some(packet)))
            }
            _ => None,
        }
    });
    Some(found.collect())
}

pub(super) fn header(bytes: &[u8]) -> Result<ImageHeader, String> {
    let avif = Avif::parse(bytes)?;
    let color = match (avif.picture.is_gray, avif.alpha.is_some()) {
        (true, false) => Color::Gray,
        (true, true) => Color::GrayAlpha,
        (false, false) => Color::Rgb,
        (false, true) => Color::Rgba,
    };
    Ok(ImageHeader {
        codec: Codec::Avif,
        width: avif.picture.width,
        height: avif.picture.height,
        color,
        bits: avif.picture.bits.max(avif.alpha.map_or(0, |alpha| alpha.bits)),
        orientation: avif.orientation,
        progressive: false,
    })
}

/// Returns true if a track of the file has several frames.
pub(super) fn is_sequence(bytes: &[u8]) -> bool {
    let Some(movie) = Boxes::of_file(bytes).first(b"moov") else { return false };
    let mut tracks = movie.boxes(0).filter(|block| block.kind == *b"trak");
    tracks.any(|track| {
        let path = [b"mdia", b"minf", b"stbl", b"stsz"];
        let sizes = path.iter().try_fold(track, |block, kind| block.boxes(0).first(kind));
        let n_frames = sizes.and_then(|sizes| array_at(sizes.content, 8).map(u32::from_be_bytes));
        n_frames.is_some_and(|n_frames| n_frames > 1)
    })
}

fn without_meta(bytes: &[u8]) -> String {
    if Boxes::of_file(bytes).first(b"moov").is_some() {
        return IS_FILM.into();
    }
    format!("the AVIF is cut off at byte {}, before its header", bytes.len())
}

#[cfg(test)]
mod tests;
