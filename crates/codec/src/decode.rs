use crate::{
    Notes,
    bmp::PlainBmp,
    claim::{claim, claim_bilevel, claim_pixels},
    guard::guarded,
    jpeg::JpegDecoder,
    lossless::decode_png,
    other::decode_other,
    region::whole,
    support::{lacking, not_decoded},
    tiff::decode_tiff,
};
use fdconvert_core::probe::check_complete;
use fdconvert_core::{Codec, Encoded, Error, Image, ImageHeader, Limits, Pixels, Result};

/// Decodes images of every codec to 8 bits and 1 (gray), 3 (RGB) or 4 (RGBA) channels.
///
/// Use one per thread: it keeps handles and buffers between images. An error leaves it usable.
///
/// Anything suspicious is an error that names the sample: another codec or size than declared, a
/// limit exceeded, missing pixels, or a panic of a decoder. Accepted with a note are only a JPEG
/// that lacks nothing but its end marker ([`Notes::NO_END_MARKER`]), and a progressive one that
/// ends, with its end marker, before all coefficients were sent ([`Notes::COEFFICIENTS_LEFT_OUT`]).
#[derive(Default)]
pub struct Decoder {
    jpeg: JpegDecoder,
    scratch: Vec<u8>,
}

/// A decoded image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// The pixels, as stored: no EXIF orientation is applied.
    pub pixels: Pixels,
    /// Header of the encoded image.
    pub header: ImageHeader,
    /// Notes on conversions and oddities.
    pub notes: Notes,
}

impl Decoder {
    /// Creates a decoder without handles and buffers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a decoder that leaves all JPEGs to the library of the build
    /// ([`backend`](crate::backend)), for comparisons: for baseline files our decoder makes the
    /// same pixels, faster.
    #[must_use]
    pub fn of_backend() -> Self {
        Self { jpeg: JpegDecoder::of_backend(), ..Self::default() }
    }

    /// Decodes into fresh memory.
    ///
    /// # Errors
    /// `Sample` or `Limit`, naming `key`.
    pub fn decode(&mut self, key: &str, encoded: &Encoded, limits: &Limits) -> Result<Decoded> {
        self.decode_reusing(key, encoded, limits, Vec::new())
    }

    /// Decodes into `out`, replacing its content, and returns header, channels and notes. Reusing a
    /// buffer avoids mapping fresh pages, which costs more than decoding raw pixels. After an error
    /// the content of `out` is unspecified.
    ///
    /// # Errors
    /// `Sample` or `Limit`, naming `key`.
    pub fn decode_into(
        &mut self,
        key: &str,
        encoded: &Encoded,
        limits: &Limits,
        out: &mut Vec<u8>,
    ) -> Result<(ImageHeader, u8, Notes)> {
        let header = claim(key, encoded, limits)?;
        let (channels, notes) = guarded(|| self.decode_claimed(encoded, &header, limits, out))
            .map_err(|what| Error::sample(key, undecodable(&encoded.bytes, &header, what)))?;
        if out.len() as u64 != Pixels::byte_len(header.width, header.height, channels) {
            return Err(Error::sample(key, "decodes to an unexpected number of bytes"));
        }
        Ok((header, channels, notes))
    }

    /// As [`decode_into`](Self::decode_into), for an image in any form. Pixels are checked like
    /// those of a file, and two levels become one channel.
    ///
    /// # Errors
    /// `Sample` or `Limit`, naming `key`.
    pub fn expand_into(
        &mut self,
        key: &str,
        image: Image,
        limits: &Limits,
        out: &mut Vec<u8>,
    ) -> Result<(ImageHeader, u8, Notes)> {
        match image {
            Image::Encoded(encoded) => self.decode_into(key, &encoded, limits, out),
            Image::Pixels(pixels) => {
                let header = claim_pixels(key, &pixels, limits)?;
                *out = pixels.data;
                Ok((header, pixels.channels, Notes::NONE))
            }
            Image::Bilevel(bilevel) => {
                let header = claim_bilevel(key, &bilevel, limits)?;
                bilevel.expand_into(out);
                Ok((header, 1, Notes::NONE))
            }
        }
    }

    /// As [`decode`](Self::decode), reusing the memory of a buffer.
    pub(crate) fn decode_reusing(
        &mut self,
        key: &str,
        encoded: &Encoded,
        limits: &Limits,
        mut data: Vec<u8>,
    ) -> Result<Decoded> {
        let (header, channels, notes) = self.decode_into(key, encoded, limits, &mut data)?;
        let pixels = Pixels { width: header.width, height: header.height, channels, data };
        Ok(Decoded { pixels, header, notes })
    }

    pub(crate) fn jpeg(&mut self) -> &mut JpegDecoder {
        &mut self.jpeg
    }

    pub(crate) fn scratch(&mut self) -> &mut Vec<u8> {
        &mut self.scratch
    }

    fn decode_claimed(
        &mut self,
        encoded: &Encoded,
        header: &ImageHeader,
        limits: &Limits,
        out: &mut Vec<u8>,
    ) -> Result<(u8, Notes), String> {
        let bytes = &encoded.bytes[..];
        let entry_points = encoded.entry_points.as_ref().map(|stored| &stored[..]);
        if let Some(bmp) = PlainBmp::of(bytes, header) {
            bmp.read(whole(header), out);
            return Ok((3, Notes::NONE));
        }
        match header.codec {
            Codec::Jpeg => self.jpeg.decode(bytes, header, entry_points, out),
            Codec::Png => decode_png(bytes, header, limits, &mut self.scratch, out),
            Codec::Tiff => decode_tiff(bytes, header, limits, &mut self.jpeg, out),
            #[cfg(feature = "avif")]
            Codec::Avif => crate::avif::decode_avif(bytes, header, limits, out),
            #[cfg(feature = "jxl")]
            Codec::Jxl => crate::jxl::decode_jxl(bytes, header, limits, &mut self.scratch, out),
            Codec::Raw => {
                out.clear();
                out.extend_from_slice(bytes);
                Ok((header.color.channels(), Notes::NONE))
            }
            codec => match lacking(codec) {
                Some(what) => Err(what),
                None => decode_other(bytes, header, limits, &mut self.scratch, out),
            },
        }
    }
}

/// Describes a decoding failure. If the file as such is broken, the fault and its offset say more
/// than the decoder's error.
pub(crate) fn undecodable(bytes: &[u8], header: &ImageHeader, what: String) -> String {
    if let Some(kind) = not_decoded(bytes, header) {
        return kind;
    }
    let what = check_complete(bytes, header).err().unwrap_or(what);
    format!("the {} cannot be decoded: {what}", header.codec.extension())
}
