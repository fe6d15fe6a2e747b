//! The un-stuffed scan, to which bit offsets refer.
//!
//! In the file a data byte `FF` is followed by a stuffed `00`, and restart markers separate the
//! restart intervals, each of which starts at a byte. The un-stuffed scan is the data bytes alone:
//! no stuffed zeros, no markers, no fill bytes, the intervals one directly after the other. The
//! last byte of an interval keeps its padding bits, so that every interval still starts at a byte.
use crate::{
    Jpeg, Refused,
    markers::{check_end, parse_header},
    segments::{after_ff, find_ff},
};

/// The data bytes of a scan, and the starts of its restart intervals.
#[derive(Debug, Clone, Default)]
pub struct Unstuffed {
    /// The data, [`PADDING`] zeros, and leftovers of other scans.
    padded: Vec<u8>,
    n_bytes: usize,
    starts: Vec<u32>,
}

/// Zeros after the data: as many as a block (1984 bits) and a load of 8 bytes can go too far, so
/// that the end of the data is checked once per block instead of once per code.
const PADDING: usize = 256 + 8;
/// Largest scan with bit positions of 32 bits.
pub(crate) const MAX_SCAN_BYTES: usize = (1 << 29) - 1 - PADDING;

/// Removes the stuffed zeros and the restart markers from the scan of a JPEG, given the bytes of
/// the file. The copy costs some 3 % of the walk over the codes, which then need not look for
/// markers.
///
/// # Errors
/// [`Refused`] when restart markers are out of order, missing or too many, when there is a fill
/// byte inside the data, and when `jpeg` was parsed from other bytes.
pub fn unstuff(jpeg: &Jpeg, bytes: &[u8]) -> Result<Unstuffed, Refused> {
    let other = Refused::OtherBytes { offset: jpeg.scan.start };
    let scan = bytes.get(jpeg.scan.clone()).ok_or(other.clone())?;
    let mut data = Unstuffed::default();
    let n_read = data.read(jpeg, scan, jpeg.scan.start)?;
    if n_read == scan.len() { Ok(data) } else { Err(other) }
}

/// As [`parse`](crate::parse) and [`unstuff`] in one pass over the scan, reusing the memory of
/// another scan.
///
/// # Errors
/// [`Refused`], as for these.
pub fn parse_unstuffed(bytes: &[u8], data: &mut Unstuffed) -> Result<Jpeg, Refused> {
    let mut jpeg = parse_header(bytes)?;
    let start = jpeg.scan.start;
    let n_read = data.read(&jpeg, bytes.get(start..).unwrap_or_default(), start)?;
    jpeg.scan.end = start + n_read;
    check_end(bytes, jpeg.scan.end)?;
    Ok(jpeg)
}

impl Unstuffed {
    /// Reads the scan at the start of `bytes`, up to a marker that is no restart. Returns its
    /// length in the file, where it starts at `offset`.
    pub(crate) fn read(
        &mut self,
        jpeg: &Jpeg,
        bytes: &[u8],
        offset: usize,
    ) -> Result<usize, Refused> {
        self.starts.clear();
        self.starts.push(0);
        let most = bytes.len() + PADDING;
        if self.padded.len() < most {
            self.padded.resize(most, 0);
        }
        let (mut from, mut to) = (0, 0);
        let n_read = loop {
            let n_copied = self.copy_until_ff(bytes.get(from..).unwrap_or_default(), to);
            (from, to) = (from + n_copied, to + n_copied);
            match after_ff(bytes, from) {
                (0x00, next) if next == from + 2 => {
                    if let Some(byte) = self.padded.get_mut(to) {
                        *byte = 0xFF;
                    }
                    (from, to) = (next, to + 1);
                }
                (0x00, _) => return Err(Refused::FillByte { offset: offset + from }),
                (marker @ 0xD0..=0xD7, next) if jpeg.restart_interval != 0 => {
                    let (found, due) = (marker & 7, (self.starts.len() - 1) % 8);
                    if usize::from(found) != due || self.starts.len() > jpeg.n_restarts() as usize {
                        return Err(Refused::Restart { offset: offset + from, found });
                    }
                    self.starts.push(to as u32);
                    from = next;
                }
                _ => break from,
            }
        };
        let found = self.starts.len() as u32 - 1;
        if found != jpeg.n_restarts() {
            return Err(Refused::Restarts { expected: jpeg.n_restarts(), found });
        }
        self.n_bytes = to;
        self.padded.get_mut(to..to + PADDING).unwrap_or_default().fill(0);
        Ok(n_read)
    }

    /// Copies bytes up to the first `FF` to a position; returns their number.
    #[inline]
    fn copy_until_ff(&mut self, bytes: &[u8], to: usize) -> usize {
        let out = self.padded.get_mut(to..).unwrap_or_default();
        let mut n_copied = 0;
        for (part, out) in bytes.as_chunks::<32>().0.iter().zip(out.as_chunks_mut::<32>().0) {
            // The bytes after the `FF` are overwritten later.
            *out = *part;
            // No early exit, so that the compiler vectorises the loop.
            if part.iter().fold(false, |found, byte| found | (*byte == 0xFF)) {
                return n_copied + find_ff(part, 0);
            }
            n_copied += part.len();
        }
        let rest = bytes.get(n_copied..).unwrap_or_default();
        let rest = rest.get(..find_ff(rest, 0)).unwrap_or_default();
        if let Some(out) = out.get_mut(n_copied..n_copied + rest.len()) {
            out.copy_from_slice(rest);
        }
        n_copied + rest.len()
    }

    /// Returns the data bytes. Bit `i` is bit `7 - i % 8` of byte `i / 8`.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.padded.get(..self.n_bytes).unwrap_or_default()
    }

    /// Returns the data bytes and at least 256 zeros, for decoders that read beyond the end.
    #[must_use]
    pub fn padded(&self) -> &[u8] {
        self.padded.get(..self.n_bytes + PADDING).unwrap_or_default()
    }

    /// Returns the first byte of each restart interval; the first is 0.
    #[must_use]
    pub fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// Yields the end of every restart interval in bits, including padding bits.
    pub(crate) fn ends(&self) -> impl Iterator<Item = u64> {
        let last = self.bytes().len() as u64;
        self.starts.iter().skip(1).map(|start| u64::from(*start)).chain([last]).map(|end| end * 8)
    }

    /// Returns at least 57 bits from a position, in the upper bits; zeros after the end.
    #[inline]
    pub(crate) fn peek(&self, bit: u64) -> u64 {
        let at = (bit / 8) as usize;
        let word = self.padded.get(at..at + 8).and_then(|rest| rest.first_chunk());
        word.map_or(0, |word| u64::from_be_bytes(*word) << (bit % 8))
    }
}
