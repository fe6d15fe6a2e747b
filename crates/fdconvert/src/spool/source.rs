//! Spooled samples, read at random.
use super::{
    kept::KeptRecords,
    record::{self, Head, Parsed},
};
use bytes::Bytes;
use fdconvert_core::{Codec, Error, Image, Result, Sample, Schema, Source};
use std::{
    hint, io, mem,
    path::{Path, PathBuf},
    slice, thread,
};

/// No system has smaller pages.
const PAGE_BYTES: usize = 4 << 10;

/// The samples of a [`SampleSpool`](crate::SampleSpool), all of them.
pub struct SpooledSamples {
    pub(super) schema: Schema,
    /// The first ones.
    pub(super) kept: KeptRecords,
    /// The file with the others, mapped: they are slices of it.
    pub(super) filed: Bytes,
    pub(super) folder: PathBuf,
    /// Offset of each of the others in the file.
    pub(super) starts: Vec<u64>,
    pub(super) name: String,
    pub(super) fingerprint: [u8; 16],
    pub(super) masks: Vec<usize>,
}

impl SpooledSamples {
    fn record(&self, index: u64) -> Result<Bytes> {
        let at = usize::try_from(index).ok();
        if let Some(record) = at.and_then(|at| self.kept.get(at)) {
            return Ok(record);
        }
        let bounds = |at: usize| {
            let end = self.starts.get(at + 1);
            let end = end.map_or(Some(self.filed.len()), |&end| end.try_into().ok());
            Some((usize::try_from(*self.starts.get(at)?).ok()?, end?))
        };
        let at = at.and_then(|at| at.checked_sub(self.kept.len()));
        let Some((start, end)) = at.and_then(bounds) else {
            let what = format!("sample {index} does not exist, only {} do", self.len());
            return Err(Error::usage("sample", what));
        };
        if start > end || end > self.filed.len() {
            return Err(damaged(&self.folder));
        }
        Ok(self.filed.slice(start..end))
    }

    fn head(&self, index: u64) -> Option<Head> {
        Head::parse(&self.record(index).ok()?)
    }
}

impl Drop for SpooledSamples {
    /// Drops the file on a thread of its own, so that its user does not wait: to give back the
    /// pages of the file, one by one, takes the system some 0.1 s for a GB.
    fn drop(&mut self) {
        let filed = mem::take(&mut self.filed);
        if !filed.is_empty() {
            // Where there can be no thread, it is dropped here.
            let _ = thread::Builder::new().name("spool".into()).spawn(move || drop(filed));
        }
    }
}

/// Looks at every page of mapped bytes. The system then puts the pages into the table of the process
/// in this thread, one of several that read, and not in the one that writes and is waited for.
fn touch(bytes: &[u8]) {
    let pages = bytes.iter().step_by(PAGE_BYTES);
    hint::black_box(pages.fold(0, |sum: u8, byte| sum.wrapping_add(*byte)));
}

pub(super) fn damaged(folder: &Path) -> Error {
    let cause = io::Error::new(io::ErrorKind::InvalidData, "it was changed by someone else");
    Error::io("read a temporary file in", folder)(cause)
}

impl Source for SpooledSamples {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn len(&self) -> u64 {
        (self.kept.len() + self.starts.len()) as u64
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        let record = self.record(index)?;
        touch(&record);
        let damaged = || damaged(&self.folder);
        let Parsed { head, key, mut rest } =
            Parsed::new(slice::from_ref(&record)).ok_or_else(damaged)?;
        if !head.is_readable {
            return Err(Error::sample(key, String::from_utf8_lossy(&rest.rest()).into_owned()));
        }
        let values = record::values(rest).ok_or_else(damaged)?;
        Ok(Sample { key, values })
    }

    fn key(&self, index: u64) -> String {
        let record = self.record(index).ok();
        let parsed = record.as_ref().and_then(|record| Parsed::new(slice::from_ref(record)));
        parsed.map(|parsed| parsed.key).unwrap_or_default()
    }

    fn label(&self, index: u64) -> Result<Option<i64>> {
        Ok(self.head(index).and_then(|head| head.label))
    }

    fn keeps_pixels(&self, field: usize) -> bool {
        self.masks.contains(&field)
    }

    fn codec_hint(&self, index: u64) -> Option<Codec> {
        let made = || Codec::from_extension(self.key(index).rsplit_once('.')?.1);
        self.head(index)?.codec.or_else(made)
    }

    fn image_bytes(&self, index: u64) -> Option<u64> {
        self.head(index)?.image_bytes
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn fingerprint(&self) -> [u8; 16] {
        self.fingerprint
    }
}
