use crate::classes::{ClassList, JoinedCategories, Renumbered, label_of};
use bytes::Bytes;
use fdconvert_core::{
    Ahead, Amount, Categories, Codec, Error, FieldSpec, Image, Kind, Look, Remark, Result, Sample,
    Schema, Source, SourceFacts, Value, join_class_names, objects::Category, option,
    other_inner_class, renumber_classes, split_names,
};
use std::{
    collections::BTreeSet,
    iter,
    sync::{Arc, Mutex, PoisonError},
};
use xxhash_rust::xxh3::Xxh3;

/// Several sources as one, one after the other. Their fields must be the same; classes and
/// categories are joined by name, in sorted order, and labels and objects renumbered.
pub struct Concat {
    sources: Vec<Arc<dyn Source>>,
    ends: Vec<u64>,
    facts: SourceFacts,
    /// New number of every class by source and field, if it changed.
    renumbered: Vec<Vec<Option<Vec<i64>>>>,
    /// The categories of every source by field, if the joined list is another one.
    joined: Vec<Vec<Option<JoinedCategories>>>,
    /// The categories found in documents of objects, if no lists define them.
    found: Categories,
    /// The list that defines the classes, instead of the sources' names.
    classes: Option<ClassList>,
    /// Samples with objects that the list does not number, each once for any number of reads.
    without_classes: Arc<Mutex<BTreeSet<u64>>>,
}

impl Concat {
    /// Joins sources; a single one is unchanged.
    ///
    /// # Errors
    /// `Usage` without sources, for different fields, or if only some sources have splits.
    pub fn join(sources: Vec<Box<dyn Source>>) -> Result<Box<dyn Source>> {
        check_splits(sources.iter().map(|source| &**source))?;
        Self::mix(sources)
    }

    /// Joins sources, with their splits mixed.
    ///
    /// # Errors
    /// `Usage` without sources, or for different fields.
    pub fn mix(mut sources: Vec<Box<dyn Source>>) -> Result<Box<dyn Source>> {
        if sources.len() == 1 {
            return sources.pop().ok_or_else(|| Error::usage("source", "there is none"));
        }
        Ok(Box::new(Self::of(sources.into_iter().map(Arc::from).collect(), None)?))
    }

    /// Joins sources, with their splits mixed if `mixes`; classes get the numbers of the list.
    ///
    /// # Errors
    /// As for [`join`](Self::join) or [`mix`](Self::mix); `Usage` for classes that are not on the
    /// list.
    pub fn with_classes(
        sources: Vec<Box<dyn Source>>,
        classes: ClassList,
        mixes: bool,
    ) -> Result<Box<dyn Source>> {
        if !mixes {
            check_splits(sources.iter().map(|source| &**source))?;
        }
        let sources = sources.into_iter().map(Arc::from).collect();
        Ok(Box::new(Self::of(sources, Some(classes))?))
    }

    /// Joins sources, with their splits mixed.
    ///
    /// # Errors
    /// As for [`with_classes`](Self::with_classes).
    pub(crate) fn of(sources: Vec<Arc<dyn Source>>, classes: Option<ClassList>) -> Result<Self> {
        let Some(first) = sources.first() else {
            return Err(Error::usage("source", "there is none"));
        };
        let mut fields = first.schema().fields.clone();
        for source in &sources {
            let shape = |fields: &[FieldSpec]| -> Vec<(String, Kind)> {
                fields.iter().map(|field| (field.name.clone(), field.kind.clone())).collect()
            };
            if shape(&source.schema().fields) != shape(&fields) {
                let list = |fields: &[FieldSpec]| {
                    let one = |field: &FieldSpec| format!("{} ({})", field.name, field.kind.name());
                    fields.iter().map(one).collect::<Vec<_>>().join(", ")
                };
                let what = format!(
                    "{} has other fields than {}, {} and not {}: joined sources must have the same",
                    source.name(),
                    first.name(),
                    list(&source.schema().fields),
                    list(&fields)
                );
                return Err(Error::usage("source", what)
                    .cure("to leave out what others lack", option::DROP_FIELDS));
            }
        }
        for (at, field) in fields.iter_mut().enumerate() {
            let of = |source: &dyn Source| source.schema().fields[at].class_names.clone();
            let lists: Vec<_> = sources.iter().map(|source| of(&**source)).collect();
            let joined = join_class_names(lists.iter().map(Option::as_ref));
            field.class_names = match joined {
                // The list names the numbers of a source without names.
                Err(_) if classes.is_some() => None,
                joined => joined.map_err(|(with, without)| {
                    let what = format!(
                        "`{}` of {} has names of classes and that of {} only numbers, so that it is \
                         not known which classes are the same: pack them one by one",
                        field.name,
                        sources[with].name(),
                        sources[without].name()
                    );
                    Error::usage("source", what)
                        .cure("to give the names in the order of the numbers", option::CLASSES)
                })?,
            };
        }
        for (at, field) in fields.iter_mut().enumerate() {
            let lists = sources.iter().map(|it| it.schema().fields.get(at)?.categories.as_deref());
            let lists: Option<Vec<_>> = lists.collect();
            field.categories = lists.map(|lists| Category::joined(&lists).into());
        }
        check_inner_classes(&sources)?;
        if let Some(classes) = &classes {
            check_list(&sources, classes)?;
        }
        let mut schema = Schema::new(fields)?;
        if let Some(classes) = &classes {
            schema = classes.schema(&schema)?;
        }
        let renumbered = sources.iter().map(|source| {
            let mut numbers = renumber(source.schema(), &schema);
            // The joined schema shows which field is the label, because all sources have the same.
            if let (Some(classes), Some(at)) = (&classes, label_of(&schema))
                && let (Some(own), Some(field)) =
                    (numbers.get_mut(at), source.schema().fields.get(at))
            {
                *own = Some(classes.renumber(&**source, field)?);
            }
            Ok(numbers)
        });
        let renumbered = renumbered.collect::<Result<_>>()?;
        let joined = sources.iter().map(|source| {
            let fields = source.schema().fields.iter().zip(&schema.fields);
            let own = fields.map(|(own, joined)| match (&own.categories, &joined.categories) {
                (Some(own), Some(joined)) if classes.is_none() => {
                    JoinedCategories::new(own, joined)
                }
                _ => Ok(None),
            });
            own.collect::<Result<Vec<_>>>()
        });
        let joined = joined.collect::<Result<_>>()?;
        let mut end = 0;
        let ends = sources.iter().map(|source| {
            end += source.len();
            end
        });
        let ends: Vec<u64> = ends.collect();
        let without_classes = Arc::<Mutex<BTreeSet<u64>>>::default();
        let mut facts = joined_facts(&sources, schema, &ends);
        let found = Arc::clone(&without_classes);
        facts.remarks.push_found(move || {
            n_without_classes(found.lock().unwrap_or_else(PoisonError::into_inner).len())
        });
        let found = Categories::default();
        Ok(Self { sources, ends, facts, renumbered, joined, found, classes, without_classes })
    }

    /// Returns the number of the source that has a sample, and its index there.
    pub(crate) fn locate(&self, index: u64) -> Option<(usize, u64)> {
        let source = self.ends.partition_point(|&end| end <= index);
        let start = source.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        (source < self.sources.len()).then(|| (source, index - start.unwrap_or(0)))
    }

    /// Gives the classes in a sample of a source their common numbers.
    ///
    /// # Errors
    /// `Sample` for a class without a number.
    pub(crate) fn settle<I>(
        &self,
        number: usize,
        index: u64,
        sample: &mut Sample<I>,
    ) -> Result<()> {
        for (field, value) in sample.values.iter_mut().enumerate() {
            match value {
                Value::Json(document) => {
                    let settled = self.document((number, index, field), &sample.key, document)?;
                    if let Some(settled) = settled {
                        *document = settled;
                    }
                }
                Value::Int(label) if *label != -1 => {
                    let classes = self.renumbered[number].get(field).and_then(Option::as_ref);
                    let Some(classes) = classes else { continue };
                    let new = usize::try_from(*label).ok().and_then(|label| classes.get(label));
                    *label = *new.ok_or_else(|| {
                        Error::sample(&sample.key, format!("its label {label} has no class name"))
                    })?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns a document of that source, sample and field with the common numbers of its
    /// categories; `None` if it stays as it is.
    fn document(
        &self,
        (number, index, field): (usize, u64, usize),
        key: &str,
        document: &[u8],
    ) -> Result<Option<Bytes>> {
        let joined = self.joined[number].get(field).and_then(Option::as_ref);
        let categories = self.facts.schema.fields.get(field).map(|field| &field.categories);
        let settled = match (&self.classes, joined) {
            (Some(classes), _) => {
                let list = categories.and_then(Option::as_deref).unwrap_or_default();
                // Ids of several files may contradict each other.
                let keeps_ids =
                    self.sources.len() == 1 || list.iter().any(|category| category.id.is_some());
                classes.objects(document, keeps_ids)
            }
            (None, Some(joined)) => joined.objects(document),
            (None, None) if categories.is_some_and(Option::is_some) => return Ok(None),
            (None, None) => {
                let name_of = |source| {
                    self.sources
                        .get(source as usize)
                        .map_or_else(String::new, |it| it.name().to_owned())
                };
                self.found.check(key, document, number as u32, name_of)?;
                return Ok(None);
            }
        };
        match settled.map_err(|what| Error::sample(key, what))? {
            Renumbered::As(document) => return Ok(Some(document)),
            Renumbered::Kept => {}
            Renumbered::WithoutClasses => {
                let known = self.without_classes.lock();
                known.unwrap_or_else(PoisonError::into_inner).insert(index);
            }
        }
        Ok(None)
    }
}

/// Refuses fields in which a class number means different classes in different sources.
fn check_inner_classes(sources: &[Arc<dyn Source>]) -> Result<()> {
    let fields = sources.first().map_or(&[][..], |first| &first.schema().fields);
    for (at, FieldSpec { name, .. }) in fields.iter().enumerate() {
        let lists = sources.iter().map(|source| (source, source.facts().field(at).inner.clone()));
        if let Some(((mine, is), (theirs, other))) = other_inner_class(lists) {
            let what = format!(
                "`{name}` of {} has {is}, and that of {} {other}: numbers within lists and documents \
                 stay what they are; write both with one list of classes, or pack them one by one",
                mine.name(),
                theirs.name()
            );
            return Err(Error::usage("source", what)
                .cure("to leave the field out", option::DROP_FIELDS.with(name)));
        }
    }
    Ok(())
}

/// Refuses a list of classes that contradicts the names of numbers that stay what they are.
fn check_list(sources: &[Arc<dyn Source>], classes: &ClassList) -> Result<()> {
    for source in sources {
        let facts = source.facts();
        for (at, FieldSpec { name, .. }) in facts.schema.fields.iter().enumerate() {
            let inner = facts.field(at).inner.iter().filter(|inner| !inner.is_in_each_document());
            let mut pairs = inner.flat_map(|inner| inner.names.iter().enumerate());
            let Some((number, class)) =
                pairs.find(|(number, class)| classes.names().get(*number) != Some(class))
            else {
                continue;
            };
            let what = format!(
                "`{name}` of {} has `{class}` as class {number}, and the list has another there: \
                 numbers within lists and documents stay what they are; write the list in the order \
                 of these numbers",
                source.name()
            );
            return Err(Error::usage(option::CLASSES, what)
                .cure("to leave the field out", option::DROP_FIELDS.with(name)));
        }
    }
    Ok(())
}

/// Refuses sources if only some of them have splits.
fn check_splits<'a>(sources: impl Iterator<Item = &'a dyn Source> + Clone) -> Result<()> {
    let whole = sources.clone().find(|source| source.splits().is_empty());
    let divided = { sources }.find(|source| !source.splits().is_empty());
    let (Some(whole), Some(divided)) = (whole, divided) else { return Ok(()) };
    let what = format!(
        "{} has splits ({}) and {} has none, so that its samples belong to no split: pack them one \
         by one, or of a folder give the split folders that belong with it",
        divided.name(),
        split_names(divided.splits()).join(", "),
        whole.name()
    );
    Err(Error::usage("source", what).cure("to mix all", option::NO_SPLIT_FOLDERS.on()))
}

fn renumber(from: &Schema, to: &Schema) -> Vec<Option<Vec<i64>>> {
    let pairs = from.fields.iter().zip(&to.fields);
    pairs
        .map(|(from, to)| match (&from.class_names, &to.class_names) {
            (Some(old), Some(new)) if old != new => {
                let numbers = renumber_classes(old, new).into_iter();
                Some(numbers.map(|number| number.unwrap_or(-1)).collect())
            }
            _ => None,
        })
        .collect()
}

/// Returns the facts that are true of all sources together.
fn joined_facts(sources: &[Arc<dyn Source>], schema: Schema, ends: &[u64]) -> SourceFacts {
    let all = || sources.iter().map(|source| source.facts());
    let names: Vec<_> = all().map(|facts| facts.name.as_str()).collect();
    let len = ends.last().copied().unwrap_or(0);
    let mut joined = SourceFacts::new(names.join(" + "), schema, len);
    for (at, field) in joined.fields.iter_mut().enumerate() {
        let of_field = || all().map(|facts| facts.field(at));
        // Labels in one source count as labels in all: keeping too much is noticeable.
        field.keeps_pixels = of_field().any(|field| field.keeps_pixels);
        field.is_known = of_field().all(|field| field.is_known);
        field.member = common(of_field().map(|field| &field.member));
        for inner in of_field().flat_map(|field| &field.inner) {
            if !field.inner.contains(inner) {
                field.inner.push(inner.clone());
            }
        }
    }
    joined.label_origin = common(all().map(|facts| &facts.label_origin));
    let starts = iter::once(0).chain(ends.iter().copied());
    for (facts, start) in all().zip(starts) {
        let here = facts
            .splits
            .iter()
            .map(|(name, range)| (name.clone(), start + range.start..start + range.end));
        joined.splits.extend(here);
        for name in &facts.dropped_fields {
            if !joined.dropped_fields.contains(name) {
                joined.dropped_fields.push(name.clone());
            }
        }
        joined.reads_ahead |= facts.reads_ahead;
        joined.remarks.append(&facts.remarks);
        joined.ignored.add(facts.ignored.clone());
    }
    if all().all(|facts| !facts.roots.is_empty()) {
        joined.roots = all().flat_map(|facts| facts.roots.iter().cloned()).collect();
    }
    if all().any(|facts| facts.splits.is_empty()) {
        // Splits have to cover the whole.
        joined.splits.clear();
    }
    joined
}

/// Returns the common value, if all are equal.
fn common<'a>(mut told: impl Iterator<Item = &'a Option<String>>) -> Option<String> {
    let first = told.next()?.clone();
    first.filter(|first| told.all(|other| other.as_ref() == Some(first)))
}

fn n_without_classes(n: usize) -> Vec<Remark> {
    if n == 0 {
        return Vec::new();
    }
    let (samples, have) = if n == 1 { ("sample", "has") } else { ("samples", "have") };
    let remark = format!(
        "{n} {samples} {have} objects without a list of classes, which `classes` does not number"
    );
    vec![remark.into()]
}

impl Source for Concat {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        let Some((number, inner)) = self.locate(index) else {
            let what = format!("there is no sample {index}, only {}", self.len());
            return Err(Error::usage("sample", what));
        };
        let mut sample = self.sources[number].read(inner)?;
        self.settle(number, index, &mut sample)?;
        Ok(sample)
    }

    fn key(&self, index: u64) -> String {
        self.locate(index).map_or_else(String::new, |(at, inner)| self.sources[at].key(inner))
    }

    fn fingerprint(&self, look: Look) -> Result<[u8; 16]> {
        hash_all(self.sources.iter().map(|source| source.fingerprint(look)))
    }

    fn value(&self, index: u64, field: usize) -> Result<Option<Value<Image>>> {
        let Some((number, inner)) = self.locate(index) else { return Ok(None) };
        let value = self.sources[number].value(inner, field)?;
        let renumbered = self.renumbered[number].get(field).and_then(Option::as_ref);
        Ok(match (value, renumbered) {
            (Some(Value::Json(document)), _) => {
                let settled = self.document((number, index, field), &self.key(index), &document)?;
                Some(Value::Json(settled.unwrap_or(document)))
            }
            (Some(Value::Int(class)), Some(classes)) if class != -1 => {
                let new = usize::try_from(class).ok().and_then(|class| classes.get(class));
                new.copied().map(Value::Int)
            }
            (value, _) => value,
        })
    }

    fn codec_hint(&self, index: u64) -> Result<Option<Codec>> {
        let place = self.locate(index);
        place.map_or(Ok(None), |(at, inner)| self.sources[at].codec_hint(inner))
    }

    fn bytes(&self, index: u64, amount: Amount) -> Result<Option<u64>> {
        let place = self.locate(index);
        place.map_or(Ok(None), |(at, inner)| self.sources[at].bytes(inner, amount))
    }

    fn image_size(&self, index: u64) -> Result<Option<(u32, u32)>> {
        let place = self.locate(index);
        place.map_or(Ok(None), |(at, inner)| self.sources[at].image_size(inner))
    }

    fn read_ahead(&self, indices: &[u64]) -> Ahead {
        let mut inner = vec![Vec::new(); self.sources.len()];
        for (number, index) in indices.iter().filter_map(|&index| self.locate(index)) {
            inner[number].push(index);
        }
        let mut ahead = Ahead::default();
        for (source, indices) in self.sources.iter().zip(&inner) {
            ahead.add(source.read_ahead(indices));
        }
        ahead
    }
}

/// Hashes the fingerprints of several sources into one.
pub(crate) fn hash_all(fingerprints: impl Iterator<Item = Result<[u8; 16]>>) -> Result<[u8; 16]> {
    let mut hash = Xxh3::new();
    for fingerprint in fingerprints {
        hash.update(&fingerprint?);
    }
    Ok(hash.digest128().to_le_bytes())
}
