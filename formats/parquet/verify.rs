//! Checks of every rule of `SPEC.md`, on a whole dataset or on one sample.
use super::{
    ParquetReader,
    columns::{Column, How},
    file::File,
    layout::FORMAT,
    manifest::NAME,
    open::{Part, is_cell},
    record::Record,
};
use crate::{
    index::{Index, Range},
    shards::{RECORDS, record::read},
};
use fdconvert_core::{Encoded, Error, Result, Sample, Value};
use fdconvert_storage::place;
use std::path::Path;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Problems listed before the rest is dropped.
const MAX_LISTED: usize = 100;

pub(crate) fn layout(reader: &ParquetReader) -> Vec<Error> {
    let mut problems = Vec::new();
    if reader.manifest.is_none() && place::is_folder(&reader.path.join(RECORDS)) {
        // Packing begins with this folder, and ends with a manifest.
        let what = "it is missing: the dataset was not finished, or the file was removed";
        problems.push(Error::corrupt(FORMAT, reader.path.join(NAME), 0, what));
    }
    #[cfg(feature = "write")]
    if let Some(manifest) = &reader.manifest {
        problems.extend(super::card::problem(&reader.path, manifest));
    }
    for (part, path) in reader.parts.iter().zip(&reader.records) {
        problems.extend(record(part, path));
    }
    for part in &reader.parts {
        if let Some(problem) = &part.problem {
            problems.push(part.file.corrupt(0, problem.clone()));
        }
        tables(&part.file, &reader.facts.dropped_fields, &mut problems);
        if let Some(index) = &part.index {
            let errors = index.verify().into_iter();
            problems.extend(errors.map(|error| part.file.corrupt(0, error.to_string())));
            ranges(part, index, &mut problems);
        }
        #[cfg(feature = "write")]
        problems.extend(super::description::problem(reader, part));
        if problems.len() >= MAX_LISTED {
            let what = "there may be more problems: not all files were checked";
            problems.push(Error::corrupt(FORMAT, &*reader.path, 0, what));
            break;
        }
    }
    problems
}

/// Compares a file with its record.
fn record(part: &Part, path: &Path) -> Option<Error> {
    match read::<Record>(path) {
        Ok(Some(record)) if record.samples == part.file.n_rows => None,
        Ok(Some(_)) => {
            let what = "the file has not as many rows as its record says";
            Some(part.file.corrupt(0, what))
        }
        Ok(None) => Some(Error::corrupt(FORMAT, path, 0, "it is missing")),
        Err(error) => Some(error),
    }
}

/// The pages of all columns can be found.
fn tables(file: &File, dropped: &[String], problems: &mut Vec<Error>) {
    for group in 0..file.groups.len() {
        for (leaf, _) in file.leaves.iter().enumerate().filter(|(_, leaf)| !leaf.is_in(dropped)) {
            if problems.len() >= MAX_LISTED {
                return;
            }
            problems.extend(file.table(group, leaf).err());
        }
    }
}

/// The bytes between the images match their checksums, and each byte has a checksum.
fn ranges(part: &Part, index: &Index, problems: &mut Vec<Error>) {
    let file = &part.file;
    let mut images = Vec::new();
    for row in 0..index.n_samples() {
        let regions = (0..index.regions_per_sample()).filter_map(|at| index.region(row, at).ok());
        let places = regions.filter(|region| region.image.is_some());
        images.extend(places.map(|region| (region.offset, region.len)));
    }
    images.sort_unstable();
    let block = file.note.as_ref().map(|note| note.index);
    let mut end = 0;
    for range in index.ranges() {
        if let Some(block) = block.filter(|block| block.offset == end) {
            end = block.offset.saturating_add(block.len);
        }
        if range.offset != end {
            problems.push(file.corrupt(end, "bytes that no checksum is about"));
        }
        end = range.offset.saturating_add(range.len);
        let from = images.partition_point(|&(offset, _)| offset < range.offset);
        let to = images.partition_point(|&(offset, _)| offset < end);
        match between(file, range, images.get(from..to).unwrap_or_default()) {
            Ok(Some(xxh3)) if xxh3 == range.xxh3 => {}
            Ok(_) => {
                problems.push(file.corrupt(
                    range.offset,
                    format!("checksum mismatch in these {} bytes", range.len),
                ));
            }
            Err(error) => problems.push(error),
        }
        if problems.len() >= MAX_LISTED {
            return;
        }
    }
    if end != file.data.len() {
        problems.push(file.corrupt(end, "bytes that no checksum is about"));
    }
}

/// XXH3 of the bytes of a range outside the images; `None` if images overlap or exceed it.
fn between(file: &File, range: Range, images: &[(u64, u64)]) -> Result<Option<u64>> {
    let (mut at, end) = (range.offset, range.offset.saturating_add(range.len));
    let mut hash = Xxh3::new();
    for &(offset, len) in images.iter().chain([&(end, 0)]) {
        let gap = offset.checked_sub(at).map(|len| file.data.read(at, len)).transpose()?;
        let Some(gap) = gap.flatten() else { return Ok(None) };
        hash.update(&gap);
        at = offset.saturating_add(len);
    }
    Ok((at == end).then(|| hash.digest()))
}

/// Checks a sample, with its checksums in a file of fdconvert, and the header of each image against
/// its declared codec and size.
pub(crate) fn sample(reader: &ParquetReader, index: u64) -> Result<()> {
    for value in compared(reader, index)?.values {
        if let Value::Image(image) = value {
            let header = fdconvert_core::probe::probe(&image.bytes);
            let header = header.map_err(|what| reader.bad(index, what))?;
            let found = (header.codec, header.width, header.height);
            if found != (image.codec, image.width, image.height) {
                return Err(reader.bad(index, "its image is another one than the index says"));
            }
        }
    }
    Ok(())
}

/// Reads a sample and compares its values with their checksums.
pub(crate) fn compared(reader: &ParquetReader, index: u64) -> Result<Sample<Encoded>> {
    use fdconvert_core::Reader as _;
    let (_, part, row) = reader.part_of(index)?;
    let Some(block) = &part.index else { return reader.get(index) };
    let mut read = reader.get(index)?;
    if check(block, row, &mut read).is_ok() {
        return Ok(read);
    }
    // Earlier damage may have been temporary.
    reader.cache.clear();
    let mut read = reader.get(index)?;
    check(block, row, &mut read).map_err(|what| reader.bad(index, what))?;
    Ok(read)
}

fn check(block: &Index, row: u64, sample: &mut Sample<Encoded>) -> Result<(), String> {
    let mut position = 0;
    for value in &mut sample.values {
        if matches!(value, Value::Int(_) | Value::Float(_)) {
            continue;
        }
        let xxh3 = check_region(block, (row, position), value)?;
        position += 1;
        if let Value::Image(image) = value {
            image.xxh3 = Some(xxh3);
        }
    }
    Ok(())
}

/// Compares a value with the checksum of its region, and returns that.
fn check_region(
    block: &Index,
    (row, position): (u64, u32),
    value: &Value<Encoded>,
) -> Result<u64, String> {
    let region = block.region(row, position).map_err(|error| error.to_string())?;
    let bytes: &[u8] = match value {
        Value::Images(images) if xxh3_of_list(images) == region.xxh3 => return Ok(region.xxh3),
        Value::Images(_) => return Err("the checksum of its list does not match".to_owned()),
        Value::Image(image) => &image.bytes,
        Value::Text(text) => text.as_bytes(),
        Value::Bytes(bytes) | Value::Json(bytes) | Value::Array(bytes) => bytes,
        _ => return Err("a kind of value that is not known".to_owned()),
    };
    if xxh3_64(bytes) != region.xxh3 {
        return Err(format!("the checksum of {} bytes does not match", bytes.len()));
    }
    Ok(region.xxh3)
}

/// XXH3 of a list of images: of the length of each, in 4 bytes, and its bytes, as a page has them.
pub(super) fn xxh3_of_list(images: &[Encoded]) -> u64 {
    let mut hash = Xxh3::new();
    for image in images {
        // A page holds no image of 4 GiB.
        hash.update(&(image.bytes.len() as u32).to_le_bytes());
        hash.update(&image.bytes);
    }
    hash.digest()
}

/// Reads a value of a sample alone, and compares it with its checksum; `None` if it has to be read
/// with the sample, which tells what is wrong.
pub(crate) fn value(
    reader: &ParquetReader,
    index: u64,
    field: usize,
) -> Result<Option<Value<Encoded>>> {
    let (_, part, row) = reader.part_of(index)?;
    let value =
        reader.stored_value(index, field).map_err(|error| reader.of_sample(index, error))?;
    let Some(block) = &part.index else { return Ok(Some(value)) };
    let is_stored = |column: &&Column| !matches!(column.how, How::Constant(_));
    let Some(_) = part.columns.get(field).filter(is_stored) else { return Ok(Some(value)) };
    let before = part.columns.iter().take(field).filter(is_stored);
    let position = before.filter(|column| !is_cell(&column.field.kind)).count();
    let position = u32::try_from(position).unwrap_or(u32::MAX);
    let checked = check_region(block, (row, position), &value);
    Ok(checked.is_ok().then_some(value))
}
