//! Every rule of `SPEC.md`, checked on a dataset as a whole or on one sample.
use crate::{
    MdsReader,
    hash::Hashes,
    layout::{Config, FORMAT, FileInfo, config_offset, u32_at},
    manifest,
    place::record_path,
    record::Record,
    shard::{ShardFile, sample_range},
};
use fdconvert_core::{Error, Reader as _, Result, Value};
use fdconvert_storage::read_file;

/// Problems listed before the rest is left out: one shifted table would give thousands.
const MAX_LISTED: usize = 100;
const MAX_RECORD_BYTES: u64 = 1 << 28;

pub(crate) fn layout(reader: &MdsReader) -> Vec<Error> {
    let mut problems = Vec::new();
    if let Some(problem) = &reader.problem {
        let path = reader.path.join(manifest::NAME);
        problems.push(Error::corrupt(FORMAT, path, 0, problem.clone()));
    }
    for shard in &reader.shards {
        if problems.len() >= MAX_LISTED {
            let what = "there may be more problems: not all shards were looked at";
            problems.push(Error::corrupt(FORMAT, &reader.path, 0, what));
            break;
        }
        if let Err(error) = check_shard(reader, shard) {
            problems.push(error);
        }
        if let Err(error) = check_record(shard) {
            problems.push(error);
        }
    }
    problems
}

/// The first problem of a shard: what follows from it would only hide it.
fn check_shard(reader: &MdsReader, shard: &ShardFile) -> Result<()> {
    let entry = &shard.entry;
    let raw = reader.raw(shard)?;
    check_hashes(shard, &entry.raw_data, &raw)?;
    if let Some(zip) = entry.zip_data.as_ref().filter(|zip| *zip == shard.stored()) {
        check_hashes(shard, zip, &shard.stored_bytes()?)?;
    }
    let table_end = config_offset(entry.samples).unwrap_or(u64::MAX);
    let first = u64::from(u32_at(&raw, 4).unwrap_or(0));
    let config = usize::try_from(table_end).ok().zip(usize::try_from(first).ok());
    let config = config.and_then(|(start, end)| raw.get(start..end));
    let config = config.ok_or_else(|| shard.corrupt(4, "the first sample lies in the table"))?;
    let config: Config = serde_json::from_slice(config)
        .map_err(|cause| shard.corrupt(table_end, format!("its config: {cause}")))?;
    if config != entry.config() {
        return Err(shard.corrupt(table_end, "its config is not what the index says"));
    }
    let mut end = first;
    for number in 0..entry.samples {
        let at = 4 * (number + 1);
        let range =
            sample_range(&raw, number).filter(|range| range.start as u64 == end).ok_or_else(
                || shard.corrupt(at, format!("the offsets of sample {number} are wrong")),
            )?;
        end = range.end as u64;
    }
    if end != raw.len() as u64 {
        let what = format!("the last sample ends at {end}, the shard at {}", raw.len());
        return Err(shard.corrupt(4 * (entry.samples + 1), what));
    }
    Ok(())
}

fn check_hashes(shard: &ShardFile, file: &FileInfo, bytes: &[u8]) -> Result<()> {
    let mut hashes = Hashes::new(file.hashes.keys());
    if hashes.is_empty() {
        return Ok(());
    }
    hashes.update(bytes);
    for (name, found) in hashes.finish() {
        let said = file.hashes.get(&name);
        if said != Some(&found) {
            let said = said.map_or("none", String::as_str);
            let what =
                format!("the {name} of `{}` is {found}, the index says {said}", file.basename);
            return Err(shard.corrupt(0, what));
        }
    }
    Ok(())
}

/// The done-record, where there is one.
fn check_record(shard: &ShardFile) -> Result<()> {
    let Some(stem) = shard.entry.raw_data.basename.strip_suffix(".mds") else { return Ok(()) };
    let path = record_path(&shard.folder, stem);
    if !path.is_file() {
        return Ok(());
    }
    let text = read_file(&path, MAX_RECORD_BYTES)?;
    let corrupt = |what: String| Error::corrupt(FORMAT, &path, 0, what);
    let record = Record::parse(&text).map_err(corrupt)?;
    let stored = shard.entry.zip_data.as_ref().unwrap_or(&shard.entry.raw_data);
    let agrees = record.entry == shard.entry
        && (&record.file, record.bytes) == (&stored.basename, stored.bytes)
        && record.samples == shard.entry.samples;
    if agrees { Ok(()) } else { Err(corrupt("it is not what the index says".to_owned())) }
}

pub(crate) fn sample(reader: &MdsReader, index: u64) -> Result<()> {
    let sample = reader.get(index)?;
    for (value, field) in sample.values.iter().zip(&reader.fields.schema.fields) {
        let Value::Image(image) = value else { continue };
        let complete = fdconvert_probe::probe(&image.bytes)
            .and_then(|header| fdconvert_probe::check_complete(&image.bytes, &header));
        complete.map_err(|what| {
            Error::sample(&sample.key, format!("field `{}`: {what}", field.name))
        })?;
    }
    Ok(())
}
