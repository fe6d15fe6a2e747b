//! Splits of a dataset as chosen samples, and the splits of chosen samples.
use crate::{
    Error, Indices, Result, Source, SplitChoice, Splits, option, split_names, split_sizes,
};
use std::ops::Range;

/// Returns the indices of the samples in the chosen splits; `None` for all samples.
///
/// # Errors
/// `Usage`, with a list of the existing splits, for an unknown name, and for several splits where
/// only one is expected.
pub fn indices_of_splits(
    source: &(impl Source + ?Sized),
    choice: &SplitChoice,
) -> Result<Option<Indices>> {
    let wanted = match choice {
        SplitChoice::All => return Ok(None),
        SplitChoice::Only => {
            let splits = split_sizes(source.splits());
            return if splits.len() > 1 { Err(several(source.name(), &splits)) } else { Ok(None) };
        }
        SplitChoice::Named(wanted) => wanted,
    };
    let splits = source.splits();
    let names = split_names(splits);
    if wanted.is_empty() {
        let what = format!("it names none; the splits are {}", names.join(", "));
        return Err(Error::usage(option::SPLIT, what));
    }
    if let Some(unknown) = wanted.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(missing(source.name(), unknown, &names));
    }
    if names.iter().all(|name| wanted.iter().any(|wanted| wanted == name)) {
        return Ok(None);
    }
    let taken = splits.iter().filter(|(name, _)| wanted.contains(name));
    let mut indices = Indices::default();
    for (_, Range { start, end }) in taken {
        indices.push(super::indices::Steps { first: *start, step: 1, len: end - start });
    }
    Ok(Some(indices))
}

fn missing(of: &str, unknown: &str, names: &[&str]) -> Error {
    let what = match names {
        [] => format!("{of} has no splits, so `{unknown}` does not exist; leave it out"),
        [only] => format!("`{unknown}` is no split of {of}, which has only {only}"),
        _ => format!("`{unknown}` is not one of the splits of {of}: {}", names.join(", ")),
    };
    Error::usage(option::SPLIT, what)
}

fn several(of: &str, splits: &[(String, u64)]) -> Error {
    let sized: Vec<_> = splits.iter().map(|(name, n)| format!("{name} {n}")).collect();
    let first = splits.first().map_or("train", |(name, _)| name);
    let train = splits.iter().find(|(name, _)| name == "train").map_or(first, |(name, _)| name);
    let what = format!(
        "{of} has {} splits ({}): choose one or all of them",
        splits.len(),
        sized.join(", ")
    );
    Error::usage(option::SPLIT, what)
        .cure("to take one", option::SPLIT.with(train))
        .cure("to take all of them", option::SPLIT.with(SplitChoice::ALL))
}

/// Returns the splits of chosen samples, as ranges of their positions. There are none where the
/// order of choice takes turns between splits: they would take memory for each sample.
pub(super) fn within(splits: &[(String, Range<u64>)], indices: &Indices) -> Splits {
    let starts: Vec<u64> = splits.iter().map(|(_, range)| range.start).collect();
    let mut found = Splits::new();
    if starts.is_empty() {
        return found;
    }
    let mut end = 0;
    indices.cut(&starts, |number, steps| {
        let start = end;
        end += steps.len;
        let Some((name, _)) = splits.get(number) else { return true };
        match found.last_mut() {
            Some((last, range)) if last == name => range.end = end,
            _ => found.push((name.clone(), start..end)),
        }
        found.len() <= splits.len()
    });
    if found.len() > splits.len() {
        found.clear();
    }
    found
}
