use crate::{LabelMap, concat::hash_all};
use bytes::Bytes;
use fdconvert_core::{
    Ahead, Amount, Codec, Error, Image, Kind, Look, Remark, Result, Sample, Source, SourceFacts,
    Value,
    objects::{Category, FIELD, ObjectClasses, ObjectLists, chosen},
    option,
};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};
use xxhash_rust::xxh3::xxh3_128;

/// Which objects of samples are kept, and under which names.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ObjectChoice {
    /// New names of categories.
    pub map: Option<LabelMap>,
    /// The smallest width and height of a box, in pixels of the image that boxes are of.
    pub min_box: Option<f64>,
    /// Whether to leave out objects that stand for a crowd.
    pub drop_crowd: bool,
}

impl ObjectChoice {
    /// Returns true if all objects stay as they are.
    #[must_use]
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }
}

/// Source with chosen objects of its samples.
pub struct ChosenObjects {
    inner: Box<dyn Source>,
    facts: SourceFacts,
    field: usize,
    choice: ObjectChoice,
    old: Arc<[Category]>,
    new: Arc<[Category]>,
    /// New number of each category; `None` for those that are left out.
    numbers: Vec<Option<i64>>,
    left_out: Arc<Mutex<LeftOut>>,
}

/// Objects that are left out, each counted once for any number of reads.
#[derive(Default)]
struct LeftOut {
    samples: BTreeSet<u64>,
    by_category: u64,
    too_small: u64,
    crowds: u64,
}

impl ChosenObjects {
    /// Chooses among the objects of the field `objects`.
    ///
    /// # Errors
    /// `Usage` without such a field, without a list of its categories, and for names that are not on
    /// it.
    pub fn new(inner: Box<dyn Source>, choice: ObjectChoice) -> Result<Self> {
        let option = match &choice {
            ObjectChoice { map: Some(_), .. } => option::MAP_LABELS,
            ObjectChoice { min_box: Some(_), .. } => option::MIN_BOX,
            _ => option::DROP_CROWD,
        };
        let mut facts = inner.facts().clone();
        let field = facts.schema.position(FIELD);
        let spec = field.and_then(|field| facts.schema.fields.get_mut(field));
        let (Some(field), Some(spec)) = (field, spec.filter(|spec| spec.kind == Kind::Json)) else {
            let what = format!("it is about objects, and {} has no field `{FIELD}`", inner.name());
            return Err(Error::usage(option, what));
        };
        let old = match (&spec.categories, &choice.map) {
            (Some(categories), _) => Arc::clone(categories),
            (None, None) => Arc::from([]),
            (None, Some(_)) => {
                let what = format!("the list of all categories of {} is not known", inner.name());
                return Err(Error::usage(option, what).cure("to give it", option::CLASSES));
            }
        };
        let (new, numbers) = match &choice.map {
            Some(map) => mapped(map, &old)?,
            None => (Arc::clone(&old), (0..).map(Some).take(old.len()).collect()),
        };
        spec.categories = spec.categories.is_some().then(|| Arc::clone(&new));
        let left_out = Arc::<Mutex<LeftOut>>::default();
        let told = Arc::clone(&left_out);
        facts
            .remarks
            .push_found(move || told.lock().unwrap_or_else(PoisonError::into_inner).remarks());
        Ok(Self { inner, facts, field, choice, old, new, numbers, left_out })
    }

    /// The document with the chosen objects; `None` if it stays as it is.
    fn document(&self, index: u64, document: &[u8]) -> Result<Option<Bytes>, String> {
        let Some(classes) = ObjectClasses::of(document).transpose()? else { return Ok(None) };
        let lists = ObjectLists::parse(document)?;
        let mut left_out = LeftOut::default();
        let mut kept = Vec::with_capacity(lists.n_objects);
        for object in 0..lists.n_objects {
            let number = classes.numbers.as_ref().and_then(|it| it.get(object)).copied();
            let name = classes.names.as_ref().and_then(|names| names.get(object)?.as_deref());
            let number = number.filter(|number| *number >= 0).or_else(|| {
                let at = self.old.iter().position(|category| Some(&*category.name) == name)?;
                i64::try_from(at).ok()
            });
            let new = match (&self.choice.map, number) {
                (None, number) => Some(number.unwrap_or(-1)),
                // Rules are about categories, and this has none.
                (Some(_), None) => Some(-1),
                (Some(_), Some(number)) => {
                    let at = usize::try_from(number).ok();
                    let new = at.and_then(|at| self.numbers.get(at)).copied();
                    new.ok_or_else(|| {
                        format!(
                            "object {object} is of the category {number}, which is not on the list"
                        )
                    })?
                }
            };
            let is_crowd = self.choice.drop_crowd
                && lists.entry::<f64>("iscrowd", object).unwrap_or_default() == Some(1.0);
            let bbox: Option<[f64; 4]> = lists.entry("bbox", object)?;
            let least = self.choice.min_box.unwrap_or(0.0);
            let is_small = bbox.is_some_and(|[.., width, height]| width < least || height < least);
            left_out.by_category += u64::from(new.is_none());
            left_out.crowds += u64::from(new.is_some() && is_crowd);
            left_out.too_small += u64::from(new.is_some() && !is_crowd && is_small);
            kept.push(new.filter(|_| !is_crowd && !is_small));
        }
        let is_same = kept.iter().all(Option::is_some) && self.choice.map.is_none();
        if kept.iter().any(Option::is_none) {
            self.left_out.lock().unwrap_or_else(PoisonError::into_inner).add(index, &left_out);
        }
        if is_same {
            return Ok(None);
        }
        Ok(chosen(document, &self.new, &kept))
    }
}

/// A list, and the numbers of the old one in it.
type Mapped = (Arc<[Category]>, Vec<Option<i64>>);

/// The list with the new names, and the new number of each old category. A category of several keeps
/// the id and the keypoints of the first.
fn mapped(map: &LabelMap, old: &[Category]) -> Result<Mapped> {
    let is_known = |name: &str| old.iter().any(|category| category.name == name);
    if let Some(unknown) = map.names().find(|name| !is_known(name)) {
        const SHOWN: usize = 10;
        let names: Vec<&str> = old.iter().take(SHOWN).map(|it| it.name.as_str()).collect();
        let more = if old.len() > SHOWN { ", ..." } else { "" };
        let what = format!(
            "no category is called `{unknown}`; there are {}: {}{more}",
            old.len(),
            names.join(", ")
        );
        return Err(Error::usage(option::MAP_LABELS, what));
    }
    let mut new: Vec<Category> = Vec::new();
    let numbers = old.iter().map(|category| {
        let name = map.of(&category.name)?;
        let at = new.iter().position(|known| known.name == name).unwrap_or_else(|| {
            new.push(Category { name: name.to_owned(), ..category.clone() });
            new.len() - 1
        });
        i64::try_from(at).ok()
    });
    let numbers = numbers.collect();
    if new.is_empty() {
        return Err(Error::usage(option::MAP_LABELS, "no category is left"));
    }
    Ok((new.into(), numbers))
}

impl LeftOut {
    fn add(&mut self, index: u64, other: &Self) {
        if self.samples.insert(index) {
            self.by_category += other.by_category;
            self.too_small += other.too_small;
            self.crowds += other.crowds;
        }
    }

    fn remarks(&self) -> Vec<Remark> {
        let remark = |n: u64, why: &str| {
            let objects = if n == 1 { "object is" } else { "objects are" };
            (n > 0).then(|| Remark::from(format!("{n} {objects} left out: {why}")))
        };
        let remarks = [
            remark(self.by_category, "of a category that is dropped"),
            remark(self.crowds, "a crowd"),
            remark(self.too_small, "with a box that is too small"),
        ];
        remarks.into_iter().flatten().collect()
    }
}

impl Source for ChosenObjects {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        let mut sample = self.inner.read(index)?;
        if let Some(Value::Json(document)) = sample.values.get_mut(self.field)
            && let Some(chosen) =
                self.document(index, document).map_err(|what| Error::sample(&sample.key, what))?
        {
            *document = chosen;
        }
        Ok(sample)
    }

    fn key(&self, index: u64) -> String {
        self.inner.key(index)
    }

    fn fingerprint(&self, look: Look) -> Result<[u8; 16]> {
        let choice = xxh3_128(format!("{:?}", self.choice).as_bytes()).to_le_bytes();
        hash_all([self.inner.fingerprint(look), Ok(choice)].into_iter())
    }

    fn value(&self, index: u64, field: usize) -> Result<Option<Value<Image>>> {
        let value = self.inner.value(index, field)?;
        let Some(Value::Json(document)) = value.as_ref().filter(|_| field == self.field) else {
            return Ok(value);
        };
        let settled = self.document(index, document);
        let settled = settled.map_err(|what| Error::sample(self.key(index), what))?;
        Ok(settled.map(Value::Json).or(value))
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
