use fdconvert_core::{
    Ahead, Codec, Error, Ignored, Image, InnerClasses, Remark, Result, Sample, Schema, Source,
    Splits, Value, option,
};
use std::sync::Arc;

/// A source without some of its fields.
pub struct Without {
    inner: Arc<dyn Source>,
    schema: Schema,
    /// The field of `inner` that each field is.
    kept: Vec<usize>,
}

impl Without {
    /// Leaves the fields of these names out, as far as there are any.
    ///
    /// # Errors
    /// `Usage` where no field would be left.
    pub fn new(inner: Arc<dyn Source>, names: &[String]) -> Result<Self> {
        let fields = inner.schema().fields.iter().enumerate();
        let (kept, fields): (Vec<_>, Vec<_>) = fields
            .filter(|(_, field)| !names.contains(&field.name))
            .map(|(number, field)| (number, field.clone()))
            .unzip();
        if fields.is_empty() {
            let what = format!("{} has no other fields", inner.name());
            return Err(Error::usage(option::DROP_FIELDS, what));
        }
        let schema = Schema::new(fields)?;
        Ok(Self { inner, schema, kept })
    }

    fn inner_field(&self, field: Option<usize>) -> Option<usize> {
        self.kept.get(field?).copied()
    }
}

impl Source for Without {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn dropped_fields(&self) -> &[String] {
        self.inner.dropped_fields()
    }

    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn n_ready(&self) -> u64 {
        self.inner.n_ready()
    }

    fn is_open(&self) -> bool {
        self.inner.is_open()
    }

    fn end(&self) -> Option<u64> {
        self.inner.end()
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        let Sample { key, values } = self.inner.read(index)?;
        let mut kept = self.kept.iter().peekable();
        let values = values.into_iter().enumerate();
        let values = values
            .filter_map(|(number, value)| kept.next_if(|kept| **kept == number).map(|_| value));
        Ok(Sample { key, values: values.collect() })
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
        self.inner.key(index)
    }

    fn label(&self, index: u64) -> Result<Option<i64>> {
        let Some(field) = self.schema.label() else { return Ok(None) };
        if self.inner_field(Some(field)) == self.inner.schema().label() {
            return self.inner.label(index);
        }
        Ok(match self.plain_value(index, field)? {
            Some(Value::Int(label)) => Some(label),
            _ => None,
        })
    }

    fn plain_value(&self, index: u64, field: usize) -> Result<Option<Value<Image>>> {
        match self.inner_field(Some(field)) {
            Some(field) => self.inner.plain_value(index, field),
            None => Ok(None),
        }
    }

    fn knows_plain_values(&self) -> bool {
        self.inner.knows_plain_values()
    }

    fn keeps_pixels(&self, field: usize) -> bool {
        self.inner_field(Some(field)).is_some_and(|field| self.inner.keeps_pixels(field))
    }

    fn inner_classes(&self, field: usize) -> Vec<InnerClasses> {
        self.inner_field(Some(field)).map_or_else(Vec::new, |field| self.inner.inner_classes(field))
    }

    fn codec_hint(&self, index: u64) -> Option<Codec> {
        let first = self.inner_field(self.schema.first_image());
        let is_same = first.is_some() && first == self.inner.schema().first_image();
        self.inner.codec_hint(index).filter(|_| is_same)
    }

    fn member_name(&self, field: usize) -> Option<String> {
        self.inner.member_name(self.inner_field(Some(field))?)
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
        let label = self.inner.schema().label();
        match label.and_then(|label| self.inner.schema().fields.get(label)) {
            Some(field) if self.schema.label().is_none() => {
                Some(format!("the field `{}` is left out", field.name))
            }
            _ => self.inner.label_origin(),
        }
    }

    fn left_out(&self) -> Ignored {
        self.inner.left_out()
    }

    fn name(&self) -> String {
        self.inner.name()
    }

    fn fingerprint(&self) -> [u8; 16] {
        self.inner.fingerprint()
    }

    fn stamp(&self) -> Result<[u8; 16]> {
        self.inner.stamp()
    }

    fn checked_fingerprint(&self, spare_samples: bool) -> Result<[u8; 16]> {
        self.inner.checked_fingerprint(spare_samples)
    }
}
