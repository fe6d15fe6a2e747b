use fdconvert_core::{
    Ahead, Amount, Codec, Image, Look, Result, Sample, Source, SourceFacts, Value,
};
use xxhash_rust::xxh3::Xxh3;

/// Source with a name and a slash before each of its keys, so that the keys of several sources
/// differ.
pub struct Prefixed {
    inner: Box<dyn Source>,
    facts: SourceFacts,
    prefix: String,
}

impl Prefixed {
    /// Adds `name` to the keys of `inner`.
    #[must_use]
    pub fn new(inner: Box<dyn Source>, name: &str) -> Self {
        // Keys are no paths any more.
        let facts = SourceFacts { roots: Vec::new(), ..inner.facts().clone() };
        Self { inner, facts, prefix: format!("{name}/") }
    }
}

impl Source for Prefixed {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        let mut sample = self.inner.read(index)?;
        sample.key.insert_str(0, &self.prefix);
        Ok(sample)
    }

    fn key(&self, index: u64) -> String {
        format!("{}{}", self.prefix, self.inner.key(index))
    }

    fn fingerprint(&self, look: Look) -> Result<[u8; 16]> {
        let mut hash = Xxh3::new();
        hash.update(&self.inner.fingerprint(look)?);
        hash.update(self.prefix.as_bytes());
        Ok(hash.digest128().to_le_bytes())
    }

    fn value(&self, index: u64, field: usize) -> Result<Option<Value<Image>>> {
        self.inner.value(index, field)
    }

    fn codec_hint(&self, index: u64) -> Result<Option<Codec>> {
        self.inner.codec_hint(index)
    }

    fn bytes(&self, index: u64, amount: Amount) -> Result<Option<u64>> {
        self.inner.bytes(index, amount)
    }

    fn image_size(&self, index: u64) -> Result<Option<(u32, u32)>> {
        self.inner.image_size(index)
    }

    fn read_ahead(&self, indices: &[u64]) -> Ahead {
        self.inner.read_ahead(indices)
    }

    fn end(&self) -> Option<u64> {
        self.inner.end()
    }
}
