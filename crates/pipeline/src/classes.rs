//! A list of classes that the numbers of an output go by, whatever its sources have.
use bytes::Bytes;
use fdconvert_core::{Error, FieldSpec, Kind, Result, Schema, Source, message, named};
use serde_json::{Map, Value as Json};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Names that an error lists one by one.
const SHOWN: usize = 5;

/// Names of classes in the order of their numbers, each once.
///
/// ```
/// use fdconvert_pipeline::ClassList;
///
/// let classes = ClassList::new(vec!["dog".into(), "cat".into()])?;
/// assert_eq!(classes.names(), ["dog", "cat"]);
/// assert!(ClassList::new(vec!["cat".into(), "cat".into()]).is_err());
/// # Ok::<(), fdconvert_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ClassList {
    names: Arc<[String]>,
    numbers: BTreeMap<String, i64>,
}

impl ClassList {
    /// The list of these names.
    ///
    /// # Errors
    /// `Usage` for an empty list, an empty name, and one that is there twice.
    pub fn new(names: Vec<String>) -> Result<Self> {
        let wrong = |what: String| Err(Error::usage(named::CLASSES, what));
        let mut numbers = BTreeMap::new();
        for (number, name) in (0_i64..).zip(&names) {
            if name.is_empty() {
                return wrong(format!("name {} of the list is empty", number + 1));
            }
            if numbers.insert(name.clone(), number).is_some() {
                return wrong(format!("`{name}` is on the list twice"));
            }
        }
        if names.is_empty() {
            return wrong("the list names no class; write one a line".to_owned());
        }
        Ok(Self { names: names.into(), numbers })
    }

    /// The names in the order of their numbers.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The schema with this list as the names of its label.
    pub(crate) fn schema(&self, schema: &Schema) -> Result<Schema> {
        let label = label_of(schema);
        if label.is_none() && schema.fields.iter().all(|field| field.kind != Kind::Json) {
            let what = "the source has neither labels nor objects; leave the list out";
            return Err(Error::usage(named::CLASSES, what));
        }
        let mut schema = schema.clone();
        if let Some(field) = label.and_then(|at| schema.fields.get_mut(at)) {
            field.class_names = Some(Arc::clone(&self.names));
        }
        Ok(schema)
    }

    /// The new number of each class of a field. Where classes have numbers and no names, they get
    /// those of the list.
    ///
    /// # Errors
    /// `Usage` where the list lacks some of them.
    pub(crate) fn renumber(&self, source: &dyn Source, field: &FieldSpec) -> Result<Vec<i64>> {
        let Some(old) = &field.class_names else {
            return Ok((0..self.names.len() as i64).collect());
        };
        let numbers: Vec<_> = old.iter().map(|name| self.numbers.get(name).copied()).collect();
        let unknown = old.iter().zip(&numbers).filter(|(_, number)| number.is_none());
        let unknown: BTreeSet<&String> = unknown.map(|(name, _)| name).collect();
        if unknown.is_empty() {
            return Ok(numbers.into_iter().flatten().collect());
        }
        let shown: Vec<String> = unknown.iter().take(SHOWN).map(|it| format!("`{it}`")).collect();
        let more = if unknown.len() > SHOWN { ", ..." } else { "" };
        let (are, them) =
            if unknown.len() == 1 { ("is a class", "it") } else { ("are classes", "them") };
        let what = message!(
            "{}{more} {are} of {} and not on the list of {}; add {them} to the list",
            shown.join(", "),
            source.name(),
            self.names.len()
        );
        Err(Error::usage(named::CLASSES, what))
    }

    /// A document of objects with the numbers of this list; `None` for one that is not of objects.
    /// The error is a text for `Error::sample`.
    pub(crate) fn objects(&self, document: &[u8]) -> Result<Option<Bytes>, String> {
        let Ok(mut document) = serde_json::from_slice::<Map<String, Json>>(document) else {
            return Ok(None);
        };
        if !document.get("bbox").is_some_and(Json::is_array) {
            return Ok(None);
        }
        let (numbers, names) = match (document.get("category_name"), document.get("category")) {
            (Some(Json::Array(names)), _) => (self.by_name(names)?, None),
            (_, Some(Json::Array(numbers))) => (numbers.clone(), Some(self.by_number(numbers)?)),
            _ => return Ok(None),
        };
        document.insert("category".to_owned(), Json::Array(numbers));
        if let Some(names) = names {
            document.insert("category_name".to_owned(), Json::Array(names));
        }
        Ok(Some(Json::Object(document).to_string().into()))
    }

    fn by_name(&self, names: &[Json]) -> Result<Vec<Json>, String> {
        let number = |name: &Json| match name.as_str().map(|name| (name, self.numbers.get(name))) {
            Some((_, Some(number))) => Ok((*number).into()),
            Some((name, None)) => Err(format!(
                "it has an object of the class `{name}`, which is not on the list of {}",
                self.names.len()
            )),
            // No name is no class.
            None => Ok((-1).into()),
        };
        names.iter().map(number).collect()
    }

    fn by_number(&self, numbers: &[Json]) -> Result<Vec<Json>, String> {
        let name = |number: &Json| {
            let at = number.as_u64().and_then(|number| usize::try_from(number).ok());
            at.and_then(|at| self.names.get(at)).map(|name| name.as_str().into()).ok_or_else(|| {
                format!(
                    "it has an object of the class {number} of {}, counted from 0",
                    self.names.len()
                )
            })
        };
        numbers.iter().map(name).collect()
    }
}

/// The field whose numbers are classes.
pub(crate) fn label_of(schema: &Schema) -> Option<usize> {
    let is_int = |at: &usize| schema.fields.get(*at).is_some_and(|field| field.kind == Kind::Int);
    schema.label().filter(is_int)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_get_the_numbers_of_the_list() {
        let classes = ClassList::new(["dog", "cat", "cow"].map(str::to_owned).into()).unwrap();
        let made = |text: &str| classes.objects(text.as_bytes());
        let named = r#"{"size":[4,3],"bbox":[[0,0.5,1,1]],"category":[0],"category_name":["cat"]}"#;
        let expected =
            r#"{"size":[4,3],"bbox":[[0,0.5,1,1]],"category":[1],"category_name":["cat"]}"#;
        assert_eq!(made(named).unwrap().unwrap(), expected);
        let expected = r#"{"bbox":[[0,0,1,1]],"category":[2],"category_name":["cow"]}"#;
        assert_eq!(made(r#"{"bbox":[[0,0,1,1]],"category":[2]}"#).unwrap().unwrap(), expected);
        assert_eq!(made(r#"["a caption"]"#).unwrap(), None);
        assert_eq!(made(r#"{"text":"x"}"#).unwrap(), None);
        let said = made(&named.replace("cat\"", "cut\"")).unwrap_err();
        assert!(said.contains("`cut`"), "{said}");
        assert!(
            made(r#"{"bbox":[[0,0,1,1]],"category":[3]}"#).unwrap_err().contains("class 3 of 3")
        );
    }
}
