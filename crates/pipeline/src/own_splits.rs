//! Splits that the source itself has.
use fdconvert_core::Error;
use std::ops::Range;

/// Groups the indices by split, each keeping its order, and gives the size of each. Splits are in
/// the order in which the source names them first; those without a planned sample are left out.
pub(crate) fn group(
    own: &[(String, Range<u64>)],
    order: &mut Option<Vec<u64>>,
    n_samples: u64,
) -> Vec<(String, u64)> {
    let mut names: Vec<&String> = Vec::new();
    // The number of the split of each range.
    let mut numbers = Vec::with_capacity(own.len());
    for (name, _) in own {
        let number = names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        });
        numbers.push(number);
    }
    let mut sizes = vec![0_u64; names.len()];
    let mut count = |number: usize, n: u64| {
        if let Some(size) = sizes.get_mut(number) {
            *size += n;
        }
    };
    if order.is_none() && names.len() == own.len() {
        // The source's order has the splits one after the other.
        for ((_, range), number) in own.iter().zip(&numbers) {
            count(*number, range.end - range.start);
        }
    } else {
        let split_of = |index: u64| {
            let at = own.partition_point(|(_, range)| range.end <= index);
            numbers.get(at).copied().unwrap_or(0)
        };
        let mut indices = order.take().unwrap_or_else(|| (0..n_samples).collect());
        // Stable: the order within a split stays.
        indices.sort_by_key(|&index| split_of(index));
        indices.iter().for_each(|&index| count(split_of(index), 1));
        *order = Some(indices);
    }
    let sized = names.into_iter().cloned().zip(sizes);
    sized.filter(|(_, size)| *size > 0).collect()
}

/// Dividing again would mix what the source keeps apart.
pub(crate) fn refused(own: &[(String, Range<u64>)]) -> Error {
    let mut names: Vec<&str> = own.iter().map(|(name, _)| name.as_str()).collect();
    names.dedup();
    let what = format!(
        "the source has splits of its own ({}); leave --split out, give one of those folders as \
         the source, or take them for classes with --no-split-folders",
        names.join(", ")
    );
    Error::usage("--split", what)
}
