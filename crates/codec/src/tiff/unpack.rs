//! Decompression of strips and tiles.
use super::ycbcr;
use crate::{Notes, convert, jpeg::JpegDecoder, other::decode_other};
use fdconvert_core::probe::{Tiff, TiffColors, probe};
use fdconvert_core::{Codec, ImageHeader, Limits};
use fdconvert_jpeg::{
    START,
    marker::{APP0, APP14, SOS},
    marker_segments,
};
use flate2::{Decompress, FlushDecompress, Status};
use std::io::Read;
use weezl::{BitOrder, LzwStatus, decode::Decoder as Lzw};
use zune_core::{bytestream::ZCursor, options::DecoderOptions};

/// Compressions in which strips and tiles are complete pictures.
const JPEG: u16 = 7;
const WEBP: u16 = 50_001;

/// Decompresses strips and tiles into its buffer.
pub(super) struct Unpacker<'a> {
    tiff: &'a Tiff<'a>,
    jpeg: &'a mut JpegDecoder,
    limits: &'a Limits,
    row_bytes: usize,
    /// Stored bytes with reversed bits.
    reversed: Vec<u8>,
    unpacked: Vec<u8>,
    /// RGB of samples stored in blocks.
    rgb: Vec<u8>,
}

/// The rows of a strip or tile within the image.
pub(super) struct Chunk<'a> {
    unpacked: &'a [u8],
    row_bytes: usize,
    /// True if its samples have 8 bits and are no differences.
    pub(super) is_final: bool,
}

impl<'a> Chunk<'a> {
    pub(super) fn rows(&self) -> impl Iterator<Item = &'a [u8]> {
        self.unpacked.chunks_exact(self.row_bytes.max(1))
    }
}

impl<'a> Unpacker<'a> {
    pub(super) fn new(
        tiff: &'a Tiff<'a>,
        jpeg: &'a mut JpegDecoder,
        limits: &'a Limits,
    ) -> Result<Self, String> {
        // A tile may be far wider than the image.
        let n_pixels = u64::from(tiff.chunk.0) * u64::from(tiff.rows(0));
        let fits = n_pixels <= limits.max_pixels;
        let row_bytes =
            usize::try_from(tiff.row_bytes()).ok().filter(|_| fits).ok_or_else(|| {
                let (width, height) = tiff.chunk;
                format!(
                    "the TIFF has tiles of {width}x{height}, which are over the limit on pixels"
                )
            })?;
        let (reversed, unpacked, rgb) = Default::default();
        Ok(Self { tiff, jpeg, limits, row_bytes, reversed, unpacked, rgb })
    }

    /// Decompresses the strip or tile of a plane at a place of the grid.
    pub(super) fn chunk(&mut self, plane: u64, (x, y): (u32, u32)) -> Result<Chunk<'_>, String> {
        let tiff = self.tiff;
        let (across, down) = tiff.grid();
        let (across, down) = (u64::from(across), u64::from(down));
        let index = (plane * down + u64::from(y)) * across + u64::from(x);
        let stored = tiff.stored(index)?;
        let rows = tiff.rows(y);
        let of_chunk = |what: String| {
            let name = if tiff.is_tiled { "tile" } else { "strip" };
            format!("the TIFF's {name} {index} cannot be unpacked: {what}")
        };
        if matches!(tiff.compression, JPEG | WEBP) {
            self.pictured(stored, rows).map_err(of_chunk)?;
            let (unpacked, row_bytes) = (&self.unpacked[..], self.row_bytes);
            return Ok(Chunk { unpacked, row_bytes, is_final: true });
        }
        let n_bytes = if tiff.is_subsampled() {
            tiff.subsampled_bytes(rows) as usize
        } else {
            self.row_bytes * rows as usize
        };
        let stored = if tiff.is_reversed {
            self.reversed.clear();
            self.reversed.extend(stored.iter().map(|byte| byte.reverse_bits()));
            &self.reversed
        } else {
            stored
        };
        // A tile at the lower edge continues below the image.
        let is_whole = !tiff.is_tiled || rows == tiff.chunk.1;
        let unpacked = if tiff.compression == 1 {
            stored.get(..n_bytes).unwrap_or_default()
        } else {
            self.unpacked.resize(n_bytes, 0);
            let out = &mut self.unpacked[..];
            match tiff.compression {
                5 => lzw(stored, out),
                8 | 32_946 if is_whole => deflate_whole(stored, out),
                8 | 32_946 => deflate(stored, out),
                32_773 => pack_bits(stored, out),
                50_000 => zstd(stored, out),
                3 | 4 => fax(tiff, stored, out),
                other => Err(format!("the compression {other} is not supported")),
            }
            .map_err(of_chunk)?;
            &self.unpacked
        };
        if tiff.is_subsampled() {
            let (across, down) = tiff.subsampling();
            let size = (tiff.chunk.0 as usize, rows as usize);
            self.rgb.clear();
            self.rgb.resize(size.0 * size.1 * 3, 0);
            ycbcr::to_rgb(unpacked, (across.into(), down.into()), size, &mut self.rgb);
            return Ok(Chunk { unpacked: &self.rgb, row_bytes: size.0 * 3, is_final: true });
        }
        if tiff.colors() == Some(TiffColors::Ycbcr) && !tiff.is_planar {
            let size = (tiff.chunk.0 as usize, rows as usize);
            self.rgb.clear();
            self.rgb.resize(size.0 * size.1 * 3, 0);
            ycbcr::to_rgb(unpacked, (1, 1), size, &mut self.rgb);
            return Ok(Chunk { unpacked: &self.rgb, row_bytes: size.0 * 3, is_final: true });
        }
        Ok(Chunk { unpacked, row_bytes: self.row_bytes, is_final: false })
    }

    /// Decodes a strip or tile that is a JPEG or WebP, cropped to the rows of the image.
    fn pictured(&mut self, stored: &[u8], rows: u32) -> Result<(), String> {
        let tiff = self.tiff;
        let n_samples = if tiff.is_planar { 1 } else { tiff.samples };
        let mut pixels = Vec::new();
        let (header, n_channels) = if tiff.compression == JPEG {
            let jpeg = whole_jpeg(tiff, stored);
            let header = probe(&jpeg)?;
            check_size(&header, tiff, rows, self.limits)?;
            if n_samples == 4 {
                (header, inks(&jpeg, &mut pixels)?)
            } else {
                let (n_channels, _) = self.jpeg.decode(&jpeg, &header, None, &mut pixels)?;
                (header, n_channels)
            }
        } else {
            let header = probe(stored)?;
            check_size(&header, tiff, rows, self.limits)?;
            if header.codec != Codec::Webp {
                return Err(format!("it holds {}", header.codec.extension()));
            }
            let mut scratch = Vec::new();
            let decoded: Result<(u8, Notes), _> =
                decode_other(stored, &header, self.limits, &mut scratch, &mut pixels);
            (header, decoded?.0)
        };
        // Some encoders omit alpha if all of it is opaque.
        let n_channels = match (tiff.compression, n_channels, n_samples) {
            (WEBP, 3, 4) => {
                let opaque = |&[red, green, blue]: &[u8; 3]| [red, green, blue, u8::MAX];
                pixels = pixels.as_chunks().0.iter().flat_map(opaque).collect();
                4
            }
            (WEBP, 4, 3) => {
                let mut colors = Vec::new();
                convert::drop_alpha(&pixels, false, &mut colors);
                pixels = colors;
                3
            }
            _ => n_channels,
        };
        if u16::from(n_channels) != n_samples {
            return Err(format!("it has {n_channels} channels and not {n_samples}"));
        }
        let stride = header.width as usize * usize::from(n_channels);
        self.unpacked.clear();
        for row in pixels.chunks_exact(stride.max(1)).take(rows as usize) {
            self.unpacked.extend_from_slice(row.get(..self.row_bytes).unwrap_or_default());
        }
        Ok(())
    }
}

/// Refuses a picture that is smaller than its strip or tile, or over the limits.
fn check_size(
    header: &ImageHeader,
    tiff: &Tiff<'_>,
    rows: u32,
    limits: &Limits,
) -> Result<(), String> {
    let (width, height) = (header.width, header.height);
    if width < tiff.chunk.0 || height < rows || header.pixels() > limits.max_pixels {
        return Err(format!("it is {width}x{height} and not {}x{rows}", tiff.chunk.0));
    }
    Ok(())
}

/// Adds the tables that all strips share to a JPEG. Its colour space comes from the TIFF's
/// directory: JFIF and Adobe markers are dropped.
fn whole_jpeg(tiff: &Tiff<'_>, stored: &[u8]) -> Vec<u8> {
    // An Adobe segment of version 100; its last byte distinguishes RGB from YCbCr.
    const ADOBE: &[u8] = b"\xff\xee\0\x0eAdobe\0\x64\0\0\0\0";
    let is_ycbcr = tiff.colors() == Some(TiffColors::Ycbcr);
    let tables = tiff.jpeg_tables().unwrap_or_default();
    let tables = tables.strip_suffix(b"\xff\xd9").unwrap_or(tables);
    let mut jpeg = [&START, ADOBE, &[u8::from(is_ycbcr)]].concat();
    for part in [tables, stored] {
        let mut copied = if part.starts_with(&START) { START.len() } else { 0 };
        let segments = marker_segments(part).take_while(|segment| segment.marker != SOS);
        // JFIF and Adobe.
        for segment in segments.filter(|segment| matches!(segment.marker, APP0 | APP14)) {
            jpeg.extend_from_slice(part.get(copied..segment.from()).unwrap_or_default());
            copied = segment.end;
        }
        jpeg.extend_from_slice(part.get(copied..).unwrap_or_default());
    }
    jpeg
}

/// Decodes the four channels of a JPEG as stored; returns their number.
fn inks(jpeg: &[u8], out: &mut Vec<u8>) -> Result<u8, String> {
    let mut decoder = zune_jpeg::JpegDecoder::new(ZCursor::new(jpeg));
    decoder.decode_headers().map_err(|error| error.to_string())?;
    if let Some(stored) = decoder.input_colorspace() {
        decoder.set_options(DecoderOptions::default().jpeg_set_out_colorspace(stored));
    }
    *out = decoder.decode().map_err(|error| error.to_string())?;
    Ok(4)
}

/// Describes a chunk with fewer bytes than its rows need.
fn short(n_bytes: usize, wanted: usize) -> String {
    format!("it ends after {n_bytes} of {wanted} bytes")
}

fn lzw(stored: &[u8], out: &mut [u8]) -> Result<(), String> {
    // Before revision 5.0 bits were filled from the lowest, and codes grew one later, as in a GIF.
    let is_old = matches!(*stored, [0, second, ..] if second & 1 == 1);
    let mut decoder = if is_old {
        Lzw::new(BitOrder::Lsb, 8)
    } else {
        Lzw::with_tiff_size_switch(BitOrder::Msb, 8)
    };
    let (mut read, mut written) = (0, 0);
    while written < out.len() {
        let from = stored.get(read..).unwrap_or_default();
        let to = out.get_mut(written..).unwrap_or_default();
        let done = decoder.decode_bytes(from, to);
        read += done.consumed_in;
        written += done.consumed_out;
        match done.status {
            Ok(LzwStatus::Ok) => {}
            Ok(LzwStatus::NoProgress | LzwStatus::Done) => break,
            Err(error) => return Err(error.to_string()),
        }
    }
    if written < out.len() { Err(short(written, out.len())) } else { Ok(()) }
}

/// As [`deflate`], in half its time for a stream of exactly these bytes.
fn deflate_whole(stored: &[u8], out: &mut [u8]) -> Result<(), String> {
    match libdeflater::Decompressor::new().zlib_decompress(stored, out) {
        Ok(n_bytes) if n_bytes == out.len() => Ok(()),
        _ => deflate(stored, out),
    }
}

fn deflate(stored: &[u8], out: &mut [u8]) -> Result<(), String> {
    let mut decoder = Decompress::new(true);
    loop {
        let (read, written) = (decoder.total_in() as usize, decoder.total_out() as usize);
        let from = stored.get(read..).unwrap_or_default();
        let to = out.get_mut(written..).unwrap_or_default();
        if to.is_empty() {
            return Ok(());
        }
        let status = decoder
            .decompress(from, to, FlushDecompress::None)
            .map_err(|error| error.to_string())?;
        let moved = (decoder.total_in() as usize, decoder.total_out() as usize) != (read, written);
        if (status == Status::StreamEnd || !moved) && (decoder.total_out() as usize) < out.len() {
            return Err(short(decoder.total_out() as usize, out.len()));
        }
    }
}

fn zstd(stored: &[u8], out: &mut [u8]) -> Result<(), String> {
    let read = zstd::stream::read::Decoder::with_buffer(stored)
        .and_then(|mut decoder| decoder.read_exact(out));
    read.map_err(|error| error.to_string())
}

/// Unpacks runs of bytes, and single bytes (TIFF 6.0, section 9).
fn pack_bits(mut stored: &[u8], out: &mut [u8]) -> Result<(), String> {
    let wanted = out.len();
    let mut written = 0;
    while written < wanted {
        let Some((&head, rest)) = stored.split_first() else { return Err(short(written, wanted)) };
        stored = rest;
        let to = out.get_mut(written..).unwrap_or_default();
        let len = match head {
            0..=127 => {
                let len = usize::from(head) + 1;
                let (from, rest) = stored.split_at_checked(len).unwrap_or((stored, &[]));
                stored = rest;
                let len = from.len().min(to.len());
                for (to, from) in to.iter_mut().zip(from) {
                    *to = *from;
                }
                len
            }
            // No operation.
            128 => 0,
            129..=255 => {
                let len = (257 - usize::from(head)).min(to.len());
                let Some((&value, rest)) = stored.split_first() else {
                    return Err(short(written, wanted));
                };
                stored = rest;
                to.iter_mut().take(len).for_each(|to| *to = value);
                len
            }
        };
        written += len;
    }
    Ok(())
}

/// Decodes fax of group 3 in one dimension, and of group 4: lines of black and white, a bit per
/// pixel.
fn fax(tiff: &Tiff<'_>, stored: &[u8], out: &mut [u8]) -> Result<(), String> {
    let columns = tiff.chunk.0;
    let width = u16::try_from(columns).map_err(|_| format!("{columns} columns are too many"))?;
    let row_bytes = columns.div_ceil(8) as usize;
    let wanted = out.len() / row_bytes.max(1);
    let mut rows = out.chunks_exact_mut(row_bytes.max(1));
    let mut n_rows = 0;
    // Positions of colour changes; black is 1.
    let line = |changes: &[u16]| {
        let Some(row) = rows.next() else { return };
        n_rows += 1;
        row.fill(0);
        for run in changes.chunks(2) {
            let (from, to) = (run.first().copied().unwrap_or(width), run.get(1).copied());
            for x in usize::from(from)..usize::from(to.unwrap_or(width).min(width)) {
                if let Some(byte) = row.get_mut(x / 8) {
                    *byte |= 0x80 >> (x % 8);
                }
            }
        }
    };
    let bytes = stored.iter().copied();
    if tiff.compression == 4 {
        let height = u16::try_from(wanted).map_err(|_| format!("{wanted} rows are too many"))?;
        let _ = fax::decoder::decode_g4(bytes, width, Some(height), line);
    } else {
        // The last line ends with the strip, or with this added end of line.
        let _ = fax::decoder::decode_g3(bytes.chain([0, 1].repeat(6)), line);
    }
    if n_rows < wanted { Err(format!("it ends after {n_rows} of {wanted} rows")) } else { Ok(()) }
}
