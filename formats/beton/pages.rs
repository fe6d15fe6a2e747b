//! The page that is being filled.
use fdconvert_core::{Error, Result};
use fdconvert_storage::Scratch;
use xxhash_rust::xxh3::Xxh3;

const ZEROS: [u8; 4096] = [0; 4096];
/// Bytes per read when checking a page of an interrupted run.
const READ_BYTES: u64 = 1 << 20;

/// The current page: its place in the file and its bytes so far. The buffer is reused.
#[derive(Debug)]
pub(crate) struct Page {
    page_bytes: u64,
    /// Number of pages before this one.
    pub(crate) number: u64,
    /// Offset of the first byte available for values. Only the first page of a compact file starts
    /// inside a page: right after the rows.
    pub(crate) start: u64,
    pub(crate) end: u64,
    buffer: Vec<u8>,
}

impl Page {
    /// The first page, with values from `start` on.
    pub(crate) fn first(start: u64, page_bytes: u64) -> Self {
        let end = (start / page_bytes + 1).saturating_mul(page_bytes);
        Self { page_bytes, number: 0, start, end, buffer: Vec::new() }
    }

    /// Returns the number of free bytes.
    pub(crate) fn left(&self) -> u64 {
        self.end - self.start - self.buffer.len() as u64
    }

    /// Returns the offset of the next byte.
    pub(crate) fn position(&self) -> u64 {
        self.start + self.buffer.len() as u64
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    pub(crate) fn tail(&self, n: u64) -> &[u8] {
        let from = usize::try_from(n).map_or(0, |n| self.buffer.len().saturating_sub(n));
        &self.buffer[from..]
    }

    /// Writes the bytes so far; the rest of the page is zero once the file has been resized.
    pub(crate) fn store(&self, file: &Scratch) -> Result<()> {
        file.write_all_at(&self.buffer, self.start)
    }

    /// Checksum of the whole page, including trailing zeros.
    pub(crate) fn xxh3(&self) -> u64 {
        let mut hash = Xxh3::new();
        hash.update(&self.buffer);
        let mut left = self.left();
        while left > 0 {
            let n = left.min(ZEROS.len() as u64);
            hash.update(&ZEROS[..n as usize]);
            left -= n;
        }
        hash.digest()
    }

    /// Checksum of this page as read from the file; `None` if the file is shorter.
    pub(crate) fn stored_xxh3(&self, file: &Scratch) -> Option<u64> {
        if self.end > file.existing() {
            return None;
        }
        let mut hash = Xxh3::new();
        let mut buffer = vec![0; READ_BYTES.min(self.end - self.start) as usize];
        let mut at = self.start;
        while at < self.end {
            let n = READ_BYTES.min(self.end - at);
            let part = &mut buffer[..n as usize];
            file.read_exact_at(part, at).ok()?;
            hash.update(part);
            at += n;
        }
        Some(hash.digest())
    }

    /// Moves to the next page.
    pub(crate) fn advance(&mut self) -> Result<()> {
        let end = self.end.checked_add(self.page_bytes);
        let what = "the file would be larger than 2^64 bytes";
        (self.start, self.end) = (self.end, end.ok_or_else(|| Error::usage("output", what))?);
        self.number += 1;
        self.buffer.clear();
        Ok(())
    }
}

pub(crate) fn store_zeros(file: &Scratch, from: u64, to: u64) -> Result<()> {
    let mut at = from;
    while at < to {
        let n = (to - at).min(ZEROS.len() as u64);
        file.write_all_at(&ZEROS[..n as usize], at)?;
        at += n;
    }
    Ok(())
}
