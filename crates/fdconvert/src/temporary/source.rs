//! The samples of a temporary dataset, for random access.
use super::{folder::Owned, record::Parsed};
use bytes::Bytes;
use fdconvert_core::{
    Amount, Codec, Error, Image, Look, Reader, Result, Sample, Source, SourceFacts, Value,
    read_value,
};
use fdconvert_storage::ScratchDir;
use std::path::PathBuf;

pub(super) struct Waiting {
    // Declared before the folder of its files, so that it drops first.
    pub(super) reader: Box<dyn Reader>,
    #[allow(dead_code, reason = "removed when it is dropped")]
    pub(super) folder: Owned<ScratchDir>,
    pub(super) dataset: PathBuf,
    pub(super) facts: SourceFacts,
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
    fn facts(&self) -> &SourceFacts {
        &self.facts
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
        // An unreadable sample has no key; reading it gives the reason.
        self.parsed(index).map_or_else(|_| format!("#{index}"), |parsed| parsed.key)
    }

    fn fingerprint(&self, _look: Look) -> Result<[u8; 16]> {
        Ok(self.fingerprint)
    }

    fn value(&self, index: u64, field: usize) -> Result<Option<Value<Image>>> {
        if self.schema().label() != Some(field) {
            return read_value(self, index, field);
        }
        Ok(self.parsed(index)?.head.label.map(Value::Int))
    }

    fn codec_hint(&self, index: u64) -> Result<Option<Codec>> {
        let Parsed { head, key, .. } = self.parsed(index)?;
        let by_key = || Codec::from_extension(key.rsplit_once('.')?.1);
        Ok(head.codec.or_else(by_key))
    }

    fn bytes(&self, index: u64, _amount: Amount) -> Result<Option<u64>> {
        Ok(self.parsed(index)?.head.image_bytes)
    }
}
