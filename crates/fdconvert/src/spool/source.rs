//! Spooled samples, read at random.
use super::record::{self, HEAD_BYTES, Head};
use bytes::Bytes;
use fdconvert_core::{Codec, Error, Image, Result, Sample, Schema, Source};
use std::{fs::File, io, os::unix::fs::FileExt, path::PathBuf};

/// Bytes that a first look takes: a head and most keys.
const LOOK_BYTES: u64 = 256;

/// The samples of a [`SampleSpool`](crate::SampleSpool), all of them.
pub struct SpooledSamples {
    pub(super) schema: Schema,
    pub(super) file: File,
    pub(super) folder: PathBuf,
    pub(super) starts: Vec<u64>,
    pub(super) len: u64,
    pub(super) name: String,
    pub(super) fingerprint: [u8; 16],
    pub(super) masks: Vec<usize>,
}

impl SpooledSamples {
    /// Where a record begins and ends.
    fn bounds(&self, index: u64) -> Option<(u64, u64)> {
        let at = usize::try_from(index).ok()?;
        let end = self.starts.get(at + 1).copied().unwrap_or(self.len);
        Some((*self.starts.get(at)?, end))
    }

    /// A record, or as much of it as there is within `most` bytes.
    fn record(&self, index: u64, most: u64) -> Result<Bytes> {
        let Some((start, end)) = self.bounds(index) else {
            let what = format!("sample {index} does not exist, only {} do", self.starts.len());
            return Err(Error::usage("sample", what));
        };
        let n_bytes = usize::try_from((end - start).min(most)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; n_bytes];
        let read = self.file.read_exact_at(&mut bytes, start);
        read.map_err(Error::io("read a temporary file in", &self.folder))?;
        Ok(bytes.into())
    }

    fn head(&self, index: u64) -> Option<Head> {
        Head::parse(&self.record(index, HEAD_BYTES as u64).ok()?)
    }

    fn damaged(&self) -> Error {
        let cause = io::Error::new(io::ErrorKind::InvalidData, "it was changed by someone else");
        Error::io("read a temporary file in", &self.folder)(cause)
    }
}

/// The key behind a head; `None` where the bytes end before it does.
fn key_of(record: &[u8], head: &Head) -> Option<String> {
    Some(String::from_utf8_lossy(record.get(HEAD_BYTES..head.len())?).into_owned())
}

impl Source for SpooledSamples {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn len(&self) -> u64 {
        self.starts.len() as u64
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        let record = self.record(index, u64::MAX)?;
        let head = Head::parse(&record).ok_or_else(|| self.damaged())?;
        let key = key_of(&record, &head).ok_or_else(|| self.damaged())?;
        let rest = record.slice(head.len()..);
        if !head.is_readable {
            return Err(Error::sample(key, String::from_utf8_lossy(&rest).into_owned()));
        }
        let values = record::values(&rest).ok_or_else(|| self.damaged())?;
        Ok(Sample { key, values })
    }

    fn key(&self, index: u64) -> String {
        let key = |most| {
            let record = self.record(index, most).ok()?;
            key_of(&record, &Head::parse(&record)?)
        };
        key(LOOK_BYTES).or_else(|| key(u64::MAX)).unwrap_or_default()
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
