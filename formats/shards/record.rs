//! Done-records: proof that shards are complete, and of their run.
use fdconvert_core::{Error, Result};
use fdconvert_storage::{
    fingerprint_hex, hash_file, is_of_run, place::is_object_of_run, read_file, read_if_there,
    unseal_json,
};
use serde::{Serialize, de::DeserializeOwned};
use std::{io, path::Path};

pub(crate) const VERSION: u64 = 3;
/// Large enough for millions of skipped samples, which are listed in it.
pub(crate) const MAX_BYTES: u64 = 1 << 30;

/// The record of one format. Its first JSON member is `fingerprint`, so that an unfinished or
/// damaged one still shows its run: see `fdconvert_storage::Claim`.
pub(crate) trait Record: Serialize + DeserializeOwned {
    const FORMAT: &'static str;

    fn fingerprint(&self) -> &str;

    fn version(&self) -> u64;

    /// Checks the record's consistency.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Returns true if it belongs to the run with that fingerprint.
    fn is_of(&self, fingerprint: [u8; 16]) -> bool {
        self.fingerprint() == fingerprint_hex(fingerprint)
    }

    fn to_json(&self) -> Vec<u8> {
        // Strings and numbers cannot fail.
        let mut text = serde_json::to_vec_pretty(self).unwrap_or_default();
        text.push(b'\n');
        text
    }
}

/// Result of reading a done-record, for a run.
pub(crate) enum Proof<R> {
    /// There is no record.
    Missing,
    Record(R),
    /// It is damaged, but belongs to this run: the shard may be written again.
    OfThisRun,
    /// It is damaged and does not show its run.
    Damaged(Error),
}

/// Reads the record at `path` for the run of that fingerprint.
pub(crate) fn proof<R: Record>(path: &Path, fingerprint: [u8; 16]) -> Result<Proof<R>> {
    match read(path) {
        Ok(None) => Ok(Proof::Missing),
        Ok(Some(record)) => Ok(Proof::Record(record)),
        Err(error @ (Error::Corrupt { .. } | Error::Version { .. })) => {
            let ours = is_of_run(&read_file(path, MAX_BYTES)?, fingerprint);
            Ok(if ours { Proof::OfThisRun } else { Proof::Damaged(error) })
        }
        Err(error) => Err(error),
    }
}

/// Reads the record at `path`, if there is one.
pub(crate) fn read<R: Record>(path: &Path) -> Result<Option<R>> {
    let Some(text) = read_if_there(path, MAX_BYTES)? else { return Ok(None) };
    let damaged = |what: String| Error::corrupt(R::FORMAT, path, 0, what);
    let object = unseal_json(&text).map_err(damaged)?;
    let record: R = serde_json::from_slice(&object).map_err(|cause| damaged(cause.to_string()))?;
    if record.version() != VERSION {
        let (path, found) = (path.to_path_buf(), record.version());
        return Err(Error::Version { format: R::FORMAT, path, found, supported: "3" });
    }
    record.check().map_err(damaged)?;
    Ok(Some(record))
}

/// Returns true if a file matches the record of that run, byte for byte. An object is recognised by
/// its mark, and not read.
pub(crate) fn file_agrees(path: &Path, bytes: u64, xxh3: &str, fingerprint: &str) -> Result<bool> {
    if let Some(agrees) = is_object_of_run(path, Some(bytes), fingerprint)? {
        return Ok(agrees);
    }
    match hash_file(path) {
        Ok((found, hash)) => Ok(found == bytes && xxh3 == format!("{hash:016x}")),
        Err(error) if is_missing(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns true if an error means that there is no such file.
pub(crate) fn is_missing(error: &Error) -> bool {
    let kinds = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
    matches!(error, Error::Io { source, .. } if kinds.contains(&source.kind()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fdconvert_storage::{mark, seal_json};
    use serde::Deserialize;
    use std::fs;

    #[derive(Debug, Serialize, Deserialize)]
    struct Toy {
        fingerprint: String,
        version: u64,
    }

    impl Record for Toy {
        const FORMAT: &'static str = "toy";

        fn fingerprint(&self) -> &str {
            &self.fingerprint
        }

        fn version(&self) -> u64 {
            self.version
        }
    }

    /// Damage loses the proof, never the identity of the run; another run's record is never
    /// accepted.
    #[test]
    #[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    fn every_damage_is_told_from_a_proof() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.json");
        let (ours, other) = ([7; 16], [8; 16]);
        assert!(matches!(proof::<Toy>(&path, ours), Ok(Proof::Missing)));
        let toy = Toy { fingerprint: fingerprint_hex(ours), version: VERSION };
        let text = seal_json(&toy.to_json());
        fs::write(&path, &text).unwrap();
        assert!(matches!(proof::<Toy>(&path, ours), Ok(Proof::Record(_))));
        assert!(matches!(proof::<Toy>(&path, other), Ok(Proof::Record(toy)) if !toy.is_of(other)));
        let mark = mark(ours).len();
        for len in 0..text.len() {
            fs::write(&path, &text[..len]).unwrap();
            let found = proof::<Toy>(&path, ours).unwrap();
            let wanted = len >= mark;
            assert!(matches!(found, Proof::OfThisRun) == wanted, "cut at {len}");
            assert!(matches!(found, Proof::Damaged(_)) != wanted, "cut at {len}");
            assert!(matches!(proof::<Toy>(&path, other), Ok(Proof::Damaged(_))), "cut at {len}");
        }
    }
}
