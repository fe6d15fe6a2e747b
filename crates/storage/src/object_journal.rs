//! What an interrupted run needs to continue an object: small objects beside it, in their order.
//!
//! Stores append nothing, so every note is an object of its own, `OUT.partial.journal/00000000` and
//! so on: a start that tells them from anything else, their number, the identity of the run, what
//! there is to note, and a checksum (XXH3) of all that. A note counts only while those before it do.
//! Two processes of one run that write the same journal find each other out: the store takes one
//! object of each name.
use crate::{
    partial_path,
    place::{self, Kind},
    read::read_if_there,
};
use bytes::Bytes;
use fdconvert_core::{Error, Result, bytes::u64_at, message, named};
use std::{
    ffi::OsStr,
    io::ErrorKind,
    path::{Path, PathBuf},
};
use xxhash_rust::xxh3::xxh3_64;

/// The version is part of it.
const START: [u8; 8] = *b"FDXOBJ\x00\x01";
/// Number, length of the identity.
const FIXED_LEN: usize = START.len() + 16;
const SUM_LEN: usize = 8;
/// Of an object that has the name of a note.
const MAX_BYTES: u64 = 2 << 30;
const DIGITS: usize = 8;

/// The notes of one run about one object.
#[derive(Debug)]
pub struct ObjectJournal {
    folder: PathBuf,
    identity: Vec<u8>,
    /// The number of the next note.
    next: u64,
}

/// Returns where the notes about `out` lie.
fn folder_of(out: &Path) -> PathBuf {
    let mut folder = partial_path(out).into_os_string();
    folder.push(".journal");
    folder.into()
}

impl ObjectJournal {
    /// Opens the journal about `out` of the run of that identity. Nothing is written yet. That of
    /// another run goes with `overwrite`, after `give_up` was called with its first note.
    ///
    /// # Errors
    /// `Usage` when what is there is of another run, and not to be overwritten, or not ours; `Io`;
    /// those of `give_up`.
    pub fn open(
        out: &Path,
        identity: &[u8],
        overwrite: bool,
        give_up: impl FnOnce(&[u8]) -> Result<()>,
    ) -> Result<Self> {
        let this = Self { folder: folder_of(out), identity: identity.to_vec(), next: 0 };
        let Some(first) = read_if_there(&this.path(0), MAX_BYTES)? else { return Ok(this) };
        if !first.starts_with(&START) {
            let what = message!(
                "{} exists and is not of an unfinished output that this version can continue; \
                 move it away",
                this.path(0).display()
            );
            return Err(Error::usage("output", what));
        }
        match parse(&first) {
            Some((0, identity, _)) if identity == this.identity => {}
            Some((0, _, note)) if overwrite => {
                give_up(note)?;
                this.remove()?;
            }
            // Nothing says whose it was, or what there is to continue.
            None | Some((1.., ..)) => this.remove()?,
            Some(_) => {
                let what = message!(
                    "{} is the unfinished output of a run with another source, one that was \
                     written to since, or other options; finish that run, replace it with {}, or \
                     give it up with `fdconvert clean`",
                    out.display(),
                    named::OVERWRITE
                );
                return Err(Error::usage("output", what));
            }
        }
        Ok(this)
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{number:0DIGITS$}"))
    }

    /// Returns whether there are notes that a later run can continue from.
    #[must_use]
    pub fn has_notes(&self) -> bool {
        self.next > 0
    }

    /// The next note of an interrupted run; `None` behind the last, and from one on that is damaged
    /// or not of this run.
    ///
    /// # Errors
    /// `Io`.
    pub fn read(&mut self) -> Result<Option<Bytes>> {
        let Some(bytes) = read_if_there(&self.path(self.next), MAX_BYTES)? else {
            return Ok(None);
        };
        let Some((number, identity, note)) = parse(&bytes) else { return Ok(None) };
        if number != self.next || identity != self.identity {
            return Ok(None);
        }
        self.next += 1;
        Ok(Some(bytes.slice_ref(note)))
    }

    /// Forgets that the last note was read.
    pub fn unread(&mut self) {
        self.next = self.next.saturating_sub(1);
    }

    /// Forgets that any note was read.
    pub fn rewind(&mut self) {
        self.next = 0;
    }

    /// Appends a note. The result tells whether it is there: another process of the same run may
    /// have written one of its number, and then the journal is that process's.
    ///
    /// # Errors
    /// `Io`.
    pub fn append(&mut self, note: &[u8]) -> Result<bool> {
        let mut bytes = Vec::with_capacity(FIXED_LEN + self.identity.len() + note.len() + SUM_LEN);
        bytes.extend_from_slice(&START);
        bytes.extend_from_slice(&self.next.to_le_bytes());
        bytes.extend_from_slice(&(self.identity.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&self.identity);
        bytes.extend_from_slice(note);
        bytes.extend_from_slice(&xxh3_64(&bytes).to_le_bytes());
        let is_there = place::put_new(&self.path(self.next), &bytes)?;
        self.next += u64::from(is_there);
        Ok(is_there)
    }

    /// Removes the notes that were not read, damaged ones and those behind them.
    ///
    /// # Errors
    /// `Io`.
    pub fn cut(&self) -> Result<()> {
        remove(&self.folder, self.next)
    }

    /// Removes all notes.
    ///
    /// # Errors
    /// `Io`.
    pub fn remove(&self) -> Result<()> {
        remove(&self.folder, 0)
    }

    /// Removes the notes of any run about an object.
    ///
    /// # Errors
    /// `Io`.
    pub fn remove_of(out: &Path) -> Result<()> {
        remove(&folder_of(out), 0)
    }
}

/// From the last one on, so that what a kill leaves of them is still a journal.
fn remove(folder: &Path, from: u64) -> Result<()> {
    for (path, kind) in place::list(folder)?.into_iter().rev() {
        let number = path.file_name().and_then(OsStr::to_str).filter(|name| name.len() == DIGITS);
        let number = number.and_then(|name| name.parse::<u64>().ok());
        if kind == Kind::File && number.is_some_and(|number| number >= from) && is_note(&path)? {
            place::remove(&path)?;
        }
    }
    Ok(())
}

/// Another process of the run may remove them, too.
fn is_note(path: &Path) -> Result<bool> {
    match place::read_start(path, START.len()) {
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(false),
        start => Ok(start? == START[..]),
    }
}

/// Number, identity and what is noted, if the note is whole.
fn parse(bytes: &Bytes) -> Option<(u64, &[u8], &[u8])> {
    let (sealed, sum) = bytes.split_at_checked(bytes.len().checked_sub(SUM_LEN)?)?;
    if !sealed.starts_with(&START) || u64_at(sum, 0)? != xxh3_64(sealed) {
        return None;
    }
    let number = u64_at(sealed, START.len())?;
    let n_identity = usize::try_from(u64_at(sealed, START.len() + 8)?).ok()?;
    let (identity, note) = sealed.get(FIXED_LEN..)?.split_at_checked(n_identity)?;
    Some((number, identity, note))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    // Files do for notes what objects do.
    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("a.beton");
        fs::create_dir(folder_of(&out)).unwrap();
        (folder, out)
    }

    fn open(out: &Path, identity: &[u8], overwrite: bool) -> Result<ObjectJournal> {
        ObjectJournal::open(out, identity, overwrite, |_| Ok(()))
    }

    fn notes(journal: &mut ObjectJournal) -> Vec<Bytes> {
        std::iter::from_fn(|| journal.read().unwrap()).collect()
    }

    #[test]
    fn notes_are_read_up_to_the_first_that_is_damaged() {
        let (_folder, out) = folder();
        let mut journal = open(&out, b"run", false).unwrap();
        for note in [&b"one"[..], b"", b"three"] {
            assert!(journal.append(note).unwrap());
        }
        let mut other = open(&out, b"run", false).unwrap();
        assert!(!other.append(b"late").unwrap() && !other.has_notes());
        assert_eq!(notes(&mut other), [&b"one"[..], b"", b"three"]);
        let second = other.path(1);
        let whole = fs::read(&second).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            fs::write(&second, &bytes).unwrap();
            let mut journal = open(&out, b"run", false).unwrap();
            assert_eq!(notes(&mut journal), [&b"one"[..]], "{at}");
        }
        let mut journal = open(&out, b"run", false).unwrap();
        notes(&mut journal);
        fs::write(&second, &whole[..whole.len() - 1]).unwrap();
        journal.cut().unwrap();
        assert!(journal.path(0).is_file() && !second.exists() && !journal.path(2).exists());
        assert!(journal.append(b"two").unwrap());
    }

    #[test]
    fn notes_of_another_run_are_replaced_only_if_asked_to_and_other_files_never() {
        let (_folder, out) = folder();
        open(&out, b"run", false).unwrap().append(b"one").unwrap();
        let stray = folder_of(&out).join("00000007");
        fs::write(&stray, "precious").unwrap();
        assert!(matches!(open(&out, b"other", false), Err(Error::Usage { .. })));
        let mut given_up = Vec::new();
        let mut other = ObjectJournal::open(&out, b"other", true, |note| {
            given_up = note.to_vec();
            Ok(())
        })
        .unwrap();
        assert_eq!(given_up, b"one");
        assert!(!other.path(0).exists() && notes(&mut other).is_empty());
        ObjectJournal::remove_of(&out).unwrap();
        assert_eq!(fs::read(&stray).unwrap(), b"precious");
        fs::write(other.path(0), "precious").unwrap();
        for overwrite in [false, true] {
            assert!(open(&out, b"run", overwrite).is_err());
        }
    }
}
