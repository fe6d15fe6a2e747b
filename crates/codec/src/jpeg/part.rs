//! Decoding some rows of a JPEG from a smaller JPEG that entry points cut out of it.
//!
//! libjpeg reads the codes of all rows above a region, and none below: so it is the former that
//! are spared. Nothing here is an error: whatever does not work out, the whole file does.
use super::{Frame, chosen};
use crate::Region;
use fdconvert_jpeg::{EntryPoints, cut, parse_header};

/// Bytes for each block of an MCU that libjpeg-turbo wants to see ahead, behind the end of the
/// data too, or it takes its slow loop.
const BYTES_AHEAD: usize = 512;

/// Decodes the region, which is in pixels of the reduced image, or nothing. `buffer` holds the
/// cut; of what `out` holds nothing is promised when it is nothing.
pub(super) fn decode(
    (backend, buffer): (&mut chosen::Decoder, &mut Vec<u8>),
    (bytes, entry_points): (&[u8], &[u8]),
    frame: &Frame,
    (region, shrink): (Region, u8),
    out: &mut Vec<u8>,
) -> Option<Region> {
    let by = u32::from(shrink);
    let rows = region.y.checked_mul(by)?
        ..region.y.checked_add(region.height)?.checked_mul(by)?.min(frame.height);
    if !chosen::SHRINKS || !is_worth_it(bytes.len(), rows.start, frame.height) {
        return None;
    }
    let jpeg = parse_header(bytes).ok()?;
    if (jpeg.width, jpeg.height) != (frame.width, frame.height) {
        return None;
    }
    let entry_points = EntryPoints::from_bytes(entry_points, &jpeg).ok()?;
    let cut = cut(&jpeg, bytes, &entry_points, rows, by, buffer)?;
    buffer.resize(buffer.len() + BYTES_AHEAD * jpeg.slots.len(), 0);
    let above = cut.first_row / by;
    let frame = Frame { height: cut.n_rows, strict: true, ..*frame };
    let wanted = Region { y: region.y.checked_sub(above)?, ..region };
    let (part, reduced) = backend.decode_part(buffer, &frame, (wanted, shrink), out).ok()?;
    // Rows above and below are not those of the image.
    let exact = (part.y, part.height, reduced) == (wanted.y, wanted.height, shrink);
    exact.then_some(Region { y: region.y, ..part })
}

/// Returns whether what is above the region is enough to make up for the cut. As measured (see the
/// README of `fdconvert-jpeg`), that takes as long as libjpeg-turbo takes to read some 4 kB; more
/// is asked for, because rows are not all of the same length, and finding places in large files
/// takes longer.
fn is_worth_it(n_bytes: usize, n_above: u32, height: u32) -> bool {
    let (n_bytes, height) = (n_bytes as u64, u64::from(height.max(1)));
    n_bytes * u64::from(n_above) / height >= 6000 + n_bytes / 16
}
