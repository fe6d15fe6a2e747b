//! Bands of a TIFF: the stored values, of their type, for a region of the image.
use super::{
    rows::{add_up, is_predicted},
    unpack::Unpacker,
};
use crate::{Region, jpeg::JpegDecoder};
use fdconvert_core::probe::Tiff;
use fdconvert_core::{Bands, DType, Limits};
use std::ops::Range;

/// Predictor that stores differences of the bytes of floats (Adobe Photoshop TIFF Technical Note 3).
const OF_FLOATS: u16 = 3;

/// Decodes a region, which must be inside the image: values in the byte order of the machine, the
/// bands of a pixel next to each other. Only strips and tiles of the region are unpacked.
pub(crate) fn decode_tiff_bands(
    tiff: &Tiff<'_>,
    bands: Bands,
    limits: &Limits,
    jpeg: &mut JpegDecoder,
    region: Region,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let mut unpacker = Unpacker::new(tiff, jpeg, limits)?;
    let mut values = Values::new(tiff, bands.dtype);
    let (n_stored, value_bytes) =
        (if tiff.is_planar { 1 } else { usize::from(bands.n) }, bands.dtype.size() as usize);
    let pixel_bytes = bands.pixel_bytes();
    let stride = (region.width as usize * pixel_bytes).max(1);
    out.clear();
    out.resize(stride * region.height as usize, 0);
    let across = steps(region.x, region.width, tiff.chunk.0);
    let down = steps(region.y, region.height, tiff.chunk.1);
    for plane in 0..tiff.n_planes() {
        for (y, x) in down.clone().flat_map(|y| across.clone().map(move |x| (y, x))) {
            let chunk = unpacker.chunk(u64::from(plane), (x, y))?;
            let columns = shared(region.x, region.width, x, tiff.chunk.0);
            let rows = shared(region.y, region.height, y, tiff.chunk.1);
            let from_bytes = columns.inside.start as usize * n_stored * value_bytes
                ..columns.inside.end as usize * n_stored * value_bytes;
            let to = out.chunks_exact_mut(stride).skip(rows.at as usize);
            let chosen = chunk.rows().skip(rows.inside.start as usize).take(rows.inside.len());
            for (row, to) in chosen.zip(to) {
                let row = values.of(row).get(from_bytes.clone()).unwrap_or_default();
                let to = to.get_mut(columns.at as usize * pixel_bytes..).unwrap_or_default();
                if n_stored == usize::from(bands.n) {
                    if let Some(to) = to.get_mut(..row.len()) {
                        to.copy_from_slice(row);
                    }
                    continue;
                }
                let places = to.chunks_exact_mut(pixel_bytes);
                for (to, from) in places.zip(row.chunks_exact(value_bytes)) {
                    let at = usize::from(plane) * value_bytes;
                    if let Some(to) = to.get_mut(at..at + value_bytes) {
                        to.copy_from_slice(from);
                    }
                }
            }
        }
    }
    Ok(())
}

/// Returns the strips or tiles along one axis that a region touches.
fn steps(from: u32, length: u32, chunk: u32) -> Range<u32> {
    let last = (from + length).saturating_sub(1);
    from.checked_div(chunk).unwrap_or(0)..last.checked_div(chunk).unwrap_or(0) + 1
}

/// What a region and a strip or tile share along one axis.
struct Shared {
    /// Within the strip or tile.
    inside: Range<u32>,
    /// Start within the region.
    at: u32,
}

fn shared(from: u32, length: u32, step: u32, chunk: u32) -> Shared {
    let start = u64::from(step) * u64::from(chunk);
    let (first, end) = (u64::from(from).max(start), u64::from(from) + u64::from(length));
    let end = end.min(start + u64::from(chunk)).max(first);
    // Differences of places within one strip or tile, and within the region.
    Shared {
        inside: (first - start) as u32..(end - start) as u32,
        at: (first - u64::from(from)) as u32,
    }
}

/// Makes rows of stored bytes values in the byte order of the machine.
struct Values {
    dtype: DType,
    is_big_endian: bool,
    predictor: u16,
    /// Values between one and its prediction.
    distance: usize,
    bytes: Vec<u8>,
    shorts: Vec<u16>,
    longs: Vec<u32>,
}

impl Values {
    fn new(tiff: &Tiff<'_>, dtype: DType) -> Self {
        Self {
            dtype,
            is_big_endian: tiff.is_big_endian(),
            predictor: if is_predicted(tiff) { tiff.predictor } else { 1 },
            distance: if tiff.is_planar { 1 } else { usize::from(tiff.samples) },
            bytes: Vec::new(),
            shorts: Vec::new(),
            longs: Vec::new(),
        }
    }

    fn of<'a>(&'a mut self, row: &'a [u8]) -> &'a [u8] {
        let is_native = self.is_big_endian == cfg!(target_endian = "big");
        let is_plain = self.predictor == 1 && (is_native || self.dtype == DType::U8);
        if is_plain {
            return row;
        }
        match self.dtype {
            DType::U8 => {
                self.bytes.clear();
                self.bytes.extend_from_slice(row);
                add_up(&mut self.bytes, self.distance, u8::wrapping_add);
                return &self.bytes;
            }
            DType::U16 | DType::I16 => {
                let read = if self.is_big_endian { u16::from_be_bytes } else { u16::from_le_bytes };
                self.shorts.clear();
                self.shorts.extend(row.as_chunks().0.iter().map(|pair| read(*pair)));
                if self.predictor == 2 {
                    add_up(&mut self.shorts, self.distance, u16::wrapping_add);
                }
                self.bytes.clear();
                self.bytes.extend(self.shorts.iter().flat_map(|value| value.to_ne_bytes()));
            }
            _ => {
                self.longs.clear();
                if self.predictor == OF_FLOATS {
                    self.floats(row);
                } else {
                    let read =
                        if self.is_big_endian { u32::from_be_bytes } else { u32::from_le_bytes };
                    self.longs.extend(row.as_chunks().0.iter().map(|four| read(*four)));
                    if self.predictor == 2 {
                        add_up(&mut self.longs, self.distance, u32::wrapping_add);
                    }
                }
                self.bytes.clear();
                self.bytes.extend(self.longs.iter().flat_map(|value| value.to_ne_bytes()));
            }
        }
        &self.bytes
    }

    /// Undoes the predictor of floats: differences of bytes, of which all the highest ones of a row
    /// come first, whatever the byte order of the file.
    fn floats(&mut self, row: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(row);
        add_up(&mut self.bytes, self.distance, u8::wrapping_add);
        let n_values = self.bytes.len() / 4;
        let (first, rest) = self.bytes.split_at(n_values);
        let (second, rest) = rest.split_at(n_values);
        let (third, fourth) = rest.split_at(n_values);
        let values = first.iter().zip(second).zip(third).zip(fourth);
        self.longs.extend(values.map(|(((a, b), c), d)| u32::from_be_bytes([*a, *b, *c, *d])));
    }
}
