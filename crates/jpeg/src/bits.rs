//! The un-stuffed scan: what bit offsets count in.
//!
//! In the file a data byte `FF` is followed by a stuffed `00`, and restart markers stand between
//! restart intervals, each of which starts at a byte. The un-stuffed scan is the data bytes alone:
//! no stuffed zeros, no markers, no fill bytes, the intervals one right after the other. The last
//! byte of an interval keeps its padding bits, so that every interval still starts at a byte.
use crate::{
    Jpeg, Refused,
    segments::{after_ff, find_ff},
};

/// The data bytes of a scan, and where its restart intervals start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unstuffed {
    /// The data, and [`PADDING`] zeros.
    padded: Vec<u8>,
    starts: Vec<u32>,
}

/// Zeros behind the data: as many as a block (1984 bits) and a load of 8 bytes can go too far, so
/// that the end of the data is looked for once per block instead of once per code.
const PADDING: usize = 256 + 8;
/// Bits are counted with 32 bits.
pub(crate) const MAX_SCAN_BYTES: usize = (1 << 29) - 1 - PADDING;

/// Takes the stuffed zeros and the restart markers out of the scan of a JPEG, given the bytes of
/// the file. A copy, because it costs some 3 % of the walk over the codes, which then never has to look
/// for markers.
///
/// # Errors
/// [`Refused`] when restart markers are out of turn, missing or too many, when there is a fill
/// byte inside the data, and when these are not the bytes that `jpeg` was parsed from.
pub fn unstuff(jpeg: &Jpeg, bytes: &[u8]) -> Result<Unstuffed, Refused> {
    let other = Refused::OtherBytes { offset: jpeg.scan.start };
    let scan = bytes.get(jpeg.scan.clone()).ok_or(other.clone())?;
    let mut padded = Vec::with_capacity(scan.len() + PADDING);
    let mut starts = vec![0];
    let mut from = 0;
    loop {
        let at = find_ff(scan, from);
        padded.extend_from_slice(scan.get(from..at).unwrap_or_default());
        if at == scan.len() {
            break;
        }
        from = match after_ff(scan, at) {
            (0x00, next) if next == at + 2 => {
                padded.push(0xFF);
                next
            }
            (0x00, _) => return Err(Refused::FillByte { offset: jpeg.scan.start + at }),
            (marker @ 0xD0..=0xD7, next) => {
                let (found, due) = (marker & 7, (starts.len() - 1) % 8);
                if usize::from(found) != due || starts.len() > jpeg.n_restarts() as usize {
                    return Err(Refused::Restart { offset: jpeg.scan.start + at, found });
                }
                starts.push(padded.len() as u32);
                next
            }
            _ => return Err(other),
        };
    }
    let found = starts.len() as u32 - 1;
    if found != jpeg.n_restarts() {
        return Err(Refused::Restarts { expected: jpeg.n_restarts(), found });
    }
    padded.resize(padded.len() + PADDING, 0);
    Ok(Unstuffed { padded, starts })
}

impl Unstuffed {
    /// Some bytes of a scan without restarts, as many as are asked for when un-stuffed, from the
    /// first of `scan`, which is none of the stuffed ones.
    pub(crate) fn of_span(scan: &[u8], n_bytes: usize) -> Option<Self> {
        let mut padded = Vec::with_capacity(n_bytes.min(scan.len()) + PADDING);
        let mut from = 0;
        while padded.len() < n_bytes {
            let most = from + (n_bytes - padded.len());
            let part = scan.get(from..most.min(scan.len())).filter(|part| !part.is_empty())?;
            let n_before = find_ff(part, 0);
            let with_ff = (n_before + 1).min(part.len());
            padded.extend_from_slice(part.get(..with_ff)?);
            // Behind it is the stuffed byte.
            from += n_before + 2;
        }
        padded.resize(n_bytes + PADDING, 0);
        Some(Self { padded, starts: vec![0] })
    }

    /// The data bytes. Bit `i` is bit `7 - i % 8` of byte `i / 8`.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.padded.get(..self.padded.len() - PADDING).unwrap_or_default()
    }

    /// The byte at which each restart interval starts; 0 is the first.
    #[must_use]
    pub fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// Bits up to the end of every restart interval, padding bits included.
    pub(crate) fn ends(&self) -> impl Iterator<Item = u64> {
        let last = self.bytes().len() as u64;
        self.starts.iter().skip(1).map(|start| u64::from(*start)).chain([last]).map(|end| end * 8)
    }

    /// At least 57 bits from a position, uppermost; zeros behind the end.
    #[inline]
    pub(crate) fn peek(&self, bit: u64) -> u64 {
        let at = (bit / 8) as usize;
        let word = self.padded.get(at..).and_then(|rest| rest.first_chunk());
        word.map_or(0, |word| u64::from_be_bytes(*word) << (bit % 8))
    }
}
