//! A packed dataset with values that a table replaces, by the keys of its samples.
use fdconvert_core::{
    Ahead, Amount, Codec, Error, FieldFacts, FieldSpec, Image, Look, Remark, Result, Sample,
    Schema, Source, SourceFacts, Value, misread_number, option, renumber_classes,
};
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use xxhash_rust::xxh3::Xxh3;

/// Number of keys that an error shows.
const SHOWN: usize = 5;

/// Rows of a table that names samples by their keys.
pub trait KeyTable: Send + Sync {
    /// Returns its fields, none of which is an image.
    fn fields(&self) -> &[FieldSpec];

    /// Returns the keys of its rows, without duplicates.
    fn keys(&self) -> Vec<String>;

    /// Normalises a key: keys that look the same become equal.
    fn normal<'a>(&self, key: &'a str) -> Cow<'a, str>;

    /// Returns the value of a field in a row.
    fn value(&self, row: usize, field: usize) -> Option<Value<Image>>;

    /// Returns bytes that change when the table does.
    fn identity(&self) -> Vec<u8>;

    /// Returns remarks for the user.
    fn remarks(&self) -> Vec<String>;
}

/// Source with values from a table for the samples in it.
pub struct Relabelled {
    inner: Box<dyn Source>,
    table: Box<dyn KeyTable>,
    facts: SourceFacts,
    /// Row of each sample; `None` if it keeps its values.
    rows: Vec<Option<usize>>,
    /// Field of the table for each field.
    columns: Vec<Option<usize>>,
    /// New class numbers of each field, in the source and in the table.
    renumbered: Vec<[Option<Numbers>; 2]>,
}

/// New number of each renumbered class.
type Numbers = BTreeMap<i64, i64>;

impl Relabelled {
    /// Joins a source and a table. The table's fields replace those of the source; new ones must
    /// have a value for all samples.
    ///
    /// # Errors
    /// `Usage` for keys without a sample, and for fields that some samples would lack or have in
    /// another kind.
    pub fn join(inner: Box<dyn Source>, table: Box<dyn KeyTable>) -> Result<Self> {
        let mut numbers: BTreeMap<String, usize> = table.keys().into_iter().zip(0..).collect();
        let n_listed = numbers.len();
        let rows = (0..inner.len()).map(|index| numbers.remove(&inner.key(index)));
        let mut rows: Vec<Option<usize>> = rows.collect();
        let mut notes = Vec::new();
        let n_unknown = numbers.len();
        if numbers.keys().any(|key| !key.is_ascii()) {
            take_look_alikes(&*inner, &*table, &mut rows, &mut numbers);
        }
        let n_alike = n_unknown - numbers.len();
        if n_alike > 0 {
            let (keys, are) = if n_alike == 1 { ("key", "is") } else { ("keys", "are") };
            let remark = format!(
                "{n_alike} {keys} of `labels` {are} written with other forms of accented letters \
                 than the dataset has (NFC and NFD)"
            );
            notes.push(remark.into());
        }
        if !numbers.is_empty() {
            let unknown: Vec<&String> = numbers.keys().collect();
            let shown: Vec<String> =
                unknown.iter().take(SHOWN).map(|it| format!("`{it}`")).collect();
            let more = if unknown.len() > SHOWN { ", ..." } else { "" };
            let what = format!(
                "{} of {n_listed} keys in the table are not in {}: {}{more}; keys there are such as `{}`",
                unknown.len(),
                inner.name(),
                shown.join(", "),
                inner.key(0)
            );
            return Err(Error::usage(option::LABELS, what));
        }
        let n_kept = rows.iter().filter(|row| row.is_none()).count();
        let mut fields = inner.schema().fields.clone();
        let mut columns: Vec<Option<usize>> = vec![None; fields.len()];
        let mut renumbered = vec![[None, None]; fields.len()];
        for (at, field) in table.fields().iter().enumerate() {
            let refuse = |why: &str| {
                let what = format!("{why}; list all samples of {}", inner.name());
                Err(Error::usage(option::LABELS, what))
            };
            let known = fields.iter().position(|known| known.name == field.name);
            let Some(known) = known else {
                if n_kept > 0 {
                    let name = &field.name;
                    return refuse(&format!(
                        "`{name}` is a new field, and {n_kept} samples have none"
                    ));
                }
                fields.push(field.clone());
                columns.push(Some(at));
                renumbered.push([None, None]);
                continue;
            };
            let (Some(own), Some(column), Some(numbers)) =
                (fields.get_mut(known), columns.get_mut(known), renumbered.get_mut(known))
            else {
                continue;
            };
            let is_named = (own.class_names.is_some(), field.class_names.is_some());
            if n_kept > 0 && (own.kind != field.kind || is_named == (false, true)) {
                let name = &field.name;
                return refuse(&format!(
                    "`{name}` is of another kind in the table than in the dataset"
                ));
            }
            if let (Some(names), None) = (&own.class_names, &field.class_names) {
                let values = || (0..n_listed).filter_map(|row| table.value(row, at));
                if let Some(of_names) = as_names(names, values()).map_err(|what| {
                    Error::usage(option::LABELS, format!("`{}` {what}", field.name))
                })? {
                    let taken = "are names of classes, and are taken for these";
                    notes.push(format!("the numbers of `labels` {taken}").into());
                    *column = Some(at);
                    numbers[1] = Some(of_names);
                    continue;
                }
                let is_class = |value: &Value<Image>| matches!(value, Value::Int(label) if (0..names.len() as i64).contains(label));
                if let Some(value) = values().find(|value| !is_class(value)) {
                    let (name, n) = (&field.name, names.len());
                    let what =
                        format!("`{name}` is {value:?}, and there are {n} classes, from 0 on");
                    return Err(Error::usage(option::LABELS, what));
                }
            }
            *column = Some(at);
            own.kind = field.kind.clone();
            *numbers = join_classes(own, field);
        }
        let mut facts = SourceFacts { schema: Schema::new(fields)?, ..inner.facts().clone() };
        // New fields are in the table.
        let is_new = FieldFacts { is_known: true, ..FieldFacts::default() };
        facts.fields.resize(facts.schema.fields.len(), is_new);
        facts.remarks.extend(table.remarks().iter().map(Remark::from));
        facts.remarks.extend(notes);
        let (n, n_all) = (rows.len() - n_kept, rows.len());
        facts.remarks.push(format!("{n} of {n_all} samples have values of `labels`").into());
        let label = facts.schema.label().and_then(|field| columns.get(field).copied().flatten());
        if label.is_some() {
            // The dataset's origin says nothing about the labels of a table.
            facts.label_origin = None;
        }
        Ok(Self { inner, table, facts, rows, columns, renumbered })
    }

    /// Returns the samples, ascending, for which the table has another value than the source.
    ///
    /// # Errors
    /// Those of reading the source.
    pub fn changed(&self) -> Result<Vec<u64>> {
        let mut changed = Vec::new();
        for (index, _) in (0..).zip(&self.rows).filter(|(_, row)| row.is_some()) {
            let n_own = self.inner.schema().fields.len();
            for field in 0..self.schema().fields.len() {
                if self.said(index, field).is_none() {
                    continue;
                }
                let own = if field < n_own { self.inner.value(index, field)? } else { None };
                if !is_same(self.value(index, field)?.as_ref(), own.as_ref()) {
                    changed.push(index);
                    break;
                }
            }
        }
        Ok(changed)
    }

    /// Returns bytes that change when the table does.
    #[must_use]
    pub fn table_identity(&self) -> Vec<u8> {
        self.table.identity()
    }

    fn row(&self, index: u64) -> Option<usize> {
        self.rows.get(usize::try_from(index).ok()?).copied().flatten()
    }

    /// Returns the value of a field in the table.
    fn said(&self, index: u64, field: usize) -> Option<Value<Image>> {
        let column = self.columns.get(field).copied().flatten()?;
        self.table.value(self.row(index)?, column)
    }

    /// Returns the value of a field: from the table, or the source's.
    fn shown(&self, index: u64, field: usize, own: Option<Value<Image>>) -> Option<Value<Image>> {
        let said = self.said(index, field);
        let numbers =
            self.renumbered.get(field).map(|[own, table]| if said.is_some() { table } else { own });
        match (said.or(own), numbers) {
            (Some(Value::Int(label)), Some(Some(numbers))) => {
                Some(Value::Int(numbers.get(&label).copied().unwrap_or(label)))
            }
            (value, _) => value,
        }
    }
}

/// Returns true if two values are known and the same.
fn is_same(one: Option<&Value<Image>>, other: Option<&Value<Image>>) -> bool {
    match (one, other) {
        (Some(Value::Int(one)), Some(Value::Int(other))) => one == other,
        (Some(Value::Float(one)), Some(Value::Float(other))) => one.to_bits() == other.to_bits(),
        (Some(Value::Text(one)), Some(Value::Text(other))) => one == other,
        _ => false,
    }
}

/// Gives the rows of the remaining keys to samples with keys that look the same, if each key has
/// one.
fn take_look_alikes(
    inner: &dyn Source,
    table: &dyn KeyTable,
    rows: &mut [Option<usize>],
    numbers: &mut BTreeMap<String, usize>,
) {
    let mut samples: BTreeMap<String, Option<usize>> = BTreeMap::new();
    for (sample, index) in (0..rows.len()).zip(0..) {
        let key = inner.key(index);
        if !key.is_ascii() {
            let same = samples.entry(table.normal(&key).into_owned());
            same.and_modify(|it| *it = None).or_insert(Some(sample));
        }
    }
    numbers.retain(|key, number| {
        let sample = samples.get(&*table.normal(key)).copied().flatten();
        match sample.and_then(|sample| rows.get_mut(sample)) {
            Some(row @ None) => {
                *row = Some(*number);
                false
            }
            _ => true,
        }
    });
}

/// Returns the class of each number in a table if the dataset's classes have numbers as names, and
/// these include all numbers of the table. The error is the end of a sentence about the column.
fn as_names(
    names: &[String],
    values: impl Iterator<Item = Value<Image>>,
) -> Result<Option<Numbers>, String> {
    if misread_number(names).is_none() {
        return Ok(None);
    }
    let classes: BTreeMap<&str, i64> = names.iter().map(String::as_str).zip(0..).collect();
    let mut numbers = Numbers::new();
    let (mut misread, mut no_name) = (None, None);
    for value in values {
        let Value::Int(number) = value else { continue };
        match classes.get(&*number.to_string()) {
            Some(class) => {
                numbers.insert(number, *class);
                misread = misread.or((*class != number).then_some(number));
            }
            None => no_name = no_name.or(Some(number)),
        }
    }
    match (misread, no_name) {
        (None, _) => Ok(None),
        (Some(_), None) => Ok(Some(numbers)),
        (Some(number), Some(other)) => Err(format!(
            "has the number {number}, which is the name of a class and the place of another one, and \
             {other}, which is no name: write the name of the class in each row"
        )),
    }
}

/// Joins the classes of the dataset and of the table into one list: that of the dataset if it has
/// all, else all names in sorted order. Returns the new numbers where they changed.
fn join_classes(own: &mut FieldSpec, table: &FieldSpec) -> [Option<Numbers>; 2] {
    let Some(new) = &table.class_names else { return [None, None] };
    let old = own.class_names.clone().unwrap_or_default();
    let known: BTreeSet<&String> = old.iter().collect();
    let joined: Vec<String> = if new.iter().all(|name| known.contains(name)) {
        old.to_vec()
    } else {
        known.into_iter().chain(new.iter()).collect::<BTreeSet<_>>().into_iter().cloned().collect()
    };
    let numbers = |names: &[String]| -> Numbers {
        let numbers = renumber_classes(names, &joined).into_iter();
        (0..).zip(numbers.map(|number| number.unwrap_or(-1))).collect()
    };
    let changed = [Some(numbers(&old)), Some(numbers(new))];
    own.class_names = Some(joined.into_iter().collect::<Arc<[String]>>());
    changed
}

impl Source for Relabelled {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        let sample = self.inner.read(index)?;
        let mut own = sample.values.into_iter();
        let values = (0..self.schema().fields.len()).map(|field| {
            let own = own.next();
            self.shown(index, field, own).ok_or_else(|| {
                Error::sample(&sample.key, "the table has no value for one of its fields")
            })
        });
        let values = values.collect::<Result<_>>()?;
        Ok(Sample { key: sample.key, values })
    }

    fn key(&self, index: u64) -> String {
        self.inner.key(index)
    }

    fn fingerprint(&self, look: Look) -> Result<[u8; 16]> {
        let mut hash = Xxh3::new();
        hash.update(&self.inner.fingerprint(look)?);
        hash.update(&self.table.identity());
        Ok(hash.digest128().to_le_bytes())
    }

    fn value(&self, index: u64, field: usize) -> Result<Option<Value<Image>>> {
        let is_own = field < self.inner.schema().fields.len() && self.said(index, field).is_none();
        let own = if is_own { self.inner.value(index, field)? } else { None };
        Ok(self.shown(index, field, own).filter(Value::is_plain))
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
