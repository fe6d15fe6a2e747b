use fdconvert_core::{
    Schema,
    objects::{Category, FIELD, ObjectClasses},
};
use std::{collections::BTreeMap, sync::Arc};

/// Name of the only category where objects have none at all.
const ONLY: &str = "object";

/// The categories of a dataset: its own list, or those that were found so far.
#[derive(Debug)]
pub(in crate::folder) struct Categories {
    known: Option<Arc<[Category]>>,
    found: BTreeMap<u64, Category>,
    /// Numbers of the names that have none in the documents.
    numbers: BTreeMap<String, u64>,
}

impl Categories {
    pub(in crate::folder) fn of(schema: &Schema) -> Self {
        let objects = schema.fields.iter().find(|field| field.name == FIELD);
        let known = objects.and_then(|field| field.categories.clone());
        Self { known, found: BTreeMap::new(), numbers: BTreeMap::new() }
    }

    /// The number of an object's category; `None` for an object without one. `id` is that of the
    /// category in the file it comes from.
    ///
    /// # Errors
    /// A number that is not on the list.
    pub(in crate::folder) fn number(
        &mut self,
        classes: &ObjectClasses,
        object: usize,
        id: Option<i64>,
    ) -> Result<Option<u64>, String> {
        let number = classes.numbers.as_ref().and_then(|numbers| numbers.get(object)).copied();
        let name = classes.names.as_ref().and_then(|names| names.get(object)?.as_deref());
        if let Some(known) = &self.known {
            let by_name = || {
                let named = known.iter().position(|category| Some(&*category.name) == name);
                named.map(|at| at as u64)
            };
            let number = number.and_then(|number| u64::try_from(number).ok()).or_else(by_name);
            return match number.filter(|number| *number >= known.len() as u64) {
                None => Ok(number),
                Some(number) => Err(format!(
                    "object {object} is of the category {number}, which is not on the list of {}",
                    known.len()
                )),
            };
        }
        let number = match (number, name) {
            (None, None) if classes.numbers.is_some() || classes.names.is_some() => {
                return Ok(None);
            }
            (Some(number), _) => match u64::try_from(number) {
                Ok(number) if number < MAX_NUMBER => number,
                Ok(number) => return Err(format!("object {object} is of the category {number}")),
                Err(_) => return Ok(None),
            },
            (None, name) => {
                let name = name.unwrap_or(ONLY);
                let next = self.numbers.len() as u64;
                *self.numbers.entry(name.to_owned()).or_insert(next)
            }
        };
        self.found.entry(number).or_insert_with(|| {
            let unnamed = || match classes.numbers {
                Some(_) => format!("class_{number}"),
                None => ONLY.to_owned(),
            };
            Category { id, ..Category::new(name.map_or_else(unnamed, str::to_owned)) }
        });
        Ok(Some(number))
    }

    /// The name of a category.
    pub(in crate::folder) fn name(&self, number: u64) -> &str {
        let known = self.known.as_ref().and_then(|known| known.get(usize::try_from(number).ok()?));
        known.or_else(|| self.found.get(&number)).map_or("", |category| category.name.as_str())
    }

    /// The id of a category in COCO: its own, or its number from 1 on.
    pub(in crate::folder) fn id(&self, number: u64, id: Option<i64>) -> i64 {
        let counted = i64::try_from(number).unwrap_or(i64::MAX).saturating_add(1);
        match &self.known {
            Some(known) if known.iter().all(|category| category.id.is_some()) => {
                let own = usize::try_from(number).ok().and_then(|number| known.get(number)?.id);
                own.unwrap_or(counted)
            }
            Some(_) => counted,
            None => id.unwrap_or(counted),
        }
    }

    /// All categories by number, without gaps; those of other numbers than the found ones are
    /// called `class_N`.
    pub(in crate::folder) fn list(&self) -> Vec<Category> {
        if let Some(known) = &self.known {
            return known.to_vec();
        }
        let end = self.found.keys().next_back().map_or(0, |last| last + 1);
        let unnamed = |number: u64| Category::new(format!("class_{number}"));
        (0..end)
            .map(|number| self.found.get(&number).cloned().unwrap_or_else(|| unnamed(number)))
            .collect()
    }

    /// The categories with their ids in COCO: of a list that is not known, only those found.
    pub(in crate::folder) fn with_ids(&self) -> Vec<Category> {
        let numbered: Vec<(u64, &Category)> = match &self.known {
            Some(known) => (0..).zip(known.iter()).collect(),
            None => self.found.iter().map(|(number, category)| (*number, category)).collect(),
        };
        numbered
            .into_iter()
            .map(|(number, category)| {
                let id = Some(self.id(number, category.id));
                Category { id, ..category.clone() }
            })
            .collect()
    }
}

/// Larger numbers would make a list that is long, and almost empty.
const MAX_NUMBER: u64 = 1 << 20;
