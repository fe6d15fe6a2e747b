use crate::{
    JpegOptions,
    bilevel::{BilevelEncoder, Form},
    bmp::{self, encode_bmp},
    jpeg::JpegEncoder,
    lossless::{encode_png, encode_webp},
};
use bytes::Bytes;
use fdconvert_core::{Bilevel, Codec, Encoded, Error, Pixels, Result};

/// Encodes pixels as JPEG, PNG, BMP, WebP or raw. Use one per thread: it keeps a handle and a
/// buffer.
#[derive(Default)]
pub struct Encoder {
    jpeg: JpegEncoder,
    bilevel: BilevelEncoder,
    buffer: Vec<u8>,
}

impl Encoder {
    /// Creates an encoder without handle and buffer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Encodes an image. `options` apply to JPEG only; `source` is the JPEG that the pixels came
    /// from, if any, for [`Subsampling::Keep`](crate::Subsampling::Keep).
    ///
    /// # Errors
    /// `Sample`, naming `key`, when the codec cannot hold the image or cannot be written.
    pub fn encode(
        &mut self,
        key: &str,
        pixels: &Pixels,
        codec: Codec,
        options: &JpegOptions,
        source: Option<&[u8]>,
    ) -> Result<Encoded> {
        let bytes = self.bytes(pixels, codec, options, source).map_err(|what| {
            Error::sample(key, format!("cannot be encoded as {}: {what}", codec.extension()))
        })?;
        Ok(Encoded::new(codec, pixels.width, pixels.height, bytes))
    }

    /// Encodes two gray levels: as PNG and BMP with one bit per pixel, in other codecs like any
    /// gray pixels. `options` apply to JPEG only.
    ///
    /// # Errors
    /// `Sample`, naming `key`, when the bits do not fit the image's size, and as for
    /// [`encode`](Self::encode).
    pub fn encode_bilevel(
        &mut self,
        key: &str,
        image: &Bilevel,
        codec: Codec,
        options: &JpegOptions,
    ) -> Result<Encoded> {
        image.check().map_err(|what| Error::sample(key, what))?;
        match codec {
            Codec::Png if image.levels == [0, 255] => self.bilevel_png(key, image, Form::Gray),
            Codec::Png => self.bilevel_png(key, image, Form::Palette),
            Codec::Bmp => self.bilevel_bmp(key, image),
            _ => self.encode(key, &image.to_pixels(), codec, options, None),
        }
    }

    /// Encodes as a 1-bit BMP. The image has already been checked.
    pub(crate) fn bilevel_bmp(&mut self, key: &str, image: &Bilevel) -> Result<Encoded> {
        let wrote = bmp::encode_bilevel(image, &mut self.buffer);
        wrote.map_err(|what| Error::sample(key, format!("cannot be encoded as bmp: {what}")))?;
        let (codec, width, height) = (Codec::Bmp, image.width, image.height);
        Ok(Encoded::new(codec, width, height, Bytes::copy_from_slice(&self.buffer)))
    }

    /// Encodes as a 1-bit PNG. The image has already been checked.
    pub(crate) fn bilevel_png(
        &mut self,
        key: &str,
        image: &Bilevel,
        form: Form,
    ) -> Result<Encoded> {
        let wrote = self.bilevel.encode(image, form, &mut self.buffer);
        wrote.map_err(|what| Error::sample(key, format!("cannot be encoded as png: {what}")))?;
        let (codec, width, height) = (Codec::Png, image.width, image.height);
        Ok(Encoded::new(codec, width, height, Bytes::copy_from_slice(&self.buffer)))
    }

    fn bytes(
        &mut self,
        pixels: &Pixels,
        codec: Codec,
        options: &JpegOptions,
        source: Option<&[u8]>,
    ) -> Result<Bytes, String> {
        let expected = Pixels::byte_len(pixels.width, pixels.height, pixels.channels);
        if pixels.data.len() as u64 != expected {
            return Err(format!("{} bytes where {expected} are due", pixels.data.len()));
        }
        // The result is copied out of the buffer at its exact length: the buffer has room for the
        // worst case, which is several times as long.
        match codec {
            Codec::Jpeg => {
                let length = self.jpeg.encode(pixels, options, source, &mut self.buffer)?;
                Ok(Bytes::copy_from_slice(self.buffer.get(..length).unwrap_or_default()))
            }
            Codec::Png => {
                encode_png(pixels, &mut self.buffer)?;
                Ok(Bytes::copy_from_slice(&self.buffer))
            }
            Codec::Bmp => {
                encode_bmp(pixels, &mut self.buffer)?;
                Ok(Bytes::copy_from_slice(&self.buffer))
            }
            Codec::Webp => {
                encode_webp(pixels, &mut self.buffer)?;
                Ok(Bytes::copy_from_slice(&self.buffer))
            }
            Codec::Raw if matches!(pixels.channels, 1 | 3) => {
                Ok(Bytes::copy_from_slice(&pixels.data))
            }
            Codec::Raw => Err(format!("raw pixels have 1 or 3 channels, not {}", pixels.channels)),
            _ => Err("we only read this codec".into()),
        }
    }
}
