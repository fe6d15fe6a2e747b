//! Class numbers that several datasets, or a list of names, share.
use fdconvert_core::{Error, FieldSpec, Reader, Result, join_class_names, renumber_classes};
use std::{collections::BTreeSet, fmt::Display, sync::Arc};

/// Maps a dataset's class numbers to those in batches; `None` if they are equal.
pub(crate) type Renumbered = Option<Arc<[i64]>>;

/// Number of names shown in messages.
const SHOWN: usize = 5;

/// The class names of a field, if it has any, and the renumbering of each dataset.
pub(crate) type Joined = (Option<Arc<[String]>>, Vec<Renumbered>);

/// Numbers the classes of a field by name: in the order of `wanted`, else in the order that all
/// datasets share, else sorted. `option` is the option that requested the field.
///
/// # Errors
/// `Usage` if some datasets have names and others only numbers, and for a class that is not in
/// `wanted`.
pub(crate) fn join<'a>(
    option: &'static str,
    fields: impl Iterator<Item = (&'a dyn Reader, &'a FieldSpec)> + Clone,
    wanted: Option<&Arc<[String]>>,
) -> Result<Joined> {
    let names = match wanted {
        Some(wanted) => Some(wanted.clone()),
        None => join_class_names(fields.clone().map(|(_, field)| field.class_names.as_ref()))
            .map_err(|(named, unnamed)| half_named(option, fields.clone(), named, unnamed))?,
    };
    let Some(names) = names else { return Ok((None, fields.map(|_| None).collect())) };
    let renumbered = fields.map(|(reader, field)| {
        let Some(old) = &field.class_names else {
            // The numbers of the given list: a class without one is refused when it is read.
            return Ok(Some((0..).take(names.len()).collect()));
        };
        if **old == *names {
            return Ok(None);
        }
        let numbers = renumber_classes(old, &names).into_iter().zip(old.iter());
        let numbers = numbers.map(|(number, name)| number.ok_or_else(|| unknown(reader, name)));
        Ok(Some(numbers.collect::<Result<_>>()?))
    });
    let renumbered = renumbered.collect::<Result<_>>()?;
    Ok((Some(names), renumbered))
}

/// Refuses an unusable list of classes.
///
/// # Errors
/// `Usage` for an empty list and for a duplicate name.
pub(crate) fn check(wanted: &[String]) -> Result<()> {
    if wanted.is_empty() {
        return Err(Error::usage("classes", "the list is empty"));
    }
    let mut seen = BTreeSet::new();
    match wanted.iter().find(|name| !seen.insert(*name)) {
        Some(name) => Err(twice(name)),
        None => Ok(()),
    }
}

/// Returns the error for a duplicate name.
pub(crate) fn twice(name: impl Display) -> Error {
    Error::usage("classes", format!("`{name}` is in the list twice"))
}

fn unknown(reader: &dyn Reader, name: &str) -> Error {
    let what = format!("{} has the class `{name}`, which is not in the list", reader.name());
    Error::usage("classes", what)
}

fn half_named<'a>(
    option: &'static str,
    mut fields: impl Iterator<Item = (&'a dyn Reader, &'a FieldSpec)> + Clone,
    named: usize,
    unnamed: usize,
) -> Error {
    let names = |(_, field): (&dyn Reader, &FieldSpec)| {
        let names = field.class_names.as_deref().unwrap_or_default();
        let more = if names.len() > SHOWN { ", ..." } else { "" };
        let shown: Vec<&str> = names.iter().take(SHOWN).map(|name| &**name).collect();
        shown.join(", ") + more
    };
    let of = |at| fields.clone().nth(at);
    let (with, without) = (of(named), of(unnamed));
    let name = |it: Option<(&dyn Reader, &FieldSpec)>| it.map(|(it, _)| it.name().to_owned());
    let field = fields.next().map(|(_, field)| field.name.clone()).unwrap_or_default();
    let cure = match option {
        "label" => "give the names in the order of these numbers (`classes`), or ",
        _ => "",
    };
    let what = format!(
        "the classes of `{field}` have names in {} ({}) and only numbers in {}, so that it is not \
         known which are the same: {}load the datasets one by one",
        name(with).unwrap_or_default(),
        with.map(names).unwrap_or_default(),
        name(without).unwrap_or_default(),
        cure,
    );
    Error::usage(option, what)
}
