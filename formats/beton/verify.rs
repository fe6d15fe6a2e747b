//! Checks of every rule of `SPEC.md`, on a whole file or on one sample.
use crate::beton::{
    BetonReader,
    layout::{Column, FORMAT, ImageCell, MODE_RAW, Storage},
};
use crate::index::Range;
use fdconvert_core::{Codec, Encoded, Error, Reader as _, Result, Sample, Value, bytes::u64_at};
use xxhash_rust::xxh3::xxh3_64;

/// Problems listed before the rest is only counted: a shifted table gives one for every sample.
const MAX_LISTED: usize = 100;

/// Zeros to compare gaps with.
static ZEROS: [u8; 4096] = [0; 4096];

/// Collects problems, and counts those it does not list.
struct Problems<'a> {
    reader: &'a BetonReader,
    listed: Vec<Error>,
    n_more: u64,
}

impl Problems<'_> {
    fn add(&mut self, offset: u64, what: impl FnOnce() -> String) {
        if self.listed.len() < MAX_LISTED {
            self.listed.push(Error::corrupt(FORMAT, &*self.reader.path, offset, what()));
        } else {
            self.n_more += 1;
        }
    }
}

pub(crate) fn layout(reader: &BetonReader) -> Vec<Error> {
    let mut problems = Problems { reader, listed: Vec::new(), n_more: 0 };
    header(reader, &mut problems);
    index(reader, &mut problems);
    table(reader, &mut problems);
    rows(reader, &mut problems);
    gaps(reader, &mut problems);
    let n_more = problems.n_more;
    if n_more > 0 {
        let what = format!("{n_more} more problems");
        problems.listed.push(Error::corrupt(FORMAT, &*reader.path, 0, what));
    }
    problems.listed
}

fn header(reader: &BetonReader, problems: &mut Problems<'_>) {
    let header = &reader.header;
    if !header.page_bytes.is_power_of_two() {
        problems.add(4, || format!("the page size {} is not a power of two", header.page_bytes));
    }
    let (n_entries, n_trailing) = (reader.table.n_entries(), reader.table.n_trailing());
    if n_trailing != 0 {
        let at = reader.data.len() - n_trailing;
        problems.add(at, || format!("{n_trailing} bytes after the last whole table entry"));
    }
    let expected = header.n_samples.checked_mul(u64::from(reader.layout.n_regions));
    if expected != Some(n_entries) {
        problems.add(header.table_offset, || {
            format!(
                "the table has {n_entries} entries for {} samples of {} stored values",
                header.n_samples, reader.layout.n_regions
            )
        });
    }
}

fn index(reader: &BetonReader, problems: &mut Problems<'_>) {
    if let Some(problem) = &reader.index_problem {
        problems.add(reader.header.table_offset, || problem.clone());
    }
    let Some(index) = &reader.index else { return };
    for error in index.verify() {
        problems.add(index.data_len(), || error.to_string());
    }
    for range in index.ranges() {
        match is_sound(reader, &range) {
            Ok(true) => {}
            Ok(false) => problems.add(range.offset, || bad_range(&range)),
            Err(error) => problems.listed.push(error),
        }
    }
}

/// Returns true if a part of the file outside the values matches its checksum.
fn is_sound(reader: &BetonReader, range: &Range) -> Result<bool> {
    let bytes = reader.data.read(range.offset, range.len)?;
    Ok(bytes.is_some_and(|bytes| xxh3_64(&bytes) == range.xxh3))
}

fn bad_range(range: &Range) -> String {
    format!("the checksum of the {} bytes from here does not match", range.len)
}

/// Checks the index's tables, the header and the rows against their checksums; only then can rows
/// be trusted. A file without an index has no checksums.
pub(crate) fn tables(reader: &BetonReader) -> Result<(), String> {
    if let Some(problem) = &reader.index_problem {
        return Err(problem.clone());
    }
    let Some(index) = &reader.index else { return Ok(()) };
    index.check_tables().map_err(|error| error.to_string())?;
    for range in index.ranges() {
        if !is_sound(reader, &range).map_err(|error| error.chain())? {
            return Err(format!("at byte {}: {}", range.offset, bad_range(&range)));
        }
    }
    Ok(())
}

/// The bytes between values are zero. Only checked in fdconvert's files: FFCV leaves the remains of
/// samples that a worker started over in the next page.
fn gaps(reader: &BetonReader, problems: &mut Problems<'_>) {
    let Some(index) = &reader.index else { return };
    let values = reader.table.entries().filter(|entry| entry.len > 0);
    let mut values: Vec<_> =
        values.map(|entry| (entry.pointer, entry.pointer.saturating_add(entry.len))).collect();
    values.sort_unstable();
    let mut gap_start = reader.rows_end();
    for (start, end) in values.into_iter().chain([(index.data_len(), u64::MAX)]) {
        let len = start.checked_sub(gap_start);
        let gap = match len.map_or(Ok(None), |len| reader.data.read(gap_start, len)) {
            Ok(gap) => gap.unwrap_or_default(),
            Err(error) => {
                problems.listed.push(error);
                return;
            }
        };
        // Compares whole blocks at once: gaps are most of a small file.
        let blocks = gap.chunks(ZEROS.len()).zip((gap_start..).step_by(ZEROS.len()));
        let broken = blocks.filter(|(block, _)| ZEROS.get(..block.len()) != Some(*block));
        let at = broken
            .map(|(block, at)| at + block.iter().take_while(|&&byte| byte == 0).count() as u64);
        if let Some(at) = at.min() {
            problems.add(at, || "a byte between the values is not zero; no sample has it".into());
        }
        gap_start = gap_start.max(end);
    }
}

/// Every entry is inside one page of the data, and two values overlap only if they are the same.
fn table(reader: &BetonReader, problems: &mut Problems<'_>) {
    let page_bytes = u64::from(reader.header.page_bytes).max(1);
    let offset = |number: u64| reader.header.table_offset + number * 24;
    let mut places = Vec::new();
    for (number, entry) in (0_u64..).zip(reader.table.entries()) {
        if entry.sample >= reader.header.n_samples {
            problems.add(offset(number), || format!("an entry of sample {}", entry.sample));
        }
        if entry.len == 0 {
            continue;
        }
        match entry.pointer.checked_add(entry.len) {
            Some(end) if entry.pointer >= reader.rows_end() && end <= reader.data_end() => {
                if entry.pointer / page_bytes != (end - 1) / page_bytes {
                    problems.add(offset(number), || {
                        format!("{} bytes at {} cross a page", entry.len, entry.pointer)
                    });
                }
                places.push((entry.pointer, end));
            }
            _ => problems.add(offset(number), || {
                format!("{} bytes at {} are outside the data", entry.len, entry.pointer)
            }),
        }
    }
    places.sort_unstable();
    places.dedup();
    for pair in places.windows(2) {
        if let [(_, end), (next, _)] = pair
            && next < end
        {
            problems.add(*next, || format!("values overlap: one ends at {end}"));
        }
    }
}

/// Every value that a row points to has an entry, and the values of a sample share a page.
fn rows(reader: &BetonReader, problems: &mut Problems<'_>) {
    let page_bytes = u64::from(reader.header.page_bytes).max(1);
    let mut known: Vec<_> =
        reader.table.entries().map(|entry| (entry.sample, entry.pointer, entry.len)).collect();
    known.sort_unstable();
    for sample in 0..reader.header.n_samples {
        let at = reader.row_offset(sample);
        let Ok(row) = reader.row(sample) else { return };
        let mut page = None;
        for column in &reader.layout.columns {
            let Some((pointer, len)) = place(row, column) else { continue };
            let of_sample = known.partition_point(|&entry| entry < (sample, pointer, 0));
            let entries = known.get(of_sample..).unwrap_or_default().iter();
            let mut entries = entries
                .take_while(|entry| (entry.0, entry.1) == (sample, pointer))
                .map(|&(_, _, found)| found);
            // Without a length in the row, any entry that is not empty will do.
            let found = match len {
                Some(len) => entries.find(|&found| found == len),
                None => entries.find(|&found| found > 0),
            };
            match found {
                None => problems.add(at, || {
                    format!("sample {sample}: no table entry for its bytes at {pointer}")
                }),
                Some(0) => {}
                Some(_) if *page.get_or_insert(pointer / page_bytes) != pointer / page_bytes => {
                    problems.add(at, || format!("sample {sample} is in several pages"));
                }
                Some(_) => {}
            }
        }
    }
}

/// Pointer, and length if the row fixes it, of a value stored outside the row.
fn place(row: &[u8], column: &Column) -> Option<(u64, Option<u64>)> {
    let at = column.offset;
    match &column.storage {
        Storage::Int | Storage::Float => None,
        Storage::Bytes | Storage::Json => Some((u64_at(row, at)?, Some(u64_at(row, at + 8)?))),
        Storage::Array(len) => Some((u64_at(row, at)?, Some(*len))),
        Storage::Image => {
            let cell = ImageCell::parse(row, at)?;
            let raw_len = u64::from(cell.width) * u64::from(cell.height) * 3;
            Some((cell.pointer, (cell.mode == MODE_RAW).then_some(raw_len)))
        }
    }
}

/// Checks bounds and sizes by reading the sample, checksums by the index, and the header of the
/// image: if it does not match the row, FFCV shows wrong pixels without an error.
pub(crate) fn sample(reader: &BetonReader, sample: u64) -> Result<()> {
    let read = compared(reader, sample)?;
    for (column, value) in reader.layout.columns.iter().zip(&read.values) {
        let check = if column.storage == Storage::Image { check_image } else { check_file };
        for image in value.images() {
            check(image).map_err(|what| reader.bad_sample(sample, &what))?;
        }
    }
    Ok(())
}

/// Reads a sample and compares its values with the index.
pub(crate) fn compared(reader: &BetonReader, sample: u64) -> Result<Sample<Encoded>> {
    let row = reader.row(sample)?;
    let mut read = reader.get(sample)?;
    for (column, value) in reader.layout.columns.iter().zip(&mut read.values) {
        compare(reader, (sample, row), column, value)?;
    }
    Ok(read)
}

/// Compares a value that was read with the index.
pub(crate) fn compare(
    reader: &BetonReader,
    (sample, row): (u64, &[u8]),
    column: &Column,
    value: &mut Value<Encoded>,
) -> Result<()> {
    let Some(region) = column.region else { return Ok(()) };
    let Some((pointer, len)) = place(row, column) else { return Ok(()) };
    let len = match len {
        Some(len) => len,
        None => reader.image_len(sample, region, pointer)?,
    };
    let stored = match &*value {
        // Already read; do not fetch it again.
        Value::Image(image) if image.bytes.len() as u64 == len => image.bytes.clone(),
        _ => reader.region(sample, pointer, len)?,
    };
    let image = match value {
        Value::Image(image) => Some(image),
        _ => None,
    };
    let xxh3 = check_index(reader, sample, region, (pointer, &stored), image.as_deref())
        .map_err(|what| reader.bad_sample(sample, &what))?;
    if column.storage == Storage::Json && stored.last() != Some(&0) {
        return Err(reader.bad_sample(sample, "its JSON does not end with a NUL"));
    }
    if let Some(image) = image {
        image.xxh3 = xxh3;
    }
    Ok(())
}

/// Checks a value against the index, if there is one; returns the checksum.
fn check_index(
    reader: &BetonReader,
    sample: u64,
    region: u32,
    (pointer, stored): (u64, &[u8]),
    image: Option<&Encoded>,
) -> Result<Option<u64>, String> {
    let Some(index) = &reader.index else { return Ok(None) };
    let said = index.region(sample, region).map_err(|error| error.to_string())?;
    if (said.offset, said.len) != (pointer, stored.len() as u64) {
        return Err(format!("row and index disagree on where its bytes are: {pointer}"));
    }
    if xxh3_64(stored) != said.xxh3 {
        let len = stored.len();
        return Err(format!("the checksum of its {len} bytes at {pointer} does not match"));
    }
    let row = image.map(|image| (image.codec, image.width, image.height));
    if said.image.map(|said| (said.codec, said.width, said.height)) != row {
        return Err("row and index disagree on its image".into());
    }
    Ok(Some(said.xxh3))
}

/// The header of an image file must match the index.
fn check_file(image: &Encoded) -> Result<(), String> {
    let header = fdconvert_core::probe::probe(&image.bytes)?;
    if (header.codec, header.width, header.height) != (image.codec, image.width, image.height) {
        return Err("its index and its image disagree".into());
    }
    fdconvert_core::probe::check_complete(&image.bytes, &header).map(|_| ())
}

fn check_image(image: &Encoded) -> Result<(), String> {
    if image.codec != Codec::Jpeg {
        return Ok(());
    }
    if !image.bytes.starts_with(&[0xff, 0xd8]) {
        return Err("its image does not start as a JPEG does".into());
    }
    let header = fdconvert_core::probe::probe(&image.bytes)?;
    if (header.codec, header.width, header.height) != (image.codec, image.width, image.height) {
        return Err(format!(
            "its row says {}x{}, its JPEG {}x{}",
            image.width, image.height, header.width, header.height
        ));
    }
    Ok(())
}
