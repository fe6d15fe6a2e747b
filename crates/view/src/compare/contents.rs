//! Whether two samples hold the same.
use fdconvert_core::{Ahead, Encoded, FieldSpec, Reader, Result, Schema, Value};
use fdconvert_storage::sigbus;

/// Comparison of samples of two datasets, as `fdconvert diff` does it: fields by their name, and
/// those that are left by kind and order; values as they are stored; labels by the names of their
/// classes where both have names.
pub(super) struct Contents<'a> {
    readers: [&'a dyn Reader; 2],
    pairs: Vec<[usize; 2]>,
    /// The pair of first images, whose checksums are compared where both are recorded.
    images: Option<[usize; 2]>,
}

impl<'a> Contents<'a> {
    pub(super) fn of(a: &'a dyn Reader, b: &'a dyn Reader) -> Self {
        let pairs = paired(a.schema(), b.schema());
        let images = a.schema().first_image().zip(b.schema().first_image()).map(<[usize; 2]>::from);
        let images = images.filter(|images| pairs.contains(images));
        Self { readers: [a, b], pairs, images }
    }

    /// Has stores send what is compared next. Images with checksums are not needed.
    pub(super) fn announce(&self, matched: &[(u64, u32)]) -> [Ahead; 2] {
        let [a, b] = self.readers;
        if !a.reads_ahead() && !b.reads_ahead() {
            return Default::default();
        }
        let both = matched.iter().filter(|(_, partner)| *partner != super::found::NONE);
        let both = both.filter(|(a, b)| !self.is_told_by_tables(*a, (*b).into()));
        let (of_a, of_b): (Vec<u64>, Vec<u64>) = both.map(|(a, b)| (*a, u64::from(*b))).unzip();
        let announce = |reader: &dyn Reader, indices: &[u64]| match reader.reads_ahead() {
            true => reader.read_ahead(indices),
            false => Ahead::default(),
        };
        [announce(a, &of_a), announce(b, &of_b)]
    }

    /// Returns whether two samples hold the same; what cannot be read does not.
    pub(super) fn are_same(&self, a: u64, b: u64) -> bool {
        let same = sigbus::caught(|| match self.is_told_by_tables(a, b) {
            true => Ok(self.have_same_checksums(a, b) == Some(true) && self.have_same_label(a, b)?),
            false => self.have_same_values(a, b),
        });
        same.unwrap_or(false)
    }

    /// Returns whether images and labels are all there is, and both have checksums.
    fn is_told_by_tables(&self, a: u64, b: u64) -> bool {
        let labels = self.labels();
        let is_told = |pair: &[usize; 2]| Some(*pair) == self.images || Some(*pair) == labels;
        self.pairs.iter().all(is_told) && self.have_same_checksums(a, b).is_some()
    }

    fn labels(&self) -> Option<[usize; 2]> {
        let [a, b] = self.readers.map(|reader| reader.schema().label());
        let labels = a.zip(b).map(<[usize; 2]>::from);
        labels.filter(|labels| self.pairs.contains(labels))
    }

    fn have_same_label(&self, a: u64, b: u64) -> Result<bool> {
        let [one, other] = self.readers;
        let Some(labels) = self.labels() else { return Ok(true) };
        let value = |label: Option<i64>| label.map(Value::Int);
        let (one, other) = (value(one.label(a)?), value(other.label(b)?));
        Ok(match (one, other) {
            (Some(one), Some(other)) => self.is_same_value(labels, &one, &other),
            (one, other) => one.is_none() && other.is_none(),
        })
    }

    /// By the recorded checksums of the images; `None` where one of the two has none.
    fn have_same_checksums(&self, a: u64, b: u64) -> Option<bool> {
        self.images?;
        let [one, other] = self.readers;
        let one = one.image_extent(a).ok()??;
        let other = other.image_extent(b).ok()??;
        Some((one.len, one.xxh3?) == (other.len, other.xxh3?))
    }

    fn have_same_values(&self, a: u64, b: u64) -> Result<bool> {
        let [one, other] = self.readers;
        let (one, other) = (one.get(a)?, other.get(b)?);
        let is_same = |pair: &[usize; 2]| {
            let (one, other) = (one.values.get(pair[0])?, other.values.get(pair[1])?);
            Some(self.is_same_value(*pair, one, other))
        };
        Ok(self.pairs.iter().all(|pair| is_same(pair) == Some(true)))
    }

    fn is_same_value(
        &self,
        pair: [usize; 2],
        one: &Value<Encoded>,
        other: &Value<Encoded>,
    ) -> bool {
        match (one, other) {
            (Value::Int(one), Value::Int(other)) => {
                let [a, b] = self.readers;
                let one_name = class_name(a.schema(), pair[0], *one);
                let other_name = class_name(b.schema(), pair[1], *other);
                one_name.zip(other_name).map_or(one == other, |(one, other)| one == other)
            }
            // By bits: what is not a number is equal to itself here.
            (Value::Float(one), Value::Float(other)) => one.to_bits() == other.to_bits(),
            (Value::Image(one), Value::Image(other)) => {
                (one.codec, one.width, one.height, &one.bytes)
                    == (other.codec, other.width, other.height, &other.bytes)
            }
            _ => one == other,
        }
    }
}

fn class_name(schema: &Schema, field: usize, class: i64) -> Option<&str> {
    let names = schema.fields.get(field)?.class_names.as_ref()?;
    names.get(usize::try_from(class).ok()?).map(String::as_str)
}

/// Fields of both: by name first, as what is left must not take away a field that has its own.
fn paired(a: &Schema, b: &Schema) -> Vec<[usize; 2]> {
    let mut pairs: Vec<[usize; 2]> = Vec::new();
    for by_name in [true, false] {
        for (one, field) in a.fields.iter().enumerate() {
            let is_free = |at: usize| pairs.iter().all(|pair| pair[1] != at);
            let fits = |(at, other): &(usize, &FieldSpec)| {
                let is_named = !by_name || other.name == field.name;
                is_free(*at) && is_named && other.kind == field.kind
            };
            if pairs.iter().any(|pair| pair[0] == one) {
                continue;
            }
            if let Some((other, _)) = b.fields.iter().enumerate().find(fits) {
                pairs.push([one, other]);
            }
        }
    }
    pairs
}
