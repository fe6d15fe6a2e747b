//! Spooled samples, read at random.
use super::record::{self, HEAD_BYTES, Head};
use bytes::Bytes;
use fdconvert_core::{Codec, Error, Image, Result, Sample, Schema, Source};
use std::{io, path::PathBuf};

/// The samples of a [`SampleSpool`](crate::SampleSpool), all of them.
pub struct SpooledSamples {
    pub(super) schema: Schema,
    /// The file, mapped: samples are slices of it.
    pub(super) bytes: Bytes,
    pub(super) folder: PathBuf,
    pub(super) starts: Vec<u64>,
    pub(super) name: String,
    pub(super) fingerprint: [u8; 16],
    pub(super) masks: Vec<usize>,
}

impl SpooledSamples {
    fn record(&self, index: u64) -> Result<Bytes> {
        let bounds = || {
            let at = usize::try_from(index).ok()?;
            let end =
                self.starts.get(at + 1).map_or(Some(self.bytes.len()), |&end| end.try_into().ok());
            Some((usize::try_from(*self.starts.get(at)?).ok()?, end?))
        };
        let Some((start, end)) = bounds() else {
            let what = format!("sample {index} does not exist, only {} do", self.starts.len());
            return Err(Error::usage("sample", what));
        };
        if start > end || end > self.bytes.len() {
            return Err(self.damaged());
        }
        Ok(self.bytes.slice(start..end))
    }

    fn head(&self, index: u64) -> Option<Head> {
        Head::parse(&self.record(index).ok()?)
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
        let record = self.record(index)?;
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
        let key = || {
            let record = self.record(index).ok()?;
            key_of(&record, &Head::parse(&record)?)
        };
        key().unwrap_or_default()
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
