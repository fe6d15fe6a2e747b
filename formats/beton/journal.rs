//! The journal of an interrupted run: a file next to the unfinished one.
//!
//! It has a header that identifies the run, then a record per completed page with everything that
//! is not in the page itself. A record counts only while its own checksum and the page's, read back
//! from the unfinished file, both match; so no order of writes has to be enforced by syncing, and a
//! crash of the machine costs at most the pages that had not reached the disk.
//!
//! The journal is private to one version of this crate: another magic means another version, and
//! its unfinished files are refused.
use crate::beton::spool::Spool;
use crate::index::{REGION_LEN, Region};
use fdconvert_core::{Error, Result, ShardSummary, Skipped, bytes::u64_at, option};
use fdconvert_storage::{Scratch, os::identity_at, partial_path, sync_folder_of};
use std::{
    fs,
    path::{Path, PathBuf},
};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

const MAGIC: [u8; 8] = *b"FDXJNL\x00\x01";
const HEADER_LEN: usize = 72;
/// Offset of the flag for stored entry points.
const SPOOL_AT: usize = 61;
/// Bytes of length and checksum before each record.
const FRAME_LEN: u64 = 16;

/// Identity of a run: two runs of the same plan write the same bytes at the same places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunPlan {
    pub(crate) fingerprint: [u8; 16],
    pub(crate) page_bytes: u64,
    pub(crate) reserved_samples: u64,
    pub(crate) data_start: u64,
    pub(crate) row_bytes: u64,
    pub(crate) n_regions: u32,
    pub(crate) compat: bool,
    /// Entry-point entries per sample; `None` if none are stored.
    pub(crate) n_entries: Option<u32>,
}

/// A completed page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) page: u64,
    pub(crate) page_xxh3: u64,
    pub(crate) rows: Vec<u8>,
    pub(crate) regions: Vec<Region>,
    pub(crate) keys: Vec<String>,
    pub(crate) skipped: Vec<Skipped>,
    /// Lengths of the entry-point entries, sample by sample, and the entries themselves. The
    /// journal stores their checksum, the [`Spool`] their bytes.
    pub(crate) entry_lens: Vec<u64>,
    pub(crate) entries: Vec<u8>,
    pub(crate) entries_xxh3: u64,
}

#[derive(Debug)]
pub(crate) struct Journal {
    file: Scratch,
    end: u64,
}

/// An unfinished file with its journal and its spool of entry points.
pub(crate) struct Unfinished {
    pub(crate) file: Scratch,
    pub(crate) journal: Journal,
    pub(crate) spool: Option<Spool>,
}

/// Returns the path of the journal of `out`.
fn journal_path(out: &Path) -> PathBuf {
    let mut path = partial_path(out).into_os_string();
    path.push(".journal");
    path.into()
}

/// Opens the unfinished file of `out`, its journal and its spool. The journal has records to replay
/// if, and only if, an interrupted run of the same plan left them.
///
/// # Errors
/// `Usage` when they belong to another run, were not written by fdconvert (unless `overwrite`), or
/// are in use; then all files stay unchanged.
pub(crate) fn open_files(out: &Path, plan: &RunPlan, overwrite: bool) -> Result<Unfinished> {
    let path = partial_path(out);
    // An error must not remove a file that existed before: see `Scratch`.
    let file = Scratch::open(&path)?;
    let journal = Scratch::open(&journal_path(out))?;
    let found = Found::look(&journal, plan)?;
    let nothing_to_lose = file.existing() == 0 && found != Found::Foreign;
    if found != Found::Same && !nothing_to_lose && !overwrite {
        let what = match found {
            Found::Other | Found::OtherWithSpool => format!(
                "{} is the unfinished output of a run with another source, one that was written to \
                 since, or other options; finish that run",
                path.display()
            ),
            _ => format!(
                "{} exists and is not an unfinished output that this version can continue; move it \
                 away",
                path.display()
            ),
        };
        return Err(Error::usage("output", what).cure("to replace it", option::OVERWRITE.on()));
    }
    let spool_is_ours = overwrite || found.had_spool();
    if plan.n_entries.is_some() && !spool_is_ours {
        // Before the header claims that the spool is fdconvert's.
        Spool::refuse_foreign(&path)?;
    }
    if found == Found::OtherWithSpool {
        // Drop the spool of the replaced run, too.
        drop(Spool::open(&path, true)?);
    }
    let open_spool = |ours| plan.n_entries.map(|_| Spool::open(&path, ours)).transpose();
    if found == Found::Same {
        let spool = open_spool(true)?;
        let journal = Journal { end: journal.existing(), file: journal };
        return Ok(Unfinished { file, journal, spool });
    }
    file.set_len(0)?;
    journal.set_len(0)?;
    journal.write_all_at(&plan.encode(), 0)?;
    // Before any file that the journal accounts for exists.
    journal.sync()?;
    let spool = open_spool(spool_is_ours)?;
    let journal = Journal { file: journal, end: HEADER_LEN as u64 };
    Ok(Unfinished { file, journal, spool })
}

/// The finished file of a run with that fingerprint that was stopped between the rename and the
/// removal of its journal: the last record of the journal identifies the file.
///
/// # Errors
/// `Usage` when another run holds the journal, `Io`.
pub(crate) fn finished(out: &Path, fingerprint: [u8; 16]) -> Result<Option<ShardSummary>> {
    let path = journal_path(out);
    let is_file = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    let is_unfinished = fs::symlink_metadata(partial_path(out)).is_ok();
    if !is_file(out) || !is_file(&path) || is_unfinished {
        return Ok(None);
    }
    let journal = Scratch::open(&path)?;
    let Some(end) = End::read(&journal, fingerprint) else { return Ok(None) };
    let found = fs::symlink_metadata(out).map_err(Error::io("access", out))?;
    let (_, number) = identity_at(out).map_err(Error::io("access", out))?;
    if (number, found.len()) != (end.number, end.bytes) {
        return Ok(None);
    }
    sync_folder_of(out)?;
    if let Ok(spool) = Spool::open(&partial_path(out), true) {
        drop(spool);
    }
    // Remove it in one step: truncating first could leave a meaningless file after a kill.
    journal.own();
    let End { bytes, samples, skipped, .. } = end;
    let path = out.to_path_buf();
    Ok(Some(ShardSummary { path, samples, bytes, skipped }))
}

/// The last record: the file is complete and about to be renamed.
struct End {
    /// Inode number, which survives the rename.
    number: u64,
    bytes: u64,
    samples: u64,
    skipped: Vec<Skipped>,
}

const END_MARK: [u8; 8] = *b"FDXDONE\0";
const END_LEN: usize = 32;

impl End {
    fn encode(&self) -> Vec<u8> {
        let mut out = END_MARK.to_vec();
        for number in [self.number, self.bytes, self.samples] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        // Strings and integers always serialise.
        out.extend_from_slice(&serde_json::to_vec(&self.skipped).unwrap_or_default());
        out
    }

    /// Reads the last record if it ends the journal of that run.
    fn read(journal: &Scratch, fingerprint: [u8; 16]) -> Option<Self> {
        let mut header = [0; HEADER_LEN];
        journal.read_exact_at(&mut header, 0).ok()?;
        let sealed = u64_at(&header, HEADER_LEN - 8) == Some(xxh3_64(&header[..HEADER_LEN - 8]));
        if !header.starts_with(&MAGIC) || !sealed || header[8..24] != fingerprint {
            return None;
        }
        let mut at = HEADER_LEN as u64;
        loop {
            let mut frame = [0; FRAME_LEN as usize];
            journal.read_exact_at(&mut frame, at).ok()?;
            let len = u64_at(&frame, 0)?;
            let next = at.checked_add(FRAME_LEN)?.checked_add(len)?;
            if next < journal.existing() {
                at = next;
                continue;
            }
            if next > journal.existing() {
                return None;
            }
            let mut payload = vec![0; usize::try_from(len).ok()?];
            journal.read_exact_at(&mut payload, at + FRAME_LEN).ok()?;
            let is_whole = u64_at(&frame, 8) == Some(xxh3_64_with_seed(&payload, at));
            if !is_whole || !payload.starts_with(&END_MARK) {
                return None;
            }
            return Some(Self {
                number: u64_at(&payload, 8)?,
                bytes: u64_at(&payload, 16)?,
                samples: u64_at(&payload, 24)?,
                skipped: serde_json::from_slice(payload.get(END_LEN..)?).ok()?,
            });
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// No journal, or one with an incomplete header.
    Nothing,
    /// This run's journal.
    Same,
    /// Another run's journal.
    Other,
    /// Another run's journal, with stored entry points.
    OtherWithSpool,
    /// Not written by fdconvert.
    Foreign,
}

impl Found {
    /// Returns true if a file in the spool's place was written by an earlier run of fdconvert.
    fn had_spool(self) -> bool {
        matches!(self, Self::Same | Self::OtherWithSpool)
    }

    fn look(journal: &Scratch, plan: &RunPlan) -> Result<Self> {
        let mut header = [0; HEADER_LEN];
        let len = usize::try_from(journal.existing()).unwrap_or(HEADER_LEN).min(HEADER_LEN);
        journal.read_exact_at(&mut header[..len], 0)?;
        let known = len.min(MAGIC.len());
        if header[..len].iter().all(|byte| *byte == 0)
            || (len < HEADER_LEN && header[..known] == MAGIC[..known])
        {
            // The header was never completed, and nothing was written before it.
            return Ok(Self::Nothing);
        }
        let sealed = u64_at(&header, HEADER_LEN - 8) == Some(xxh3_64(&header[..HEADER_LEN - 8]));
        Ok(match (header.starts_with(&MAGIC) && sealed, header == plan.encode()) {
            (false, _) => Self::Foreign,
            (true, true) => Self::Same,
            (true, false) if header[SPOOL_AT] != 0 => Self::OtherWithSpool,
            (true, false) => Self::Other,
        })
    }
}

impl RunPlan {
    pub(crate) fn encode(&self) -> [u8; HEADER_LEN] {
        let mut header = [0; HEADER_LEN];
        header[0..8].copy_from_slice(&MAGIC);
        header[8..24].copy_from_slice(&self.fingerprint);
        header[24..32].copy_from_slice(&self.page_bytes.to_le_bytes());
        header[32..40].copy_from_slice(&self.reserved_samples.to_le_bytes());
        header[40..48].copy_from_slice(&self.data_start.to_le_bytes());
        header[48..56].copy_from_slice(&self.row_bytes.to_le_bytes());
        header[56..60].copy_from_slice(&self.n_regions.to_le_bytes());
        header[60] = u8::from(self.compat);
        header[SPOOL_AT] = u8::from(self.n_entries.is_some());
        let sum = xxh3_64(&header[..HEADER_LEN - 8]);
        header[HEADER_LEN - 8..].copy_from_slice(&sum.to_le_bytes());
        header
    }
}

impl Journal {
    /// Returns true if a run would lose work without the journal.
    pub(crate) fn has_records(&self) -> bool {
        self.file.existing() > HEADER_LEN as u64
    }

    /// Keeps the file for the next run.
    pub(crate) fn leave(self) {
        self.file.leave();
    }

    pub(crate) fn push(&mut self, record: &Record) -> Result<()> {
        self.push_payload(&record.encode())
    }

    /// Appends the last record and syncs it before `file`, of `len` bytes, is renamed.
    pub(crate) fn push_end(
        &mut self,
        file: &Scratch,
        bytes: u64,
        samples: u64,
        skipped: &[Skipped],
    ) -> Result<()> {
        let number = file.identity().1;
        let end = End { number, bytes, samples, skipped: skipped.to_vec() };
        self.push_payload(&end.encode())?;
        self.file.sync()
    }

    fn push_payload(&mut self, payload: &[u8]) -> Result<()> {
        let mut framed = Vec::with_capacity(payload.len() + FRAME_LEN as usize);
        framed.extend_from_slice(&(payload.len() as u64).to_le_bytes());
        // The offset seeds the checksum, so that a record in another place does not match.
        framed.extend_from_slice(&xxh3_64_with_seed(payload, self.end).to_le_bytes());
        framed.extend_from_slice(payload);
        self.file.write_all_at(&framed, self.end)?;
        self.end += framed.len() as u64;
        Ok(())
    }

    /// Passes the records of the interrupted run to `accept`, in order, until one is damaged or
    /// rejected, and drops the rest. Later records follow the last accepted one.
    pub(crate) fn replay(
        &mut self,
        plan: &RunPlan,
        mut accept: impl FnMut(Record) -> Result<bool>,
    ) -> Result<()> {
        let len = self.end;
        self.end = HEADER_LEN as u64;
        while let Some((record, next)) = self.read(len, plan) {
            if !accept(record)? {
                break;
            }
            self.end = next;
        }
        self.file.set_len(self.end)
    }

    /// Reads the record at `self.end`, if it is whole, and returns the offset of the next one.
    fn read(&self, len: u64, plan: &RunPlan) -> Option<(Record, u64)> {
        let at = self.end;
        let left = len.checked_sub(at)?.checked_sub(FRAME_LEN)?;
        let mut frame = [0; FRAME_LEN as usize];
        self.file.read_exact_at(&mut frame, at).ok()?;
        let payload_len = u64_at(&frame, 0).filter(|&payload_len| payload_len <= left)?;
        let mut payload = vec![0; usize::try_from(payload_len).ok()?];
        self.file.read_exact_at(&mut payload, at + FRAME_LEN).ok()?;
        if u64_at(&frame, 8) != Some(xxh3_64_with_seed(&payload, at)) {
            return None;
        }
        Some((Record::decode(&payload, plan)?, at + FRAME_LEN + payload_len))
    }
}

impl Record {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(&self.page.to_le_bytes());
        out.extend_from_slice(&self.page_xxh3.to_le_bytes());
        out.extend_from_slice(&(self.keys.len() as u64).to_le_bytes());
        out.extend_from_slice(&self.rows);
        self.regions.iter().for_each(|region| out.extend_from_slice(&region.to_bytes()));
        for key in &self.keys {
            out.extend_from_slice(&(key.len() as u64).to_le_bytes());
            out.extend_from_slice(key.as_bytes());
        }
        if !self.entry_lens.is_empty() {
            out.extend_from_slice(&xxh3_64(&self.entries).to_le_bytes());
            self.entry_lens.iter().for_each(|len| out.extend_from_slice(&len.to_le_bytes()));
        }
        // Strings and integers always serialise.
        out.extend_from_slice(&serde_json::to_vec(&self.skipped).unwrap_or_default());
        out
    }

    pub(crate) fn decode(payload: &[u8], plan: &RunPlan) -> Option<Self> {
        let mut rest = payload;
        let mut take = |len: usize| {
            let (part, after) = rest.split_at_checked(len)?;
            rest = after;
            Some(part)
        };
        let (page, page_xxh3) = (u64_at(take(8)?, 0)?, u64_at(take(8)?, 0)?);
        let n_samples = u64_at(take(8)?, 0).and_then(|n| usize::try_from(n).ok())?;
        let rows = take(n_samples.checked_mul(usize::try_from(plan.row_bytes).ok()?)?)?.to_vec();
        let n_regions = n_samples.checked_mul(usize::try_from(plan.n_regions).ok()?)?;
        let regions = take(n_regions.checked_mul(REGION_LEN)?)?
            .chunks_exact(REGION_LEN)
            .map(|record| Region::from_bytes(record.try_into().ok()?).ok())
            .collect::<Option<Vec<_>>>()?;
        let mut keys = Vec::new();
        for _ in 0..n_samples {
            let len = u64_at(take(8)?, 0).and_then(|len| usize::try_from(len).ok())?;
            keys.push(String::from_utf8(take(len)?.to_vec()).ok()?);
        }
        let n_entries =
            n_samples.checked_mul(usize::try_from(plan.n_entries.unwrap_or(0)).ok()?)?;
        let (mut entries_xxh3, mut entry_lens) = (0, Vec::new());
        if n_entries > 0 {
            entries_xxh3 = u64_at(take(8)?, 0)?;
            let lens = take(n_entries.checked_mul(8)?)?;
            entry_lens = lens.chunks_exact(8).filter_map(|len| u64_at(len, 0)).collect();
        }
        let skipped = serde_json::from_slice(rest).ok()?;
        let entries = Vec::new();
        Some(Self {
            page,
            page_xxh3,
            rows,
            regions,
            keys,
            skipped,
            entry_lens,
            entries,
            entries_xxh3,
        })
    }
}
