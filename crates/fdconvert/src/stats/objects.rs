//! Counts of the objects in images.
use fdconvert_core::{
    Encoded, Schema, Value,
    objects::{Annotations, ObjectClasses},
};
use fdconvert_pipeline::known_categories;
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// Counts of objects, from the documents of the field `objects`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObjectCounts {
    /// Number of objects.
    pub n_objects: u64,
    /// Number of samples with objects.
    pub images: u64,
    /// Counts of each category, by name; for numbers without a name, by number.
    pub categories: BTreeMap<String, CategoryCounts>,
    /// Number of documents that cannot be read.
    pub n_unreadable: u64,
}

/// Counts of a category.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CategoryCounts {
    /// Number of samples with objects of the category.
    pub images: u64,
    /// Number of its objects.
    pub objects: u64,
}

impl ObjectCounts {
    pub(super) fn new(schema: &Schema) -> Self {
        let all = known_categories(schema).into_iter().flatten();
        // Categories without an object are informative, too.
        let categories = all.map(|name| (name.to_owned(), CategoryCounts::default())).collect();
        Self { categories, ..Self::default() }
    }

    /// Adds the objects of a sample: `None` for a document that cannot be read.
    pub(super) fn add(&mut self, classes: Option<&ObjectClasses>) {
        let Some(classes) = classes else {
            self.n_unreadable += 1;
            return;
        };
        self.n_objects += classes.n_objects as u64;
        self.images += u64::from(classes.n_objects > 0);
        let mut seen = BTreeSet::new();
        for at in 0..classes.n_objects {
            let name = classes.names.as_ref().and_then(|names| names.get(at)?.clone());
            let number = classes.numbers.as_ref().and_then(|numbers| numbers.get(at));
            let number = number.filter(|number| **number != -1).map(i64::to_string);
            let Some(category) = name.or(number) else { continue };
            let counts = self.categories.entry(category.clone()).or_default();
            counts.objects += 1;
            counts.images += u64::from(seen.insert(category));
        }
    }

    /// Returns the categories, that with the most objects first, and by name if these are equal.
    #[must_use]
    pub fn by_frequency(&self) -> Vec<(&str, CategoryCounts)> {
        let mut all: Vec<_> = self.categories.iter().map(|(name, n)| (&**name, *n)).collect();
        all.sort_by_key(|(_, n)| std::cmp::Reverse(n.objects));
        all
    }

    pub(super) fn to_json(&self) -> Json {
        let counts = |n: &CategoryCounts| json!({"images": n.images, "objects": n.objects});
        let categories = self.categories.iter().map(|(name, n)| (name.clone(), counts(n)));
        json!({
            "objects": self.n_objects,
            "images": self.images,
            "categories": categories.collect::<Map<String, Json>>(),
            "unreadable": self.n_unreadable,
        })
    }
}

/// Returns the classes of the objects in a document; `None` if it cannot be read.
pub(super) fn classes_of(document: &Value<Encoded>) -> Option<ObjectClasses> {
    let Value::Json(json) = document else { return None };
    Some(Annotations::parse(json, false).ok()?.classes)
}
