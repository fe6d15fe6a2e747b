//! From the bytes of a file to a [`Jpeg`]: the marker segments of ITU-T T.81, annex B.
use crate::{
    BadLength, Class, Color, Component, HuffmanTable, Jpeg, MarkerSegment, Refused, START,
    bits::MAX_SCAN_BYTES,
    jpeg::slots,
    marker::{APP0, APP14, DHT, DNL, DQT, DRI, EOI, SOI, SOS, stands_alone, starts_frame},
    segments::{after_ff, find_ff, first_stray, segments_from},
};
use std::ops::Range;

/// Storage order of the 64 values of a block, as places in natural order (T.81, figure A.6).
pub(crate) const ZIGZAG: [u8; 64] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20,
    13, 6, 7, 14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59,
    52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
];

/// Reads the markers of a JPEG up to its scan, and finds the scan's end. The content of the scan is
/// not checked; bytes after the marker that ends the image are ignored.
///
/// # Errors
/// [`Refused`] when the file is damaged, or not a baseline (or extended sequential, 8 bits) JPEG
/// of one or three components in one scan.
pub fn parse(bytes: &[u8]) -> Result<Jpeg, Refused> {
    let mut jpeg = parse_header(bytes)?;
    jpeg.scan = entropy_coded(bytes, jpeg.scan.start, jpeg.restart_interval != 0)?;
    Ok(jpeg)
}

/// As [`parse`], but ignores everything after the scan's header, which takes most of the time: the
/// scan is the rest of the file. For files known to parse, such as those with entry points; for
/// others, decoding must find the faults.
///
/// # Errors
/// [`Refused`], as for [`parse`], for faults before the scan.
pub fn parse_header(bytes: &[u8]) -> Result<Jpeg, Refused> {
    if !bytes.starts_with(&START) {
        return Err(Refused::NotJpeg);
    }
    let mut state = State::default();
    let segment = state.read_to_scan(bytes, START.len())?;
    let (offset, body) = (segment.from(), segment.body.unwrap_or_default());
    let components = state.scan_header(offset, body)?;
    let scan = segment.end..bytes.len();
    match scan.len() {
        n_bytes if n_bytes > MAX_SCAN_BYTES => Err(Refused::TooLong { n_bytes }),
        _ => state.finish(offset, components, scan),
    }
}

/// Contents of the previous segments.
#[derive(Debug, Clone, Default)]
pub(crate) struct State {
    is_progressive: bool,
    pub(crate) frame: Option<Frame>,
    pub(crate) quant_tables: [Option<[u16; 64]>; 4],
    pub(crate) dc_tables: [Option<HuffmanTable>; 4],
    pub(crate) ac_tables: [Option<HuffmanTable>; 4],
    pub(crate) restart_interval: u32,
    jfif: bool,
    adobe: Option<u8>,
}

#[derive(Debug, Clone)]
pub(crate) struct Frame {
    offset: usize,
    height_at: usize,
    width: u32,
    height: u32,
    pub(crate) components: Vec<Component>,
}

impl State {
    /// Begins with an image that has to be progressive, which others may not be.
    pub(crate) fn of_progressive() -> Self {
        Self { is_progressive: true, ..Self::default() }
    }

    /// Reads segments from `at` on, and returns the header of the next scan; after the last scan of a
    /// progressive image, the end marker.
    pub(crate) fn read_to_scan<'a>(
        &mut self,
        bytes: &'a [u8],
        at: usize,
    ) -> Result<MarkerSegment<'a>, Refused> {
        let mut segments = segments_from(bytes, at);
        for segment in segments.by_ref() {
            let (marker, offset) = (segment.marker, segment.from());
            if let Some(found) = segment.stray() {
                return Err(Refused::Marker { offset, found });
            }
            match marker {
                EOI if self.is_progressive && at > START.len() => return Ok(segment),
                0x02..=0xBF | 0xC8 | SOI | EOI | 0xF0..=0xFD => {
                    return Err(Refused::Marker { offset, found: marker });
                }
                // TEM and stray restarts.
                _ if stands_alone(marker) => continue,
                _ => {}
            }
            let bad_len = Refused::Length { offset, marker };
            let body = segment.body.map_err(|why| match why {
                BadLength::Impossible(_) => bad_len.clone(),
                BadLength::Ends => Refused::Ends { offset: bytes.len() },
            })?;
            match marker {
                _ if starts_frame(marker) => {
                    // After the marker, the length and the precision.
                    self.frame(marker, offset, segment.at + 5, body)?;
                }
                0xDE | 0xDF => return Err(Refused::Hierarchical { offset }),
                DNL => return Err(Refused::LateHeight { offset }),
                // A component has the table that was there before its first scan.
                DQT if at > START.len() => return Err(Refused::Progression { offset }),
                DQT => self.quant_tables(offset, body)?,
                DHT => self.huffman_tables(offset, body)?,
                DRI => {
                    let interval: [u8; 2] = body.try_into().map_err(|_| bad_len)?;
                    self.restart_interval = u16::from_be_bytes(interval).into();
                }
                APP0 => self.jfif |= body.starts_with(b"JFIF\0") && body.len() >= 14,
                APP14 if body.starts_with(b"Adobe") => self.adobe = body.get(11).copied(),
                SOS => return Ok(segment),
                // APPn, COM, DAC and reserved ones do not affect a Huffman-coded scan.
                _ => {}
            }
        }
        let rest = segments.rest();
        Err(match first_stray(rest) {
            Some(found) => Refused::Marker { offset: bytes.len() - rest.len(), found },
            None => Refused::Ends { offset: bytes.len() },
        })
    }

    /// The frame header (B.2.2).
    fn frame(
        &mut self,
        marker: u8,
        offset: usize,
        height_at: usize,
        body: &[u8],
    ) -> Result<(), Refused> {
        match marker {
            0xC0 | 0xC1 if !self.is_progressive => {}
            0xC2 if self.is_progressive => {}
            0xC0 | 0xC1 => return Err(Refused::Progression { offset }),
            0xC2 => return Err(Refused::Progressive { offset }),
            0xC3 => return Err(Refused::Lossless { offset }),
            0xC5..=0xC7 => return Err(Refused::Hierarchical { offset }),
            _ => return Err(Refused::Arithmetic { offset }),
        }
        if self.frame.is_some() {
            return Err(Refused::SecondFrame { offset });
        }
        let bad_len = Refused::Length { offset, marker };
        let Some((&[bits, y1, y0, x1, x0, n_components], rest)) = body.split_first_chunk() else {
            return Err(bad_len);
        };
        let (width, height) = (u16::from_be_bytes([x1, x0]), u16::from_be_bytes([y1, y0]));
        match (bits, height, width, n_components) {
            (8, 1.., 1.., 1 | 3) => {}
            (8, 0, ..) => return Err(Refused::OpenHeight { offset }),
            (8, _, 0, _) => return Err(Refused::NoWidth { offset }),
            (8, .., 4) => return Err(Refused::Cmyk { offset }),
            (8, ..) => return Err(Refused::Components { offset, n_components }),
            _ => return Err(Refused::Precision { offset, bits }),
        }
        if rest.len() != 3 * usize::from(n_components) {
            return Err(bad_len);
        }
        let mut components = Vec::new();
        for part in rest.chunks_exact(3) {
            let &[id, sampling, quant_table] = part else { return Err(bad_len) };
            let (h, v) = (sampling >> 4, sampling & 15);
            if !(1..=4).contains(&h) || !(1..=4).contains(&v) {
                return Err(Refused::Sampling { offset, h, v });
            }
            components.push(Component { id, h, v, quant_table, dc_table: 0, ac_table: 0 });
        }
        if let [only] = components.as_mut_slice() {
            (only.h, only.v) = (1, 1);
        }
        let n_blocks = components.iter().map(|part| u32::from(part.h) * u32::from(part.v)).sum();
        if n_blocks > 10 {
            return Err(Refused::BlocksPerMcu { offset, n_blocks });
        }
        let (width, height) = (width.into(), height.into());
        self.frame = Some(Frame { offset, height_at, width, height, components });
        Ok(())
    }

    /// Quantisation tables (B.2.4.1), put into natural order.
    fn quant_tables(&mut self, offset: usize, mut body: &[u8]) -> Result<(), Refused> {
        while let Some((&kind, rest)) = body.split_first() {
            let (wide, number) = (kind >> 4, usize::from(kind & 15));
            let place = self.quant_tables.get_mut(number).filter(|_| wide <= 1);
            let place = place.ok_or(Refused::TableKind { offset, kind })?;
            let value_bytes = 1 + usize::from(wide);
            let Some((values, rest)) = rest.split_at_checked(64 * value_bytes) else {
                return Err(Refused::Length { offset, marker: DQT });
            };
            let mut table = [0; 64];
            for (value, natural) in values.chunks_exact(value_bytes).zip(ZIGZAG) {
                let value = value.iter().fold(0, |sum, byte| sum << 8 | u16::from(*byte));
                if let Some(entry) = table.get_mut(usize::from(natural)) {
                    *entry = value;
                }
            }
            *place = Some(table);
            body = rest;
        }
        Ok(())
    }

    /// Huffman tables (B.2.4.2). They must be prefix codes only if they are used.
    fn huffman_tables(&mut self, offset: usize, mut body: &[u8]) -> Result<(), Refused> {
        let bad_len = Refused::Length { offset, marker: DHT };
        while let Some((&kind, rest)) = body.split_first() {
            let tables = match kind >> 4 {
                0 => &mut self.dc_tables,
                1 => &mut self.ac_tables,
                _ => return Err(Refused::TableKind { offset, kind }),
            };
            let place = tables.get_mut(usize::from(kind & 15));
            let place = place.ok_or(Refused::TableKind { offset, kind })?;
            let (counts, rest) = rest.split_first_chunk::<16>().ok_or(bad_len.clone())?;
            let n_values = counts.iter().map(|count| usize::from(*count)).sum();
            let values = rest.split_at_checked(n_values).filter(|_| n_values <= 256);
            let (values, rest) = values.ok_or(bad_len.clone())?;
            *place = Some(HuffmanTable { counts: *counts, values: values.to_vec() });
            body = rest;
        }
        Ok(())
    }

    /// The scan header (B.2.3): the components of the frame, with their tables.
    fn scan_header(&mut self, offset: usize, body: &[u8]) -> Result<Vec<Component>, Refused> {
        let frame = self.frame.as_ref().ok_or(Refused::NoFrame { offset })?;
        let bad_len = Refused::Length { offset, marker: SOS };
        let (&n_components, rest) = body.split_first().ok_or(bad_len.clone())?;
        let parts = rest.split_at_checked(2 * usize::from(n_components));
        let (parts, parameters) = parts.filter(|(_, rest)| rest.len() == 3).ok_or(bad_len)?;
        let mut components = frame.components.clone();
        if (1..components.len()).contains(&usize::from(n_components)) {
            return Err(Refused::MultiScan { offset });
        }
        if usize::from(n_components) != components.len() {
            return Err(Refused::ScanComponents { offset });
        }
        for (component, part) in components.iter_mut().zip(parts.chunks_exact(2)) {
            let &[id, tables] = part else { continue };
            if id != component.id {
                return Err(Refused::ScanComponents { offset });
            }
            (component.dc_table, component.ac_table) = (tables >> 4, tables & 15);
            let index = component.quant_table;
            defined(&self.quant_tables, index).ok_or(Refused::NoQuantTable { offset, index })?;
            check_table(offset, &self.dc_tables, Class::Dc, component.dc_table)?;
            check_table(offset, &self.ac_tables, Class::Ac, component.ac_table)?;
        }
        match parameters {
            [0, 63, 0] => Ok(components),
            _ => Err(Refused::ScanParameters { offset }),
        }
    }

    /// Returns the image that the segments describe.
    pub(crate) fn finish(
        self,
        offset: usize,
        components: Vec<Component>,
        scan: Range<usize>,
    ) -> Result<Jpeg, Refused> {
        let frame = self.frame.ok_or(Refused::NoFrame { offset })?;
        let ids = components.iter().map(|component| component.id);
        let color = match (components.len(), self.jfif, self.adobe) {
            (1, ..) => Color::Gray,
            (_, false, Some(0)) => Color::Rgb,
            (_, false, None) if ids.eq(*b"RGB") => Color::Rgb,
            _ => Color::YCbCr,
        };
        let slots = slots(&components);
        let mut jpeg = Jpeg {
            width: frame.width,
            height: frame.height,
            height_at: frame.height_at,
            color,
            components,
            quant_tables: self.quant_tables,
            dc_tables: self.dc_tables,
            ac_tables: self.ac_tables,
            restart_interval: self.restart_interval,
            scan,
            mcus_x: 0,
            mcus_y: 0,
            slots,
            n_blocks: 0,
        };
        let (h, v) = jpeg.max_sampling();
        (jpeg.mcus_x, jpeg.mcus_y) = (jpeg.width.div_ceil(8 * h), jpeg.height.div_ceil(8 * v));
        // At most 3 blocks per 8x8 pixels of 65535x65535.
        let n_blocks = u64::from(jpeg.mcus_x) * u64::from(jpeg.mcus_y) * jpeg.slots.len() as u64;
        jpeg.n_blocks = u32::try_from(n_blocks).map_err(|_| Refused::BlocksPerMcu {
            offset: frame.offset,
            n_blocks: jpeg.blocks_per_mcu(),
        })?;
        Ok(jpeg)
    }
}

/// Returns the range of the entropy-coded bytes, after which the image must end. A missing end
/// marker is accepted: walking the data shows whether it is complete.
fn entropy_coded(bytes: &[u8], start: usize, restarts: bool) -> Result<Range<usize>, Refused> {
    let mut from = start;
    let end = loop {
        let at = find_ff(bytes, from);
        match after_ff(bytes, at) {
            (0x00, next) if next != at + 2 => return Err(Refused::FillByte { offset: at }),
            (0x00, next) => from = next,
            (0xD0..=0xD7, next) if restarts => from = next,
            _ => break at,
        }
    };
    check_end(bytes, end).map(|()| start..end)
}

/// Checks that the image ends where its scan does.
pub(crate) fn check_end(bytes: &[u8], end: usize) -> Result<(), Refused> {
    match after_ff(bytes, end).0 {
        EOI | 0xFF => Ok(()),
        SOS => Err(Refused::MultiScan { offset: end }),
        DNL => Err(Refused::LateHeight { offset: end }),
        marker => Err(Refused::AfterScan { offset: end, marker }),
    }
}

pub(crate) fn check_table(
    offset: usize,
    tables: &[Option<HuffmanTable>; 4],
    class: Class,
    index: u8,
) -> Result<(), Refused> {
    let table = defined(tables, index).ok_or(Refused::NoHuffmanTable { offset, class, index })?;
    table.check(class).map_err(|what| Refused::BadHuffmanTable { offset, class, index, what })
}

pub(crate) fn defined<T>(tables: &[Option<T>; 4], index: u8) -> Option<&T> {
    tables.get(usize::from(index))?.as_ref()
}
