//! The splits of the source.
use fdconvert_core::{
    Error, Result,
    option::{NO_SPLIT_FOLDERS, SPLIT, WHERE},
    split_names,
};
use std::ops::Range;

/// Longest name of a split within a file name.
const MAX_NAME_BYTES: usize = 200;

/// Groups the indices by split, each in order, and returns the size of each. Splits are in the
/// order of their first name in the source; those without a planned sample are left out.
pub(crate) fn group(
    own: &[(String, Range<u64>)],
    order: &mut Option<Vec<u64>>,
    n_samples: u64,
) -> Result<Vec<(String, u64)>> {
    let names = split_names(own);
    let number = |split: &str| names.iter().position(|known| *known == split).unwrap_or(0);
    // The number of the split of each range.
    let numbers: Vec<usize> = own.iter().map(|(name, _)| number(name)).collect();
    let mut sizes = vec![0_u64; names.len()];
    let mut count = |number: usize, n: u64| {
        if let Some(size) = sizes.get_mut(number) {
            *size += n;
        }
    };
    if order.is_none() && names.len() == own.len() {
        // In the source's order, the splits follow each other.
        for ((_, range), number) in own.iter().zip(&numbers) {
            count(*number, range.end - range.start);
        }
    } else {
        let split_of = |index: u64| {
            let at = own.partition_point(|(_, range)| range.end <= index);
            numbers.get(at).copied().unwrap_or(0)
        };
        let mut indices = order.take().unwrap_or_else(|| (0..n_samples).collect());
        // Stable: the order within a split does not change.
        indices.sort_by_key(|&index| split_of(index));
        indices.iter().for_each(|&index| count(split_of(index), 1));
        *order = Some(indices);
    }
    let sized = names.iter().map(|name| (*name).to_owned()).zip(sizes);
    let sized: Vec<_> = sized.filter(|(_, size)| *size > 0).collect();
    match sized.iter().find(|(name, _)| !is_part_of_file_name(name)) {
        Some((name, _)) => {
            let what = format!("the source has a split `{name}`, which is not part of a file name");
            Err(Error::usage("source", what)
                .cure("to leave it out", WHERE.with(format_args!("split != \"{name}\"")))
                .cure("to mix all splits", NO_SPLIT_FOLDERS.on()))
        }
        None => Ok(sized),
    }
}

/// Names of splits come from untrusted manifests and folders, and become files and folders.
pub(crate) fn is_part_of_file_name(split: &str) -> bool {
    let is_short = (1..=MAX_NAME_BYTES).contains(&split.len());
    is_short && !split.starts_with('.') && !split.contains(['/', '\0'])
}

/// Another division would mix samples that the source separates.
pub(crate) fn refused(splits: &[(String, u64)]) -> Error {
    let names: Vec<&str> = splits.iter().map(|(name, _)| name.as_str()).collect();
    let (names, first) = (names.join(", "), names.first().copied().unwrap_or_default());
    let what = format!(
        "the source has splits ({names}), which dividing again would mix: leave the option out to \
         keep them, or mix those of a folder by giving its split folders as sources"
    );
    Error::usage(SPLIT, what)
        .cure("to divide one of them", WHERE.with(format_args!("split == \"{first}\"")))
        .cure("to mix those of a packed dataset", NO_SPLIT_FOLDERS.on())
}
