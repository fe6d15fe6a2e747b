use crate::classes::{ClassList, Renumbered, label_of};
use fdconvert_core::{
    Ahead, Categories, Codec, Error, FieldSpec, Ignored, Image, Kind, Remark, Result, Sample,
    Schema, Source, Splits, Value, join_class_names, option, other_inner_class, renumber_classes,
    split_names,
};
use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};
use xxhash_rust::xxh3::Xxh3;

/// Several sources one after the other, as one. Their fields must be the same; classes are joined
/// by name, in sorted order, and labels renumbered.
pub struct Concat {
    sources: Vec<Box<dyn Source>>,
    ends: Vec<u64>,
    schema: Schema,
    /// For each source and field: the new number of every class, where it changed.
    renumbered: Vec<Vec<Option<Vec<i64>>>>,
    /// What documents of objects have told of their categories, where no list says what they are.
    categories: Option<Categories>,
    /// The list that classes go by, instead of the names that the sources have.
    classes: Option<ClassList>,
    /// Samples with objects that the list does not number, each once however often it is read.
    without_classes: Mutex<BTreeSet<u64>>,
}

impl Concat {
    /// Joins sources; one alone stays what it is.
    ///
    /// # Errors
    /// `Usage` when there is none, their fields differ, or only some have splits of their own.
    pub fn join(sources: Vec<Box<dyn Source>>) -> Result<Box<dyn Source>> {
        check_splits(&sources)?;
        Self::mix(sources)
    }

    /// Joins sources whose splits will be mixed.
    ///
    /// # Errors
    /// `Usage` when there is none, or their fields differ.
    pub fn mix(mut sources: Vec<Box<dyn Source>>) -> Result<Box<dyn Source>> {
        if sources.len() == 1 {
            return sources.pop().ok_or_else(|| Error::usage("source", "there is none"));
        }
        Self::of(sources, None)
    }

    /// Joins sources, whose splits will be mixed if `mixes`; classes get the numbers of the list.
    ///
    /// # Errors
    /// As for [`join`](Self::join) or [`mix`](Self::mix); `Usage` for classes that are not on the list.
    pub fn with_classes(
        sources: Vec<Box<dyn Source>>,
        classes: ClassList,
        mixes: bool,
    ) -> Result<Box<dyn Source>> {
        if !mixes {
            check_splits(&sources)?;
        }
        Self::of(sources, Some(classes))
    }

    fn of(sources: Vec<Box<dyn Source>>, classes: Option<ClassList>) -> Result<Box<dyn Source>> {
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
                    "{} has other fields than {}, {} and not {}: sources packed together must have \
                     the same",
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
                // The list names the numbers of a source that has no names.
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
        check_inner_classes(&sources)?;
        let mut schema = Schema::new(fields)?;
        if let Some(classes) = &classes {
            schema = classes.schema(&schema)?;
        }
        let renumbered = sources.iter().map(|source| {
            let mut numbers = renumber(source.schema(), &schema);
            // The joined schema tells which field is the label, as all sources have the same.
            if let (Some(classes), Some(at)) = (&classes, label_of(&schema))
                && let (Some(own), Some(field)) =
                    (numbers.get_mut(at), source.schema().fields.get(at))
            {
                *own = Some(classes.renumber(&**source, field)?);
            }
            Ok(numbers)
        });
        let renumbered = renumbered.collect::<Result<_>>()?;
        let mut end = 0;
        let ends = sources
            .iter()
            .map(|source| {
                end += source.len();
                end
            })
            .collect();
        let categories = classes.is_none().then(Categories::default);
        let without_classes = Mutex::default();
        let joined =
            Self { sources, ends, schema, renumbered, categories, classes, without_classes };
        Ok(Box::new(joined))
    }

    fn locate(&self, index: u64) -> Option<(usize, u64)> {
        let source = self.ends.partition_point(|&end| end <= index);
        let start = source.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        (source < self.sources.len()).then(|| (source, index - start.unwrap_or(0)))
    }
}

/// Refuses sources in which a number within a field is another class than in others.
fn check_inner_classes(sources: &[Box<dyn Source>]) -> Result<()> {
    let fields = sources.first().map_or(&[][..], |first| &first.schema().fields);
    for (at, FieldSpec { name, .. }) in fields.iter().enumerate() {
        let lists = sources.iter().map(|source| (source, source.inner_classes(at)));
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

/// Refuses sources of which only some have splits of their own.
fn check_splits(sources: &[Box<dyn Source>]) -> Result<()> {
    let whole = sources.iter().find(|source| source.splits().is_empty());
    let divided = sources.iter().find(|source| !source.splits().is_empty());
    let (Some(whole), Some(divided)) = (whole, divided) else { return Ok(()) };
    let what = format!(
        "{} has splits ({}) and {} has none, so that its samples belong to no split: pack them one \
         by one, or of a folder give the split folders that belong with it",
        divided.name(),
        split_names(&divided.splits()).join(", "),
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

impl Source for Concat {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn len(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        let Some((number, inner)) = self.locate(index) else {
            let what = format!("there is no sample {index}, only {}", self.len());
            return Err(Error::usage("sample", what));
        };
        let mut sample = self.sources[number].read(inner)?;
        for (value, classes) in sample.values.iter_mut().zip(&self.renumbered[number]) {
            if let (Value::Json(document), Some(categories)) = (&*value, &self.categories) {
                let name_of = |source| {
                    self.sources.get(source as usize).map_or_else(String::new, |it| it.name())
                };
                categories.check(&sample.key, document, number as u32, name_of)?;
            } else if let (Value::Int(label), Some(classes)) = (value, classes)
                && *label != -1
            {
                let new = usize::try_from(*label).ok().and_then(|label| classes.get(label));
                *label = *new.ok_or_else(|| {
                    Error::sample(&sample.key, format!("its label {label} has no class name"))
                })?;
            }
        }
        if let Some(classes) = &self.classes {
            for value in &mut sample.values {
                let Value::Json(document) = value else { continue };
                let renumbered = classes.objects(document);
                match renumbered.map_err(|what| Error::sample(&sample.key, what))? {
                    Renumbered::As(renumbered) => *document = renumbered,
                    Renumbered::Kept => {}
                    Renumbered::WithoutClasses => {
                        let known = self.without_classes.lock();
                        known.unwrap_or_else(PoisonError::into_inner).insert(index);
                    }
                }
            }
        }
        Ok(sample)
    }

    fn reads_ahead(&self) -> bool {
        self.sources.iter().any(|source| source.reads_ahead())
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

    fn ahead_bytes(&self, index: u64) -> u64 {
        self.locate(index).map_or(0, |(at, inner)| self.sources[at].ahead_bytes(inner))
    }

    fn key(&self, index: u64) -> String {
        self.locate(index).map_or_else(String::new, |(at, inner)| self.sources[at].key(inner))
    }

    fn label(&self, index: u64) -> Result<Option<i64>> {
        let Some((number, inner)) = self.locate(index) else { return Ok(None) };
        let label = self.sources[number].label(inner)?;
        let field = self.schema.label().and_then(|field| self.renumbered[number][field].as_ref());
        Ok(match (label, field) {
            (Some(label), Some(classes)) if label != -1 => {
                usize::try_from(label).ok().and_then(|label| classes.get(label)).copied()
            }
            (label, _) => label,
        })
    }

    fn knows_plain_values(&self) -> bool {
        self.sources.iter().all(|source| source.knows_plain_values())
    }

    fn plain_value(&self, index: u64, field: usize) -> Result<Option<Value<Image>>> {
        if self.renumbered.iter().any(|fields| fields.get(field).is_some_and(Option::is_some)) {
            // A class, which only reading renumbers.
            return Ok(self.read(index)?.values.into_iter().nth(field));
        }
        self.locate(index)
            .map_or(Ok(None), |(at, inner)| self.sources[at].plain_value(inner, field))
    }

    /// Labels of one source are labels of all: what is kept too much can be seen.
    fn keeps_pixels(&self, field: usize) -> bool {
        self.sources.iter().any(|source| source.keeps_pixels(field))
    }

    fn codec_hint(&self, index: u64) -> Option<Codec> {
        self.locate(index).and_then(|(at, inner)| self.sources[at].codec_hint(inner))
    }

    fn member_name(&self, field: usize) -> Option<String> {
        let (first, others) = self.sources.split_first()?;
        let name = first.member_name(field)?;
        let mut others = others.iter().map(|source| source.member_name(field));
        others.all(|other| other.as_ref() == Some(&name)).then_some(name)
    }

    fn image_bytes(&self, index: u64) -> Option<u64> {
        self.locate(index).and_then(|(at, inner)| self.sources[at].image_bytes(inner))
    }

    fn planned_bytes(&self, index: u64) -> Result<Option<u64>> {
        self.locate(index).map_or(Ok(None), |(at, inner)| self.sources[at].planned_bytes(inner))
    }

    /// None unless all sources have some: they have to cover the whole.
    fn splits(&self) -> Splits {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let mut splits = Vec::new();
        for (source, start) in self.sources.iter().zip(starts) {
            let own = source.splits();
            if own.is_empty() {
                return Vec::new();
            }
            for (name, range) in own {
                splits.push((name, start + range.start..start + range.end));
            }
        }
        splits
    }

    fn remarks(&self) -> Vec<Remark> {
        let mut remarks: Vec<_> = self.sources.iter().flat_map(|it| it.remarks()).collect();
        let n = self.without_classes.lock().unwrap_or_else(PoisonError::into_inner).len();
        if n > 0 {
            let (samples, have) = if n == 1 { ("sample", "has") } else { ("samples", "have") };
            let remark = format!(
                "{n} {samples} {have} objects without a list of classes, which `classes` does not \
                 number"
            );
            remarks.push(remark.into());
        }
        remarks
    }

    /// None unless it is the same for all sources.
    fn label_origin(&self) -> Option<String> {
        let mut origins = self.sources.iter().map(|source| source.label_origin());
        let first = origins.next().flatten();
        first.filter(|first| origins.all(|other| other.as_ref() == Some(first)))
    }

    fn left_out(&self) -> Ignored {
        self.sources.iter().fold(Ignored::default(), |mut all, source| {
            all.add(source.left_out());
            all
        })
    }

    fn name(&self) -> String {
        let names: Vec<_> = self.sources.iter().map(|source| source.name()).collect();
        names.join(" + ")
    }

    fn fingerprint(&self) -> [u8; 16] {
        let mut hash = Xxh3::new();
        for source in &self.sources {
            hash.update(&source.fingerprint());
        }
        hash.digest128().to_le_bytes()
    }

    fn stamp(&self) -> Result<[u8; 16]> {
        let mut hash = Xxh3::new();
        for source in &self.sources {
            hash.update(&source.stamp()?);
        }
        Ok(hash.digest128().to_le_bytes())
    }

    fn checked_fingerprint(&self, spare_samples: bool) -> Result<[u8; 16]> {
        let mut hash = Xxh3::new();
        for source in &self.sources {
            hash.update(&source.checked_fingerprint(spare_samples)?);
        }
        Ok(hash.digest128().to_le_bytes())
    }
}
