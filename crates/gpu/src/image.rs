//! From the markers of one JPEG to the data that the kernels need, independent of any batch.
use crate::{
    Fallback,
    layout::{ImageLayout, RESETS, SegmentLayout, TableLayout},
};
use fdconvert_jpeg::{Anchor, Color, EntryPoints, HuffmanTable, Jpeg, parse};
use std::ops::Range;

/// Limit of block numbers, which share 32 bits with the flags of a segment.
const MAX_BLOCKS: u32 = (1 << 30) - 1;

/// An image independent of its request and its place in a batch.
#[derive(Debug)]
pub(crate) struct Parsed {
    /// With the frame and the scan set, and all else zero.
    pub(crate) layout: ImageLayout,
    /// One for each segment, and one more for the end of the last.
    pub(crate) segments: Box<[SegmentLayout]>,
    /// Points at which decoding may start without earlier data.
    pub(crate) anchors: Box<[Anchor]>,
}

impl Parsed {
    /// Returns the places of restart markers, in bytes of the un-stuffed scan.
    pub(crate) fn restarts(&self) -> impl Iterator<Item = u32> {
        // Few images have restart markers; all others need no search.
        let with_restarts = if self.layout.n_restarts > 0 { &*self.segments } else { &[] };
        let resets = with_restarts.iter().skip(1).filter(|segment| segment.block & RESETS != 0);
        resets.map(|segment| segment.bit / 8)
    }
}

/// The distinct tables of an image. [`ImageLayout`] refers to positions here until the image is
/// part of a batch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ImageTables {
    /// Tables for DC and AC.
    pub(crate) pairs: Vec<(TableLayout, TableLayout)>,
    pub(crate) quantisation: Vec<[u16; 64]>,
}

/// The parsed contents of a file.
pub(crate) struct Read {
    pub(crate) parsed: Parsed,
    pub(crate) tables: ImageTables,
    /// The entropy-coded bytes within the file.
    pub(crate) scan: Range<usize>,
}

/// Reads markers and entry points, and checks everything that the kernels rely on.
pub(crate) fn read(
    bytes: &[u8],
    entry_points: Option<&[u8]>,
    max_blocks: u32,
) -> Result<Read, Fallback> {
    let stored = entry_points.ok_or(Fallback::NoEntryPoints)?;
    let jpeg = parse(bytes).map_err(Fallback::Jpeg)?;
    check_size(jpeg.n_blocks, max_blocks)?;
    let entry_points = EntryPoints::from_bytes(stored, &jpeg).map_err(Fallback::EntryPoints)?;
    let mut layout = frame(&jpeg)?;
    let tables = tables(&jpeg, &mut layout);
    let n_restarts =
        entry_points.segments().iter().skip(1).filter(|segment| segment.resets).count();
    layout.scan_bytes = jpeg.scan.len() as u32;
    layout.total_bits = entry_points.total_bits();
    layout.n_restarts = n_restarts as u32;
    let segments = segments(&entry_points, jpeg.n_blocks);
    let anchors = entry_points.anchors().into();
    let parsed = Parsed { layout, segments, anchors };
    Ok(Read { parsed, tables, scan: jpeg.scan })
}

/// Refuses an image with too many blocks.
pub(crate) fn check_size(n_blocks: u32, max_blocks: u32) -> Result<(), Fallback> {
    let limit = max_blocks.min(MAX_BLOCKS);
    if n_blocks > limit { Err(Fallback::TooLarge { n_blocks, limit }) } else { Ok(()) }
}

fn frame(jpeg: &Jpeg) -> Result<ImageLayout, Fallback> {
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
    Ok(layout)
}

fn segments(entry_points: &EntryPoints, n_blocks: u32) -> Box<[SegmentLayout]> {
    let starts = entry_points.segments().iter().map(|segment| SegmentLayout {
        bit: segment.bit,
        block: segment.block | if segment.resets { RESETS } else { 0 },
    });
    let end = SegmentLayout { bit: entry_points.total_bits(), block: n_blocks };
    starts.chain([end]).collect()
}

/// Collects the tables in use, and sets those of each component.
fn tables(jpeg: &Jpeg, layout: &mut ImageLayout) -> ImageTables {
    let (mut pairs, mut all) = (Vec::new(), Vec::new());
    let uses = layout.pair.iter_mut().zip(&mut layout.quantisation);
    for (component, (pair, quantisation)) in jpeg.components.iter().zip(uses) {
        let dc = huffman(&jpeg.dc_tables, component.dc_table, 0);
        let ac = huffman(&jpeg.ac_tables, component.ac_table, 1);
        *pair = position(&mut pairs, (dc, ac));
        // The parser has checked that the component's tables exist.
        let table = jpeg.quant_tables.get(usize::from(component.quant_table));
        *quantisation = position(&mut all, table.copied().flatten().unwrap_or([1; 64]));
    }
    layout.n_pairs = pairs.len() as u32;
    ImageTables { pairs, quantisation: all }
}

/// Returns the position of an item, which is added if it is missing.
fn position<T: PartialEq>(items: &mut Vec<T>, item: T) -> u32 {
    let found = items.iter().position(|known| *known == item).unwrap_or(items.len());
    if found == items.len() {
        items.push(item);
    }
    found as u32
}

fn huffman(tables: &[Option<HuffmanTable>; 4], index: u8, is_ac: u32) -> TableLayout {
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
    layout
}
