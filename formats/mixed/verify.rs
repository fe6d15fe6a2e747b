//! The rules of `SPEC.md` that opening has not checked already.
use crate::mixed::{
    MixedReader,
    layout::{CODECS, FORMAT},
    manifest::ShardFacts,
    record::{Keys, Record},
};
use crate::shards::{RECORDS, record::read};
use crate::wds::{self as wds};
use fdconvert_core::{Error, Reader as _, Result, Shard, Source as _, Value};

pub(crate) fn layout(reader: &MixedReader) -> Vec<Error> {
    let mut problems = Vec::new();
    for part in reader.parts.iter().flatten() {
        problems.extend(part.verify_layout());
    }
    let mut first = 0;
    for facts in &reader.manifest.shards {
        let end = first + facts.samples;
        if keys(reader, first, end) != facts.keys {
            let what = format!(
                "the keys of shard {}-{:06} are not those in its folders: samples were exchanged, \
                 or an index is missing",
                facts.split, facts.number
            );
            problems.push(reader.damaged(what));
        }
        problems.extend(record(reader, facts, first, end));
        first = end;
    }
    problems
}

/// Returns the hash over the keys in the folders, in the order of the manifest.
fn keys(reader: &MixedReader, first: u64, end: u64) -> String {
    let mut keys = Keys::default();
    for index in first..end {
        if let Some(code) = reader.order.code(index) {
            keys.add(code, &reader.key(index));
        }
    }
    keys.hex()
}

/// Checks that the done-record, if any, belongs to this shard.
fn record(reader: &MixedReader, facts: &ShardFacts, first: u64, end: u64) -> Option<Error> {
    let shard = Shard { number: facts.number, split: facts.split.clone(), ..Shard::whole(0) };
    let stem = match wds::stem(&shard) {
        Ok(stem) => stem,
        Err(error) => return Some(error),
    };
    let path = reader.files.path(&format!("{RECORDS}/{stem}.json"));
    let record: Record = match read(&path) {
        Ok(None) => return None,
        Ok(Some(found)) => found,
        Err(error) => return Some(error),
    };
    // A record is read only if its order can be.
    let order = record.order().unwrap_or_default();
    let same_order = order.codes().eq((first..end).filter_map(|i| reader.order.code(i)));
    // Shards of an edited set are of several runs.
    let is_of_run = |it: &Record| it.fingerprint == reader.manifest.fingerprint;
    let same = (reader.manifest.edit.is_some() || is_of_run(&record))
        && record.keys == facts.keys
        && same_order;
    (!same).then(|| Error::corrupt(FORMAT, path, 0, "it is not what the manifest says"))
}

/// Checks a sample in its folder, and that its image has the folder's codec.
pub(crate) fn sample(reader: &MixedReader, index: u64) -> Result<()> {
    let (part, position) = reader.locate(index)?;
    part.verify_sample(position)?;
    let sample = part.get(position)?;
    let code = reader.order.code(index).map(usize::from);
    let wanted = code.and_then(|code| CODECS.get(code));
    let image = reader.manifest.schema.first_image().and_then(|image| sample.values.get(image));
    match (image, wanted) {
        (Some(Value::Image(image)), Some(wanted)) if image.codec != *wanted => {
            let (found, wanted) = (image.codec.extension(), wanted.extension());
            let what = format!("its image is {found}, but is stored with those in {wanted}");
            Err(Error::sample(sample.key, what))
        }
        _ => Ok(()),
    }
}
