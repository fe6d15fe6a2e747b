use crate::{EntryPoints, Jpeg};
use std::ops::Range;

/// The parts of a scan that the pixels of a rectangle need.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Region {
    /// Segments with blocks of the rectangle, as positions in
    /// [`EntryPoints::segments`](crate::EntryPoints::segments), ascending.
    pub segments: Vec<u32>,
    /// Number of bits of those segments.
    pub n_bits: u64,
    /// Number of blocks of those segments.
    pub n_blocks: u32,
    /// Segments with DC differences that the rectangle needs: runs that start at an
    /// [`Anchor`](crate::Anchor), a restart or the start of the scan, and end with a segment of the
    /// rectangle. They include `segments`; only the differences of the others are needed.
    pub walked: Vec<Range<u32>>,
    /// Number of bits of the walked segments.
    pub n_walked_bits: u64,
    /// Columns of MCUs that contain the rectangle with its margin.
    pub mcu_columns: Range<u32>,
    /// Rows of MCUs that contain the rectangle with its margin.
    pub mcu_rows: Range<u32>,
}

impl Region {
    /// Returns the share of the scan's bits in segments with blocks of the rectangle, 0 to 1: the
    /// rest to decode if the DC prediction at the start of every segment is known.
    #[must_use]
    pub fn fraction(&self, entry_points: &EntryPoints) -> f64 {
        self.n_bits as f64 / f64::from(entry_points.total_bits.max(1))
    }

    /// Returns the share of the scan's bits that must be walked, given the entry points.
    #[must_use]
    pub fn walked_fraction(&self, entry_points: &EntryPoints) -> f64 {
        self.n_walked_bits as f64 / f64::from(entry_points.total_bits.max(1))
    }
}

/// Returns the segments that the pixels of some rows and columns need for the same values as when
/// decoding the whole image. If a component is stored with fewer samples, libjpeg's "fancy"
/// upsampling blends each with its neighbours: one sample more is needed on each side. Rows and
/// columns outside the image are ignored; an empty rectangle needs nothing.
#[must_use]
pub fn region(
    jpeg: &Jpeg,
    entry_points: &EntryPoints,
    rows: Range<u32>,
    columns: Range<u32>,
) -> Region {
    let (max_h, max_v) = jpeg.max_sampling();
    let horizontal = jpeg.components.iter().map(|component| u32::from(component.h));
    let vertical = jpeg.components.iter().map(|component| u32::from(component.v));
    let mcu_columns = mcus(columns, jpeg.width, max_h, horizontal, jpeg.mcus_x);
    let mcu_rows = mcus(rows, jpeg.height, max_v, vertical, jpeg.mcus_y);
    let mut found = Region { mcu_columns, mcu_rows, ..Region::default() };
    for (position, segment) in (0..).zip(entry_points.segments()) {
        let blocks = segment.block..segment.block.saturating_add(segment.n_blocks);
        if !touches(jpeg, &found, blocks) {
            continue;
        }
        let bits = entry_points.segment_bits(position as usize);
        found.n_bits += u64::from(bits.end.saturating_sub(bits.start));
        found.n_blocks += segment.n_blocks;
        found.segments.push(position);
        let anchor = entry_points.anchor_before(position as usize);
        let start = anchor.map_or(0, |anchor| anchor.segment);
        match found.walked.last_mut() {
            // The previous run already leads to this anchor, and is extended.
            Some(run) if start < run.end => run.end = position + 1,
            _ => found.walked.push(start..position + 1),
        }
    }
    let bit = |position: u32| u64::from(entry_points.segment_bits(position as usize).start);
    found.n_walked_bits =
        found.walked.iter().map(|run| bit(run.end).saturating_sub(bit(run.start))).sum();
    found
}

/// Returns the MCUs that contain `pixels` in one direction, with the margin of each component.
fn mcus(
    pixels: Range<u32>,
    n_pixels: u32,
    max_sampling: u32,
    samplings: impl Iterator<Item = u32>,
    n_mcus: u32,
) -> Range<u32> {
    let pixels = pixels.start..pixels.end.min(n_pixels);
    if pixels.is_empty() {
        return 0..0;
    }
    let per_component = samplings.map(|sampling| {
        let margin = u32::from(sampling < max_sampling);
        let first = (pixels.start * sampling / max_sampling).saturating_sub(margin);
        let end = (pixels.end * sampling).div_ceil(max_sampling) + margin;
        first / (8 * sampling)..end.div_ceil(8 * sampling).min(n_mcus)
    });
    per_component.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or_default()
}

/// Returns true if some of the blocks belong to the MCUs of the region.
fn touches(jpeg: &Jpeg, found: &Region, blocks: Range<u32>) -> bool {
    let (columns, rows) = (&found.mcu_columns, &found.mcu_rows);
    let (per_mcu, per_row) = (jpeg.blocks_per_mcu().max(1), jpeg.mcus_x.max(1));
    if columns.is_empty() || rows.is_empty() || blocks.is_empty() {
        return false;
    }
    let (first, last) = (blocks.start / per_mcu, (blocks.end - 1) / per_mcu);
    let (first_row, last_row) = (first / per_row, last / per_row);
    (first_row.max(rows.start)..=last_row.min(rows.end - 1)).any(|row| {
        let from = if row == first_row { first % per_row } else { 0 };
        let to = if row == last_row { last % per_row } else { per_row - 1 };
        from < columns.end && to >= columns.start
    })
}
