//! The samples of a temporary dataset, read at random.
use super::{folder::Owned, record::Parsed};
use bytes::Bytes;
use fdconvert_core::{Codec, Error, Image, Reader, Result, Sample, Schema, Source, Value};
use fdconvert_storage::ScratchDir;
use std::path::PathBuf;

pub(super) struct Waiting {
    // Before the folder that its files lie in.
    pub(super) reader: Box<dyn Reader>,
    #[allow(dead_code, reason = "removed when it is dropped")]
    pub(super) folder: Owned<ScratchDir>,
    pub(super) dataset: PathBuf,
    pub(super) schema: Schema,
    pub(super) masks: Vec<usize>,
    pub(super) name: String,
    pub(super) fingerprint: [u8; 16],
}

impl Waiting {
    fn record(&self, index: u64) -> Result<Bytes> {
        match self.reader.get(index)?.values.pop() {
            Some(Value::Bytes(record)) => Ok(record),
            _ => Err(self.damaged(index)),
        }
    }

    fn parsed(&self, index: u64) -> Result<Parsed> {
        Parsed::new(self.record(index)?).ok_or_else(|| self.damaged(index))
    }

    fn damaged(&self, index: u64) -> Error {
        let what = format!("sample {index} was changed by someone else");
        Error::corrupt("wds", &self.dataset, 0, what)
    }
}

impl Source for Waiting {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn len(&self) -> u64 {
        self.reader.len()
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        let parsed = self.parsed(index)?;
        if !parsed.head.is_readable {
            let reason = String::from_utf8_lossy(&parsed.rest).into_owned();
            return Err(Error::sample(parsed.key, reason));
        }
        let values = parsed.values().ok_or_else(|| self.damaged(index))?;
        Ok(Sample { key: parsed.key, values })
    }

    fn key(&self, index: u64) -> String {
        self.parsed(index).map(|parsed| parsed.key).unwrap_or_default()
    }

    fn label(&self, index: u64) -> Result<Option<i64>> {
        Ok(self.parsed(index)?.head.label)
    }

    fn keeps_pixels(&self, field: usize) -> bool {
        self.masks.contains(&field)
    }

    fn codec_hint(&self, index: u64) -> Option<Codec> {
        let Parsed { head, key, .. } = self.parsed(index).ok()?;
        head.codec.or_else(|| Codec::from_extension(key.rsplit_once('.')?.1))
    }

    fn image_bytes(&self, index: u64) -> Option<u64> {
        self.parsed(index).ok()?.head.image_bytes
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn fingerprint(&self) -> [u8; 16] {
        self.fingerprint
    }
}
