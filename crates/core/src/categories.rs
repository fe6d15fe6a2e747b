//! Category numbers of objects, which must mean the same in several datasets.
use crate::{Error, Result, objects::ObjectClasses};
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

/// Categories of the documents so far, each with its first dataset.
#[derive(Debug, Default)]
pub struct Categories(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    names: BTreeMap<i64, (String, u32)>,
    numbers: BTreeMap<String, (i64, u32)>,
    /// The first dataset with named classes, and the first with only numbers.
    first: [Option<u32>; 2],
}

impl Categories {
    /// Compares the categories of a document of dataset number `dataset` with those of other
    /// datasets.
    ///
    /// # Errors
    /// `Sample`, with both meanings of a number or both numbers of a name, and for numbers without
    /// names beside a dataset with names; `name_of` names datasets.
    pub fn check(
        &self,
        key: &str,
        json: &[u8],
        dataset: u32,
        name_of: impl Fn(u32) -> String,
    ) -> Result<()> {
        // Checking the objects refuses unreadable documents, with all reasons.
        let Some(Ok(ObjectClasses { numbers: Some(numbers), names, .. })) = ObjectClasses::of(json)
        else {
            return Ok(());
        };
        let names = names.iter().flatten().map(Option::as_ref);
        let names = names.chain(std::iter::repeat(None));
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (number, name) in numbers.into_iter().zip(names) {
            if name.is_none() && number < 0 {
                continue;
            }
            let [named, unnamed] = &mut known.first;
            let (own, other) = if name.is_some() { (named, unnamed) } else { (unnamed, named) };
            own.get_or_insert(dataset);
            if let Some(other) = other.filter(|other| *other != dataset) {
                let (has, have) = match name {
                    Some(name) => {
                        (format!("`{name}` is category {number}"), "numbers without names")
                    }
                    None => (format!("category {number} has no name"), "names"),
                };
                return Err(differs(key, &format!("{has}, and there are {have}"), &name_of(other)));
            }
            let Some(name) = name else { continue };
            let (other_name, first) =
                known.names.entry(number).or_insert_with(|| (name.clone(), dataset));
            if *first != dataset && other_name != name {
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
        let boxed = |n: usize, lists: &str| {
            format!("{{\"bbox\": [{}], {lists}}}", vec!["[1, 2, 3, 4]"; n].join(", "))
        };
        for key in ["category", "label", "category_id"] {
            let known = Categories::default();
            let check = |dataset, json: &str| {
                let checked =
                    known.check("k", json.as_bytes(), dataset, |dataset| format!("set-{dataset}"));
                checked.map_err(|error| error.to_string())
            };
            let named = |number: &str, name: &str| {
                boxed(1, &format!("\"{key}\": [{number}], \"category_name\": [\"{name}\"]"))
            };
            let cats = format!("\"{key}\": [0, -1], \"category_name\": [\"cat\", null]");
            assert_eq!(check(0, &boxed(2, &cats)), Ok(()));
            // Within a dataset, categories need not be consistent.
            assert_eq!(check(0, &named("0", "lynx")), Ok(()));
            for json in
                ["", "null", "[]", "{}", &boxed(0, &format!("\"{key}\": []")), &boxed(2, &cats)]
            {
                assert_eq!(check(1, json), Ok(()), "{json}");
            }
            let said = check(1, &named("0.0", "dog")).unwrap_err();
            assert!(said.contains("category 0 is `dog`, and `cat` in set-0"), "{said}");
            let said = check(1, &named("7", "cat")).unwrap_err();
            assert!(said.contains("`cat` is category 7, and 0 in set-0"), "{said}");
            let list =
                format!("[{{\"bbox\": [1, 2, 3, 4], \"{key}\": 0, \"category_name\": \"ox\"}}]");
            assert!(check(1, &list).unwrap_err().contains("category 0 is `ox`, and `cat`"));
            let said = check(1, &boxed(1, &format!("\"{key}\": [3]"))).unwrap_err();
            assert!(
                said.contains("category 3 has no name, and there are names in set-0"),
                "{said}"
            );
            let said = check(0, &named("4", "yak")).unwrap_err();
            let expected = "`yak` is category 4, and there are numbers without names in set-1";
            assert!(said.contains(expected), "{said}");
        }
    }
}
