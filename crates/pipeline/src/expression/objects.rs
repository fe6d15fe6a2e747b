//! The objects of a sample in expressions, as in `any(category == "car" && height > 32)`.
use crate::expression::{Found, Lookup, Node, Scalar, Type};
use fdconvert_core::{
    Kind, Result, Schema,
    objects::{Annotations, FIELD},
};
use std::borrow::Cow;

/// A property of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Property {
    /// Name of its category.
    Category,
    /// Number of its category.
    CategoryNumber,
    Left,
    Top,
    Width,
    Height,
    Area,
    Iscrowd,
    Difficult,
    Truncated,
    Occluded,
}

/// The names inside of `any(...)` and `count(...)`.
pub(super) const PROPERTIES: [(&str, Type, Property); 10] = [
    ("category", Type::Category, Property::Category),
    ("left", Type::Number, Property::Left),
    ("top", Type::Number, Property::Top),
    ("width", Type::Number, Property::Width),
    ("height", Type::Number, Property::Height),
    ("area", Type::Number, Property::Area),
    ("iscrowd", Type::Number, Property::Iscrowd),
    ("difficult", Type::Number, Property::Difficult),
    ("truncated", Type::Number, Property::Truncated),
    ("occluded", Type::Number, Property::Occluded),
];

/// Returns the field with the objects of each sample, as `any(...)` takes them.
#[must_use]
pub fn field_of_objects(schema: &Schema) -> Option<usize> {
    let at = schema.position(FIELD)?;
    schema.fields.get(at).filter(|field| field.kind == Kind::Json).map(|_| at)
}

/// Returns the names of all categories, if the dataset knows them before its samples are read.
#[must_use]
pub fn known_categories(schema: &Schema) -> Option<Vec<&str>> {
    let field = schema.fields.get(field_of_objects(schema)?)?;
    let categories = field.categories.as_deref()?;
    Some(categories.iter().map(|category| category.name.as_str()).collect())
}

impl Property {
    pub(super) fn of(self, objects: &Annotations, at: usize) -> Found<'_> {
        let [left, top, width, height] = objects.boxes.get(at).copied().unwrap_or_default();
        // A document has a list for all of its objects, or none.
        let mark = |list: &Option<Vec<f64>>| match list {
            Some(list) => list.get(at).copied().unwrap_or(f64::NAN),
            None => 0.0,
        };
        let classes = &objects.classes;
        Found::Float(match self {
            Self::Category => {
                let name = classes.names.as_ref().and_then(|names| names.get(at)?.as_deref());
                return name.map_or(Found::Missing, |name| Found::Text(Cow::Borrowed(name)));
            }
            Self::CategoryNumber => {
                let number = classes.numbers.as_ref().and_then(|numbers| numbers.get(at));
                // -1 stands for no category.
                let number = number.filter(|number| **number != -1);
                return number.map_or(Found::Missing, |number| Found::Int(*number));
            }
            Self::Left => left,
            Self::Top => top,
            Self::Width => width,
            Self::Height => height,
            Self::Area => {
                let area = objects.area.as_ref().and_then(|areas| areas.get(at)).copied();
                area.filter(|area| !area.is_nan()).unwrap_or(width * height)
            }
            Self::Iscrowd => {
                let flag = objects.iscrowd.as_ref().and_then(|flags| flags.get(at)).copied();
                return Found::Int(flag.unwrap_or(0));
            }
            Self::Difficult => mark(&objects.difficult),
            Self::Truncated => mark(&objects.truncated),
            Self::Occluded => mark(&objects.occluded),
        })
    }
}

impl Node {
    /// Counts the objects in the value of a name for which this part holds, up to `most`.
    pub(super) fn count(&self, objects: usize, of: Lookup<'_>, most: i64) -> Result<i64> {
        let Some(Scalar::Objects(objects)) = (of.value)(objects)? else { return Ok(0) };
        let mut n = 0;
        for at in 0..objects.boxes.len() {
            let object = Some((&*objects, at));
            n += i64::from(self.find(Lookup { object, ..of })?.is_true());
            if n >= most {
                break;
            }
        }
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::Expression;
    use std::sync::Arc;

    const DOCUMENT: &[u8] = br#"{"size":[640,480],"bbox":[[10,20,300,200],[1,2,30,40],[0,0,9,9]],
        "category":[7,0,-1],"category_name":["car","person",null],"area":[38000.5,null,50],
        "iscrowd":[0,1,0],"difficult":[0,true,null],"truncated":[0.5,0,0]}"#;

    fn names() -> Vec<(String, Type)> {
        let names = [
            ("key", Type::Text),
            ("n_objects", Type::Number),
            ("objects", Type::Objects),
            ("any", Type::Number),
        ];
        names.map(|(name, kind)| (name.to_owned(), kind)).to_vec()
    }

    fn holds(text: &str, document: Option<&[u8]>) -> bool {
        let objects = document.map(|it| Arc::new(Annotations::parse(it, false).unwrap()));
        let of = |name: usize| {
            Ok(match name {
                0 => Some(Scalar::Text("a.jpg".into())),
                1 => objects.as_ref().map(|it| Scalar::Int(it.boxes.len() as i64)),
                2 => objects.clone().map(Scalar::Objects),
                _ => Some(Scalar::Int(5)),
            })
        };
        Expression::parse(text, &names()).unwrap().holds(&of).unwrap()
    }

    #[test]
    fn objects_are_found_by_their_properties() {
        for (text, expected) in [
            ("any(category == 'car')", true),
            ("any('bus' == category)", false),
            ("any(category == 7) && !any(category == 8)", true),
            ("any(category in ['bus', 'person'])", true),
            ("any(category in [1, -1])", false),
            ("any(category starts_with 'per')", true),
            ("any(!(category >= 0))", true),
            ("any(category != 'car' && category != 'person')", true),
            ("any(left == 10 && top == 20 && width == 300 && height == 200)", true),
            ("any(category == 'car' && width < 300)", false),
            ("any(area > 38000 && area < 38001)", true),
            ("any(category == 'person' && area == 1200)", true),
            ("any(iscrowd == 1 && category == 'person')", true),
            ("any(difficult == 1 && category == 'person')", true),
            ("any(truncated > 0.4 && difficult == 0)", true),
            ("any(occluded != 0)", false),
            ("count(width > 0) == 3 && n_objects == 3", true),
            ("count(category in ['car', 'person']) * 2 >= 4", true),
            ("-count(width >= 30) < -1", true),
            ("any(width > 1 && (height > 100 || left == 1)) && key contains 'a'", true),
            // A name of the source, as it is not followed by a parenthesis.
            ("any == 5", true),
        ] {
            assert_eq!(holds(text, Some(DOCUMENT)), expected, "{text}");
        }
        for document in [None, Some(&b"null"[..]), Some(b"{\"bbox\":[]}")] {
            assert!(!holds("any(width > 0)", document) && holds("count(width > 0) == 0", document));
        }
        let texts = br#"[{"bbox":[0,0,1,1],"label":"cat"}]"#;
        assert!(holds("any(category == 'cat') && !any(category == 0)", Some(texts)));
    }

    #[test]
    fn what_is_wrong_with_objects_is_named() {
        let cases = [
            ("any(any(width > 1))", "column 5, after ^: an object has no objects: `any`"),
            ("any(colour == 1)", "column 5, after ^: unknown `colour`; an object has: category, "),
            ("any(width)", "expected true or false, got a number"),
            ("any(category)", "column 5, after ^: expected true or false, got a category"),
            ("any(category == width > 1)", "its left side is true or false"),
            ("any(category in [1, 'a'])", "column 21, after ^: expected a number, got a text"),
            ("any(category == (1 > 2))", "expected true or false, got a category"),
            ("any(width > 1", "column 14, after ^: a ) is missing here"),
            ("any()", "column 5, after ^: a name, a number or a text is missing in front"),
            ("count(width > 1)", "expected true or false, got a number; compare it"),
            ("objects == 3", "column 1, after ^: `objects` is a list"),
            ("category == 'car'", "column 1, after ^: `category` is of an object: any(category"),
            ("colour == 1", "expected one of: key, n_objects, any, any(...), count(...); write"),
        ];
        for (text, expected) in cases {
            let said = Expression::parse(text, &names()).unwrap_err();
            assert!(said.contains(expected), "{text}: {said}");
        }
        for text in ["any(width > 1)", "count(width > 1) > 1", "n_objects > 1"] {
            let said = Expression::parse(text, &names()[..1]).unwrap_err();
            assert!(said.contains("has no JSON field `objects`"), "{text}: {said}");
        }
    }
}
