//! Writes files from memory: completely, or not at all.
use crate::{Scratch, fault, partial_path, scratch::refuse_unclaimed};
use fdconvert_core::{Error, Result};
use std::{fs::OpenOptions, io::Write as _, path::Path};

/// Writes a new file with these bytes; it must not exist yet. Not synced: for the many files of a
/// [`ScratchDir`](crate::ScratchDir), which syncs on commit.
///
/// # Errors
/// `Io`, also when the file exists.
pub fn create_new(path: &Path, bytes: &[u8]) -> Result<()> {
    fault::on_write(path, bytes.len() as u64)
        .and_then(|()| OpenOptions::new().write(true).create_new(true).open(path))
        .and_then(|mut file| file.write_all(bytes))
        .map_err(Error::io("write", path))
}

/// Writes a file with these bytes and replaces an existing one: completely and synced, or not at
/// all. Leftovers of a killed run are replaced if they have the same bytes; others are refused,
/// since they may be anything.
///
/// # Errors
/// `Usage` when another process is writing it, or a foreign file has the name of the unfinished
/// one; `Io` when the system fails. Then existing files stay.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    write_partial(path, bytes)?.commit(path, true)
}

/// The first half of [`replace`]: writes the unfinished form of `path`, to be committed.
///
/// # Errors
/// As for [`replace`].
pub fn write_partial(path: &Path, bytes: &[u8]) -> Result<Scratch> {
    let scratch = Scratch::open(&partial_path(path))?;
    if !is_begun(&scratch, bytes)? {
        return Err(refuse_unclaimed(scratch.path()));
    }
    scratch.set_len(0)?;
    scratch.write_all_at(bytes, 0)?;
    Ok(scratch)
}

/// Returns true if the file contains nothing that would be lost: only a prefix of these bytes, in
/// which some may be zeros, as after a power loss.
fn is_begun(scratch: &Scratch, bytes: &[u8]) -> Result<bool> {
    let Some(wanted) = usize::try_from(scratch.existing()).ok().and_then(|len| bytes.get(..len))
    else {
        return Ok(false);
    };
    let mut found = vec![0; wanted.len()];
    scratch.read_exact_at(&mut found, 0)?;
    Ok(found.iter().zip(wanted).all(|(found, wanted)| found == wanted || *found == 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Operation;
    use std::{fs, io};

    #[test]
    fn replaced_files_are_whole_or_as_before() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("x");
        replace(&out, b"first").unwrap();
        for left in [&b""[..], b"2", b"2\0", b"2nd"] {
            fs::write(partial_path(&out), left).unwrap();
            replace(&out, b"2nd").unwrap();
            assert_eq!(fs::read(&out).unwrap(), b"2nd");
        }
        assert!(write_partial(&out, b"new").unwrap().commit(&out, false).is_err());
        for foreign in [&b"3"[..], b"2nd and more"] {
            fs::write(partial_path(&out), foreign).unwrap();
            assert!(matches!(replace(&out, b"2nd"), Err(Error::Usage { .. })));
            assert_eq!(fs::read(partial_path(&out)).unwrap(), foreign);
        }
        fs::remove_file(partial_path(&out)).unwrap();
        let full = fault::arm(folder.path(), Operation::Write, 1, io::ErrorKind::StorageFull);
        assert!(replace(&out, b"third").is_err());
        drop(full);
        assert_eq!(fs::read(&out).unwrap(), b"2nd");
        assert!(!partial_path(&out).exists());
    }
}
