//! Checks of every rule of `SPEC.md`, on a whole dataset or on one sample.
use crate::index::{Index, IndexError, Region, is_same};
use crate::mds::{
    MdsReader,
    hash::Hashes,
    layout::{Config, FORMAT, FileInfo, config_offset, within_split},
    python_json::dumps,
    reader::{Stored, bad},
    record::Record,
    shard::{ShardFile, sample_range},
    sidecar::is_cell,
};
use crate::shards::{
    RECORDS, combined,
    manifest::{self, FileFacts},
    record::read,
    record_path,
};
use fdconvert_core::{Codec, Encoded, Error, Result, Sample, Value, bytes::u32_at};
use fdconvert_storage::read_file;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

/// Problems listed before the rest is dropped: one shifted table would give thousands.
const MAX_LISTED: usize = 100;
const MAX_RECORD_BYTES: u64 = 1 << 28;

pub(crate) fn layout(reader: &MdsReader) -> Vec<Error> {
    let mut problems = Vec::new();
    if let Some(problem) = &reader.problem {
        let path = reader.path.join(manifest::NAME);
        problems.push(Error::corrupt(FORMAT, path, 0, problem.clone()));
    }
    for file in reader.manifest.iter().flat_map(|manifest| &manifest.files) {
        if let Err(error) = check_file(&reader.files.path(&file.name), file) {
            problems.push(error);
        }
    }
    if let Some(combined) = reader.manifest.as_ref().and_then(|it| it.combined.as_ref()) {
        let index = |shard: &ShardFile| shard.index.path().cloned();
        let indexes: Vec<_> = reader.shards.iter().filter_map(index).collect();
        let path = reader.files.path(&combined.name);
        problems.extend(combined::verify(FORMAT, &path, combined, &indexes));
    }
    for (number, shard) in reader.shards.iter().enumerate() {
        if problems.len() >= MAX_LISTED {
            let what = "there may be more problems: not all shards were checked";
            problems.push(Error::corrupt(FORMAT, &reader.path, 0, what));
            break;
        }
        if let Err(error) = check_shard(reader, shard) {
            problems.push(error);
        }
        if let Err(error) = check_record(reader, number, shard) {
            problems.push(error);
        }
        match reader.index_of(shard) {
            Ok(None) => {}
            Ok(Some(index)) => {
                let errors = index.verify().into_iter();
                problems.extend(errors.map(|error| shard.corrupt(0, error.to_string())));
            }
            Err(what) => problems.push(shard.corrupt(0, what)),
        }
    }
    problems
}

/// A file in the manifest has the contents that were written.
fn check_file(path: &Path, said: &FileFacts) -> Result<()> {
    let text = read_file(path, said.bytes.max(MAX_RECORD_BYTES))?;
    if FileFacts::new(said.name.clone(), &text) == *said {
        return Ok(());
    }
    let what = "it is not what was written when the dataset was completed";
    Err(Error::corrupt(FORMAT, path, 0, what))
}

/// The first problem of a shard: its consequences would only hide it.
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
    let config = config.ok_or_else(|| shard.corrupt(4, "the first sample overlaps the table"))?;
    // fdconvert wrote the shards named in the manifest, so every byte is known.
    let is_ours = matches!(reader.index_of(shard), Ok(Some(_)));
    if is_ours && config != dumps(&entry.config()) {
        return Err(shard.corrupt(table_end, "its config is not what the index says"));
    }
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

fn check_record(reader: &MdsReader, number: usize, shard: &ShardFile) -> Result<()> {
    let Some(stem) = shard.entry.raw_data.basename.strip_suffix(".mds") else { return Ok(()) };
    let manifest = reader.manifest.as_ref();
    let path = match manifest.and_then(|manifest| manifest.shards.get(number)) {
        Some(named) => {
            let within = within_split(&named.split)?;
            reader.files.path(&format!("{within}{RECORDS}/{stem}.json"))
        }
        None => record_path(&shard.folder, stem),
    };
    let Some(record) = read::<Record>(&path)? else { return Ok(()) };
    let corrupt = |what: String| Error::corrupt(FORMAT, &path, 0, what);
    let stored = shard.entry.zip_data.as_ref().unwrap_or(&shard.entry.raw_data);
    let agrees = record.entry == shard.entry
        && (&record.file, record.bytes) == (&stored.basename, stored.bytes)
        && record.samples == shard.entry.samples;
    if agrees { Ok(()) } else { Err(corrupt("it is not what the index says".to_owned())) }
}

/// Reads a sample and compares its values with the index.
pub(crate) fn compared(reader: &MdsReader, index: u64) -> Result<Sample<Encoded>> {
    let mut sample = reader.sample(index)?;
    let shard = reader.shard_of(index)?;
    // A damaged or missing index is a problem of the shard.
    if let Ok(Some(block)) = reader.index_of(shard) {
        agree(reader, block, index, &mut sample)
            .map_err(|what| bad(shard, index, Some(&sample.key), &what))?;
    }
    Ok(sample)
}

pub(crate) fn sample(reader: &MdsReader, index: u64) -> Result<()> {
    let sample = compared(reader, index)?;
    for (value, field) in sample.values.iter().zip(&reader.facts.schema.fields) {
        // Of pixels from `pil` the number was checked on reading.
        for image in value.images().iter().filter(|image| image.codec != Codec::Raw) {
            let complete = fdconvert_core::probe::probe(&image.bytes)
                .and_then(|header| fdconvert_core::probe::check_complete(&image.bytes, &header));
            complete.map_err(|what| {
                Error::sample(&sample.key, format!("field `{}`: {what}", field.name))
            })?;
        }
    }
    Ok(())
}

/// Compares a sample with the index: key, numbers, and place and checksum of every value.
fn agree(
    reader: &MdsReader,
    block: &Index,
    index: u64,
    sample: &mut Sample<Encoded>,
) -> Result<(), String> {
    let stored = reader.stored(index).map_err(|error| error.to_string())?;
    let number = index - reader.shard_of(index).map_or(0, |shard| shard.first);
    let damaged = |error: IndexError| error.to_string();
    if block.key(number).map_err(damaged)? != Some(sample.key.as_str()) {
        return Err("its key is not the one in the index".into());
    }
    let row = block.row(number).map_err(damaged)?.unwrap_or_default();
    let (mut cells, mut region) = (row.chunks_exact(8), 0);
    let fields = reader.facts.schema.fields.iter().zip(&reader.fields.columns);
    for ((field, &column), value) in fields.zip(&mut sample.values) {
        let bytes = stored.value(column);
        let wrong = |what: &str| Err(format!("field `{}`: {what}", field.name));
        if is_cell(field) {
            if cells.next() != Some(&bytes[..]) {
                return wrong("its number is not the one in the index");
            }
            continue;
        }
        let said = check_bytes(&stored, column, block, (number, region));
        let said = said.map_err(|what| format!("field `{}`: {what}", field.name))?;
        region += 1;
        let facts = match value {
            Value::Image(image) => Some((image.codec, image.width, image.height)),
            _ => None,
        };
        if said.image.map(|said| (said.codec, said.width, said.height)) != facts {
            return wrong("shard and index disagree on its image");
        }
        if let Value::Image(image) = value
            && is_same(&image.bytes, &bytes)
        {
            image.xxh3 = Some(said.xxh3);
        }
    }
    Ok(())
}

/// Compares the bytes of a value with place and checksum in the index.
fn check_bytes(
    stored: &Stored<'_>,
    column: usize,
    block: &Index,
    (number, region): (u64, u32),
) -> Result<Region, String> {
    let said = block.region(number, region).map_err(|error| error.to_string())?;
    let bytes = stored.value(column);
    if (said.offset, said.len) != (stored.offset(column), bytes.len() as u64) {
        return Err("shard and index disagree on where its bytes are".into());
    }
    if said.xxh3 != xxh3_64(&bytes) {
        return Err(format!("the checksum of its {} bytes does not match", bytes.len()));
    }
    Ok(said)
}

/// Reads a value of a sample alone, and compares it with the index.
pub(crate) fn value(reader: &MdsReader, index: u64, field: usize) -> Result<Value<Encoded>> {
    let stored = reader.stored(index)?;
    let shard = reader.shard_of(index)?;
    let fields = &reader.facts.schema.fields;
    let (Some(spec), Some(&column)) = (fields.get(field), reader.fields.columns.get(field)) else {
        return Err(Error::usage("field", format!("there is no field {field}")));
    };
    let refuse = |what: String| bad(shard, index, None, format!("field `{}`: {what}", spec.name));
    // A damaged or missing index is a problem of the shard.
    if let Ok(Some(block)) = reader.index_of(shard) {
        let before = fields.iter().take(field).filter(|field| !is_cell(field)).count();
        let place = (index - shard.first, u32::try_from(before).unwrap_or(u32::MAX));
        check_bytes(&stored, column, block, place).map_err(refuse)?;
    }
    reader.stored_value(shard, spec, column, stored.value(column)).map_err(refuse)
}
