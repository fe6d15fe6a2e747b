//! A column `split`: assigns samples to training, validation and test.
use super::rows::Rows;
use fdconvert_core::{Splits, split_named, split_ranges};

const SPLIT: &str = "split";
/// Other common spellings, and the splits that they mean.
const OTHERS: [(&str, &str); 3] = [("training", "train"), ("testing", "test"), ("dev", "val")];

/// Removes the column and returns the split of each row; `None` if there is no such column, or it
/// contains other words.
pub(super) fn take(rows: &mut Rows) -> Result<Option<Vec<&'static str>>, String> {
    let Some(at) = rows.columns.iter().position(|(name, _)| name.eq_ignore_ascii_case(SPLIT))
    else {
        return Ok(None);
    };
    let Some((name, cells)) = rows.take(at) else { return Ok(None) };
    let mut named = Vec::with_capacity(rows.paths.len());
    for (row, line) in rows.lines.iter().enumerate() {
        let text = cells.text(row);
        match split_of(&text) {
            Some(split) => named.push(split),
            None => {
                rows.remarks.push(format!(
                    "the column `{name}` is a field and makes no splits: line {line} has `{text}`, \
                     which is not one of train, val, valid, validation and test"
                ));
                rows.columns.insert(at, (name, cells));
                return Ok(None);
            }
        }
    }
    Ok(Some(named))
}

fn split_of(text: &str) -> Option<&'static str> {
    let other = OTHERS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
    other.map(|(_, split)| *split).or_else(|| split_named(text))
}

/// Groups the rows by split, in the order of the table; splits are in the order of their first
/// rows.
pub(super) fn sort(rows: &mut Rows, named: &[&'static str]) -> Splits {
    let (order, splits) = order(named);
    if !order.is_sorted() {
        rows.order(&order);
    }
    splits
}

/// The order that groups samples by split, and the resulting splits.
pub(super) fn order(named: &[&'static str]) -> (Vec<usize>, Splits) {
    let mut firsts: Vec<&'static str> = Vec::new();
    for split in named {
        if !firsts.contains(split) {
            firsts.push(split);
        }
    }
    let rank = |at: &usize| firsts.iter().position(|first| named.get(*at) == Some(first));
    let mut order: Vec<usize> = (0..named.len()).collect();
    order.sort_by_key(rank);
    let runs = order.iter().filter_map(|at| Some((*named.get(*at)?, 1)));
    let splits = split_ranges(runs);
    (order, splits)
}
