//! The counts next to the filters: for each facet, over the samples that all other filters keep.
//!
//! One pass over the columns serves all facets: a sample that passes all conditions counts
//! everywhere, and one that fails a single condition counts in the facet of that one.

mod bins;
mod categories;
mod values;

use crate::{
    answer::{Answer, Failure},
    catalog::{Cells, Chunk, N_SIZES, NO_INT, Published},
    dataset::Dataset,
    fields::{Field, Further},
    filter::{Column, Filter, Piece, Selection, Verdicts, quoted, split_of},
    request::Asked,
};
use bins::Numbers;
use fdconvert_core::Codec;
use serde_json::{Value as Json, json};
use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};
use values::Values;

/// The aspect of images, as an expression.
const ASPECT: &str = "width / height";

/// The categories of objects: the page writes `any(category == ...)`.
const CATEGORY: &str = "any(category)";

/// Number of cached responses: the page requests them again on every way back.
const REMEMBERED: usize = 8;

/// The last few responses, by everything that they depend on.
#[derive(Debug, Default)]
pub(crate) struct FacetCache(Mutex<VecDeque<(String, Json)>>);

/// A facet being counted.
struct Facet {
    /// Name in expressions.
    name: String,
    title: String,
    /// Number of its condition in the filter.
    condition: Option<u16>,
    counts: Counts,
}

enum Counts {
    Classes(Values),
    Codecs(Values),
    Splits(Values),
    Texts(usize, Values),
    /// Categories in a field of the catalog, and the position of the objects in the schema.
    Categories([usize; 2], Values),
    /// Likewise the number of objects.
    NObjects([usize; 2], Numbers),
    Numbers(Number, Numbers),
}

/// A column of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    Width,
    Height,
    Bytes,
    Aspect,
    Further(usize),
}

/// `api/facets`.
pub(crate) fn answer(dataset: &Dataset, asked: &Asked) -> Result<Answer, Failure> {
    let filter = Filter::parse(asked, dataset)?;
    let published = dataset.catalog.published();
    // Keys, objects and checksums give lists; all others are conditions of the pass.
    let base = Filter { conditions: Vec::new(), ..filter.clone() };
    // What is counted of objects are the samples that other conditions keep.
    let without = |is_of: fn(Column) -> bool| dataset.select(&base.without(is_of));
    let lists = [
        dataset.select(&base),
        without(|column| matches!(column, Column::Objects(_))),
        without(|column| matches!(column, Column::NObjects(_))),
    ];
    let scanned = lists.iter().map(|list| list.scanned).fold(published.scanned(), u64::min);
    let key = format!("{scanned} {} {}", lists[0].len(), filter.key());
    let document = dataset.facets.get(&key).unwrap_or_else(|| {
        let facets = count(dataset, &published, &filter, scanned, &lists);
        let facets: Vec<Json> = facets.iter().filter_map(|it| it.document(dataset)).collect();
        let document = json!({"scanned": scanned, "samples": dataset.len(), "facets": facets});
        dataset.facets.put(key, &document);
        document
    });
    Ok(Answer::json(&document))
}

impl FacetCache {
    fn get(&self, key: &str) -> Option<Json> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|(other, _)| other == key).map(|(_, document)| document.clone())
    }

    fn put(&self, key: String, document: &Json) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.push_front((key, document.clone()));
        known.truncate(REMEMBERED);
    }
}

fn count(
    dataset: &Dataset,
    published: &Published,
    filter: &Filter,
    scanned: u64,
    lists: &[Selection; 3],
) -> Vec<Facet> {
    let mut facets = facets(dataset, published, filter);
    let is_all = filter.searches.is_empty() && !filter.damaged;
    let mut start = 0;
    while let Some(piece) = Piece::at(start, scanned, Some(published)) {
        start = piece.end();
        let Some(columns) = piece.columns.clone() else { break };
        let verdicts = Verdicts::of(&piece, &filter.conditions, dataset, published);
        let in_list = |list: &Selection| -> Vec<bool> {
            let samples = piece.start..piece.end();
            samples.map(|index| is_all || list.position(index).is_some()).collect()
        };
        let [is_in, beside_categories, beside_numbers] = lists.each_ref().map(in_list);
        for facet in &mut facets {
            let condition = facet.condition;
            let is_here = match facet.counts {
                Counts::Categories(..) => &beside_categories,
                Counts::NObjects(..) => &beside_numbers,
                _ => &is_in,
            };
            let counts =
                |at: usize| is_here.get(at) == Some(&true) && verdicts.keeps_but(at, condition);
            facet.counts.add(&piece, &columns, dataset, counts);
        }
    }
    facets
}

fn facets(dataset: &Dataset, published: &Published, filter: &Filter) -> Vec<Facet> {
    let schema = dataset.schema();
    let is_drawn = dataset.reader().as_generated().is_some();
    let mut facets = Vec::new();
    let mut add = |title: &str, counts: Counts| {
        let columns = counts.columns();
        let name = match columns.as_slice() {
            [Column::Objects(_)] => Some(CATEGORY.to_owned()),
            [column] => dataset.names.term(*column),
            _ => Some(ASPECT.to_owned()),
        };
        let mut conditions = filter.conditions.iter();
        let condition = conditions.position(|condition| condition.columns == columns);
        let condition = condition.and_then(|at| u16::try_from(at).ok());
        facets.extend(name.map(|name| Facet { name, title: title.to_owned(), condition, counts }));
    };
    if let Some(label) = schema.label().and_then(|label| schema.fields.get(label)) {
        // Drawn images are named by their category.
        let title = if is_drawn { "category" } else { &label.name };
        add(title, Counts::Classes(Values::default()));
    }
    if !dataset.splits().is_empty() {
        add("split", Counts::Splits(Values::default()));
    }
    let numbers_of = |number: Number| {
        Numbers::spanning(published.chunks().iter().map(|chunk| number.span(chunk)))
    };
    let fields = dataset.catalog.fields();
    for (at, field) in fields.iter().enumerate() {
        let place = [at, field.position];
        match field.kind {
            // There are none while none is known, as of a dataset whose documents are not read.
            Further::Categories
                if published.texts(at).is_some_and(|texts| !texts.all().is_empty()) =>
            {
                add("category", Counts::Categories(place, Values::default()));
            }
            Further::NObjects => {
                if let Some(spans) = numbers_of(Number::Further(at)) {
                    add("number of objects", Counts::NObjects(place, spans.bins(true)));
                }
            }
            _ => {}
        }
    }
    let mut numbers = vec![];
    // Drawn images have one codec and one size.
    if schema.shown_images().is_some() && !is_drawn {
        add("codec", Counts::Codecs(Values::default()));
        numbers.extend([
            (Number::Width, "width"),
            (Number::Height, "height"),
            (Number::Bytes, "bytes"),
            (Number::Aspect, "aspect"),
        ]);
    }
    for (number, title) in numbers {
        let is_whole = number != Number::Aspect;
        if let Some(spans) = numbers_of(number) {
            add(title, Counts::Numbers(number, spans.bins(is_whole)));
        }
    }
    let is_of_objects =
        |field: &Field| matches!(field.kind, Further::Categories | Further::NObjects);
    for (at, field) in fields.iter().enumerate().filter(|(_, field)| !is_of_objects(field)) {
        if field.kind == Further::Text {
            if published.texts(at).is_some_and(|texts| !texts.is_given_up()) {
                add(&field.name, Counts::Texts(at, Values::default()));
            }
            continue;
        }
        let number = Number::Further(at);
        if let Some(spans) = numbers_of(number) {
            let bins = spans.bins(field.kind == Further::Int);
            add(&field.name, Counts::Numbers(number, bins));
        }
    }
    facets
}

impl Number {
    /// Passes the known numbers of a chunk to `see`.
    fn each(self, chunk: &Chunk, places: std::ops::Range<usize>, mut see: impl FnMut(usize, f64)) {
        let known = |value: u32| if value > 0 { f64::from(value) } else { f64::NAN };
        let mut see_all = |value: &dyn Fn(usize) -> f64| {
            for at in places.clone() {
                let value = value(at);
                if value.is_finite() {
                    see(at, value);
                }
            }
        };
        let of = |column: &[u32], at: usize| column.get(at).map_or(f64::NAN, |it| known(*it));
        match self {
            Self::Width => see_all(&|at| of(&chunk.widths, at)),
            Self::Height => see_all(&|at| of(&chunk.heights, at)),
            Self::Bytes => see_all(&|at| of(&chunk.bytes, at)),
            Self::Aspect => see_all(&|at| chunk.aspect(at)),
            Self::Further(field) => match chunk.further.get(field) {
                Some(Cells::Ints(column)) => see_all(&|at| match column.get(at) {
                    Some(&int) if int != NO_INT => int as f64,
                    _ => f64::NAN,
                }),
                Some(Cells::Floats(column)) => {
                    see_all(&|at| column.get(at).copied().unwrap_or(f64::NAN));
                }
                _ => {}
            },
        }
    }

    fn span(self, chunk: &Chunk) -> Option<[f64; 2]> {
        let column = match self {
            Self::Width => 0,
            Self::Height => 1,
            Self::Bytes => 2,
            Self::Aspect => 3,
            Self::Further(field) => N_SIZES + field,
        };
        *chunk.spans.get(column)?.get_or_init(|| self.found_span(chunk))
    }

    fn found_span(self, chunk: &Chunk) -> Option<[f64; 2]> {
        let mut span: Option<[f64; 2]> = None;
        self.each(chunk, 0..chunk.len(), |_, value| {
            let [least, most] = span.unwrap_or([value, value]);
            span = Some([least.min(value), most.max(value)]);
        });
        span
    }
}

impl Numbers {
    fn add_all(
        &mut self,
        number: Number,
        piece: &Piece,
        columns: &Chunk,
        counts: impl Fn(usize) -> bool,
    ) {
        let places = piece.offset..piece.offset + piece.len;
        number.each(columns, places, |at, value| {
            if counts(at - piece.offset) {
                self.add(value);
            }
        });
    }
}

impl Counts {
    /// Returns the columns that a condition of this facet uses.
    fn columns(&self) -> Vec<Column> {
        match self {
            Self::Classes(_) => vec![Column::Label],
            Self::Codecs(_) => vec![Column::Codec],
            Self::Splits(_) => vec![Column::Split],
            Self::Numbers(Number::Width, _) => vec![Column::Width],
            Self::Numbers(Number::Height, _) => vec![Column::Height],
            Self::Numbers(Number::Bytes, _) => vec![Column::Bytes],
            Self::Numbers(Number::Aspect, _) => vec![Column::Width, Column::Height],
            Self::Categories([_, field], _) => vec![Column::Objects(*field)],
            Self::NObjects([_, field], _) => vec![Column::NObjects(*field)],
            Self::Texts(field, _) | Self::Numbers(Number::Further(field), _) => {
                vec![Column::Further(*field)]
            }
        }
    }

    fn add(
        &mut self,
        piece: &Piece,
        columns: &Chunk,
        dataset: &Dataset,
        counts: impl Fn(usize) -> bool,
    ) {
        match self {
            Self::Classes(values) => {
                let labels = piece.part(&columns.labels).iter().map(|label| i64::from(*label));
                values.add(labels, counts);
            }
            Self::Codecs(values) => {
                let codecs = piece.part(&columns.codecs).iter().map(|codec| i64::from(*codec));
                values.add(codecs, counts);
            }
            Self::Splits(values) => {
                let split = |index: u64| split_of(dataset, index).map_or(-1, |at| at as i64);
                values.add((piece.start..piece.end()).map(split), counts);
            }
            Self::Texts(field, values) => {
                if let Some(Cells::Texts(column)) = columns.further.get(*field) {
                    let texts = piece.part(column).iter().map(|text| i64::from(*text));
                    values.add(texts, counts);
                }
            }
            Self::Categories([field, _], values) => {
                categories::add(values, columns.further.get(*field), piece, counts);
            }
            Self::Numbers(number, numbers) => numbers.add_all(*number, piece, columns, counts),
            Self::NObjects([field, _], numbers) => {
                numbers.add_all(Number::Further(*field), piece, columns, counts);
            }
        }
    }
}

impl Facet {
    fn document(&self, dataset: &Dataset) -> Option<Json> {
        let (name, title) = (&self.name, &self.title);
        let published = dataset.catalog.published();
        let (values, named): (&Values, Naming<'_>) = match &self.counts {
            Counts::Numbers(_, numbers) | Counts::NObjects(_, numbers) => {
                let mut document = json!({"name": name, "title": title, "kind": "numbers"});
                let object = document.as_object_mut()?;
                object.extend(numbers.document());
                return Some(document);
            }
            Counts::Classes(values) => (values, Box::new(|class| class_named(dataset, class))),
            Counts::Codecs(values) => (values, Box::new(codec_named)),
            Counts::Splits(values) => {
                let named = |at: i64| {
                    let (name, _) = dataset.splits().get(usize::try_from(at).ok()?)?;
                    Some(Named { value: quoted(name), title: name.clone() })
                };
                (values, Box::new(named))
            }
            Counts::Texts(field, values) => {
                let field = *field;
                let named = move |at: i64| {
                    let text = published.texts(field)?.all().get(usize::try_from(at).ok()?)?;
                    Some(Named { value: quoted(text), title: (**text).to_owned() })
                };
                (values, Box::new(named))
            }
            Counts::Categories([field, _], values) => {
                let field = *field;
                let named = move |at: i64| {
                    let text = published.texts(field)?.all().get(usize::try_from(at).ok()?)?;
                    Some(categories::named(text))
                };
                (values, Box::new(named))
            }
        };
        let (mut listed, more) = values.document(&*named);
        if matches!(self.counts, Counts::Categories(..)) && more == 0 {
            categories::add_unused(&mut listed, dataset.schema());
        }
        Some(json!({
            "name": name, "title": title, "kind": "values", "values": listed, "more": more,
        }))
    }
}

/// Returns the names of a value; `None` for placeholder values.
type Naming<'a> = Box<dyn Fn(i64) -> Option<Named> + 'a>;

/// A value as written in expressions, and as displayed.
struct Named {
    value: String,
    title: String,
}

fn class_named(dataset: &Dataset, class: i64) -> Option<Named> {
    if dataset.has_class_names() {
        let name = dataset.class_name(class)?;
        return Some(Named { value: quoted(name), title: name.to_owned() });
    }
    // A missing label.
    let class = i32::try_from(class).ok().filter(|class| *class != crate::catalog::NO_LABEL)?;
    Some(Named { value: class.to_string(), title: class.to_string() })
}

fn codec_named(number: i64) -> Option<Named> {
    let codec = Codec::ALL.get(usize::try_from(number).ok()?)?.extension();
    Some(Named { value: quoted(codec), title: codec.to_owned() })
}
