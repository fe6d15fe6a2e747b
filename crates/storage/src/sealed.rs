//! JSON objects that begin with the checksum of the rest, so that any changed bit is detected.
use xxhash_rust::xxh3::xxh3_128;

/// Start of a sealed object; a checksum of 32 hexadecimal digits follows.
pub const SEALED_START: &[u8] = b"{\n  \"xxh3\": \"";
pub(crate) const AFTER: &[u8] = b"\",\n";
pub(crate) const HASH_DIGITS: usize = 32;
const HEAD_BYTES: usize = SEALED_START.len() + HASH_DIGITS + AFTER.len();
/// Start of an object with one member per line.
const OPENING: &[u8] = b"{\n";

/// Inserts the member `xxh3` before all others of `object`, the text of a JSON object with one
/// member per line: XXH3 (128 bits, seed 0) of all bytes after that line.
#[must_use]
pub fn seal_json(object: &[u8]) -> Vec<u8> {
    let body = object.strip_prefix(OPENING).unwrap_or(object);
    let hash = format!("{:032x}", xxh3_128(body));
    [SEALED_START, hash.as_bytes(), AFTER, body].concat()
}

/// Returns the object that was sealed.
///
/// # Errors
/// The fault: it is not sealed, truncated or changed.
pub fn unseal_json(text: &[u8]) -> Result<Vec<u8>, String> {
    let (head, body) = text.split_at_checked(HEAD_BYTES).ok_or("it is cut short")?;
    let stored = head
        .strip_prefix(SEALED_START)
        .and_then(|rest| rest.strip_suffix(AFTER))
        .ok_or("it does not begin with its checksum")?;
    if stored != format!("{:032x}", xxh3_128(body)).as_bytes() {
        return Err("the checksum is wrong: it was changed or cut short".into());
    }
    Ok([OPENING, body].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_and_every_cut_is_noticed() {
        let object = b"{\n  \"a\": 1\n}\n";
        let sealed = seal_json(object);
        assert_eq!(unseal_json(&sealed).as_deref(), Ok(&object[..]));
        for bit in 0..sealed.len() * 8 {
            let mut damaged = sealed.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(unseal_json(&damaged).is_err(), "bit {bit}");
        }
        for len in 0..sealed.len() {
            assert!(unseal_json(&sealed[..len]).is_err(), "cut at {len}");
        }
        assert!(unseal_json(&[&sealed[..], b" "].concat()).is_err());
        assert!(unseal_json(object).is_err());
    }
}
