use crate::concat::hash_all;
use fdconvert_core::{
    Ahead, Amount, Codec, Error, FieldFacts, FieldSpec, Image, Kind, Look, Remark, Result, Sample,
    Schema, Source, SourceFacts, Value, option, probe,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
    sync::{Arc, Mutex, PoisonError},
};

/// Source with one more image for every sample, e.g. its segmentation mask: the first image of the
/// sample with the same name without extension in another source. Masks are labels, so that their
/// pixels never change: no lossy encoding, no resize.
pub struct Paired {
    inner: Box<dyn Source>,
    masks: Box<dyn Source>,
    /// Index in `masks` by name without extension.
    by_stem: BTreeMap<String, u64>,
    facts: SourceFacts,
    unlike: Arc<Mutex<Unlike>>,
}

/// Samples with a mask of another size than the image.
#[derive(Default)]
struct Unlike {
    samples: BTreeSet<u64>,
    /// Key of the first of them.
    key: String,
}

impl Paired {
    /// Adds the field `name`.
    ///
    /// # Errors
    /// `Usage` if the field exists, or `masks` has no images or duplicate names.
    pub fn join(
        inner: Box<dyn Source>,
        name: &str,
        masks: Box<dyn Source>,
    ) -> Result<Box<dyn Source>> {
        let mut fields = inner.schema().fields.clone();
        fields.push(FieldSpec::new(name, Kind::Image));
        let own = inner.facts();
        let mut facts = SourceFacts { schema: Schema::new(fields)?, ..own.clone() };
        facts.name = format!("{} with {}", own.name, masks.name());
        facts.fields.push(FieldFacts { keeps_pixels: true, ..FieldFacts::default() });
        facts.reads_ahead |= masks.facts().reads_ahead;
        facts.ignored.add(masks.facts().ignored.clone());
        if masks.schema().first_image().is_none() {
            return Err(Error::usage(option::PAIR, format!("{} has no images", masks.name())));
        }
        let mut by_stem = BTreeMap::new();
        for index in 0..masks.len() {
            let key = masks.key(index);
            if let Some(other) = by_stem.insert(stem(&key).to_owned(), index) {
                let what = format!("`{}` and `{key}` have the same name", masks.key(other));
                return Err(Error::usage(option::PAIR, what));
            }
        }
        let mut paired = Self { inner, masks, by_stem, facts, unlike: Arc::default() };
        let misfits = paired.misfits();
        paired.facts.remarks.extend(misfits);
        let (field, n, unlike) = (name.to_owned(), paired.len(), Arc::clone(&paired.unlike));
        paired.facts.remarks.push_found(move || unlike_ones(&field, n, &unlike));
        Ok(Box::new(paired))
    }

    /// Reports masks without an image, and images that share one.
    fn misfits(&self) -> Vec<Remark> {
        let (masks, name, field) = (&self.masks, self.masks.name(), self.field());
        // The first sample that has each mask.
        let mut samples: Vec<Option<u64>> = (0..masks.len()).map(|_| None).collect();
        let (mut n_shared, mut shared) = (0_u64, None);
        for index in 0..self.inner.len() {
            let key = self.inner.key(index);
            let mask = self.by_stem.get(stem(&key)).copied();
            let taken = mask.and_then(|mask| samples.get_mut(usize::try_from(mask).ok()?));
            match (mask, taken) {
                (Some(mask), Some(Some(first))) => {
                    n_shared += 1;
                    shared.get_or_insert((*first, key, mask));
                }
                (_, Some(free)) => *free = Some(index),
                _ => {}
            }
        }
        let mut remarks = Vec::new();
        let n_left = samples.iter().filter(|sample| sample.is_none()).count();
        if let Some((first, _)) = (0..).zip(&samples).find(|(_, sample)| sample.is_none()) {
            let (n, key) = (masks.len(), masks.key(first));
            let (belong, are) = if n_left == 1 { ("belongs", "is") } else { ("belong", "are") };
            let remark = format!(
                "{n_left} of {n} images in {name} {belong} to no sample and {are} left out, such \
                 as {key}: a sample has the {field} of the same name"
            );
            remarks.push(remark.into());
        }
        if let Some((first, key, mask)) = shared {
            let (first, mask) = (self.inner.key(first), masks.key(mask));
            let have = if n_shared == 1 {
                "1 sample has".into()
            } else {
                format!("{n_shared} samples have")
            };
            let remark = format!(
                "{have} the {field} of another one whose name differs in the extension only, such as \
                 {first} and {key} that of {mask}"
            );
            remarks.push(remark.into());
        }
        remarks
    }

    /// Returns the name of the field.
    fn field(&self) -> &str {
        self.schema().fields.last().map_or("", |field| field.name.as_str())
    }

    fn mask(&self, key: &str) -> Result<u64> {
        let stem = stem(key);
        self.by_stem.get(stem).copied().ok_or_else(|| {
            let (field, name) = (self.field(), self.masks.name());
            let from = self.by_stem.range::<str, _>((Bound::Excluded(stem), Bound::Unbounded));
            let mut longer =
                from.map_while(|(other, &mask)| Some((other.strip_prefix(stem)?, mask)));
            let is_end = |end: &str| end.starts_with(['_', '-', '.', ' ']) && !end.contains('/');
            let cure =
                longer.find(|(end, _)| is_end(end)).map_or_else(String::new, |(end, mask)| {
                    let mask = self.masks.key(mask);
                    format!(": {mask} exists, so leave `{end}` out of the names in {name}")
                });
            Error::sample(key, format!("there is no {field} of its name in {name}{cure}"))
        })
    }

    /// Records a mask that does not fit its image. A mask that fits after the EXIF rotation is
    /// fine.
    fn compare(&self, index: u64, image: Option<&Value<Image>>, mask: &Value<Image>) {
        let (Some(Value::Image(image)), Value::Image(mask)) = (image, mask) else { return };
        let (Some(image_size), Some(mask_size)) = (size(image), size(mask)) else { return };
        if image_size == mask_size {
            return;
        }
        let turns = |image: &Image| match image {
            Image::Encoded(image) => probe::probe(&image.bytes).is_ok_and(|it| it.orientation >= 5),
            _ => false,
        };
        let [width, height] = image_size;
        if mask_size != [height, width] || !turns(image) {
            let mut unlike = self.unlike.lock().unwrap_or_else(PoisonError::into_inner);
            if unlike.samples.first().is_none_or(|first| index < *first) {
                unlike.key = self.key(index);
            }
            unlike.samples.insert(index);
        }
    }
}

fn unlike_ones(field: &str, n: u64, unlike: &Mutex<Unlike>) -> Vec<Remark> {
    let Unlike { samples, key } = &*unlike.lock().unwrap_or_else(PoisonError::into_inner);
    if samples.is_empty() {
        return Vec::new();
    }
    let n_unlike = samples.len();
    let remark = format!(
        "the {field} of {n_unlike} of {n} samples has another size than the image, such as that of \
         {key}"
    );
    vec![remark.into()]
}

/// Returns width and height as stored.
fn size(image: &Image) -> Option<[u32; 2]> {
    match image {
        Image::Encoded(image) => Some([image.width, image.height]),
        Image::Pixels(image) => Some([image.width, image.height]),
        Image::Bilevel(_) => None,
    }
}

fn stem(key: &str) -> &str {
    let name = key.rfind('/').map_or(0, |slash| slash + 1);
    match key.get(name..).and_then(|name| name.rfind('.')) {
        Some(dot) if dot > 0 => key.get(..name + dot).unwrap_or(key),
        _ => key,
    }
}

impl Source for Paired {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        let mut sample = self.inner.read(index)?;
        let mask = self.masks.read(self.mask(&sample.key)?)?;
        let image = mask.values.into_iter().find(|value| matches!(value, Value::Image(_)));
        let image = image.ok_or_else(|| Error::sample(&mask.key, "it has no image"))?;
        let first = self.schema().first_image().and_then(|field| sample.values.get(field));
        self.compare(index, first, &image);
        sample.values.push(image);
        Ok(sample)
    }

    fn key(&self, index: u64) -> String {
        self.inner.key(index)
    }

    fn fingerprint(&self, look: Look) -> Result<[u8; 16]> {
        hash_all([&self.inner, &self.masks].into_iter().map(|source| source.fingerprint(look)))
    }

    fn value(&self, index: u64, field: usize) -> Result<Option<Value<Image>>> {
        // The mask is the last field.
        let is_mask = field + 1 >= self.schema().fields.len();
        if is_mask { Ok(None) } else { self.inner.value(index, field) }
    }

    fn codec_hint(&self, index: u64) -> Result<Option<Codec>> {
        self.inner.codec_hint(index)
    }

    fn bytes(&self, index: u64, amount: Amount) -> Result<Option<u64>> {
        let mask = self.mask(&self.key(index));
        if amount == Amount::Announced {
            let mask = mask.map_or(0, |mask| self.masks.ahead_bytes(mask));
            return Ok(Some(self.inner.ahead_bytes(index) + mask));
        }
        let mask = match mask {
            Err(_) if amount == Amount::Known => return Ok(None),
            mask => mask?,
        };
        let (image, mask) = (self.inner.bytes(index, amount)?, self.masks.bytes(mask, amount)?);
        Ok(image.zip(mask).map(|(image, mask)| image + mask))
    }

    fn read_ahead(&self, indices: &[u64]) -> Ahead {
        let mut ahead = self.inner.read_ahead(indices);
        if self.masks.facts().reads_ahead {
            let mask = |&index: &u64| self.mask(&self.key(index)).ok();
            let masks: Vec<u64> = indices.iter().filter_map(mask).collect();
            ahead.add(self.masks.read_ahead(&masks));
        }
        ahead
    }

    fn end(&self) -> Option<u64> {
        self.inner.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems_are_paths_without_the_last_extension() {
        assert_eq!(stem("a.b/c.d.png"), "a.b/c.d");
        assert_eq!(stem("a.b/c"), "a.b/c");
        assert_eq!(stem("a/.hidden"), "a/.hidden");
        assert_eq!(stem("x.jpg"), "x");
    }
}
