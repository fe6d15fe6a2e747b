use fdconvert_core::{
    Ahead, Codec, Ignored, Image, InnerClasses, Remark, Result, Sample, Schema, Source, Splits,
    Value,
};
use xxhash_rust::xxh3::Xxh3;

/// A source with a name and a slash in front of each of its keys, so that those of several sources
/// differ.
pub struct Prefixed {
    inner: Box<dyn Source>,
    prefix: String,
}

impl Prefixed {
    /// Puts `name` in front of the keys of `inner`.
    #[must_use]
    pub fn new(inner: Box<dyn Source>, name: &str) -> Self {
        Self { inner, prefix: format!("{name}/") }
    }

    fn hashed(&self, fingerprint: [u8; 16]) -> [u8; 16] {
        let mut hash = Xxh3::new();
        hash.update(&fingerprint);
        hash.update(self.prefix.as_bytes());
        hash.digest128().to_le_bytes()
    }
}

impl Source for Prefixed {
    fn schema(&self) -> &Schema {
        self.inner.schema()
    }

    fn dropped_fields(&self) -> &[String] {
        self.inner.dropped_fields()
    }

    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        let mut sample = self.inner.read(index)?;
        sample.key.insert_str(0, &self.prefix);
        Ok(sample)
    }

    fn reads_ahead(&self) -> bool {
        self.inner.reads_ahead()
    }

    fn read_ahead(&self, indices: &[u64]) -> Ahead {
        self.inner.read_ahead(indices)
    }

    fn ahead_bytes(&self, index: u64) -> u64 {
        self.inner.ahead_bytes(index)
    }

    fn key(&self, index: u64) -> String {
        format!("{}{}", self.prefix, self.inner.key(index))
    }

    fn label(&self, index: u64) -> Result<Option<i64>> {
        self.inner.label(index)
    }

    fn knows_plain_values(&self) -> bool {
        self.inner.knows_plain_values()
    }

    fn plain_value(&self, index: u64, field: usize) -> Result<Option<Value<Image>>> {
        self.inner.plain_value(index, field)
    }

    fn keeps_pixels(&self, field: usize) -> bool {
        self.inner.keeps_pixels(field)
    }

    fn inner_classes(&self, field: usize) -> Vec<InnerClasses> {
        self.inner.inner_classes(field)
    }

    fn codec_hint(&self, index: u64) -> Option<Codec> {
        self.inner.codec_hint(index)
    }

    fn member_name(&self, field: usize) -> Option<String> {
        self.inner.member_name(field)
    }

    fn image_bytes(&self, index: u64) -> Option<u64> {
        self.inner.image_bytes(index)
    }

    fn planned_bytes(&self, index: u64) -> Result<Option<u64>> {
        self.inner.planned_bytes(index)
    }

    fn splits(&self) -> Splits {
        self.inner.splits()
    }

    fn remarks(&self) -> Vec<Remark> {
        self.inner.remarks()
    }

    fn label_origin(&self) -> Option<String> {
        self.inner.label_origin()
    }

    fn left_out(&self) -> Ignored {
        self.inner.left_out()
    }

    fn name(&self) -> String {
        self.inner.name()
    }

    fn fingerprint(&self) -> [u8; 16] {
        self.hashed(self.inner.fingerprint())
    }

    fn stamp(&self) -> Result<[u8; 16]> {
        self.inner.stamp().map(|stamp| self.hashed(stamp))
    }

    fn checked_fingerprint(&self, spare_samples: bool) -> Result<[u8; 16]> {
        self.inner.checked_fingerprint(spare_samples).map(|found| self.hashed(found))
    }
}
