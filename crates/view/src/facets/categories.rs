//! The facet of the categories of objects.
use super::{
    Named,
    values::{LISTED, Values},
};
use crate::{
    catalog::{Cells, NAMED},
    filter::{Piece, quoted},
};
use fdconvert_core::Schema;
use fdconvert_pipeline::known_categories;
use serde_json::{Value as Json, json};

/// Counts the categories of each sample at a position that counts.
pub(super) fn add(
    values: &mut Values,
    cells: Option<&Cells>,
    piece: &Piece,
    counts: impl Fn(usize) -> bool,
) {
    let Some(Cells::Lists { ends, numbers }) = cells else { return };
    let start = |at: usize| at.checked_sub(1).map_or(Some(0), |at| ends.get(at).copied());
    for at in (0..piece.len).filter(|at| counts(*at)) {
        let of = piece.offset + at;
        let Some((start, end)) = start(of).zip(ends.get(of)) else { continue };
        let list = numbers.get(start as usize..*end as usize).unwrap_or_default();
        values.add(list.iter().map(|number| i64::from(*number)), |_| true);
    }
}

/// Adds the known categories that no sample has, as far as a facet lists values.
pub(super) fn add_unused(listed: &mut Vec<Json>, schema: &Schema) {
    for name in known_categories(schema).into_iter().flatten() {
        if listed.len() < LISTED && !listed.iter().any(|it| it["title"] == name) {
            listed.push(json!({"value": quoted(name), "title": name, "n": 0}));
        }
    }
}

/// Returns the names of a category by its text in the catalog.
pub(super) fn named(text: &str) -> Named {
    match text.strip_prefix(NAMED) {
        Some(name) => Named { value: quoted(name), title: name.to_owned() },
        None => Named { value: text.to_owned(), title: text.to_owned() },
    }
}
