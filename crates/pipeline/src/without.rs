use fdconvert_core::{
    Ahead, Amount, Codec, Error, Image, Look, Result, Sample, Schema, Source, SourceFacts, Value,
    option,
};
use std::sync::Arc;

/// Source without some of its fields.
pub struct Without {
    inner: Arc<dyn Source>,
    facts: SourceFacts,
    /// Field of `inner` for each field.
    kept: Vec<usize>,
}

impl Without {
    /// Leaves out the fields with these names, if they exist.
    ///
    /// # Errors
    /// `Usage` if no field would be left.
    pub fn new(inner: Arc<dyn Source>, names: &[String]) -> Result<Self> {
        let own = inner.facts();
        let fields = own.schema.fields.iter().enumerate();
        let (kept, fields): (Vec<_>, Vec<_>) = fields
            .filter(|(_, field)| !names.contains(&field.name))
            .map(|(number, field)| (number, field.clone()))
            .unzip();
        if fields.is_empty() {
            let what = format!("{} has no other fields", own.name);
            return Err(Error::usage(option::DROP_FIELDS, what));
        }
        let schema = Schema::new(fields)?;
        let label = own.schema.label().and_then(|label| own.schema.fields.get(label));
        let label_origin = match label {
            Some(field) if schema.label().is_none() => {
                Some(format!("the field `{}` is left out", field.name))
            }
            _ => own.label_origin.clone(),
        };
        let fields = kept.iter().map(|&field| own.field(field).clone()).collect();
        let facts = SourceFacts { schema, fields, label_origin, ..own.clone() };
        Ok(Self { inner, facts, kept })
    }
}

impl Without {
    fn keeps_first_image(&self) -> bool {
        let first = self.schema().first_image().and_then(|image| self.kept.get(image).copied());
        first.is_some() && first == self.inner.schema().first_image()
    }
}

impl Source for Without {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        let Sample { key, values } = self.inner.read(index)?;
        let mut kept = self.kept.iter().peekable();
        let values = values.into_iter().enumerate();
        let values = values
            .filter_map(|(number, value)| kept.next_if(|kept| **kept == number).map(|_| value));
        Ok(Sample { key, values: values.collect() })
    }

    fn key(&self, index: u64) -> String {
        self.inner.key(index)
    }

    fn fingerprint(&self, look: Look) -> Result<[u8; 16]> {
        self.inner.fingerprint(look)
    }

    fn value(&self, index: u64, field: usize) -> Result<Option<Value<Image>>> {
        self.kept.get(field).map_or(Ok(None), |&field| self.inner.value(index, field))
    }

    fn codec_hint(&self, index: u64) -> Result<Option<Codec>> {
        if self.keeps_first_image() { self.inner.codec_hint(index) } else { Ok(None) }
    }

    fn image_size(&self, index: u64) -> Result<Option<(u32, u32)>> {
        if self.keeps_first_image() { self.inner.image_size(index) } else { Ok(None) }
    }

    fn bytes(&self, index: u64, amount: Amount) -> Result<Option<u64>> {
        self.inner.bytes(index, amount)
    }

    fn read_ahead(&self, indices: &[u64]) -> Ahead {
        self.inner.read_ahead(indices)
    }

    fn end(&self) -> Option<u64> {
        self.inner.end()
    }
}
