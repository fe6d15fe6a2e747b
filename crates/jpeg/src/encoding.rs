//! Encoding and decoding of entry points. `SPEC.md` is the specification.
use crate::{
    Anchor, EntryPointError, EntryPoints, GRIDS_BITS, Jpeg, Segment,
    entry_points::{ANCHOR_BITS, anchored, count_blocks},
    rice::{Reader, Writer, best_parameter, fold, unfold},
};

/// Version of the encoding that this build writes and reads.
pub const VERSION: u8 = 2;

const MAX_PARAMETER: u32 = 15;
const MAX_RESTART_PARAMETER: u32 = 31;
/// A block has at least a DC and an AC code of one bit each ...
const MIN_BLOCK_BITS: u64 = 2;
/// ... and at most 64 codes of 16 bits with values of 15.
const MAX_BLOCK_BITS: u64 = 64 * 31;

/// Stored values of one interval of the grid.
#[derive(Clone, Copy, Default)]
struct Interval {
    n_blocks: u32,
    /// Distance from the interval's start to its first block, in bits.
    offset: u32,
}

pub(crate) fn encode(entry_points: &EntryPoints) -> Vec<u8> {
    let EntryPoints { grid_bits, total_bits, ref segments, .. } = *entry_points;
    let n_blocks: u32 = segments.iter().map(|segment| segment.n_blocks).sum();
    let intervals = intervals(entry_points);
    let mean = n_blocks / intervals.len().max(1) as u32;
    let counts: Vec<_> =
        intervals.iter().map(|it| fold(i64::from(it.n_blocks) - i64::from(mean))).collect();
    let offsets: Vec<_> =
        intervals.iter().skip(1).filter(|it| it.n_blocks > 0).map(|it| it.offset).collect();
    let restarts = restart_bytes(segments);
    let [luma, chroma] = anchor_codes(entry_points);

    let count_k = best_parameter(&counts, MAX_PARAMETER);
    let offset_k = best_parameter(&offsets, MAX_PARAMETER);
    let grid_code = GRIDS_BITS.iter().position(|bits| *bits == grid_bits).unwrap_or(0);
    let mut bytes = vec![VERSION << 4 | grid_code as u8, (count_k << 4 | offset_k) as u8];
    let restart_k = best_parameter(&restarts, MAX_RESTART_PARAMETER);
    if !restarts.is_empty() {
        bytes.push(restart_k as u8);
    }
    push_leb128(&mut bytes, total_bits);
    let luma_k = best_parameter(&luma, MAX_PARAMETER);
    let chroma_k = best_parameter(&chroma, MAX_PARAMETER);
    if total_bits > ANCHOR_BITS {
        bytes.push((luma_k << 4 | chroma_k) as u8);
    }

    let mut writer = Writer::new(bytes);
    // The first interval starts with block 0 at bit 0.
    for (position, (count, interval)) in counts.into_iter().zip(&intervals).enumerate() {
        writer.code(count, count_k);
        if interval.n_blocks > 0 && position > 0 {
            writer.code(interval.offset, offset_k);
        }
    }
    for n_bytes in restarts {
        writer.code(n_bytes, restart_k);
    }
    let mut chroma = chroma.chunks((entry_points.n_components - 1).max(1));
    for first in luma {
        writer.code(first, luma_k);
        chroma.next().unwrap_or_default().iter().for_each(|other| writer.code(*other, chroma_k));
    }
    writer.finish()
}

pub(crate) fn decode(bytes: &[u8], jpeg: &Jpeg) -> Result<EntryPoints, EntryPointError> {
    let mut header = bytes.iter().copied();
    let mut next = || header.next().ok_or(EntryPointError::Ends { len: bytes.len() });
    let first = next()?;
    if first >> 4 != VERSION {
        return Err(EntryPointError::Version { found: first >> 4, supported: VERSION });
    }
    let Some(&grid_bits) = GRIDS_BITS.get(usize::from(first & 15)) else {
        return Err(damaged("the number of the grid", first & 15, GRIDS_BITS.len() as u64 - 1));
    };
    let parameters = next()?;
    let (count_k, offset_k) = (u32::from(parameters >> 4), u32::from(parameters & 15));
    let n_restarts = jpeg.n_restarts();
    let restart_k = u32::from(if n_restarts > 0 { next()? } else { 0 });
    if restart_k > MAX_RESTART_PARAMETER {
        return Err(damaged("a Rice parameter", restart_k, MAX_RESTART_PARAMETER));
    }
    let total_bits = leb128(&mut next)?;
    let n_blocks = u64::from(jpeg.n_blocks);
    let scan_bits = jpeg.scan.len() as u64 * 8;
    if u64::from(total_bits) > scan_bits {
        return Err(damaged("bits of all blocks", total_bits, scan_bits));
    }
    if u64::from(total_bits) < n_blocks * MIN_BLOCK_BITS {
        return Err(damaged("bits of all blocks", total_bits, n_blocks * MIN_BLOCK_BITS));
    }
    let anchors_k = if total_bits > ANCHOR_BITS { next()? } else { 0 };
    let mut reader = Reader::new(bytes, bytes.len() - header.len());
    let starts = read_intervals(&mut reader, jpeg, grid_bits, total_bits, (count_k, offset_k))?;
    let restarts = read_restarts(&mut reader, jpeg, restart_k, total_bits)?;
    let mut segments = merge(&starts, &restarts, grid_bits)?;
    count_blocks(&mut segments, jpeg.n_blocks);
    let n_components = jpeg.components.len();
    let anchors = read_anchors(&mut reader, &segments, n_components, anchors_k)?;
    reader.finish()?;
    let entry_points = EntryPoints { grid_bits, total_bits, segments, anchors, n_components };
    check_spans(&entry_points)?;
    Ok(entry_points)
}

/// Groups the segments by interval: those that start in the same one are merged.
fn intervals(entry_points: &EntryPoints) -> Vec<Interval> {
    let grid_bits = entry_points.grid_bits;
    let mut intervals = vec![Interval::default(); n_intervals(entry_points.total_bits, grid_bits)];
    for segment in &entry_points.segments {
        if let Some(interval) = intervals.get_mut((segment.bit / grid_bits) as usize) {
            if interval.n_blocks == 0 {
                interval.offset = segment.bit % grid_bits;
            }
            interval.n_blocks += segment.n_blocks;
        }
    }
    intervals
}

/// Returns the lengths in bytes of all restart intervals except the last.
fn restart_bytes(segments: &[Segment]) -> Vec<u32> {
    let starts: Vec<_> = segments.iter().filter(|it| it.resets).map(|it| it.bit / 8).collect();
    starts.iter().zip(starts.iter().skip(1)).map(|(from, to)| to - from).collect()
}

/// Returns the changes of the predictions from anchor to anchor, folded: of the first component,
/// and of all others together.
fn anchor_codes(entry_points: &EntryPoints) -> [Vec<u32>; 2] {
    let mut codes = [Vec::new(), Vec::new()];
    let mut before = [0; 3];
    for anchor in &entry_points.anchors {
        let changes = anchor.dc.iter().zip(before).take(entry_points.n_components);
        for (component, (dc, before)) in changes.enumerate() {
            codes[usize::from(component > 0)].push(fold(dc.wrapping_sub(before).into()));
        }
        before = anchor.dc;
    }
    codes
}

fn read_anchors(
    reader: &mut Reader<'_>,
    segments: &[Segment],
    n_components: usize,
    parameters: u8,
) -> Result<Vec<Anchor>, EntryPointError> {
    let mut anchors = Vec::new();
    let mut dc = [0i16; 3];
    for segment in anchored(segments) {
        for (component, value) in dc.iter_mut().take(n_components).enumerate() {
            let k = if component == 0 { parameters >> 4 } else { parameters & 15 };
            let change = reader.code(k.into(), u16::MAX.into(), "a change of the DC prediction")?;
            *value = value.wrapping_add(unfold(change) as i16);
        }
        anchors.push(Anchor { segment, dc });
    }
    Ok(anchors)
}

/// Reads the first segment of every interval in which a block starts.
fn read_intervals(
    reader: &mut Reader<'_>,
    jpeg: &Jpeg,
    grid_bits: u32,
    total_bits: u32,
    (count_k, offset_k): (u32, u32),
) -> Result<Vec<Segment>, EntryPointError> {
    let n_intervals = n_intervals(total_bits, grid_bits);
    let mean = jpeg.n_blocks / n_intervals.max(1) as u32;
    let max_blocks = grid_bits / MIN_BLOCK_BITS as u32;
    let mut starts = Vec::with_capacity(n_intervals);
    let mut block = 0;
    for position in 0..n_intervals as u32 {
        let folded = reader.code(count_k, 2 * mean.max(max_blocks), "a number of blocks")?;
        let n_blocks = i64::from(mean) + unfold(folded);
        // Block 0 starts in the first interval.
        let least = i64::from(position == 0);
        if !(least..=i64::from(max_blocks)).contains(&n_blocks) {
            return Err(damaged("a number of blocks", n_blocks as u64, u64::from(max_blocks)));
        }
        if n_blocks == 0 {
            continue;
        }
        let offset = match position {
            0 => 0,
            _ => reader.code(offset_k, grid_bits - 1, "an offset")?,
        };
        let bit = u64::from(position) * u64::from(grid_bits) + u64::from(offset);
        if bit >= u64::from(total_bits) || block >= jpeg.n_blocks {
            return Err(damaged("the start of a segment", bit, u64::from(total_bits)));
        }
        starts.push(Segment { bit: bit as u32, block, n_blocks: 0, resets: position == 0 });
        block = block.saturating_add(n_blocks as u32);
    }
    if block != jpeg.n_blocks {
        return Err(damaged("blocks in all", block, jpeg.n_blocks));
    }
    count_blocks(&mut starts, jpeg.n_blocks);
    Ok(starts)
}

fn read_restarts(
    reader: &mut Reader<'_>,
    jpeg: &Jpeg,
    restart_k: u32,
    total_bits: u32,
) -> Result<Vec<Segment>, EntryPointError> {
    let mut restarts = Vec::new();
    let per_restart = jpeg.blocks_per_restart().unwrap_or_default();
    let (mut start, mut block) = (0, 0u32);
    for _ in 0..jpeg.n_restarts() {
        start += u64::from(reader.code(restart_k, total_bits / 8, "the bytes of a restart")?);
        block = block.saturating_add(per_restart);
        if start * 8 >= u64::from(total_bits) {
            return Err(damaged("the start of a restart", start, u64::from(total_bits) / 8));
        }
        restarts.push(Segment { bit: start as u32 * 8, block, n_blocks: 0, resets: true });
    }
    Ok(restarts)
}

/// Splits the intervals, with known blocks, at the restarts.
fn merge(
    starts: &[Segment],
    restarts: &[Segment],
    grid_bits: u32,
) -> Result<Vec<Segment>, EntryPointError> {
    let mut segments = Vec::with_capacity(starts.len() + restarts.len());
    let mut restarts = restarts.iter().copied().peekable();
    for start in starts {
        let mut start = *start;
        let end = start.block.saturating_add(start.n_blocks);
        if let Some(restart) = restarts.next_if(|restart| restart.block == start.block) {
            if restart.bit != start.bit {
                return Err(damaged("the start of a restart", restart.bit, start.bit));
            }
            start.resets = true;
        }
        segments.push(start);
        while let Some(restart) = restarts.next_if(|restart| restart.block < end) {
            // Its block is among those that start in this interval.
            if restart.bit / grid_bits != start.bit / grid_bits {
                return Err(damaged("the start of a restart", restart.bit, start.bit));
            }
            segments.push(restart);
        }
    }
    Ok(segments)
}

/// Checks that segments are in order, and not longer than their blocks can be.
fn check_spans(entry_points: &EntryPoints) -> Result<(), EntryPointError> {
    let EntryPoints { total_bits, ref segments, .. } = *entry_points;
    let nexts = segments.iter().skip(1).map(|next| (next.bit, next.resets));
    let last = (total_bits, false);
    for (segment, (end, padded)) in segments.iter().zip(nexts.chain([last])) {
        let Some(n_bits) = end.checked_sub(segment.bit) else {
            return Err(damaged("the start of a segment", end, segment.bit));
        };
        let (n_bits, n_blocks) = (u64::from(n_bits), u64::from(segment.n_blocks));
        let longest = n_blocks * MAX_BLOCK_BITS + if padded { 7 } else { 0 };
        if !(n_blocks * MIN_BLOCK_BITS..=longest).contains(&n_bits) {
            return Err(damaged("bits of a segment", n_bits, longest));
        }
    }
    Ok(())
}

fn n_intervals(total_bits: u32, grid_bits: u32) -> usize {
    total_bits.div_ceil(grid_bits) as usize
}

fn push_leb128(bytes: &mut Vec<u8>, mut value: u32) {
    while value >= 128 {
        bytes.push(value as u8 | 128);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Seven bits per byte, the lowest first, in as few bytes as possible.
fn leb128(mut next: impl FnMut() -> Result<u8, EntryPointError>) -> Result<u32, EntryPointError> {
    let mut value = 0u64;
    for shift in [0, 7, 14, 21, 28] {
        let byte = next()?;
        value |= u64::from(byte & 127) << shift;
        if byte < 128 {
            if byte == 0 && shift > 0 {
                return Err(damaged("a length with leading zeros", 0u8, value));
            }
            return u32::try_from(value).map_err(|_| damaged("a length", value, u32::MAX));
        }
    }
    Err(damaged("a length", value, u32::MAX))
}

fn damaged(what: &'static str, found: impl Into<u64>, expected: impl Into<u64>) -> EntryPointError {
    EntryPointError::Damaged { what, found: found.into(), expected: expected.into() }
}
