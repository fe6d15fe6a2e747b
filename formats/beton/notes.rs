//! What an interrupted run has noted for the one that continues: in a journal beside its file, or,
//! of an object, in small objects beside it.
//!
//! Of an object a note says which parts the store has, and has the records of the pages in them.
//! What waits to be sent as the last (header and rows, in front of the data, and what shares a part
//! with them) is lost with the process: the rows are in the records, the rest in the first note.
//! A note is written where a page and a part end together, so that nothing lies between what was
//! sent and what is noted, and not for every page: it waits for all parts that are on their way. At
//! a kill, at most 64 MiB or a thirty-second of the object are written again.
use crate::beton::{
    journal::{Journal, Record, RunPlan},
    target::Target,
};
use fdconvert_core::{Error, Result, bytes::u64_at};
use fdconvert_storage::{ObjectJournal, Parted, Sent};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, io, path::Path};

/// Bytes of an object between notes, at least.
const NOTE_BYTES: u64 = 64 << 20;
/// Of a large object, this part of it.
const NOTE_SHARE: u64 = 32;
/// Bytes of records that are noted sooner.
const MAX_PENDING: usize = 16 << 20;

#[derive(Debug)]
pub(crate) enum Notes {
    File(Journal),
    Objects(ObjectNotes),
}

/// Of an object.
#[derive(Debug)]
pub(crate) struct ObjectNotes {
    journal: ObjectJournal,
    /// Another process of this run writes the journal.
    is_others: bool,
    data_start: u64,
    /// Records since the last note, encoded.
    pending: Vec<u8>,
    /// Length of the object at the last note.
    noted: u64,
    /// Parts that were noted.
    n_parts: u32,
}

/// State of the upload in the store, as a note records it.
#[derive(Debug, Serialize, Deserialize)]
struct Uploaded {
    upload: String,
    /// Those that earlier notes did not name.
    parts: BTreeMap<u32, String>,
    /// Bytes of the object that are there, or wait.
    len: u64,
}

impl Notes {
    /// Returns whether there is something to lose.
    pub(crate) fn has_records(&self) -> bool {
        match self {
            Self::File(journal) => journal.has_records(),
            Self::Objects(notes) => notes.journal.has_notes(),
        }
    }

    /// Leaves them to a later run.
    pub(crate) fn leave(self) {
        if let Self::File(journal) = self {
            journal.leave();
        }
    }

    /// Notes a page of the target.
    pub(crate) fn push(&mut self, target: &Target, record: &Record) -> Result<()> {
        match (self, target) {
            (Self::File(journal), _) => journal.push(record),
            (Self::Objects(notes), Target::Object(object)) => notes.push(object, record),
            (Self::Objects(_), Target::File(_)) => Ok(()),
        }
    }

    /// Hands the records of an interrupted run to `accept`, in order, as far as the target can be
    /// continued from them.
    pub(crate) fn replay(
        &mut self,
        target: &Target,
        plan: &RunPlan,
        accept: impl FnMut(Record) -> Result<bool>,
    ) -> Result<()> {
        match (self, target) {
            (Self::File(journal), _) => journal.replay(plan, accept),
            (Self::Objects(notes), Target::Object(object)) => notes.replay(object, plan, accept),
            (Self::Objects(_), Target::File(_)) => Ok(()),
        }
    }
}

impl ObjectNotes {
    /// Opens what a run of the plan has noted about `out`.
    ///
    /// # Errors
    /// `Usage` when it is of another run (unless `overwrite`; then what that one has sent is given
    /// up) or not ours; `Io`.
    pub(crate) fn open(
        out: &Path,
        plan: &RunPlan,
        object: &Parted,
        overwrite: bool,
    ) -> Result<Self> {
        let give_up = |note: &[u8]| match decode(note) {
            Some((Uploaded { upload, .. }, _)) => object.give_up(&upload),
            None => Ok(()),
        };
        let journal = ObjectJournal::open(out, &plan.encode(), overwrite, give_up)?;
        Ok(Self {
            journal,
            is_others: false,
            data_start: plan.data_start,
            pending: Vec::new(),
            noted: 0,
            n_parts: 0,
        })
    }

    fn push(&mut self, object: &Parted, record: &Record) -> Result<()> {
        if self.is_others {
            return Ok(());
        }
        for bytes in [&record.encode(), &record.entries] {
            self.pending.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            self.pending.extend_from_slice(bytes);
        }
        let new = object.len().saturating_sub(self.noted);
        let is_due =
            new >= NOTE_BYTES.max(object.len() / NOTE_SHARE) || self.pending.len() >= MAX_PENDING;
        if is_due && object.is_at_border() { self.note(object) } else { Ok(()) }
    }

    fn note(&mut self, object: &Parted) -> Result<()> {
        let Sent { upload, mut parts, len } = object.sent()?;
        let parts = parts.split_off(&self.n_parts);
        let n_parts = parts.last_key_value().map_or(self.n_parts, |(last, _)| last + 1);
        // Strings and integers: nothing that JSON cannot hold.
        let uploaded = serde_json::to_vec(&Uploaded { upload, parts, len }).unwrap_or_default();
        let held = match self.journal.has_notes() {
            true => Vec::new(),
            false => object.read_held(self.data_start)?,
        };
        let mut note = Vec::new();
        for bytes in [&uploaded, &held] {
            note.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            note.extend_from_slice(bytes);
        }
        note.append(&mut self.pending);
        if self.journal.append(&note)? {
            object.keep();
            (self.noted, self.n_parts) = (len, n_parts);
        } else {
            self.is_others = true;
        }
        Ok(())
    }

    fn replay(
        &mut self,
        object: &Parted,
        plan: &RunPlan,
        mut accept: impl FnMut(Record) -> Result<bool>,
    ) -> Result<()> {
        let mut upload = None;
        let mut known = BTreeMap::new();
        while let Some(note) = self.journal.read()? {
            let refused = || {
                let cause =
                    io::Error::other("a note of the interrupted run does not fit its object");
                Error::io("continue", object.path())(cause)
            };
            let (uploaded, records) = decode(&note).ok_or_else(refused)?;
            let (held, mut records) = framed(records).ok_or_else(refused)?;
            match &upload {
                None => {
                    if !object.take_over(&uploaded.upload)? {
                        // Given up since: nothing of it is there.
                        self.journal.rewind();
                        break;
                    }
                    object.write_all_at(held, self.data_start)?;
                    upload = Some(uploaded.upload);
                }
                Some(upload) if *upload == uploaded.upload => {}
                Some(_) => {
                    self.journal.unread();
                    break;
                }
            }
            while !records.is_empty() {
                let (payload, rest) = framed(records).ok_or_else(refused)?;
                let (entries, rest) = framed(rest).ok_or_else(refused)?;
                records = rest;
                let mut record = Record::decode(payload, plan).ok_or_else(refused)?;
                record.entries = entries.to_vec();
                if !accept(record)? {
                    return Err(refused());
                }
            }
            known.extend(uploaded.parts);
            (self.noted, self.n_parts) =
                (uploaded.len, known.last_key_value().map_or(0, |(last, _)| last + 1));
        }
        self.journal.cut()?;
        if self.noted > 0 {
            object.keep();
            object.continue_at(known, self.noted);
        }
        Ok(())
    }

    /// Removes them: the object is there.
    pub(crate) fn remove(&self) -> Result<()> {
        self.journal.remove()
    }
}

/// Decodes the state of the upload that a note records, and returns it with the bytes that follow.
fn decode(note: &[u8]) -> Option<(Uploaded, &[u8])> {
    let (uploaded, rest) = framed(note)?;
    Some((serde_json::from_slice(uploaded).ok()?, rest))
}

/// Bytes that their length stands in front of, and what follows.
fn framed(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_at_checked(8)?;
    rest.split_at_checked(usize::try_from(u64_at(len, 0)?).ok()?)
}
