//! A list of classes that defines the numbers of an output for any sources.
use bytes::Bytes;
use fdconvert_core::{
    Error, FieldSpec, Kind, Result, Schema, Source, misread_number,
    objects::{Category, ClassNumbers, FIELD, NumberedClass, ObjectClasses, with_classes},
    option,
};
use std::{collections::BTreeSet, sync::Arc};

/// Number of names that an error lists.
const SHOWN: usize = 5;

/// Class names in the order of their numbers, without duplicates.
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
pub struct ClassList(ClassNumbers);

impl ClassList {
    /// Creates the list of these names.
    ///
    /// # Errors
    /// `Usage` for an empty list, an empty name, and a duplicate.
    pub fn new(names: Vec<String>) -> Result<Self> {
        let wrong = |what: String| Err(Error::usage(option::CLASSES, what));
        if names.is_empty() {
            return wrong("the list names no class; write one a line".to_owned());
        }
        if let Some(at) = names.iter().position(String::is_empty) {
            return wrong(format!("name {} of the list is empty", at + 1));
        }
        match ClassNumbers::new(names.into()) {
            Ok(numbers) => Ok(Self(numbers)),
            Err(twice) => wrong(format!("`{twice}` is on the list twice")),
        }
    }

    /// Returns the names in the order of their numbers.
    #[must_use]
    pub fn names(&self) -> &[String] {
        self.0.names()
    }

    /// Returns the schema with this list as the names of its label, and as the categories of its
    /// objects.
    pub(crate) fn schema(&self, schema: &Schema) -> Result<Schema> {
        let label = label_of(schema);
        if label.is_none() && schema.fields.iter().all(|field| field.kind != Kind::Json) {
            let what = "the source has neither labels nor objects; leave the list out";
            return Err(Error::usage(option::CLASSES, what));
        }
        let mut schema = schema.clone();
        if let Some(field) = label.and_then(|at| schema.fields.get_mut(at)) {
            field.class_names = Some(Arc::clone(self.0.names()));
        }
        for field in &mut schema.fields {
            let is_objects = field.name == FIELD && field.kind == Kind::Json;
            if !is_objects && field.categories.is_none() {
                continue;
            }
            let known = field.categories.clone().unwrap_or_default();
            let named = |name: &String| {
                let known = known.iter().find(|category| category.name == *name).cloned();
                known.unwrap_or_else(|| Category::new(name))
            };
            field.categories = Some(self.names().iter().map(named).collect());
        }
        Ok(schema)
    }

    /// Returns the new number of each class of a field. Classes with numbers and no names get the
    /// names of the list.
    ///
    /// # Errors
    /// `Usage` if the list lacks some of them.
    pub(crate) fn renumber(&self, source: &dyn Source, field: &FieldSpec) -> Result<Vec<i64>> {
        let Some(old) = &field.class_names else {
            return match misread_number(self.names()) {
                None => Ok((0..self.names().len() as i64).collect()),
                Some((number, name)) => Err(Error::usage(
                    option::CLASSES,
                    format!(
                        "`{}` of {} has numbers without names, and {number} could be the class `{number}` \
                         of the list or the one in its place, `{name}`, counted from 0: write the list \
                         with names that are no numbers, such as `class {number}`",
                        field.name,
                        source.name()
                    ),
                )),
            };
        };
        let numbers: Vec<_> = old.iter().map(|name| self.0.number(name)).collect();
        let unknown = old.iter().zip(&numbers).filter(|(_, number)| number.is_none());
        let unknown: BTreeSet<&String> = unknown.map(|(name, _)| name).collect();
        if unknown.is_empty() {
            return Ok(numbers.into_iter().flatten().collect());
        }
        let shown: Vec<String> = unknown.iter().take(SHOWN).map(|it| format!("`{it}`")).collect();
        let more = if unknown.len() > SHOWN { ", ..." } else { "" };
        let (are, them) =
            if unknown.len() == 1 { ("is a class", "it") } else { ("are classes", "them") };
        let what = format!(
            "{}{more} {are} of {} and not on the list of {}; add {them} to the list",
            shown.join(", "),
            source.name(),
            self.names().len()
        );
        Err(Error::usage(option::CLASSES, what))
    }

    /// Renumbers the classes of a document by this list. The error is a text for `Error::sample`.
    pub(crate) fn objects(&self, document: &[u8], keeps_ids: bool) -> Result<Renumbered, String> {
        let Some(found) = ObjectClasses::of(document) else { return Ok(Renumbered::Kept) };
        let found = found?;
        if found.numbers.is_none() && found.names.is_none() && found.n_objects > 0 {
            return Ok(Renumbered::WithoutClasses);
        }
        let classes: Vec<NumberedClass<'_>> = (0..found.n_objects)
            .map(|at| self.0.of_object(&found, at))
            .collect::<Result<_, _>>()?;
        let made = with_classes(document, &found, &classes, keeps_ids);
        Ok(made.map_or(Renumbered::Kept, Renumbered::As))
    }
}

/// The categories of one source among those of all that are joined.
pub(crate) struct JoinedCategories {
    own: Arc<[Category]>,
    joined: ClassNumbers,
    keeps_ids: bool,
}

impl JoinedCategories {
    /// `None` if the source has the joined list itself.
    ///
    /// # Errors
    /// `Usage` if a list has a name twice.
    pub(crate) fn new(own: &Arc<[Category]>, joined: &Arc<[Category]>) -> Result<Option<Self>> {
        if own == joined {
            return Ok(None);
        }
        let names = joined.iter().map(|category| category.name.clone()).collect();
        let numbers = ClassNumbers::new(names).map_err(|twice| {
            let what = format!("the category `{twice}` is on a list twice; give it another name");
            Error::usage("source", what)
        })?;
        let keeps_ids = joined.iter().all(|category| category.id.is_some());
        Ok(Some(Self { own: Arc::clone(own), joined: numbers, keeps_ids }))
    }

    /// Renumbers the classes of a document. The error is a text for `Error::sample`.
    pub(crate) fn objects(&self, document: &[u8]) -> Result<Renumbered, String> {
        let Some(found) = ObjectClasses::of(document) else { return Ok(Renumbered::Kept) };
        let found = found?;
        let class = |at: usize| -> Result<NumberedClass<'_>, String> {
            let number = found.numbers.as_ref().and_then(|numbers| numbers.get(at)).copied();
            let name = found.names.as_ref().and_then(|names| names.get(at)?.as_deref());
            let of_list = || {
                let own = self.own.get(usize::try_from(number?).ok()?)?;
                Some(own.name.as_str())
            };
            let Some(name) = name.or_else(of_list) else {
                return match number {
                    None | Some(-1) => Ok((-1, None)),
                    Some(number) => Err(format!(
                        "it has an object of the category {number}, which is not on the list of {}",
                        self.own.len()
                    )),
                };
            };
            let known = self.joined.number(name).and_then(|number| {
                Some((number, self.joined.names().get(usize::try_from(number).ok()?)?))
            });
            let (number, name) = known.ok_or_else(|| {
                format!("it has an object of the category `{name}`, which is not on its list")
            })?;
            Ok((number, Some(name)))
        };
        let classes = (0..found.n_objects).map(class).collect::<Result<Vec<_>, _>>()?;
        let made = with_classes(document, &found, &classes, self.keeps_ids);
        Ok(made.map_or(Renumbered::Kept, Renumbered::As))
    }
}

/// Result of renumbering a document.
#[derive(Debug, PartialEq)]
pub(crate) enum Renumbered {
    As(Bytes),
    /// The document does not describe objects.
    Kept,
    /// It has boxes, but no list that is known to hold their classes.
    WithoutClasses,
}

/// Returns the field with class numbers.
pub(crate) fn label_of(schema: &Schema) -> Option<usize> {
    let is_int = |at: &usize| schema.fields.get(*at).is_some_and(|field| field.kind == Kind::Int);
    schema.label().filter(is_int)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> ClassList {
        ClassList::new(names.iter().map(|name| (*name).to_owned()).collect()).unwrap()
    }

    #[test]
    fn numbers_that_are_names_of_other_classes_are_refused() {
        let said =
            list(&["0", "1", "10", "2"]).objects(br#"{"bbox":[[1,2,3,4]],"label":[2]}"#, true);
        assert!(said.unwrap_err().contains("the class `2` of the list or the one in its place"));
    }

    #[test]
    fn objects_get_the_numbers_of_the_list_in_the_list_that_has_them() {
        let classes = list(&["dog", "cat", "cow"]);
        let boxed = |lists: &str| format!("{{\"size\":[4,3],\"bbox\":[[0,0.5,1,1]],{lists}}}");
        for (lists, expected) in [
            (
                r#""category":[0],"category_name":["cat"]"#,
                r#""category":[1],"category_name":["cat"]"#,
            ),
            (r#""category":[2]"#, r#""category":[2],"category_name":["cow"]"#),
            (r#""label":[0.0],"category_name":["cat"]"#, r#""label":[1],"category_name":["cat"]"#),
            (r#""category":["cat"]"#, r#""category":[1],"category_name":["cat"]"#),
            (r#""labels":["cat"]"#, r#""labels":["cat"],"category":[1],"category_name":["cat"]"#),
            (r#""category":[-1]"#, r#""category":[-1],"category_name":[null]"#),
        ] {
            let made = classes.objects(boxed(lists).as_bytes(), true);
            assert_eq!(made, Ok(Renumbered::As(boxed(expected).into())), "{lists}");
        }
        for (document, expected) in [
            (
                r#"[{"bbox":[1,2,3,4],"category":0,"category_name":"cat"},{"bbox":[1,2,3,4]}]"#,
                r#"[{"bbox":[1,2,3,4],"category":1,"category_name":"cat"},{"bbox":[1,2,3,4]}]"#,
            ),
            (r#"{"bbox":[],"category":[]}"#, r#"{"bbox":[],"category":[],"category_name":[]}"#),
        ] {
            let made = classes.objects(document.as_bytes(), true);
            assert_eq!(made, Ok(Renumbered::As(expected.into())), "{document}");
        }
        for document in [r#"["a caption"]"#, r#"{"text":"x"}"#, "[]", r#"{"bbox":[]}"#, "1"] {
            assert_eq!(
                classes.objects(document.as_bytes(), true),
                Ok(Renumbered::Kept),
                "{document}"
            );
        }
        let made = classes.objects(boxed(r#""score":[1]"#).as_bytes(), true);
        assert_eq!(made, Ok(Renumbered::WithoutClasses));
        for (lists, expected) in [
            (r#""category":[0],"category_name":["cut"]"#, "`cut`, which is not on the list of 3"),
            (r#""categories":["bird"]"#, "`bird`, which is not on the list of 3"),
            (r#""category":[3]"#, "class 3 of 3"),
            (r#""label":[true]"#, "neither whole numbers nor texts"),
        ] {
            let said = classes.objects(boxed(lists).as_bytes(), true).unwrap_err();
            assert!(said.contains(expected), "{said}");
        }
        let halves = r#"{"bbox":[[1,2,3,4],[1,2,3,4]],"label":[0,1],"category_name":["cat",null]}"#;
        let said = classes.objects(halves.as_bytes(), true).unwrap_err();
        assert!(said.contains("class 1, which has no name although others have one"), "{said}");
    }
}
