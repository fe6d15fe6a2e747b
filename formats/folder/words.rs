use bytes::Bytes;
use fdconvert_core::{Result, bytes::u64_at};
use fdconvert_storage::Spool;

/// 64-bit integers; many millions are kept in an unnamed file.
#[derive(Debug, Default)]
pub(crate) struct Words(Bytes);

/// [`Words`] under construction.
#[derive(Debug, Default)]
pub(crate) struct WordsBuilder(Spool);

impl Words {
    pub(crate) fn collect(words: impl IntoIterator<Item = Result<u64>>) -> Result<Self> {
        let mut builder = WordsBuilder::default();
        for word in words {
            builder.push(word?)?;
        }
        builder.finish()
    }

    pub(crate) fn len(&self) -> u64 {
        self.0.len() as u64 / 8
    }

    pub(crate) fn get(&self, index: u64) -> Option<u64> {
        u64_at(&self.0, usize::try_from(index).ok()?.checked_mul(8)?)
    }
}

impl WordsBuilder {
    pub(crate) fn len(&self) -> u64 {
        self.0.len() / 8
    }

    pub(crate) fn push(&mut self, word: u64) -> Result<()> {
        self.0.push(&word.to_le_bytes())
    }

    pub(crate) fn finish(self) -> Result<Words> {
        Ok(Words(self.0.finish()?))
    }
}
