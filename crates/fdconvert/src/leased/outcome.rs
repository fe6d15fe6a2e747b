//! What a worker notes of a shard that is done, for the one that completes the dataset.
use fdconvert_core::{ShardSummary, Skipped};
use fdconvert_storage::{check_record, fingerprint_hex, seal_record};
use serde::{Deserialize, Serialize};
use std::path::Path;

#[derive(Serialize, Deserialize)]
struct Outcome {
    fingerprint: String,
    /// Below the output.
    path: String,
    samples: u64,
    bytes: u64,
    skipped: Vec<Skipped>,
}

/// The note, with a checksum.
pub(super) fn to_text(summary: &ShardSummary, out: &Path, fingerprint: [u8; 16]) -> Vec<u8> {
    let below = summary.path.strip_prefix(out).unwrap_or(&summary.path);
    let outcome = Outcome {
        fingerprint: fingerprint_hex(fingerprint),
        path: below.to_string_lossy().into_owned(),
        samples: summary.samples,
        bytes: summary.bytes,
        skipped: summary.skipped.clone(),
    };
    // Strings and numbers: nothing that JSON cannot hold.
    seal_record(&serde_json::to_vec(&outcome).unwrap_or_default())
}

/// Parses a note; `None` for one that is damaged or of another run.
pub(super) fn parse(text: &[u8], out: &Path, fingerprint: [u8; 16]) -> Option<ShardSummary> {
    check_record(text).ok()??;
    let outcome: Outcome = serde_json::from_slice(text).ok()?;
    let Outcome { path, samples, bytes, skipped, .. } = outcome;
    (outcome.fingerprint == fingerprint_hex(fingerprint)).then(|| ShardSummary {
        path: out.join(path),
        samples,
        bytes,
        // Only what this run did is counted.
        bytes_shared: 0,
        skipped,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_note_says_nothing() {
        let out = Path::new("out");
        let (path, skipped) = (out.join("a.tar"), vec![]);
        let summary = ShardSummary { path, samples: 3, bytes: 9, bytes_shared: 0, skipped };
        let text = to_text(&summary, out, [7; 16]);
        assert_eq!(parse(&text, out, [7; 16]), Some(summary));
        assert_eq!(parse(&text, out, [8; 16]), None);
        for at in 0..text.len() {
            let mut flipped = text.clone();
            flipped[at] ^= 1;
            assert_eq!(parse(&flipped, out, [7; 16]), None, "byte {at}");
            assert_eq!(parse(&text[..at], out, [7; 16]), None, "cut at {at}");
        }
    }
}
