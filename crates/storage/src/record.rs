//! The format of done-records: the run's fingerprint at the start, a checksum at the end.
use xxhash_rust::xxh3::xxh3_64;

pub(crate) const START: &[u8] = b"{\"fingerprint\":\"";
/// Text around the checksum at the end of a record.
const BEFORE: &[u8] = b",\"checksum\":\"";
const AFTER: &[u8] = b"\"}\n";
const SUM_BYTES: usize = 16;

/// Formats a fingerprint as in records and manifests: 32 hexadecimal digits.
#[must_use]
pub fn fingerprint_hex(fingerprint: [u8; 16]) -> String {
    fingerprint.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The start of every claim and record of that run.
pub(crate) fn mark(fingerprint: [u8; 16]) -> Vec<u8> {
    [START, fingerprint_hex(fingerprint).as_bytes(), b"\""].concat()
}

/// Returns whether a claim or record belongs to that run, whatever damage follows its start.
#[must_use]
pub fn is_of_run(text: &[u8], fingerprint: [u8; 16]) -> bool {
    text.starts_with(&mark(fingerprint))
}

/// Seals a record: `json` is an object that begins with its `fingerprint`; the checksum (XXH3, 64
/// bits, of everything before it) becomes its last member, followed by a line break.
#[must_use]
pub fn seal_record(json: &[u8]) -> Vec<u8> {
    let body = json.strip_suffix(b"}").unwrap_or(json);
    let sum = format!("{:016x}", xxh3_64(body));
    [body, BEFORE, sum.as_bytes(), AFTER].concat()
}

/// Checks the checksum of a record. `None` for a text without one, as in version 1.
///
/// # Errors
/// What is wrong with it.
pub fn check_record(text: &[u8]) -> Result<Option<()>, String> {
    let tail = BEFORE.len() + SUM_BYTES + AFTER.len();
    let Some((body, tail)) = text.len().checked_sub(tail).and_then(|at| text.split_at_checked(at))
    else {
        return Ok(None);
    };
    let sum = tail.strip_prefix(BEFORE).and_then(|rest| rest.strip_suffix(AFTER));
    match sum {
        None => Ok(None),
        Some(sum) if sum == format!("{:016x}", xxh3_64(body)).as_bytes() => Ok(Some(())),
        Some(_) => Err("its checksum is wrong: it was changed or damaged".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_of_a_record_is_seen() {
        let text = seal_record(b"{\"fingerprint\":\"00\",\"samples\":3}");
        assert_eq!(check_record(&text), Ok(Some(())));
        serde_json::from_slice::<serde_json::Value>(&text).unwrap();
        for at in 0..text.len() {
            for bit in 0..8 {
                let mut flipped = text.clone();
                flipped[at] ^= 1 << bit;
                assert_ne!(check_record(&flipped), Ok(Some(())), "byte {at}, bit {bit}");
            }
            assert_ne!(check_record(&text[..at]), Ok(Some(())), "cut at {at}");
        }
    }
}
