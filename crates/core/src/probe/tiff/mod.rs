//! TIFF (revision 6.0, BigTIFF and Adobe's supplements): the first image of a file.
//!
//! Nothing is allocated: lists of numbers are read in place. An entry that exists and cannot be
//! read is an error and gives no default: in a truncated file, the values of its tags may be the
//! missing part.

mod entries;
mod kinds;

pub use entries::Numbers;
pub use kinds::TiffColors;

use crate::{Codec, Color, ImageHeader};
use entries::Directory;

/// Tags of TIFF 6.0 and its supplements.
mod tag {
    pub(super) const NEW_SUBFILE_TYPE: u16 = 254;
    pub(super) const SUBFILE_TYPE: u16 = 255;
    pub(super) const WIDTH: u16 = 256;
    pub(super) const HEIGHT: u16 = 257;
    pub(super) const BITS: u16 = 258;
    pub(super) const COMPRESSION: u16 = 259;
    pub(super) const PHOTOMETRIC: u16 = 262;
    pub(super) const DESCRIPTION: u16 = 270;
    pub(super) const FILL_ORDER: u16 = 266;
    pub(super) const STRIP_OFFSETS: u16 = 273;
    pub(super) const ORIENTATION: u16 = 274;
    pub(super) const SAMPLES: u16 = 277;
    pub(super) const ROWS_PER_STRIP: u16 = 278;
    pub(super) const STRIP_COUNTS: u16 = 279;
    pub(super) const PLANAR: u16 = 284;
    pub(super) const FAX_OPTIONS: u16 = 292;
    pub(super) const PREDICTOR: u16 = 317;
    pub(super) const COLOR_MAP: u16 = 320;
    pub(super) const TILE_WIDTH: u16 = 322;
    pub(super) const TILE_HEIGHT: u16 = 323;
    pub(super) const TILE_OFFSETS: u16 = 324;
    pub(super) const TILE_COUNTS: u16 = 325;
    pub(super) const EXTRA_SAMPLES: u16 = 338;
    pub(super) const FORMAT: u16 = 339;
    pub(super) const JPEG_TABLES: u16 = 347;
    pub(super) const COEFFICIENTS: u16 = 529;
    pub(super) const SUBSAMPLING: u16 = 530;
    pub(super) const BLACK_AND_WHITE: u16 = 532;
    /// Of the Multi-Picture Format.
    pub(super) const PICTURES: u16 = 0xb002;
}

/// The first image of a TIFF: facts of its directory, not proven by decoding.
#[derive(Debug, Clone, Copy)]
pub struct Tiff<'a> {
    directory: Directory<'a>,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Bits per sample.
    pub bits: u16,
    /// Samples per pixel.
    pub samples: u16,
    /// Meaning of the samples (`PhotometricInterpretation`); `None` if missing.
    pub photometric: Option<u16>,
    /// Number of the compression.
    pub compression: u16,
    /// 1 for none, 2 for differences of neighbours, 3 for those of floats.
    pub predictor: u16,
    /// 1 for unsigned integers, 2 for signed integers, 3 for floats.
    pub format: u16,
    /// True if each channel has its own strips or tiles.
    pub is_planar: bool,
    /// True if bytes are filled from their lowest bit.
    pub is_reversed: bool,
    /// Columns and rows of a tile, or of a strip.
    pub chunk: (u32, u32),
    /// True if there are tiles, which have the same size at the edges of the image.
    pub is_tiled: bool,
    /// Offsets and lengths of strips or tiles.
    offsets: Option<Numbers<'a>>,
    counts: Option<Numbers<'a>>,
    all_bits: Option<Numbers<'a>>,
    all_formats: Option<Numbers<'a>>,
    color_map: Option<Numbers<'a>>,
    jpeg_tables: Option<Numbers<'a>>,
    extra: Option<Numbers<'a>>,
    subsampling: Option<Numbers<'a>>,
    fax_options: u64,
    orientation: u64,
    /// True if YCbCr follows CCIR 601 with the full range of levels.
    is_usual_ycbcr: bool,
}

impl<'a> Tiff<'a> {
    /// Reads the first directory of a file.
    ///
    /// # Errors
    /// A text for a sample's error: the file ends too early, or describes no possible image.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, String> {
        let directory = Directory::first(bytes).ok_or_else(|| {
            format!("the TIFF's directory is not within its {} bytes", bytes.len())
        })?;
        let numbers = |tag| directory.numbers(tag);
        let number = |tag| directory.number(tag);
        let short = |tag, default| {
            let value = number(tag)?.map_or(Ok(default), u16::try_from);
            value.map_err(|_| format!("the TIFF's tag {tag} has a value that cannot be"))
        };
        let long =
            |tag| Ok::<_, String>(number(tag)?.and_then(|number| u32::try_from(number).ok()));
        let size = |width, height| Ok::<_, String>(long(width)?.zip(long(height)?));
        let (width, height) =
            size(tag::WIDTH, tag::HEIGHT)?.ok_or("the TIFF's directory says no width or height")?;
        let rows = long(tag::ROWS_PER_STRIP)?;
        let tile = size(tag::TILE_WIDTH, tag::TILE_HEIGHT)?;
        let tile_offsets = numbers(tag::TILE_OFFSETS)?;
        // Some writers store the offsets of tiles under the tag for strips.
        let is_tiled = tile_offsets.is_some() || tile.is_some() && rows.is_none();
        let chunk = if is_tiled {
            tile.ok_or("the TIFF's directory says no size of its tiles")?
        } else {
            (width, rows.unwrap_or(height).min(height))
        };
        let (offsets, counts) = if tile_offsets.is_some() {
            (tile_offsets, numbers(tag::TILE_COUNTS)?)
        } else {
            (numbers(tag::STRIP_OFFSETS)?, numbers(tag::STRIP_COUNTS)?)
        };
        let has_photometric = directory.entry(tag::PHOTOMETRIC).is_some();
        let tiff = Self {
            directory,
            width,
            height,
            bits: short(tag::BITS, 1)?,
            samples: short(tag::SAMPLES, 1)?,
            photometric: has_photometric.then(|| short(tag::PHOTOMETRIC, 1)).transpose()?,
            compression: short(tag::COMPRESSION, 1)?,
            predictor: short(tag::PREDICTOR, 1)?,
            format: short(tag::FORMAT, 1)?,
            is_planar: short(tag::PLANAR, 1)? == 2,
            is_reversed: short(tag::FILL_ORDER, 1)? == 2,
            chunk,
            is_tiled,
            offsets,
            counts,
            all_bits: numbers(tag::BITS)?,
            all_formats: numbers(tag::FORMAT)?,
            color_map: numbers(tag::COLOR_MAP)?,
            jpeg_tables: numbers(tag::JPEG_TABLES)?,
            extra: numbers(tag::EXTRA_SAMPLES)?,
            subsampling: numbers(tag::SUBSAMPLING)?,
            fax_options: number(tag::FAX_OPTIONS)?.unwrap_or(0),
            orientation: number(tag::ORIENTATION)?.unwrap_or(1),
            is_usual_ycbcr: kinds::is_usual_ycbcr(&directory)?,
        };
        if tiff.samples == 0 || tiff.bits == 0 || tiff.chunk.0 == 0 || tiff.chunk.1 == 0 {
            return Err("the TIFF's directory says that its pixels or strips are empty".into());
        }
        Ok(tiff)
    }

    /// Returns true if numbers are big endian.
    #[must_use]
    pub fn is_big_endian(&self) -> bool {
        self.directory.is_big_endian()
    }

    /// Returns the palette: all red values, then all green, then all blue.
    #[must_use]
    pub fn color_map(&self) -> Option<Numbers<'a>> {
        self.color_map
    }

    /// Returns the tables that all JPEGs of the file share.
    #[must_use]
    pub fn jpeg_tables(&self) -> Option<&'a [u8]> {
        self.jpeg_tables.map(|numbers| numbers.bytes())
    }

    /// Returns the meaning of the first sample after the colours: 1 is premultiplied alpha, 2 is
    /// straight alpha.
    #[must_use]
    pub fn extra(&self) -> Option<u16> {
        u16::try_from(self.extra?.get(0)?).ok()
    }

    /// Returns the horizontal and vertical subsampling of YCbCr's chroma.
    #[must_use]
    pub fn subsampling(&self) -> (u16, u16) {
        let number = |index| u16::try_from(self.subsampling?.get(index)?).ok();
        (number(0).unwrap_or(2), number(1).unwrap_or(2))
    }

    /// Returns true if fax lines are coded relative to the line above (`T4Options`).
    #[must_use]
    pub fn is_fax_2d(&self) -> bool {
        self.fax_options & 1 == 1
    }

    /// Returns the number of strips or tiles per row, and of their rows.
    #[must_use]
    pub fn grid(&self) -> (u32, u32) {
        (self.width.div_ceil(self.chunk.0), self.height.div_ceil(self.chunk.1))
    }

    /// Returns the number of planes with separate strips or tiles.
    #[must_use]
    pub fn n_planes(&self) -> u16 {
        if self.is_planar { self.samples } else { 1 }
    }

    /// Returns the image rows in row `down` of the grid of strips or tiles.
    #[must_use]
    pub fn rows(&self, down: u32) -> u32 {
        self.height.saturating_sub(down.saturating_mul(self.chunk.1)).min(self.chunk.1)
    }

    /// Returns the bytes of an uncompressed row of a strip or tile.
    #[must_use]
    pub fn row_bytes(&self) -> u64 {
        let samples = if self.is_planar { 1 } else { u64::from(self.samples) };
        u64::from(self.chunk.0)
            .saturating_mul(samples)
            .saturating_mul(u64::from(self.bits))
            .div_ceil(8)
    }

    /// Returns the stored bytes of a strip or tile, counted row by row of the grid and then plane
    /// by plane.
    ///
    /// # Errors
    /// A text for a sample's error: it is not in the file.
    pub fn stored(&self, index: u64) -> Result<&'a [u8], String> {
        let name = if self.is_tiled { "tile" } else { "strip" };
        let bytes = self.directory.bytes();
        let missing = || format!("the TIFF's directory names no place of {name} {index}");
        let start = self.offsets.and_then(|offsets| offsets.get(index)).ok_or_else(missing)?;
        let start = usize::try_from(start).map_err(|_| missing())?;
        let count = self.counts.and_then(|counts| counts.get(index));
        let rest = bytes.get(start..).filter(|rest| start > 0 && !rest.is_empty());
        let outside = || {
            let len = bytes.len();
            format!("the TIFF's {name} {index} at byte {start} is not within its {len} bytes")
        };
        let rest = rest.ok_or_else(outside)?;
        let across = u64::from(self.grid().0);
        let down = index.checked_div(across).unwrap_or(0) % u64::from(self.grid().1).max(1);
        let rows = self.rows(u32::try_from(down).unwrap_or(u32::MAX));
        let len = match (self.compression, count) {
            // Some writers store a wrong number, and it can be computed.
            (1, _) => self.packed_bytes(rows),
            // Others leave it 0, which can only mean the rest of the file.
            (_, Some(0)) if self.grid() != (1, 1) || self.n_planes() > 1 => {
                return Err(format!("the TIFF's {name} {index} is empty (a sparse file of GDAL?)"));
            }
            (_, None | Some(0)) => rest.len() as u64,
            (_, Some(count)) => count,
        };
        let len = usize::try_from(len).map_err(|_| outside())?;
        rest.get(..len).ok_or_else(|| {
            let (end, all) = (start.saturating_add(len), bytes.len());
            format!(
                "the TIFF is cut off: {name} {index} ends at byte {end}, and the file has {all}"
            )
        })
    }

    /// The bytes of that many uncompressed rows.
    fn packed_bytes(&self, rows: u32) -> u64 {
        if self.is_subsampled() {
            return self.subsampled_bytes(rows);
        }
        self.row_bytes().saturating_mul(u64::from(rows))
    }

    /// Returns true if chroma samples are shared by several pixels, and stored in blocks with them.
    #[must_use]
    pub fn is_subsampled(&self) -> bool {
        self.photometric == Some(kinds::YCBCR)
            && self.compression != kinds::JPEG
            && !self.is_planar
            && self.subsampling() != (1, 1)
    }

    /// Returns the bytes of that many rows of such pixels.
    #[must_use]
    pub fn subsampled_bytes(&self, rows: u32) -> u64 {
        let (across, down) = self.subsampling();
        let (across, down) = (u32::from(across.max(1)), u32::from(down.max(1)));
        let blocks = u64::from(self.chunk.0.div_ceil(across)) * u64::from(rows.div_ceil(down));
        blocks.saturating_mul(u64::from(across * down) + 2)
    }

    /// Checks that all strips or tiles are in the file.
    pub(crate) fn check(&self) -> Result<(), String> {
        let (across, down) = self.grid();
        let n_chunks = u64::from(across) * u64::from(down);
        let n_chunks = n_chunks.saturating_mul(u64::from(self.n_planes()));
        // Stops at the first that is missing.
        (0..n_chunks).try_for_each(|index| self.stored(index).map(|_| ()))
    }

    /// Returns true if another image follows that is neither a reduced version of the first nor its
    /// mask.
    pub(crate) fn has_pages(&self) -> bool {
        const SMALLER_OR_MASK: u64 = 0b101;
        const SMALLER: u64 = 2;
        const MOST: usize = 1000;
        let mut directory = self.directory;
        for _ in 0..MOST {
            let Some(next) = directory.next() else { return self.is_stack() };
            let number = |tag| next.number(tag).ok().flatten();
            let kind = number(tag::NEW_SUBFILE_TYPE).unwrap_or(0);
            if kind & SMALLER_OR_MASK == 0 && number(tag::SUBFILE_TYPE) != Some(SMALLER) {
                return number(tag::WIDTH).is_some();
            }
            directory = next;
        }
        false
    }
}

impl Tiff<'_> {
    /// Returns true if ImageJ or tifffile declares a stack, in which only the first image may have a
    /// directory.
    fn is_stack(&self) -> bool {
        let text = self.directory.text(tag::DESCRIPTION).unwrap_or_default();
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        if let Ok(Shaped { shape }) = serde_json::from_slice(text) {
            let n_values = shape.iter().fold(1, |product: u64, side| product.saturating_mul(*side));
            let n_pixels = u64::from(self.width) * u64::from(self.height);
            return n_values > n_pixels.saturating_mul(self.samples.into());
        }
        let mut lines = text.split(|byte| *byte == b'\n');
        lines.next().is_some_and(|line| line.starts_with(b"ImageJ="))
            && lines.filter_map(|line| line.strip_prefix(b"images=")).any(|n| n != b"1")
    }
}

/// What tifffile writes into the description.
#[derive(serde::Deserialize)]
struct Shaped {
    shape: Vec<u64>,
}

/// Returns the list of pictures in the directory of a Multi-Picture Format, and whether its numbers
/// are big-endian.
pub(crate) fn pictures(bytes: &[u8]) -> Option<(&[u8], bool)> {
    let directory = Directory::first(bytes)?;
    let entries = directory.numbers(tag::PICTURES).ok()??;
    Some((entries.bytes(), directory.is_big_endian()))
}

/// The header of the first image.
pub(crate) fn header(bytes: &[u8]) -> Result<ImageHeader, String> {
    let tiff = Tiff::parse(bytes)?;
    let orientation = u8::try_from(tiff.orientation).ok();
    let has_alpha = tiff.has_alpha();
    let color = match tiff.colors() {
        Some(TiffColors::Gray { .. }) if has_alpha => Color::GrayAlpha,
        Some(TiffColors::Gray { .. }) => Color::Gray,
        Some(TiffColors::Cmyk) => Color::Cmyk,
        Some(_) if has_alpha => Color::Rgba,
        _ => Color::Rgb,
    };
    let bits = match tiff.colors() {
        // Colours of a palette have eight bits, whatever the size of the indices.
        Some(TiffColors::Palette) => 8,
        _ => u8::try_from(tiff.bits).unwrap_or(u8::MAX),
    };
    Ok(ImageHeader {
        codec: Codec::Tiff,
        width: tiff.width,
        height: tiff.height,
        color,
        bits,
        orientation: orientation.filter(|turn| (1..=8).contains(turn)).unwrap_or(1),
        progressive: false,
    })
}

#[cfg(test)]
mod tests;
