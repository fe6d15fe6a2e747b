//! Rice codes: numbers that are mostly small, in few bits.
//!
//! The code of `value` with parameter `k` is `value >> k` ones, a zero, and the lower `k` bits.
//! Bits fill bytes from the uppermost.
use crate::EntryPointError;

/// Returns the parameter, up to `max`, with which the values take the fewest bits; the smallest of
/// several.
pub(crate) fn best_parameter(values: &[u32], max: u32) -> u32 {
    let bits = |k: &u32| -> u64 {
        values.iter().map(|value| u64::from(value >> k) + 1 + u64::from(*k)).sum()
    };
    (0..=max).min_by_key(bits).unwrap_or(0)
}

/// Maps 0, -1, 1, -2, 2 ... to 0, 1, 2, 3, 4 ...
pub(crate) fn fold(value: i64) -> u32 {
    (value << 1 ^ value >> 63) as u32
}

/// The inverse of [`fold`].
pub(crate) fn unfold(value: u32) -> i64 {
    let value = i64::from(value);
    value >> 1 ^ -(value & 1)
}

pub(crate) struct Writer {
    bytes: Vec<u8>,
    /// Pending bits, the lowest ones: fewer than 8 between two codes.
    bits: u64,
    n_bits: u32,
}

impl Writer {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, bits: 0, n_bits: 0 }
    }

    /// Appends a code. The parameter is at most 31.
    pub(crate) fn code(&mut self, value: u32, k: u32) {
        let mut n_ones = value >> k;
        while n_ones >= 31 {
            self.put((1 << 31) - 1, 31);
            n_ones -= 31;
        }
        self.put(((1 << n_ones) - 1) << 1, n_ones + 1);
        self.put(u64::from(value) & ((1 << k) - 1), k);
    }

    /// Appends at most 32 bits.
    fn put(&mut self, bits: u64, n_bits: u32) {
        self.bits = self.bits << n_bits | bits;
        self.n_bits += n_bits;
        while self.n_bits >= 8 {
            self.n_bits -= 8;
            self.bytes.push((self.bits >> self.n_bits) as u8);
        }
    }

    /// Returns the bytes, the last one padded with zeros.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.put(0, (8 - self.n_bits) % 8);
        self.bytes
    }
}

pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    /// Position in bits.
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8], from_byte: usize) -> Self {
        Self { bytes, at: from_byte * 8 }
    }

    /// Reads a value of at most `max`; `what` names it in errors.
    pub(crate) fn code(
        &mut self,
        k: u32,
        max: u32,
        what: &'static str,
    ) -> Result<u32, EntryPointError> {
        if let Some(value) = self.short_code(k, max) {
            return Ok(value);
        }
        let mut value = 0u64;
        while self.bit()? == 1 {
            value += 1;
            if value > u64::from(max >> k) {
                return Err(too_large(what, value << k, max));
            }
        }
        for _ in 0..k {
            value = value << 1 | u64::from(self.bit()?);
        }
        match u32::try_from(value) {
            Ok(value) if value <= max => Ok(value),
            _ => Err(too_large(what, value, max)),
        }
    }

    /// Reads a valid code that is followed by several more bytes, without errors.
    fn short_code(&mut self, k: u32, max: u32) -> Option<u32> {
        let word = self.bytes.get(self.at / 8..)?.first_chunk()?;
        let word = u64::from_be_bytes(*word) << (self.at % 8);
        let n_ones = word.leading_ones();
        let n_bits = n_ones + 1 + k;
        // This many remain after shifting out those of the previous byte.
        if n_bits > 57 {
            return None;
        }
        let rest = word << n_ones << 1 >> 1 >> (63 - k);
        let value = u64::from(n_ones) << k | rest;
        let value = u32::try_from(value).ok().filter(|value| *value <= max)?;
        self.at += n_bits as usize;
        Some(value)
    }

    /// Checks that only padding is left: fewer than 8 bits, all of them 0.
    pub(crate) fn finish(&mut self) -> Result<(), EntryPointError> {
        let left = self.bytes.len() * 8 - self.at;
        let what = "bytes after the last code";
        let damaged = |found| EntryPointError::Damaged { what, found, expected: 0 };
        if left >= 8 {
            return Err(damaged(left as u64 / 8));
        }
        for _ in 0..left {
            if self.bit()? == 1 {
                return Err(damaged(1));
            }
        }
        Ok(())
    }

    fn bit(&mut self) -> Result<u32, EntryPointError> {
        let ends = EntryPointError::Ends { len: self.bytes.len() };
        let byte = self.bytes.get(self.at / 8).ok_or(ends)?;
        let bit = byte >> (7 - self.at % 8) & 1;
        self.at += 1;
        Ok(bit.into())
    }
}

fn too_large(what: &'static str, found: u64, max: u32) -> EntryPointError {
    EntryPointError::Damaged { what, found, expected: max.into() }
}
