//! A smaller JPEG out of a large one: some rows of its MCUs, without decoding.
//!
//! The header is that of the image with another height. Of the scan, the bytes from the first
//! MCU that is needed to the last are copied as they are, stuffing included. Two things have to be
//! put right: bits have to go on where those before them stop within a byte, and the DC
//! prediction is 0 at the start of a scan, but not where the scan is cut. A row of MCUs that
//! stands in for all rows above does both (`stand_in.rs`). Its pixels mean nothing. The one who decodes
//! the cut takes the rows below, where every pixel is that of the whole image: rows that smooth
//! upsampling of the wanted ones looks at are kept too.
//!
//! Where the cut starts and ends is walked to: from the last [`Anchor`](crate::Anchor) before it,
//! and on to the end of the segment. So entry points that are not those of the scan nearby are
//! found out.
use crate::{
    EntryPoints, Jpeg, Unstuffed,
    segments::find_ff,
    stand_in::{Bits, push, write_row},
    walk::{At, Predictions, Slot, Tables, walk_span},
};
use std::ops::Range;

/// Which rows of the image a cut has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The row of the image that is row 0 of the cut, in pixels; a multiple of the height of an
    /// MCU, so that a row reduced 2, 4 or 8 times is one of the reduced image as well.
    pub first_row: u32,
    /// The height of the cut in pixels.
    pub n_rows: u32,
}

/// Writes to `out` a JPEG that holds the pixels of `rows` of the image as the image does, to the
/// bit and with any decoder of the kind of libjpeg, when it is decoded `shrink` (1, 2, 4 or 8)
/// times smaller. `bytes` are those of the file.
///
/// `None` where that is not possible, and `out` is then unspecified: no such rows; a sampling that
/// is none of 4:4:4, 4:2:2, 4:2:0, 4:4:0, 4:1:1 or gray; restart markers; Huffman tables that lack
/// the codes for the row above; a scan that is not where the entry points say.
#[must_use]
pub fn cut(
    jpeg: &Jpeg,
    bytes: &[u8],
    entry_points: &EntryPoints,
    rows: Range<u32>,
    shrink: u32,
    out: &mut Vec<u8>,
) -> Option<Cut> {
    let mcu_height = 8 * jpeg.max_sampling().1;
    let mcu_rows = needed(jpeg, bytes, rows, shrink)?;
    let scan = bytes.get(jpeg.scan.clone())?;
    let header = bytes.get(..jpeg.scan.start)?;
    let per_row = jpeg.mcus_x.checked_mul(jpeg.blocks_per_mcu())?;

    let tables = Tables::new(jpeg);
    let mut walker =
        Walker { entry_points, scan, slots: tables.by_slot(jpeg), at: Place::default() };
    // One row stands in for those above.
    let stand_in = mcu_rows.start.checked_sub(1).filter(|n_rows| *n_rows > 0);
    let start = match stand_in {
        Some(_) => Some(walker.seek(mcu_rows.start.checked_mul(per_row)?, true)?),
        None => None,
    };
    let n_rows = mcu_rows.end.checked_mul(mcu_height)?.min(jpeg.height);
    let end = match mcu_rows.end.checked_mul(per_row)? {
        n_blocks if n_blocks == jpeg.n_blocks => walker.end()?,
        block => walker.seek(block, false)?,
    };

    let first_row = stand_in.map_or(0, |row| row * mcu_height);
    let n_rows = n_rows.checked_sub(first_row)?;
    out.clear();
    out.reserve(header.len() + scan.len() + 4096);
    out.extend_from_slice(header);
    let height = jpeg.height_at..jpeg.height_at.checked_add(2)?;
    out.get_mut(height)?.copy_from_slice(&u16::try_from(n_rows).ok()?.to_be_bytes());
    match start {
        Some(start) => {
            let mut writer = Bits::new(out);
            write_row(jpeg, start.dc, start.place.bit, &mut writer)?;
            copy(scan, &start.place, &end.place, writer)?;
        }
        None => copy(scan, &Place::default(), &end.place, Bits::new(out))?,
    }
    out.extend_from_slice(&[0xFF, 0xD9]);
    Some(Cut { first_row, n_rows })
}

/// The rows of MCUs that some rows of pixels come from; `None` for what is not cut.
fn needed(jpeg: &Jpeg, bytes: &[u8], rows: Range<u32>, shrink: u32) -> Option<Range<u32>> {
    let sampling: Vec<_> = jpeg.components.iter().map(|it| (it.h, it.v)).collect();
    let margin = match sampling.as_slice() {
        [(1, 1)] | [(1 | 2 | 4, 1), (1, 1), (1, 1)] => 0,
        // Upsampling looks one row of colour further.
        [(1 | 2, 2), (1, 1), (1, 1)] => shrink.checked_mul(2)?,
        _ => return None,
    };
    let rows = rows.start..rows.end.min(jpeg.height);
    // A gray image may say 2x2 and mean 1x1; not everyone's loops over its rows do.
    let says_2x2 = sampling.len() == 1 && bytes.get(jpeg.height_at.checked_add(6)?) != Some(&0x11);
    if says_2x2 || rows.is_empty() || jpeg.restart_interval > 0 || !matches!(shrink, 1 | 2 | 4 | 8)
    {
        return None;
    }
    let mcu_height = 8 * jpeg.max_sampling().1;
    let first = rows.start.saturating_sub(margin) / mcu_height;
    let end = rows.end.saturating_add(margin).div_ceil(mcu_height).min(jpeg.mcus_y);
    Some(first..end)
}

/// A position in the scan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Place {
    /// A byte of the scan as it is in the file; never a stuffed one.
    byte: usize,
    /// The same, of the un-stuffed scan.
    unstuffed: usize,
    /// Bits of that byte that are before it, 0 to 7.
    bit: u32,
}

/// Start of a block, and the DC predictions there.
struct Found {
    place: Place,
    dc: Predictions,
}

struct Walker<'a> {
    entry_points: &'a EntryPoints,
    scan: &'a [u8],
    slots: Vec<Slot<'a>>,
    /// The last place that was looked up; positions only grow but for a segment or so.
    at: Place,
}

impl Walker<'_> {
    /// Walks to a block: from an anchor if the predictions matter, else from its segment's start.
    fn seek(&mut self, block: u32, predicted: bool) -> Option<Found> {
        let segments = self.entry_points.segments();
        let last = segments.partition_point(|it| it.block <= block).checked_sub(1)?;
        let (first, dc) = match predicted {
            true => {
                let anchor = self.entry_points.anchor_before(last)?;
                (anchor.segment as usize, anchor.dc)
            }
            false => (last, [0; 3]),
        };
        let run = segments.get(first..=last)?;
        let n_blocks = run.iter().map(|it| it.n_blocks).sum();
        let from = run.first()?;
        let end_bit = self.entry_points.segment_bits(last).end;
        let span = self.place(u64::from(from.bit))?;
        let n_bytes = (end_bit as usize).div_ceil(8).checked_sub(span.unstuffed)?;
        let data = Unstuffed::of_span(self.scan.get(span.byte..)?, n_bytes)?;
        let base = span.unstuffed as u64 * 8;

        let mut found = None;
        // Where each segment starts, and the last one ends.
        let mut marks = run
            .iter()
            .map(|it| (it.block, it.bit))
            .chain([(from.block.checked_add(n_blocks)?, end_bit)]);
        let mut mark = marks.next()?;
        let start = At { block: from.block, bit: from.bit.into(), resets: false, dc };
        let start = At { bit: start.bit.checked_sub(base)?, ..start };
        walk_span(&self.slots, &data, start, n_blocks, |at| {
            if at.block == block {
                found = Some((at.bit, at.dc));
            }
            if at.block == mark.0 {
                if at.bit + base != u64::from(mark.1) {
                    return None;
                }
                mark = marks.next().unwrap_or(mark);
            }
            Some(())
        })?;
        let (bit, dc) = found?;
        Some(Found { place: self.place(base + bit)?, dc })
    }

    /// Behind the last block.
    fn end(&mut self) -> Option<Found> {
        let place = self.place(self.entry_points.total_bits().into())?;
        Some(Found { place, dc: [0; 3] })
    }

    /// Finds a bit of the un-stuffed scan.
    fn place(&mut self, bit: u64) -> Option<Place> {
        let target = usize::try_from(bit / 8).ok()?;
        if target < self.at.unstuffed {
            self.at = Place::default();
        }
        loop {
            let Place { byte, unstuffed, .. } = self.at;
            let ff = find_ff(self.scan, byte);
            if target <= unstuffed + (ff - byte) {
                let byte = byte + (target - unstuffed);
                let place = Place { byte, unstuffed: target, bit: (bit % 8) as u32 };
                // Behind the last byte there may be a place, but only for no bits.
                return (byte < self.scan.len() || byte == self.scan.len() && place.bit == 0)
                    .then_some(place);
            }
            self.at = Place { byte: ff + 2, unstuffed: unstuffed + (ff - byte) + 1, bit: 0 };
            if ff + 2 > self.scan.len() {
                return None;
            }
        }
    }
}

/// Copies the bits from one place to another behind those that are written, which must end at the
/// same bit of a byte, and fills the last byte with ones.
fn copy(scan: &[u8], start: &Place, end: &Place, writer: Bits<'_>) -> Option<()> {
    let (out, written, taken) = writer.finish();
    if taken != start.bit || start.unstuffed >= end.unstuffed {
        return None;
    }
    let ones = 0xFF_u8.checked_shr(start.bit)?;
    let joint = scan.get(start.byte)?;
    push(out, written << ((8 - taken) % 8) & !ones | joint & ones);
    let after = start.byte + if *joint == 0xFF { 2 } else { 1 };
    out.extend_from_slice(scan.get(after..end.byte)?);
    if end.bit > 0 {
        push(out, scan.get(end.byte)? | 0xFF_u8.checked_shr(end.bit)?);
    }
    Some(())
}
