//! Numbers of the categories of objects in several datasets, which have to mean the same.
use crate::{Error, Result};
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

/// The categories that documents have told so far, each with the dataset that was the first.
#[derive(Debug, Default)]
pub struct Categories(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    names: BTreeMap<i64, (String, u32)>,
    numbers: BTreeMap<String, (i64, u32)>,
}

#[derive(Deserialize)]
struct Named {
    #[serde(default)]
    category: Option<Vec<i64>>,
    #[serde(default)]
    category_name: Option<Vec<Option<String>>>,
}

impl Categories {
    /// Compares the categories of a document of dataset number `dataset` with those of other
    /// datasets. Documents without `category_name` tell nothing that could be compared.
    ///
    /// # Errors
    /// `Sample`, naming both meanings of a number, or both numbers of a name; `name_of` names
    /// datasets.
    pub fn check(
        &self,
        key: &str,
        json: &[u8],
        dataset: u32,
        name_of: impl Fn(u32) -> String,
    ) -> Result<()> {
        // What cannot be read is refused with all of its reasons when the objects are.
        let Ok(Some(named)) = serde_json::from_slice::<Option<Named>>(json) else { return Ok(()) };
        let (Some(numbers), Some(names)) = (named.category, named.category_name) else {
            return Ok(());
        };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (number, name) in numbers.into_iter().zip(names) {
            let Some(name) = name else { continue };
            let (other_name, first) =
                known.names.entry(number).or_insert_with(|| (name.clone(), dataset));
            if *first != dataset && *other_name != name {
                let what = format!("category {number} is `{name}`, and `{other_name}`");
                return Err(differs(key, &what, &name_of(*first)));
            }
            let (other, first) = known.numbers.entry(name.clone()).or_insert((number, dataset));
            if *first != dataset && *other != number {
                let what = format!("`{name}` is category {number}, and {other}");
                return Err(differs(key, &what, &name_of(*first)));
            }
        }
        Ok(())
    }
}

fn differs(key: &str, what: &str, dataset: &str) -> Error {
    let what = format!(
        "of its objects {what} in {dataset}: datasets that are taken together need one list of \
         categories; write both with the same list, or take them one by one"
    );
    Error::sample(key, what)
}

#[cfg(test)]
mod tests {
    use super::Categories;

    #[test]
    fn a_number_has_one_meaning_in_all_datasets() {
        let known = Categories::default();
        let check = |dataset, json: &str| {
            let checked =
                known.check("k", json.as_bytes(), dataset, |dataset| format!("set-{dataset}"));
            checked.map_err(|error| error.to_string())
        };
        let cats = r#"{"bbox": [], "category": [0, 1], "category_name": ["cat", null]}"#;
        assert_eq!(check(0, cats), Ok(()));
        // A dataset may say of itself what it likes.
        assert_eq!(check(0, r#"{"category": [0], "category_name": ["lynx"]}"#), Ok(()));
        for json in ["", "null", "[]", "{}", r#"{"category": [0]}"#, cats] {
            assert_eq!(check(1, json), Ok(()), "{json}");
        }
        let said = check(1, r#"{"category": [0], "category_name": ["dog"]}"#).unwrap_err();
        assert!(said.contains("category 0 is `dog`, and `cat` in set-0"), "{said}");
        let said = check(1, r#"{"category": [7], "category_name": ["cat"]}"#).unwrap_err();
        assert!(said.contains("`cat` is category 7, and 0 in set-0"), "{said}");
    }
}
