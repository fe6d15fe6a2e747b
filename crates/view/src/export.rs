//! Export of the filtered samples.
use crate::{
    answer::{Answer, Content, Failure},
    dataset::Dataset,
    filter::{Filter, complete},
    request::Asked,
};
use fdconvert_pipeline::Cancel;
use std::{collections::HashSet, time::Duration};
use xxhash_rust::xxh3::xxh3_128;

/// Longest wait for the catalog.
const PATIENCE: Duration = Duration::from_secs(10);

/// `keys.txt`: the list for `pack --keys`, with every key once.
pub(crate) fn keys(dataset: &Dataset, asked: &Asked, ended: &Cancel) -> Result<Answer, Failure> {
    let filter = Filter::parse(asked, dataset)?;
    let selection = complete(dataset, &filter, PATIENCE, ended);
    if !selection.is_complete() {
        // An incomplete list would look complete.
        let (scanned, samples) = (selection.scanned, dataset.len());
        let what = format!("{scanned} of {samples} samples are filtered so far; try again later");
        return Err(Failure::not_yet(what));
    }
    let samples = selection.page(0, u64::MAX);
    let (mut text, mut seen) = (String::new(), HashSet::with_capacity(samples.len()));
    for index in samples {
        let key = dataset.reader().key(index);
        if key.is_empty() || key.contains(['\n', '\r']) {
            let what =
                format!("the key of sample {index} has a line break, which no list can hold");
            return Err(Failure::unreadable(what));
        }
        if seen.insert(xxh3_128(key.as_bytes())) {
            text.push_str(&key);
            text.push('\n');
        }
    }
    Ok(Answer::new(Content::Text, text).saved_as("keys.txt"))
}
