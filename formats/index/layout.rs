//! The fixed parts of the block: header, section table, trailer.
use crate::index::IndexError;
use fdconvert_core::bytes::{u32_at, u64_at};
use xxhash_rust::xxh3::xxh3_64;

/// Version this build writes, and the only one it reads.
pub const VERSION: u32 = 1;
/// Bytes of the header.
pub const HEADER_LEN: u64 = 48;
/// Bytes of the trailer.
pub const TRAILER_LEN: u64 = 32;

pub(crate) const HEADER_MAGIC: [u8; 8] = *b"\x89FDX\r\n\x1a\n";
pub(crate) const TRAILER_MAGIC: [u8; 8] = *b"FDXEND\r\n";
pub(crate) const SECTION_LEN: u64 = 32;
pub(crate) const MAX_SECTIONS: u32 = 64;
/// Larger than any list of class names and skipped samples.
pub(crate) const MAX_META_LEN: u64 = 256 << 20;

/// Flag: a reader that does not know the section's kind must not use the block.
pub(crate) const MUST_UNDERSTAND: u32 = 1;

pub(crate) mod kind {
    pub(crate) const META: u32 = 1;
    pub(crate) const REGIONS: u32 = 2;
    pub(crate) const KEYS: u32 = 3;
    pub(crate) const RANGES: u32 = 4;
    pub(crate) const CHECKPOINTS: u32 = 5;
    pub(crate) const ROWS: u32 = 6;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) n_sections: u32,
    pub(crate) n_samples: u64,
    pub(crate) regions_per_sample: u32,
    pub(crate) data_len: u64,
    pub(crate) block_len: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) kind: u32,
    pub(crate) flags: u32,
    pub(crate) offset: u64,
    pub(crate) len: u64,
    pub(crate) xxh3: u64,
}

impl Header {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&HEADER_MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&self.n_sections.to_le_bytes());
        out.extend_from_slice(&self.n_samples.to_le_bytes());
        out.extend_from_slice(&self.regions_per_sample.to_le_bytes());
        out.extend_from_slice(&0_u32.to_le_bytes());
        out.extend_from_slice(&self.data_len.to_le_bytes());
        out.extend_from_slice(&self.block_len.to_le_bytes());
    }

    pub(crate) fn parse(block: &[u8]) -> Result<Self, IndexError> {
        let short = || IndexError::damaged(0, "the header is cut short");
        if block.get(..8).ok_or_else(short)? != HEADER_MAGIC {
            return Err(IndexError::damaged(0, "the magic is missing"));
        }
        let version = u32_at(block, 8).ok_or_else(short)?;
        if version != VERSION {
            return Err(IndexError::Version { found: version, supported: VERSION });
        }
        let header = Self {
            n_sections: u32_at(block, 12).ok_or_else(short)?,
            n_samples: u64_at(block, 16).ok_or_else(short)?,
            regions_per_sample: u32_at(block, 24).ok_or_else(short)?,
            data_len: u64_at(block, 32).ok_or_else(short)?,
            block_len: u64_at(block, 40).ok_or_else(short)?,
        };
        if u32_at(block, 28) != Some(0) {
            return Err(IndexError::damaged(28, "reserved bytes are not zero"));
        }
        if header.n_sections > MAX_SECTIONS {
            let what = format!("{} sections, more than {MAX_SECTIONS}", header.n_sections);
            return Err(IndexError::damaged(12, what));
        }
        if header.block_len != block.len() as u64 {
            let what = format!("length {}, but the block has {}", header.block_len, block.len());
            return Err(IndexError::damaged(40, what));
        }
        Ok(header)
    }

    /// Returns the end of the section table, where the first section starts.
    pub(crate) fn table_end(&self) -> u64 {
        HEADER_LEN + SECTION_LEN * u64::from(self.n_sections)
    }
}

impl Section {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.kind.to_le_bytes());
        out.extend_from_slice(&self.flags.to_le_bytes());
        out.extend_from_slice(&self.offset.to_le_bytes());
        out.extend_from_slice(&self.len.to_le_bytes());
        out.extend_from_slice(&self.xxh3.to_le_bytes());
    }

    pub(crate) fn parse(block: &[u8], number: u32) -> Option<Self> {
        let at = usize::try_from(HEADER_LEN + SECTION_LEN * u64::from(number)).ok()?;
        Some(Self {
            kind: u32_at(block, at)?,
            flags: u32_at(block, at + 4)?,
            offset: u64_at(block, at + 8)?,
            len: u64_at(block, at + 16)?,
            xxh3: u64_at(block, at + 24)?,
        })
    }

    /// Returns the start of the next section or the trailer; `None` on overflow.
    pub(crate) fn padded_end(&self) -> Option<u64> {
        self.offset.checked_add(self.len)?.checked_next_multiple_of(8)
    }
}

pub(crate) fn encode_trailer(header_and_table: &[u8], block_len: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(32);
    out.extend_from_slice(&block_len.to_le_bytes());
    out.extend_from_slice(&xxh3_64(header_and_table).to_le_bytes());
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&0_u32.to_le_bytes());
    out.extend_from_slice(&TRAILER_MAGIC);
    out
}

/// Checks the trailer of a block with this header; returns the root.
pub(crate) fn parse_trailer(block: &[u8], header: &Header) -> Result<u64, IndexError> {
    let at =
        (block.len() as u64)
            .checked_sub(TRAILER_LEN)
            .filter(|&at| at >= header.table_end())
            .ok_or_else(|| IndexError::damaged(0, "too short for its section table and trailer"))?;
    let damaged = |within: u64, what: &str| IndexError::damaged(at + within, what);
    let split = usize::try_from(at).map_err(|_| damaged(0, "too large for this machine"))?;
    let table_end = usize::try_from(header.table_end()).unwrap_or(split);
    let trailer = block.get(split..).unwrap_or_default();
    if trailer.get(24..32) != Some(&TRAILER_MAGIC[..]) {
        return Err(damaged(24, "the trailer's magic is missing"));
    }
    if u64_at(trailer, 0) != Some(header.block_len) {
        return Err(damaged(0, "header and trailer name different lengths"));
    }
    if u32_at(trailer, 16) != Some(VERSION) || u32_at(trailer, 20) != Some(0) {
        return Err(damaged(16, "header and trailer name different versions"));
    }
    let root = xxh3_64(block.get(..table_end).unwrap_or_default());
    if u64_at(trailer, 8) != Some(root) {
        return Err(damaged(8, "the checksum of header and section table does not match"));
    }
    Ok(root)
}
