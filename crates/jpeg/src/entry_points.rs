use crate::{
    EntryPointError, Jpeg, Refused, Unstuffed, encoding, parse_unstuffed, places, unstuff,
    walk::{self, At},
};
use std::ops::Range;

/// Possible distances of entry points, in bits of the un-stuffed scan.
pub const GRIDS_BITS: [u32; 4] = [512, 1024, 2048, 4096];

/// A good distance for images of some hundred pixels: entry points are about 0.75 % of the file.
pub const DEFAULT_GRID_BITS: u32 = 2048;

/// Returns the stored entry points of a JPEG: [`parse`](crate::parse), [`EntryPoints::build`] and
/// [`EntryPoints::to_bytes`] in one.
///
/// # Errors
/// [`Refused`], when the JPEG cannot have any.
pub fn stored_entry_points(bytes: &[u8], grid_bits: u32) -> Result<Vec<u8>, Refused> {
    let mut data = Unstuffed::default();
    let jpeg = parse_unstuffed(bytes, &mut data)?;
    Ok(EntryPoints::of(&jpeg, &data, grid_bits)?.to_bytes())
}

/// Returns the grid in the first byte of stored entry points; `None` for another version.
#[must_use]
pub fn grid_of(first_byte: u8) -> Option<u32> {
    let known = first_byte >> 4 == crate::VERSION;
    GRIDS_BITS.get(usize::from(first_byte & 15)).copied().filter(|_| known)
}

/// Points at which decoding may start in the scan of a JPEG: the first block that starts at or
/// after each multiple of the grid, and every restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryPoints {
    pub(crate) grid_bits: u32,
    pub(crate) total_bits: u32,
    /// Never empty, starting at bit 0 and block 0, without holes.
    pub(crate) segments: Vec<Segment>,
    /// For the segments chosen by [`anchored`], in order.
    pub(crate) anchors: Vec<Anchor>,
    /// Components of the JPEG, and so predictions of an anchor.
    pub(crate) n_components: usize,
}

/// A run of blocks that can be decoded separately, except for the DC prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Start of its first block in the [un-stuffed](crate::Unstuffed) scan.
    pub bit: u32,
    /// First block, in scan order.
    pub block: u32,
    /// Number of blocks, at least one.
    pub n_blocks: u32,
    /// True if the DC prediction of every component starts at 0: for the first segment, and after a
    /// restart marker. Otherwise the prediction is the sum of the DC differences of all segments
    /// since the last one with `resets`, or since an [`Anchor`].
    pub resets: bool,
}

/// A segment with known DC predictions at its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchor {
    /// Position in [`EntryPoints::segments`].
    pub segment: u32,
    /// Prediction of each component; 0 for missing components.
    pub dc: [i16; 3],
}

/// Bits of the un-stuffed scan per stored anchor, at most one in each such run.
pub(crate) const ANCHOR_BITS: u32 = 1 << 14;

impl EntryPoints {
    /// Walks the scan of a JPEG, given the bytes of the file. `grid_bits` is one of [`GRIDS_BITS`].
    ///
    /// # Errors
    /// [`Refused`] when the scan is damaged, incomplete or longer than its blocks, when `jpeg` was
    /// parsed from other bytes, and for an unknown grid.
    pub fn build(jpeg: &Jpeg, bytes: &[u8], grid_bits: u32) -> Result<Self, Refused> {
        Self::of(jpeg, &unstuff(jpeg, bytes)?, grid_bits)
    }

    /// As [`build`](Self::build), of the un-stuffed scan.
    fn of(jpeg: &Jpeg, data: &Unstuffed, grid_bits: u32) -> Result<Self, Refused> {
        if !GRIDS_BITS.contains(&grid_bits) {
            return Err(Refused::Grid { grid_bits });
        }
        let noted = places::note(jpeg, data, grid_bits.into());
        let (noted, total_bits) =
            noted.map_or_else(|| walk::note(jpeg, data, grid_bits.into()), Ok)?;
        let segment = |at: &At| Segment {
            bit: at.bit as u32,
            block: at.block,
            n_blocks: 0,
            resets: at.resets,
        };
        let mut segments: Vec<_> = noted.iter().map(segment).collect();
        count_blocks(&mut segments, jpeg.n_blocks);
        let dc = |segment: u32| noted.get(segment as usize).map_or([0; 3], |at| at.dc);
        let anchors = anchored(&segments).map(|it| Anchor { segment: it, dc: dc(it) }).collect();
        let (total_bits, n_components) = (total_bits as u32, jpeg.components.len());
        Ok(Self { grid_bits, total_bits, segments, anchors, n_components })
    }

    /// Encodes the entry points as `SPEC.md` specifies.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        encoding::encode(self)
    }

    /// Decodes the entry points of a JPEG. The result covers every block of the image once, in
    /// order, inside the scan; only decoding can tell whether it fits the bits of the scan.
    ///
    /// # Errors
    /// [`EntryPointError`] when the bytes are of another version, incomplete, damaged, or cannot
    /// belong to such a JPEG.
    pub fn from_bytes(bytes: &[u8], jpeg: &Jpeg) -> Result<Self, EntryPointError> {
        encoding::decode(bytes, jpeg)
    }

    /// Returns the runs of blocks, in scan order: they cover all blocks, without holes.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Returns the places with stored DC predictions, in order, some 16 kbit apart. The start of
    /// the scan and restarts, where they are 0, are not included.
    #[must_use]
    pub fn anchors(&self) -> &[Anchor] {
        &self.anchors
    }

    /// Returns the last place at or before a segment where the DC predictions are known: the start
    /// of the scan, a restart, or a stored one, some 16 kbit apart. `None` for an unknown segment.
    #[must_use]
    pub fn anchor_before(&self, segment_idx: usize) -> Option<Anchor> {
        let behind = self.anchors.partition_point(|it| it.segment as usize <= segment_idx);
        let stored = behind.checked_sub(1).and_then(|last| self.anchors.get(last)).copied();
        let since = stored.map_or(0, |anchor| anchor.segment as usize);
        let reset = self.segments.get(since..=segment_idx)?.iter().rposition(|it| it.resets);
        let reset = reset.map(|it| Anchor { segment: (since + it) as u32, dc: [0; 3] });
        reset.or(stored)
    }

    /// Returns the bits of the un-stuffed scan from one entry point to the next.
    #[must_use]
    pub fn grid_bits(&self) -> u32 {
        self.grid_bits
    }

    /// Returns the end of the last block, in bits of the un-stuffed scan.
    #[must_use]
    pub fn total_bits(&self) -> u32 {
        self.total_bits
    }

    /// Returns the bits of a segment, up to the start of the next one or the end of the last block;
    /// empty for an unknown segment. Up to 7 bits before a restart are padding.
    #[must_use]
    pub fn segment_bits(&self, segment_idx: usize) -> Range<u32> {
        let start = self.segments.get(segment_idx).map_or(self.total_bits, |it| it.bit);
        let end = self.segments.get(segment_idx + 1).map_or(self.total_bits, |it| it.bit);
        start..end
    }
}

/// Yields the segments with a stored anchor: the first one to start in each run of [`ANCHOR_BITS`]
/// except the first run, unless it resets the predictions anyway.
pub(crate) fn anchored(segments: &[Segment]) -> impl Iterator<Item = u32> {
    let mut before = 0;
    (0..).zip(segments).filter_map(move |(position, segment)| {
        let run = segment.bit / ANCHOR_BITS;
        let first = run != before && !segment.resets;
        before = run;
        first.then_some(position)
    })
}

/// Sets the number of blocks of every segment, up to the next one.
pub(crate) fn count_blocks(segments: &mut [Segment], n_blocks: u32) {
    let mut end = n_blocks;
    for segment in segments.iter_mut().rev() {
        segment.n_blocks = end.saturating_sub(segment.block);
        end = segment.block;
    }
}
