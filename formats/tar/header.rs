//! One block of 512 bytes as a header.
use std::borrow::Cow;

pub(super) const BLOCK: usize = 512;

/// First bytes of compressed files, with the name of the compression.
const COMPRESSED: [(&[u8], &str); 4] = [
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\0", "xz"),
];

/// Returns true if a file with this start begins with a header, or should: headers of old programs
/// have no magic, and damaged ones no matching checksum.
pub(crate) fn is_header(start: &[u8]) -> bool {
    let block = start.first_chunk::<BLOCK>();
    block.is_some_and(|block| &block[257..262] == b"ustar" || Header::parse(block).is_ok())
}

/// A header with a correct checksum.
pub(super) struct Header<'a> {
    block: &'a [u8; BLOCK],
    size: u64,
}

impl<'a> Header<'a> {
    /// # Errors
    /// The fault, if the block is no header.
    pub(super) fn parse(block: &'a [u8; BLOCK]) -> Result<Self, String> {
        let stored = number(&block[148..156]);
        if !stored.as_ref().is_ok_and(|&stored| checksum_fits(block, stored)) {
            if let Some((_, how)) = COMPRESSED.iter().find(|(magic, _)| block.starts_with(magic)) {
                return Err(format!(
                    "no tar header, but {how}: samples of a compressed archive cannot be found \
                     by their offset; decompress it first"
                ));
            }
            return Err("no tar header: the checksum does not fit".to_owned());
        }
        let size = number(&block[124..136]).map_err(|what| format!("the size {what}"))?;
        Ok(Self { block, size })
    }

    pub(super) fn kind(&self) -> u8 {
        self.block[156]
    }

    /// Returns the size stored in the block.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Returns the name stored in the block. Only POSIX headers have a prefix: old GNU archives use
    /// its place for other data.
    pub(super) fn name(&self) -> Cow<'a, [u8]> {
        let name = until_nul(&self.block[..100]);
        let prefix = until_nul(&self.block[345..500]);
        if prefix.is_empty() || &self.block[257..263] != b"ustar\0" {
            return Cow::Borrowed(name);
        }
        Cow::Owned([prefix, b"/", name].concat())
    }

    /// In archives from before the type for directories, these are files with a trailing slash.
    pub(super) fn is_directory(&self) -> bool {
        self.kind() == b'5' || until_nul(&self.block[..100]).ends_with(b"/")
    }
}

/// Checks the sum of all bytes, with spaces for the checksum itself. Some old programs treated
/// bytes as signed.
fn checksum_fits(block: &[u8; BLOCK], stored: u64) -> bool {
    let hole: u64 = block[148..156].iter().map(|&byte| u64::from(byte)).sum();
    let unsigned = sum(block) - hole + 8 * u64::from(b' ');
    if unsigned == stored {
        return true;
    }
    let high = |bytes: &[u8]| bytes.iter().filter(|&&byte| byte >= 128).count() as u64;
    let surplus = 256 * (high(block) - high(&block[148..156]));
    unsigned.checked_sub(surplus) == Some(stored)
}

/// Returns the sum of a block's bytes. Most of the walk's time is spent here, so it takes eight
/// bytes at a time: every second byte of a word in four lanes of 16 bits, which 64 words cannot
/// overflow.
fn sum(block: &[u8; BLOCK]) -> u64 {
    const EVEN: u64 = 0x00ff_00ff_00ff_00ff;
    let words = block.as_chunks::<8>().0;
    let lanes = words.iter().fold(0, |lanes, word| {
        let word = u64::from_le_bytes(*word);
        lanes + (word & EVEN) + ((word >> 8) & EVEN)
    });
    (0..4).map(|lane| (lanes >> (16 * lane)) & 0xffff).sum()
}

/// Parses a number field: octal digits between spaces up to a NUL, or, after a first byte of 128,
/// the other bytes as a binary number. An empty field is 0.
fn number(field: &[u8]) -> Result<u64, String> {
    match field {
        [0x80, digits @ ..] => digits.iter().try_fold(0, |value: u64, &byte| {
            let shifted = value.checked_mul(256).ok_or("is over 64 bits")?;
            Ok(shifted | u64::from(byte))
        }),
        [0xff, ..] => Err("is negative".to_owned()),
        field => {
            let digits = until_nul(field).trim_ascii();
            digits.iter().try_fold(0, |value: u64, &byte| match byte {
                b'0'..=b'7' => Ok(value << 3 | u64::from(byte - b'0')),
                _ => Err(format!("is not an octal number: `{}`", digits.escape_ascii())),
            })
        }
    }
}

/// Returns the bytes before the first NUL.
pub(super) fn until_nul(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    bytes.get(..end).unwrap_or(bytes)
}

/// Removes this byte from the end.
pub(super) fn trim_end(mut bytes: &[u8], unwanted: u8) -> &[u8] {
    while let [rest @ .., last] = bytes
        && *last == unwanted
    {
        bytes = rest;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_both_notations() {
        let check = |field: &[u8], expected: Option<u64>| {
            assert_eq!(number(field).ok(), expected, "{}", field.escape_ascii());
        };
        check(b"00000000017\0", Some(15));
        check(b"     17 \0abc", Some(15));
        check(b"777777777777", Some((1 << 36) - 1));
        check(b"\0\0\0\0\0\0\0\0\0\0\0\0", Some(0));
        check(b"            ", Some(0));
        check(b"\x80\0\0\0\0\0\0\0\0\0\x01\x02", Some(258));
        check(b"\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", Some(u64::MAX));
        check(b"\x80\0\0\x01\0\0\0\0\0\0\0\0", None);
        check(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", None);
        check(b"0000000008\0\0", None);
        check(b"-0000000001\0", None);
        check(b"1_0\0\0\0\0\0\0\0\0\0", None);
        check(b"\x81\0\0\0\0\0\0\0\0\0\0\0", None);
    }
}
