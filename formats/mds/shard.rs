//! The bytes of shards: mapped on first use, or else decompressed or copied and kept for a while.
use crate::mds::{
    columns::Own,
    layout::{Entry, FORMAT, FileInfo, ZSTD, config_offset},
    sidecar::ShardIndex,
};
use bytes::Bytes;
use fdconvert_core::{Ahead, Error, MaxDecompressed, Remark, Result, bytes::u32_at};
use fdconvert_storage::{Blob, place, sigbus};
use std::{
    collections::VecDeque,
    io::Read as _,
    ops::Range,
    path::{Component, Path, PathBuf},
    sync::{Mutex, OnceLock, PoisonError},
};

/// Limit of all decompressed shards in memory; the latest is always kept.
const KEPT_BYTES: usize = 1 << 30;

/// One shard of an open dataset.
#[derive(Debug)]
pub(crate) struct ShardFile {
    pub(crate) entry: Entry,
    pub(crate) folder: PathBuf,
    /// Where the raw file is when an edit has replaced it.
    pub(crate) elsewhere: Vec<PathBuf>,
    /// Its columns, if they differ from the first shard's.
    pub(crate) own: Option<Own>,
    pub(crate) first: u64,
    /// Bytes in place of a file.
    given: Option<Bytes>,
    mapped: OnceLock<Bytes>,
    /// The raw file or object, opened on first use.
    opened: OnceLock<Blob>,
    pub(crate) index: ShardIndex,
    /// Keeps two threads from decompressing the same shard.
    busy: Mutex<()>,
}

/// The most recently decompressed shards, by their first sample.
#[derive(Debug, Default)]
pub(crate) struct Inflated(Mutex<VecDeque<(u64, Bytes)>>);

impl ShardFile {
    pub(crate) fn new(entry: Entry, folder: PathBuf, given: Option<Bytes>) -> Self {
        let (mapped, opened, index, busy, elsewhere) = Default::default();
        Self { entry, folder, elsewhere, own: None, first: 0, given, mapped, opened, index, busy }
    }

    /// The file to read: the raw one, or the compressed one if there is no raw one.
    pub(crate) fn stored(&self) -> &FileInfo {
        match &self.entry.zip_data {
            Some(zip) if self.given.is_some() || !place::is_file(&self.raw_path()) => zip,
            _ => &self.entry.raw_data,
        }
    }

    fn raw_path(&self) -> PathBuf {
        self.folder.join(&self.entry.raw_data.basename)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(&self.stored().basename)
    }

    pub(crate) fn is_compressed(&self) -> bool {
        self.mapped.get().is_none() && self.stored() != &self.entry.raw_data
    }

    /// Why the shard cannot be read although its file exists.
    pub(crate) fn unsupported(&self) -> Option<String> {
        let compression = self.entry.compression.as_deref()?;
        let family = compression.split(':').next().unwrap_or_default();
        if family == ZSTD || !self.is_compressed() {
            return None;
        }
        Some(format!(
            "compression `{compression}` is not read, only zstd; decompress its shards, or read \
             it once with Streaming, which does"
        ))
    }

    pub(crate) fn corrupt(&self, offset: u64, what: impl Into<Remark>) -> Error {
        Error::corrupt(FORMAT, self.path(), offset, what)
    }

    /// The file as stored, with the size from the index.
    pub(crate) fn stored_bytes(&self) -> Result<Bytes> {
        let stored = self.stored();
        let bytes = match &self.given {
            Some(bytes) => bytes.clone(),
            None => Blob::open(&self.folder.join(&stored.basename))?.whole()?,
        };
        if bytes.len() as u64 != stored.bytes {
            let what = format!("{} bytes; the index says {}", bytes.len(), stored.bytes);
            return Err(self.corrupt(bytes.len() as u64, what));
        }
        Ok(bytes)
    }

    /// Opens the raw file now, if it can be opened.
    pub(crate) fn open_now(&self) {
        if self.entry.zip_data.is_none() {
            let _ = self.opened();
        }
    }

    fn is_away(&self) -> Result<bool> {
        Ok(self.given.is_none() && self.opened()?.here().is_none())
    }

    fn opened(&self) -> Result<&Blob> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let opened = Blob::open_with_len(&self.raw_path(), self.entry.raw_data.bytes)?;
        let opened = opened.or_elsewhere(self.elsewhere.clone());
        Ok(self.opened.get_or_init(|| opened))
    }

    /// Returns true if reads fetch parts of it from a store.
    pub(crate) fn reads_ahead(&self) -> bool {
        // If it may be raw or compressed, finding out takes a request.
        self.given.is_none() && self.entry.zip_data.is_none() && place::is_url(&self.folder)
    }

    /// Announces parts of the raw shard that will be read soon.
    pub(crate) fn read_ahead(&self, ranges: impl Iterator<Item = (u64, u64)>) -> Ahead {
        if !self.reads_ahead() {
            return Ahead::default();
        }
        self.opened().map(|blob| blob.read_ahead(ranges)).unwrap_or_default()
    }

    /// A part of the raw shard; `None` if out of bounds.
    pub(crate) fn region(
        &self,
        (offset, len): (u64, u64),
        inflated: &Inflated,
        limit: MaxDecompressed,
    ) -> Result<Option<Bytes>> {
        if !self.is_compressed() && self.is_away()? {
            return self.opened()?.read(offset, len);
        }
        Blob::from(self.raw(inflated, limit)?).read(offset, len)
    }

    /// The raw shard. One in a store is copied, and the copy is kept for a while.
    pub(crate) fn raw(&self, inflated: &Inflated, limit: MaxDecompressed) -> Result<Bytes> {
        if let Some(bytes) = self.mapped.get() {
            return Ok(bytes.clone());
        }
        if !self.is_compressed() && !self.is_away()? {
            let bytes = self.stored_bytes()?;
            self.check(&bytes)?;
            return Ok(self.mapped.get_or_init(|| bytes).clone());
        }
        if let Some(bytes) = inflated.get(self.first) {
            return Ok(bytes);
        }
        let _busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = inflated.get(self.first) {
            return Ok(bytes);
        }
        let (bytes, is_sound) = sigbus::watched(|| match self.is_compressed() {
            true => self.inflate(limit),
            false => self.stored_bytes(),
        });
        let bytes = bytes?;
        self.check(&bytes)?;
        if is_sound {
            inflated.put(self.first, bytes.clone());
        }
        Ok(bytes)
    }

    #[cfg(not(feature = "compressed"))]
    fn inflate(&self, _: MaxDecompressed) -> Result<Bytes> {
        let what = "it is compressed, and this build lacks the feature `compressed`".into();
        Err(Error::Unsupported { format: FORMAT, path: self.path(), what })
    }

    #[cfg(feature = "compressed")]
    fn inflate(&self, limit: MaxDecompressed) -> Result<Bytes> {
        let expected = self.entry.raw_data.bytes;
        let stored = self.stored_bytes()?;
        let n_stored = stored.len() as u64;
        if expected > limit.of(n_stored) {
            return Err(limit.refuse(&self.path(), n_stored, expected));
        }
        let mut raw = Vec::new();
        let decoder = zstd::stream::Decoder::with_buffer(&stored[..]);
        // Read one byte more than expected, to notice a longer stream without reading all of it.
        let read = decoder.and_then(|decoder| decoder.take(expected + 1).read_to_end(&mut raw));
        read.map_err(|cause| self.corrupt(0, format!("no Zstandard stream: {cause}")))?;
        if raw.len() as u64 != expected {
            let what = format!("decompresses to another size than {expected}");
            return Err(self.corrupt(0, what));
        }
        Ok(raw.into())
    }

    /// Checks the start of a raw shard.
    fn check(&self, raw: &Bytes) -> Result<()> {
        let (found, said) = (u32_at(raw, 0), self.entry.samples);
        if found.map(u64::from) != Some(said) {
            let what = format!("it counts {found:?} samples; the index says {said}");
            return Err(self.corrupt(0, what));
        }
        match config_offset(said) {
            Some(end) if end <= raw.len() as u64 => Ok(()),
            _ => Err(self.corrupt(4, format!("the table of {said} samples does not fit"))),
        }
    }
}

/// Range of sample `number` in a raw shard, checked to be inside it and after its table.
pub(crate) fn sample_range(raw: &[u8], number: u64) -> Option<Range<usize>> {
    let n_samples = u32_at(raw, 0)?;
    let at = usize::try_from(number.checked_add(1)?.checked_mul(4)?).ok()?;
    let (start, end) = (u32_at(raw, at)?, u32_at(raw, at.checked_add(4)?)?);
    let is_behind = u64::from(start) >= config_offset(u64::from(n_samples))?;
    let range = usize::try_from(start).ok()?..usize::try_from(end).ok()?;
    (is_behind && range.start <= range.end && range.end <= raw.len()).then_some(range)
}

/// Normalises a name of an index, without `.` parts, if it is a path below the index's folder.
/// Indexes that were merged on Windows have backslashes.
pub(crate) fn safe_name(name: &str) -> Option<String> {
    let name = &name.replace('\\', "/");
    let mut parts = Vec::new();
    for part in Path::new(name).components() {
        match part {
            Component::CurDir => {}
            Component::Normal(part) => parts.push(part.to_str()?),
            _ => return None,
        }
    }
    // Otherwise keep it unchanged: writing it again gives the same bytes.
    let is_plain = !Path::new(name).starts_with(".");
    let name = if is_plain { name.to_owned() } else { parts.join("/") };
    (!parts.is_empty() && !name.contains('\0')).then_some(name)
}

impl Inflated {
    fn get(&self, first: u64) -> Option<Bytes> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let position = kept.iter().position(|(known, _)| *known == first)?;
        let found = kept.remove(position)?;
        let bytes = found.1.clone();
        kept.push_back(found);
        Some(bytes)
    }

    fn put(&self, first: u64, bytes: Bytes) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_back((first, bytes));
        let total = |kept: &VecDeque<(u64, Bytes)>| -> usize {
            kept.iter().map(|(_, bytes)| bytes.len()).sum()
        };
        while kept.len() > 1 && total(&kept) > KEPT_BYTES {
            kept.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_below_their_folder() {
        for name in ["shard.00000.mds", "0/shard.00000.mds"] {
            assert_eq!(safe_name(name).as_deref(), Some(name));
        }
        assert_eq!(safe_name("./0/shard.00000.mds").as_deref(), Some("0/shard.00000.mds"));
        assert_eq!(safe_name(r"0\shard.00000.mds").as_deref(), Some("0/shard.00000.mds"));
        for name in ["", "/x", "../x", "a/../../x", ".", "./../x", "a\0b", r"..\x", r"\x"] {
            assert_eq!(safe_name(name), None, "{name}");
        }
    }
}
