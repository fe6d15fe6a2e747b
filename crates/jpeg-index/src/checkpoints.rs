use crate::{CheckpointError, Jpeg, Refused, encoding, unstuff, walk::walk};
use std::ops::Range;

/// How far apart checkpoints may be, in bits of the un-stuffed scan.
pub const GRIDS_BITS: [u32; 4] = [512, 1024, 2048, 4096];

/// A good distance for images of some hundred pixels: checkpoints are about 0.6 % of the file.
pub const DEFAULT_GRID_BITS: u32 = 2048;

/// The stored checkpoints of a JPEG: [`parse`](crate::parse), [`Checkpoints::build`] and
/// [`Checkpoints::to_bytes`] in one.
///
/// # Errors
/// [`Refused`], when the JPEG gets none.
pub fn stored_checkpoints(bytes: &[u8], grid_bits: u32) -> Result<Vec<u8>, Refused> {
    let jpeg = crate::parse(bytes)?;
    Ok(Checkpoints::build(&jpeg, bytes, grid_bits)?.to_bytes())
}

/// The grid that stored checkpoints name in their first byte; `None` for another version.
#[must_use]
pub fn grid_of(first_byte: u8) -> Option<u32> {
    let known = first_byte >> 4 == crate::VERSION;
    GRIDS_BITS.get(usize::from(first_byte & 15)).copied().filter(|_| known)
}

/// Where decoding may start in the scan of one JPEG: at the first block that starts at or behind
/// each multiple of the grid, and at every restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoints {
    pub(crate) grid_bits: u32,
    pub(crate) total_bits: u32,
    /// Never empty, the first at bit 0 and block 0, without holes.
    pub(crate) segments: Vec<Segment>,
}

/// A run of blocks that can be decoded on its own, but for the DC prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Where its first block starts in the [un-stuffed](crate::Unstuffed) scan.
    pub bit: u32,
    /// Its first block, in the order of the scan.
    pub block: u32,
    /// How many blocks it has, at least one.
    pub n_blocks: u32,
    /// The DC prediction of every component starts at 0: it is the first segment, or follows a
    /// restart marker. For any other, the prediction is the sum of the DC differences of all
    /// segments since the last one for which this is true.
    pub resets: bool,
}

impl Checkpoints {
    /// Walks the scan of a JPEG, given the bytes of the file. `grid_bits` is one of [`GRIDS_BITS`].
    ///
    /// # Errors
    /// [`Refused`] when the scan is damaged, incomplete or longer than its blocks, when these are
    /// not the bytes that `jpeg` was parsed from, and when there is no such grid.
    pub fn build(jpeg: &Jpeg, bytes: &[u8], grid_bits: u32) -> Result<Self, Refused> {
        if !GRIDS_BITS.contains(&grid_bits) {
            return Err(Refused::Grid { grid_bits });
        }
        let data = unstuff(jpeg, bytes)?;
        let n_expected = data.bytes().len() * 8 / grid_bits as usize + data.starts().len();
        let mut segments: Vec<Segment> = Vec::with_capacity(n_expected + 1);
        let (grid, mut next) = (u64::from(grid_bits), 0);
        let total_bits = walk(jpeg, &data, |block, bit, resets| {
            if bit >= next || resets {
                segments.push(Segment { bit: bit as u32, block, n_blocks: 0, resets });
                next = (bit / grid + 1) * grid;
            }
        })?;
        count_blocks(&mut segments, jpeg.n_blocks);
        Ok(Self { grid_bits, total_bits: total_bits as u32, segments })
    }

    /// The bytes that `SPEC.md` specifies.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        encoding::encode(self)
    }

    /// Reads those bytes for the JPEG they belong to. What comes back covers every block of the
    /// image once, in order, inside the scan; that it fits the very bits of the scan, only
    /// decoding can tell.
    ///
    /// # Errors
    /// [`CheckpointError`] when the bytes are of another version, incomplete, damaged, or cannot
    /// be those of such a JPEG.
    pub fn from_bytes(bytes: &[u8], jpeg: &Jpeg) -> Result<Self, CheckpointError> {
        encoding::decode(bytes, jpeg)
    }

    /// The runs of blocks, in the order of the scan: they cover all blocks, without holes.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Bits of the un-stuffed scan from one checkpoint to the next.
    #[must_use]
    pub fn grid_bits(&self) -> u32 {
        self.grid_bits
    }

    /// Where the last block ends, in bits of the un-stuffed scan.
    #[must_use]
    pub fn total_bits(&self) -> u32 {
        self.total_bits
    }

    /// Where a segment starts and where the next one does, or the last block ends; empty when
    /// there is no such segment. Up to 7 bits before a restart are padding.
    #[must_use]
    pub fn segment_bits(&self, segment_idx: usize) -> Range<u32> {
        let start = self.segments.get(segment_idx).map_or(self.total_bits, |it| it.bit);
        let end = self.segments.get(segment_idx + 1).map_or(self.total_bits, |it| it.bit);
        start..end
    }
}

/// Tells every segment how many blocks there are up to the next one.
pub(crate) fn count_blocks(segments: &mut [Segment], n_blocks: u32) {
    let mut end = n_blocks;
    for segment in segments.iter_mut().rev() {
        segment.n_blocks = end.saturating_sub(segment.block);
        end = segment.block;
    }
}
