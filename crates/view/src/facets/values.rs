//! Frequencies of values.
use super::Named;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// Number of listed values, the most frequent ones.
pub(super) const LISTED: usize = 200;

/// Small numbers, including most classes, are counted in a list.
const SMALL: usize = 1 << 16;

#[derive(Debug, Default)]
pub(super) struct Values {
    small: Vec<u64>,
    others: BTreeMap<i64, u64>,
}

impl Values {
    /// Counts the values at positions that count.
    pub(super) fn add(
        &mut self,
        values: impl Iterator<Item = i64>,
        counts: impl Fn(usize) -> bool,
    ) {
        for (_, value) in values.enumerate().filter(|(at, _)| counts(*at)) {
            match usize::try_from(value) {
                Ok(value) if value < SMALL => {
                    if self.small.len() <= value {
                        self.small.resize(value + 1, 0);
                    }
                    if let Some(count) = self.small.get_mut(value) {
                        *count += 1;
                    }
                }
                _ => *self.others.entry(value).or_default() += 1,
            }
        }
    }

    /// Returns the most frequent values by count, then by value, and the number of others. Values
    /// without a name are ignored.
    pub(super) fn document(&self, named: &dyn Fn(i64) -> Option<Named>) -> (Vec<Json>, usize) {
        let small = self.small.iter().enumerate().map(|(value, n)| (value as i64, *n));
        let all = small.chain(self.others.iter().map(|(value, n)| (*value, *n)));
        let mut all: Vec<(i64, u64)> = all.filter(|(_, n)| *n > 0).collect();
        all.sort_unstable_by_key(|(value, n)| (std::cmp::Reverse(*n), *value));
        let mut named = all.iter().filter_map(|(value, n)| Some((named(*value)?, n)));
        let value = |(it, n): (Named, &u64)| json!({"value": it.value, "title": it.title, "n": n});
        let listed: Vec<Json> = named.by_ref().take(LISTED).map(value).collect();
        (listed, named.count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_come_first_and_the_rest_is_counted() {
        let mut values = Values::default();
        let all = (0..300).chain([7, 7, -3, -3, 1 << 40]);
        values.add(all, |at| at != 5);
        let named = |value: i64| {
            let shown = value != 1 << 40;
            shown.then(|| Named { value: value.to_string(), title: value.to_string() })
        };
        let (listed, more) = values.document(&named);
        assert_eq!(listed[0], json!({"value": "7", "title": "7", "n": 3}));
        assert_eq!(listed[1], json!({"value": "-3", "title": "-3", "n": 2}));
        assert_eq!((listed.len(), more), (LISTED, 300 - LISTED));
        assert!(listed.iter().all(|value| value["value"] != json!("5")));
    }
}
