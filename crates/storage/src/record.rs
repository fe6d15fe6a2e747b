//! The start of done-records and claims: checksum and fingerprint of a run, at fixed places.
use crate::sealed::{AFTER, HASH_DIGITS, SEALED_START};

/// The first member of the sealed object.
const MEMBER: &[u8] = b"  \"fingerprint\": \"";
const HEX_DIGITS: usize = 32;
/// Bytes of the start that tells whose a record is, up to the quote behind the fingerprint.
pub(crate) const MARK_BYTES: usize =
    SEALED_START.len() + HASH_DIGITS + AFTER.len() + MEMBER.len() + HEX_DIGITS + 1;

/// Formats a fingerprint as in records and manifests: 32 hexadecimal digits.
#[must_use]
pub fn fingerprint_hex(fingerprint: [u8; 16]) -> String {
    fingerprint.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the contents of the claim of a run: the start of its records, with zeros for the
/// checksum.
#[must_use]
pub fn mark(fingerprint: [u8; 16]) -> Vec<u8> {
    let fingerprint = fingerprint_hex(fingerprint);
    [SEALED_START, &[b'0'; HASH_DIGITS], AFTER, MEMBER, fingerprint.as_bytes(), b"\""].concat()
}

/// Returns true if a claim or record belongs to that run, whatever its checksum says and whatever
/// damage follows its start.
#[must_use]
pub fn is_of_run(text: &[u8], fingerprint: [u8; 16]) -> bool {
    let (mark, digits) = (mark(fingerprint), digits());
    let start = text.iter().zip(&mark).enumerate();
    text.len() >= MARK_BYTES
        && start.into_iter().all(|(at, (found, wanted))| found == wanted || digits.contains(&at))
}

/// Returns true if a file starts as the records of some run do, false if it has only a part of such
/// a start, and `None` for anything else.
#[cfg(feature = "write")]
pub(crate) fn is_marked(start: &[u8]) -> Option<bool> {
    if start.iter().all(|byte| *byte == 0) {
        return Some(false);
    }
    let mark = mark([0; 16]);
    let named = MARK_BYTES - 1 - HEX_DIGITS..MARK_BYTES - 1;
    let fits = start.iter().zip(&mark).enumerate().all(|(at, (found, wanted))| {
        match digits().contains(&at) || named.contains(&at) {
            true => found.is_ascii_hexdigit(),
            false => found == wanted,
        }
    });
    fits.then_some(start.len() >= MARK_BYTES)
}

/// The place of the checksum.
fn digits() -> std::ops::Range<usize> {
    SEALED_START.len()..SEALED_START.len() + HASH_DIGITS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal_json;

    #[test]
    fn whose_a_record_is_shows_from_its_start() {
        let hex = fingerprint_hex([7; 16]);
        let json = format!("{{\n  \"fingerprint\": \"{hex}\",\n  \"samples\": 3\n}}\n");
        let text = seal_json(json.as_bytes());
        assert_eq!(mark([7; 16]).len(), MARK_BYTES);
        for start in [&text[..], &text[..MARK_BYTES], &mark([7; 16])] {
            assert!(is_of_run(start, [7; 16]) && !is_of_run(start, [8; 16]));
            assert_eq!(is_marked(&start[..MARK_BYTES]), Some(true));
            assert!(!is_of_run(&start[..MARK_BYTES - 1], [7; 16]));
            for len in 0..MARK_BYTES {
                assert_eq!(is_marked(&start[..len]), Some(false), "{len}");
            }
        }
    }
}
