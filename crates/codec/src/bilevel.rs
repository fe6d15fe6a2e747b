//! 1-bit PNGs, straight from the bits.

use fdconvert_core::Bilevel;
use libdeflater::{CompressionLvl, Compressor};
use png::{BitDepth, ColorType, Encoder, chunk};

/// PNG's two forms of one bit per pixel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Gray: 0 is black and 1 is white, whatever the levels of the image.
    Gray,
    /// A palette of the two levels, which every reader that converts to RGB gets exactly.
    Palette,
}

/// Writes 1-bit PNGs. Use one per thread: it keeps a handle and buffers.
///
/// Rows are not filtered: PNG's filters predict bytes, and bytes of eight pixels fit none of their
/// predictions (2 % larger with them). libdeflate compresses the rows at level 1. Measured on 200
/// FractalDB bitmaps of 362x362 (17.1 KB uncompressed), one core:
///
/// | compressor | us per image | bytes |
/// |---|---|---|
/// | `png`, fast (fdeflate) | 26 | 12298 |
/// | zlib-rs, level 1 | 217, handle kept: 42 | 9935 |
/// | zlib-rs, level 2 | 264, handle kept: 94 | 9384 |
/// | zlib-rs, level 6 (`png`, balanced) | 335 | 9239 |
/// | **libdeflate, level 1** | **58** | **9411** |
/// | libdeflate, level 5 | 83 | 9254 |
/// | libdeflate, level 6 | 96 | 9224 |
///
/// The `png` crate makes a new handle for every image, so the zlib stream has to be made separately
/// with any compressor. All of these decode in 120 us. A formula is drawn in less time than its
/// image is compressed, so 1.7 % of the size are not worth 40 % of the time.
#[derive(Default)]
pub(crate) struct BilevelEncoder {
    compressor: Option<Compressor>,
    rows: Vec<u8>,
    stream: Vec<u8>,
}

impl BilevelEncoder {
    /// Writes a PNG, replacing `out`. The image has already been checked.
    pub(crate) fn encode(
        &mut self,
        image: &Bilevel,
        form: Form,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        let stream = self.compress(image)?;
        out.clear();
        let palette = image.levels.map(|level| [level; 3]);
        let mut encoder = Encoder::new(out, image.width, image.height);
        encoder.set_depth(BitDepth::One);
        match form {
            Form::Gray => encoder.set_color(ColorType::Grayscale),
            Form::Palette => {
                encoder.set_color(ColorType::Indexed);
                encoder.set_palette(palette.as_flattened());
            }
        }
        let text = |error: png::EncodingError| error.to_string();
        let mut writer = encoder.write_header().map_err(text)?;
        writer.write_chunk(chunk::IDAT, stream).map_err(text)?;
        writer.finish().map_err(text)
    }

    /// Returns the zlib stream of the rows, each after a 0 for "not filtered".
    fn compress(&mut self, image: &Bilevel) -> Result<&[u8], String> {
        let row_bytes = (image.width.div_ceil(8) as usize).max(1);
        self.rows.clear();
        self.rows.reserve(image.bits.len() + image.height as usize);
        for row in image.bits.chunks_exact(row_bytes) {
            self.rows.push(0);
            self.rows.extend_from_slice(row);
        }
        let compressor = self.compressor.get_or_insert_with(|| {
            // Level 1 exists. `CompressionLvl::fastest` would not compress at all.
            Compressor::new(CompressionLvl::new(1).unwrap_or_default())
        });
        self.stream.resize(compressor.zlib_compress_bound(self.rows.len()), 0);
        let length = compressor.zlib_compress(&self.rows, &mut self.stream);
        let length = length.map_err(|error| error.to_string())?;
        Ok(self.stream.get(..length).unwrap_or_default())
    }
}
