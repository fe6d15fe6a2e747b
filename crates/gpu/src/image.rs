//! From the markers of one JPEG to what the kernels must know of it.
use crate::{
    Crop, Fallback, Output, Request, Tensor,
    layout::{CropLayout, ImageLayout, RESETS, SECOND_ENTRIES, SegmentLayout, TableLayout},
};
use fdconvert_jpeg_index::{Checkpoints, Color, HuffmanTable, Jpeg, parse};
use std::{collections::BTreeMap, ops::Range};

/// What the sides of a JPEG have at most, and so those of an output.
const MAX_SIDE: u32 = 65535;

/// An image by itself. Where its parts go in the arrays of the batch is not known yet.
pub(crate) struct Parsed {
    pub(crate) layout: ImageLayout,
    /// The entropy-coded bytes within the file.
    pub(crate) scan: Range<usize>,
    /// One for each segment, and one that says where the last ends.
    pub(crate) segments: Vec<SegmentLayout>,
    pub(crate) restarts: Vec<u32>,
    jpeg: Jpeg,
}

/// Reads markers and checkpoints, and checks all that the kernels rely on.
pub(crate) fn read(
    request: &Request<'_>,
    output: &Output,
    max_blocks: u32,
) -> Result<Parsed, Fallback> {
    if let Output::Tensor(Tensor { width, height, .. }) = *output
        && ![width, height].iter().all(|side| (1..=MAX_SIDE).contains(side))
    {
        return Err(Fallback::OutputSize { width, height });
    }
    let stored = request.checkpoints.ok_or(Fallback::NoCheckpoints)?;
    let jpeg = parse(request.bytes).map_err(Fallback::Jpeg)?;
    if jpeg.n_blocks > max_blocks {
        return Err(Fallback::TooLarge { n_blocks: jpeg.n_blocks, limit: max_blocks });
    }
    let checkpoints = Checkpoints::from_bytes(stored, &jpeg).map_err(Fallback::Checkpoints)?;
    let (max_h, max_v) = jpeg.max_sampling();
    let mut layout = ImageLayout {
        width: jpeg.width,
        height: jpeg.height,
        n_components: jpeg.components.len() as u32,
        color: match jpeg.color {
            Color::Gray => 0,
            Color::YCbCr => 1,
            Color::Rgb => 2,
        },
        mcus_x: jpeg.mcus_x,
        mcus_y: jpeg.mcus_y,
        n_blocks: jpeg.n_blocks,
        blocks_per_mcu: jpeg.blocks_per_mcu(),
        max_h,
        max_v,
        h: [1; 3],
        v: [1; 3],
        scan_bytes: jpeg.scan.len() as u32,
        ..ImageLayout::default()
    };
    let factors = layout.h.iter_mut().zip(&mut layout.v);
    for ((to_h, to_v), component) in factors.zip(&jpeg.components) {
        let (h, v) = (u32::from(component.h), u32::from(component.v));
        if !max_h.is_multiple_of(h) || !max_v.is_multiple_of(v) {
            return Err(Fallback::Sampling { h, v, max_h, max_v });
        }
        (*to_h, *to_v) = (h, v);
    }
    for (number, slot) in jpeg.slots.iter().enumerate() {
        layout.slot_component |= u32::from(slot.component) << (2 * number);
        layout.slot_x |= u32::from(slot.x) << (2 * number);
        layout.slot_y |= u32::from(slot.y) << (2 * number);
    }
    layout.crop = crop(&jpeg, request, output).ok_or(Fallback::Crop)?;
    let segments = segments(&checkpoints, jpeg.n_blocks);
    let restarts = checkpoints.segments().iter().skip(1).filter(|segment| segment.resets);
    let restarts: Vec<_> = restarts.map(|segment| segment.bit / 8).collect();
    layout.n_segments = segments.len() as u32 - 1;
    layout.n_restarts = restarts.len() as u32;
    Ok(Parsed { layout, scan: jpeg.scan.clone(), segments, restarts, jpeg })
}

fn segments(checkpoints: &Checkpoints, n_blocks: u32) -> Vec<SegmentLayout> {
    let starts = checkpoints.segments().iter().map(|segment| SegmentLayout {
        bit: segment.bit,
        block: segment.block | if segment.resets { RESETS } else { 0 },
    });
    let end = SegmentLayout { bit: checkpoints.total_bits(), block: n_blocks };
    starts.chain([end]).collect()
}

/// The crop in pixels; `None` if there is none.
fn crop(jpeg: &Jpeg, request: &Request<'_>, output: &Output) -> Option<CropLayout> {
    let (width, height) = (jpeg.width, jpeg.height);
    let Output::Tensor(tensor) = output else {
        return Some(CropLayout { end_x: width, end_y: height, ..CropLayout::default() });
    };
    let Crop { left, top, width: part_x, height: part_y } = request.crop;
    let (x, step_x, first_x, end_x) = axis(left, part_x, width, tensor.width)?;
    let (y, step_y, first_y, end_y) = axis(top, part_y, height, tensor.height)?;
    let flip = request.flip.into();
    Some(CropLayout {
        left: x,
        top: y,
        step_x,
        step_y,
        first_x,
        end_x,
        first_y,
        end_y,
        flip,
        reserved: 0,
    })
}

/// Start and step in pixels, and the pixels that are touched.
fn axis(start: f32, part: f32, n_pixels: u32, n_out: u32) -> Option<(f32, f32, u32, u32)> {
    // Fractions that were computed add up to 1 but for a rounding error.
    const SLACK: f64 = 1e-5;
    let (start, part) = (f64::from(start), f64::from(part));
    if !(start >= 0.0 && part > 0.0 && start + part <= 1.0 + SLACK) {
        return None;
    }
    let n = f64::from(n_pixels);
    let (from, to) = (start * n, ((start + part) * n).min(n));
    let step = (to - from) / f64::from(n_out);
    // An error of the same size must not bring in a pixel that is not meant.
    let first = (from + SLACK).floor().clamp(0.0, n - 1.0) as u32;
    let end = ((to - SLACK).ceil() as u32).clamp(first + 1, n_pixels);
    (step > 0.0).then_some((from as f32, step as f32, first, end))
}

/// The tables of a batch, each kept once: most datasets have very few different ones.
#[derive(Default)]
pub(crate) struct Tables {
    pub(crate) huffman: Vec<TableLayout>,
    pub(crate) quantisation: Vec<[u16; 64]>,
    /// Entries of second tables so far.
    pub(crate) n_second: u32,
    huffman_numbers: BTreeMap<TableLayout, u32>,
    quantisation_numbers: BTreeMap<[u16; 64], u32>,
}

impl Tables {
    /// Adds those of an image and tells the image which they are.
    pub(crate) fn add(&mut self, image: &mut Parsed) {
        let (jpeg, layout) = (&image.jpeg, &mut image.layout);
        let mut pairs = Vec::new();
        for (component, (pair, quantisation)) in
            jpeg.components.iter().zip(layout.pair.iter_mut().zip(&mut layout.quantisation))
        {
            let dc = self.huffman(&jpeg.dc_tables, component.dc_table, 0);
            let ac = self.huffman(&jpeg.ac_tables, component.ac_table, 1);
            *pair = pairs.iter().position(|known| *known == (dc, ac)).unwrap_or(pairs.len()) as u32;
            if *pair as usize == pairs.len() {
                pairs.push((dc, ac));
            }
            // What a component uses is there: the parser has checked it.
            let table = jpeg.quant_tables.get(usize::from(component.quant_table));
            let table = table.copied().flatten().unwrap_or([1; 64]);
            let next = self.quantisation.len() as u32;
            *quantisation = *self.quantisation_numbers.entry(table).or_insert(next);
            if *quantisation == next {
                self.quantisation.push(table);
            }
        }
        layout.n_pairs = pairs.len() as u32;
        for ((dc, ac), pair) in layout.dc_table.iter_mut().zip(&mut layout.ac_table).zip(pairs) {
            (*dc, *ac) = pair;
        }
    }

    fn huffman(&mut self, tables: &[Option<HuffmanTable>; 4], index: u8, is_ac: u32) -> u32 {
        let table = tables.get(usize::from(index)).and_then(Option::as_ref);
        let mut layout = TableLayout {
            counts: table.map_or([0; 16], |table| table.counts),
            values: [0; 256],
            is_ac,
            second_at: 0,
            n_second: 0,
        };
        for (to, value) in layout.values.iter_mut().zip(table.iter().flat_map(|it| &it.values)) {
            *to = *value;
        }
        let next = self.huffman.len() as u32;
        let number = *self.huffman_numbers.entry(layout).or_insert(next);
        if number == next {
            layout.n_second = n_second(&layout.counts);
            layout.second_at = self.n_second;
            self.n_second += layout.n_second * SECOND_ENTRIES;
            self.huffman.push(layout);
        }
        number
    }
}

/// The second tables that codes of more than ten bits need: those codes are consecutive.
fn n_second(counts: &[u8; 16]) -> u32 {
    let long = (11..=16u32).zip(counts.iter().skip(10));
    let entries: u32 = long.map(|(bits, count)| u32::from(*count) << (16 - bits)).sum();
    entries.div_ceil(SECOND_ENTRIES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crops_touch_the_pixels_they_cover() {
        assert_eq!(axis(0.0, 1.0, 10, 5), Some((0.0, 2.0, 0, 10)));
        assert_eq!(axis(0.2, 0.3, 10, 3), Some((2.0, 1.0, 2, 5)));
        assert_eq!(axis(0.25, 0.5, 10, 1), Some((2.5, 5.0, 2, 8)));
        assert_eq!(axis(0.999, 0.0005, 3, 1).map(|it| (it.2, it.3)), Some((2, 3)));
        for (start, part) in [(-0.1, 0.5), (0.5, 0.0), (0.5, 0.6), (f32::NAN, 0.5), (0.0, f32::NAN)]
        {
            assert_eq!(axis(start, part, 10, 5), None, "{start} {part}");
        }
    }

    #[test]
    fn long_codes_share_second_tables() {
        let mut counts = [0; 16];
        assert_eq!(n_second(&counts), 0);
        (counts[10], counts[15]) = (3, 1);
        assert_eq!(n_second(&counts), 2);
        counts[10] = 255;
        assert_eq!(n_second(&counts), 128);
    }
}
