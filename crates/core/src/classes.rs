//! Class name lists of several datasets that are combined.
use crate::objects::is_class_key;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Joins the class names of several datasets: a list shared by all stays unchanged, otherwise all
/// names are sorted. `None` when no dataset has a list.
///
/// # Errors
/// The positions of a dataset with a list and of one without: the numbers of the latter have no
/// known meaning.
pub fn join_class_names<'a>(
    lists: impl IntoIterator<Item = Option<&'a Arc<[String]>>>,
) -> Result<Option<Arc<[String]>>, (usize, usize)> {
    let lists: Vec<_> = lists.into_iter().collect();
    let named = lists.iter().position(Option::is_some);
    let unnamed = lists.iter().position(Option::is_none);
    let Some(named) = named else { return Ok(None) };
    if let Some(unnamed) = unnamed {
        return Err((named, unnamed));
    }
    let mut lists = lists.into_iter().flatten();
    let Some(first) = lists.next() else { return Ok(None) };
    let mut names: BTreeSet<&String> = first.iter().collect();
    let mut is_shared = true;
    for list in lists {
        is_shared &= list == first;
        names.extend(list.iter());
    }
    Ok(Some(if is_shared { first.clone() } else { names.into_iter().cloned().collect() }))
}

/// Class names of the numbers inside a field: in lists, documents or arrays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InnerClasses {
    /// The key of the numbers in documents, such as `parts.kind` for nested ones; empty if the
    /// field has no keys.
    pub key: String,
    /// Names, by number.
    pub names: Arc<[String]>,
    /// True if each document has the names, too, beside its numbers.
    pub are_told: bool,
}

impl InnerClasses {
    /// Returns true if these are classes of objects with names in their documents, so that the
    /// numbers can be changed.
    #[must_use]
    pub fn is_in_each_document(&self) -> bool {
        self.are_told && is_class_key(&self.key)
    }
}

/// The lists of each key, with their sources.
type Lists<S> = BTreeMap<String, Vec<(S, Arc<[String]>)>>;

/// Finds a number inside a field with a different class in a later source than in an earlier one,
/// or with a name in only one of them; returns what each of the two sources has. Ignores numbers of
/// objects with names in their documents, which [`Categories`](crate::Categories) compares. A list
/// may be longer than another.
pub fn other_inner_class<S>(
    sources: impl IntoIterator<Item = (S, Vec<InnerClasses>)>,
) -> Option<((S, String), (S, String))>
where
    S: Copy,
{
    let mut known: Lists<S> = BTreeMap::new();
    let mut all = Vec::new();
    for (source, mut lists) in sources {
        lists.retain(|list| !list.is_in_each_document());
        all.push((source, lists.iter().map(|list| list.key.clone()).collect::<Vec<_>>()));
        for InnerClasses { key, names, .. } in lists {
            let others = known.entry(key.clone()).or_default();
            for (other, earlier) in others.iter() {
                let mut pairs = names.iter().zip(earlier.iter()).enumerate();
                if let Some((number, (mine, theirs))) = pairs.find(|(_, (a, b))| a != b) {
                    let mine = format!("`{mine}` as class {number}{}", within(&key));
                    return Some(((source, mine), (*other, format!("`{theirs}`"))));
                }
            }
            others.push((source, names));
        }
    }
    known.iter().find_map(|(key, named)| {
        let (named, _) = named.first()?;
        let (unnamed, _) = all.iter().find(|(_, keys)| !keys.contains(key))?;
        let names = format!("names of classes{}", within(key));
        Some(((*named, names), (*unnamed, "only numbers".to_owned())))
    })
}

fn within(key: &str) -> String {
    if key.is_empty() { String::new() } else { format!(" of `{key}`") }
}

/// Finds the position in `to` of each class of `from`; `None` if it is missing.
#[must_use]
pub fn renumber_classes(from: &[String], to: &[String]) -> Vec<Option<i64>> {
    let mut numbers = BTreeMap::new();
    for (name, number) in to.iter().zip(0_i64..) {
        numbers.entry(name).or_insert(number);
    }
    from.iter().map(|name| numbers.get(name).copied()).collect()
}

/// Finds a name that looks like the number of another class: returns the number, and the name at
/// that position. Numbers without names would be ambiguous.
#[must_use]
pub fn misread_number(names: &[String]) -> Option<(usize, &str)> {
    names.iter().enumerate().find_map(|(place, name)| {
        let number: usize = name.parse().ok().filter(|number| *number != place)?;
        Some((number, names.get(number)?.as_str()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> Arc<[String]> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn join(lists: &[Option<&[&str]>]) -> Result<Option<Vec<String>>, (usize, usize)> {
        let lists: Vec<_> = lists.iter().map(|names| names.map(list)).collect();
        let joined = join_class_names(lists.iter().map(Option::as_ref))?;
        Ok(joined.map(|names| names.to_vec()))
    }

    #[test]
    fn lists_that_differ_are_sorted_and_equal_ones_stay() {
        assert_eq!(join(&[None, None]), Ok(None));
        assert_eq!(join(&[Some(&["b", "a"]), Some(&["b", "a"])]).unwrap().unwrap(), ["b", "a"]);
        let joined = join(&[Some(&["cat", "dog"]), Some(&["bird", "cat"])]).unwrap().unwrap();
        assert_eq!(joined, ["bird", "cat", "dog"]);
        assert_eq!(join(&[None, None, Some(&["a"])]), Err((2, 0)));
        let numbers = renumber_classes(&list(&["cat", "dog", "x"]), &list(&["bird", "cat", "dog"]));
        assert_eq!(numbers, [Some(1), Some(2), None]);
    }
    #[test]
    fn a_number_that_is_the_name_of_another_class_is_found() {
        assert_eq!(misread_number(&list(&["0", "1", "10", "2"])), Some((2, "10")));
        assert_eq!(misread_number(&list(&["0", "1", "2", "cat"])), None);
        assert_eq!(misread_number(&list(&["cat", "17"])), None);
    }
}
