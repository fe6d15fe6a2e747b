//! Expressions over the samples of a source.
use crate::{
    OnError,
    ahead::{PIECE, Pieces},
    expression::{
        Expression, Node, Scalar, Type,
        compared::sketch,
        objects::{Property, field_of_objects, known_categories},
    },
    failure::Failure,
};
use fdconvert_core::{
    Amount, Error, Image, Kind, Result, Sample, Schema, Shown, Source, Splits, Value,
    objects::{Annotations, FIELD},
    option, split_names,
};
use rayon::prelude::*;
use std::{
    cell::{Cell, OnceCell},
    sync::Arc,
};

/// Expression over the properties of one source's samples.
///
/// Evaluation is as cheap as its names allow: positions, keys, splits and labels are known; codecs
/// follow from the names of files, and bytes from their sizes; width and height are in the tables of
/// packed datasets. Of files they require reading the sample, as the other fields of packed datasets
/// do. The objects of a sample are in a document, which packed datasets read alone.
pub struct Condition<'a> {
    expression: Expression,
    source: &'a dyn Source,
    splits: Splits,
    names: Vec<Meaning>,
}

/// Meaning of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// Width of the first image.
    Width,
    /// Height of the first image.
    Height,
    /// Total bytes of all images.
    Bytes,
    /// Extension of the codec of the first image.
    Codec,
    /// Class name, or the number for classes without names.
    Label,
    /// Key of the sample.
    Key,
    /// Name of the split.
    Split,
    /// Position in the source, from 0.
    Index,
    /// Number of objects, which are in the field at this position.
    NObjects(usize),
    /// The objects in the field at this position.
    Objects(usize),
    /// The field at this position.
    Field(usize),
}

/// Number of splits or classes that an error shows.
const SHOWN: usize = 8;

impl Meaning {
    /// Returns every name for the samples of a schema, with its type.
    #[must_use]
    pub fn names(schema: &Schema) -> Vec<(String, Type, Self)> {
        names(schema)
    }
}

impl<'a> Condition<'a> {
    /// Parses an expression over the source's names.
    ///
    /// # Errors
    /// `Usage` with the column, and for an unknown name, split or class with the known ones.
    pub fn parse(text: &str, source: &'a dyn Source) -> Result<Self> {
        let splits = source.splits().to_vec();
        if let (sketch, Some(split)) = sketch(text)? {
            check(&sketch.compared_with(&Node::Name(split)), &split_names(&splits), "splits")?;
        }
        let known = names(source.schema());
        let typed: Vec<_> = known.iter().map(|(name, kind, _)| (name.clone(), *kind)).collect();
        let expression =
            Expression::parse(text, &typed).map_err(|what| Error::usage(option::WHERE, what))?;
        let names: Vec<_> = known.into_iter().map(|(.., meaning)| meaning).collect();
        let label = names.iter().position(|meaning| *meaning == Meaning::Label);
        if let (Some(label), Some(classes)) = (label, class_names(source.schema())) {
            let classes: Vec<&str> = classes.iter().map(String::as_str).collect();
            check(&expression.compared_with(&Node::Name(label)), &classes, "classes")?;
        }
        if let Some(categories) = known_categories(source.schema()) {
            let texts = expression.compared_with(&Node::Property(Property::Category));
            check(&texts, &categories, "categories")?;
        }
        Ok(Self { expression, source, splits, names })
    }

    /// Returns the samples that match, in the same order. A sample that cannot be evaluated is kept
    /// if samples are skipped or the runs handle them, which report the reason.
    ///
    /// # Errors
    /// `Cancelled` if `step`, called with the number of newly evaluated samples, requests it; the
    /// first sample that cannot be evaluated under [`OnError::Fail`].
    pub fn filter(
        &self,
        indices: &[u64],
        on_error: Option<OnError>,
        step: &dyn Fn(u64) -> bool,
    ) -> Result<Vec<u64>> {
        let mut kept = Vec::new();
        for chunk in indices.chunks(PIECE) {
            // Only samples that must be read are announced: `label == "cat" && width > 9` reads
            // cats.
            let mut looked: Vec<Option<Result<bool>>> = match self.source.facts().reads_ahead {
                true => chunk.par_iter().map(|&index| self.known(index)).collect(),
                false => chunk.iter().map(|_| None).collect(),
            };
            let unread = chunk.iter().zip(&looked).filter(|(_, known)| known.is_none());
            let unread: Vec<u64> = unread.map(|(index, _)| *index).collect();
            let mut unfilled = looked.iter_mut().filter(|known| known.is_none());
            for (piece, _ahead) in Pieces::new(self.source, &unread) {
                let read: Vec<_> = piece.par_iter().map(|&index| self.look(index, None)).collect();
                for (holds, slot) in read.into_iter().zip(unfilled.by_ref()) {
                    *slot = Some(holds);
                }
                if !step(piece.len() as u64) {
                    return Err(Error::Cancelled);
                }
            }
            for (index, holds) in chunk.iter().zip(looked) {
                let Some(holds) = holds else { continue };
                if spared(holds, on_error)?.unwrap_or(true) {
                    kept.push(*index);
                }
            }
            if !step((chunk.len() - unread.len()) as u64) {
                return Err(Error::Cancelled);
            }
        }
        Ok(kept)
    }

    /// Evaluates the condition for a sample without reading it; `None` if it has to be read.
    fn known(&self, index: u64) -> Option<Result<bool>> {
        let is_missing = Cell::new(false);
        let holds = self.look(index, Some(&is_missing));
        (!is_missing.get()).then_some(holds)
    }

    /// Returns true if the condition holds for a sample. If that requires a read, and `is_missing`
    /// is given, that is set, and the result has no meaning.
    fn look(&self, index: u64, is_missing: Option<&Cell<bool>>) -> Result<bool> {
        // Read at most once, for any of the names.
        let read = OnceCell::new();
        let sample = || -> Result<&Sample<Image>> {
            match (read.get(), is_missing) {
                (Some(sample), _) => Ok(sample),
                (None, Some(is_missing)) => {
                    is_missing.set(true);
                    Err(Error::Cancelled)
                }
                (None, None) => {
                    let sample = self.source.read(index)?;
                    Ok(read.get_or_init(|| sample))
                }
            }
        };
        let image = || -> Result<Option<&Image>> {
            let image = self.source.schema().first_image();
            Ok(match image.and_then(|image| sample().map(|it| it.values.get(image)).transpose()) {
                Some(Ok(Value::Image(image))) => Some(image),
                Some(Err(error)) => return Err(error),
                _ => None,
            })
        };
        let size = || -> Result<Option<(u32, u32)>> {
            match self.source.image_size(index)? {
                None => Ok(image()?.map(size_of)),
                known => Ok(known),
            }
        };
        let parsed = OnceCell::new();
        let objects = |field: usize| -> Result<Arc<Annotations>> {
            if let Some(parsed) = parsed.get() {
                return Ok(Arc::clone(parsed));
            }
            let is_known = self.source.facts().field(field).is_known;
            let document = match (read.get(), is_missing) {
                (None, Some(_)) if !is_known => sample()?.values.get(field).cloned(),
                (None, _) => self.source.value(index, field)?,
                (Some(sample), _) => sample.values.get(field).cloned(),
            };
            let found = match document {
                Some(Value::Json(json)) => Annotations::parse(&json, false).map_err(|what| {
                    Error::sample(self.source.key(index), format!("its field `{FIELD}`: {what}"))
                })?,
                _ => Annotations::default(),
            };
            Ok(Arc::clone(parsed.get_or_init(|| Arc::new(found))))
        };
        self.expression.holds(&|name| {
            let Some(meaning) = self.names.get(name) else { return Ok(None) };
            Ok(match meaning {
                Meaning::Width => size()?.map(|(width, _)| Scalar::Int(width.into())),
                Meaning::Height => size()?.map(|(_, height)| Scalar::Int(height.into())),
                Meaning::Bytes => {
                    let bytes = match self.source.bytes(index, Amount::Planned)? {
                        Some(bytes) => bytes,
                        None => image_bytes(sample()?),
                    };
                    Some(Scalar::Int(i64::try_from(bytes).unwrap_or(i64::MAX)))
                }
                Meaning::Codec => match self.source.codec_hint(index)? {
                    Some(codec) => Some(Scalar::Text(codec.extension().to_owned())),
                    None => image()?.and_then(codec_of).map(Scalar::Text),
                },
                Meaning::Label => self.label(index)?,
                Meaning::Key => Some(Scalar::Text(self.source.key(index))),
                Meaning::Split => {
                    let at = self.splits.partition_point(|(_, range)| range.end <= index);
                    self.splits.get(at).map(|(name, _)| Scalar::Text(name.clone()))
                }
                Meaning::Index => Some(Scalar::Int(i64::try_from(index).unwrap_or(i64::MAX))),
                Meaning::NObjects(field) => {
                    let n_objects = objects(*field)?.boxes.len();
                    Some(Scalar::Int(i64::try_from(n_objects).unwrap_or(i64::MAX)))
                }
                Meaning::Objects(field) => Some(Scalar::Objects(objects(*field)?)),
                Meaning::Field(field) => {
                    let value = match self.source.facts().field(*field).is_known {
                        true => self.source.value(index, *field)?,
                        false => sample()?.values.get(*field).cloned(),
                    };
                    match value {
                        Some(Value::Int(int)) => Some(Scalar::Int(int)),
                        Some(Value::Float(float)) => Some(Scalar::Float(float)),
                        Some(Value::Text(text)) => Some(Scalar::Text(text)),
                        _ => None,
                    }
                }
            })
        })
    }

    /// Returns the class by name if classes have names.
    fn label(&self, index: u64) -> Result<Option<Scalar>> {
        let Some(number) = self.source.label(index)? else { return Ok(None) };
        Ok(match class_names(self.source.schema()) {
            None => Some(Scalar::Int(number)),
            Some(names) => {
                let name = usize::try_from(number).ok().and_then(|number| names.get(number));
                name.map(|name| Scalar::Text(name.clone()))
            }
        })
    }
}

fn class_names(schema: &Schema) -> Option<&[String]> {
    schema.fields.get(schema.label()?)?.class_names.as_deref()
}

/// Refuses a text that is compared with a name and can never equal it: it is mistyped.
fn check(texts: &[&str], there: &[&str], what: &str) -> Result<()> {
    let Some(text) = texts.iter().find(|text| !there.contains(text)) else { return Ok(()) };
    let shown = there.iter().take(SHOWN).map(|name| Shown(name).to_string());
    let shown = shown.collect::<Vec<_>>().join(", ");
    let more = if there.len() > SHOWN { ", ..." } else { "" };
    let there = if there.is_empty() { "it has none".to_owned() } else { shown + more };
    let what = format!("`{}` is not among the {what} of the source: {there}", Shown(text));
    Err(Error::usage(option::WHERE, what))
}

/// Returns every name with its type. A field with the name of something else is `field.NAME`.
fn names(schema: &Schema) -> Vec<(String, Type, Meaning)> {
    let mut names = Vec::new();
    let mut name = |name: &str, kind, meaning| names.push((name.to_owned(), kind, meaning));
    if schema.first_image().is_some() {
        name("width", Type::Number, Meaning::Width);
        name("height", Type::Number, Meaning::Height);
        name("bytes", Type::Number, Meaning::Bytes);
        name("codec", Type::Text, Meaning::Codec);
    }
    let label = schema.label();
    if let Some(field) = label.and_then(|label| schema.fields.get(label)) {
        let kind = if field.class_names.is_some() { Type::Text } else { Type::Number };
        name("label", kind, Meaning::Label);
    }
    name("key", Type::Text, Meaning::Key);
    name("split", Type::Text, Meaning::Split);
    name("index", Type::Number, Meaning::Index);
    if let Some(field) = field_of_objects(schema) {
        name("n_objects", Type::Number, Meaning::NObjects(field));
        name(FIELD, Type::Objects, Meaning::Objects(field));
    }
    for (at, field) in schema.fields.iter().enumerate() {
        let kind = match field.kind {
            Kind::Int | Kind::Float => Type::Number,
            Kind::Text => Type::Text,
            _ => continue,
        };
        let is_taken = names.iter().any(|(known, ..)| *known == field.name);
        match is_taken {
            true if Some(at) == label => {}
            true => names.push((format!("field.{}", field.name), kind, Meaning::Field(at))),
            false => names.push((field.name.clone(), kind, Meaning::Field(at))),
        }
    }
    names
}

/// Returns the result for a sample; `None` for one that is left to the run.
pub(crate) fn spared<T>(looked: Result<T>, on_error: Option<OnError>) -> Result<Option<T>> {
    match (looked, on_error) {
        (Ok(found), _) => Ok(Some(found)),
        (Err(error), Some(OnError::Fail)) => Err(error),
        (Err(error), _) => Failure::of_reading(error).skipped().map(|_| None),
    }
}

fn size_of(image: &Image) -> (u32, u32) {
    match image {
        Image::Encoded(image) => (image.width, image.height),
        Image::Pixels(image) => (image.width, image.height),
        Image::Bilevel(image) => (image.width, image.height),
    }
}

fn codec_of(image: &Image) -> Option<String> {
    match image {
        Image::Encoded(image) => Some(image.codec.extension().to_owned()),
        Image::Pixels(_) | Image::Bilevel(_) => None,
    }
}

fn image_bytes(sample: &Sample<Image>) -> u64 {
    let images = sample.values.iter().flat_map(Value::images);
    images.map(Image::n_bytes).sum::<usize>() as u64
}
