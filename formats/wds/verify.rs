//! Checks of every rule of `SPEC.md`, on a whole dataset or on one sample.
use crate::index::Index;
use crate::members;
use crate::shards::{
    RECORDS, combined, manifest::FileFacts, record::read, record_path, versions::Files,
};
use crate::wds::{
    WdsReader, fields,
    format::FORMAT,
    list::Lists,
    names::Column,
    record::Record,
    scan::{Member, samples},
    shard::{Contents, IndexProblem, Refusal, Shard, Slot},
};
use bytes::Bytes;
use fdconvert_core::{Encoded, Error, FieldSpec, Kind, Reader as _, Remark, Result, Sample, Value};
use fdconvert_storage::place;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

/// Problems listed per shard before the rest is only counted.
const MAX_LISTED: usize = 100;

struct Problems<'a> {
    path: &'a Path,
    listed: Vec<Error>,
    n_more: u64,
}

impl Problems<'_> {
    fn add(&mut self, offset: u64, what: impl Into<Remark>) {
        if self.listed.len() < MAX_LISTED {
            self.listed.push(Error::corrupt(FORMAT, self.path, offset, what));
        } else {
            self.n_more += 1;
        }
    }
}

pub(crate) fn layout(reader: &WdsReader) -> Vec<Error> {
    let mut all = Vec::new();
    for (number, shard) in reader.shards.iter().enumerate() {
        let mut problems = Problems { path: &shard.path, listed: Vec::new(), n_more: 0 };
        if let Some(problem) = shard.index_problem.as_ref().map(IndexProblem::what) {
            problems.add(0, problem);
        }
        let archive = match shard.archive.whole() {
            Ok(archive) => archive,
            Err(error) => {
                all.push(error);
                continue;
            }
        };
        match &shard.contents {
            Contents::Indexed(index) => {
                for error in index.verify() {
                    problems.add(0, error.to_string());
                }
                Framing { reader, shard, index, archive: &archive }.check(&mut problems);
            }
            Contents::Scanned(scanned) => {
                for (name, count) in scanned.extra() {
                    let name = String::from_utf8_lossy(name);
                    let what = format!(
                        "{count} members called `{name}` are no field of the dataset and are not read"
                    );
                    problems.add(0, what);
                }
            }
        }
        let xxh3 = format!("{:016x}", xxh3_64(&archive));
        let found = (shard.archive.len(), shard.len(), xxh3);
        if let Some(path) = record_of(reader, number, shard) {
            record(&path, &found, &mut problems);
        }
        let facts = reader.manifest.as_ref().and_then(|manifest| manifest.shards.get(number));
        if let Some(facts) = facts
            && (facts.bytes, facts.samples, &facts.xxh3) != (found.0, found.1, &found.2)
        {
            problems.add(0, "bytes, samples or checksum are not what the manifest says");
        }
        if problems.n_more > 0 {
            let what = format!("{} more problems", problems.n_more);
            problems.listed.push(Error::corrupt(FORMAT, &*shard.path, 0, what));
        }
        all.append(&mut problems.listed);
    }
    if let Some(manifest) = &reader.manifest {
        let sum: u64 = manifest.shards.iter().map(|shard| shard.samples).sum();
        if sum != manifest.samples {
            let what = format!("{} samples, but {sum} in its shards", manifest.samples);
            all.push(Error::corrupt(
                FORMAT,
                reader.path.join(crate::shards::manifest::NAME),
                0,
                what,
            ));
        }
        all.extend(manifest.sidecars.iter().filter_map(|file| sidecar(&reader.files, file)));
        if let Some(combined) = &manifest.combined {
            let path = reader.files.path(&combined.name);
            all.extend(combined::verify(FORMAT, &path, combined, &manifest.indexes(&reader.files)));
        }
    } else if place::is_folder(&reader.path.join(RECORDS)) {
        // A writer of done-records also writes a manifest in the end.
        let what = "it is missing: the dataset was not finished, or the file was removed";
        all.push(Error::corrupt(FORMAT, reader.path.join(crate::shards::manifest::NAME), 0, what));
    }
    all
}

/// Checks that a tar and its index agree on every sample, so that other readers see the same
/// samples.
struct Framing<'a> {
    reader: &'a WdsReader,
    shard: &'a Shard,
    index: &'a Index,
    archive: &'a Bytes,
}

impl Framing<'_> {
    fn check(&self, problems: &mut Problems<'_>) {
        let Self { reader, index, .. } = self;
        let order = fields::order(&reader.facts.schema);
        let lists = Lists::of_columns(&reader.columns);
        let mut n_samples = 0;
        for sample in samples(self.archive, &lists) {
            let members = match sample {
                Ok((_, members)) => members,
                Err(error) => {
                    problems.add(error.offset, error.what);
                    return;
                }
            };
            let at = members.first().map_or(0, |member| member.header);
            let n_members = members.len();
            let Some(members) = self.by_field(members, &order) else {
                let (found, wanted) = (n_members, order.len());
                problems.add(at, format!("a sample of {found} members for {wanted} fields"));
                return;
            };
            for (member, &column) in members.iter().zip(&order) {
                let is_other =
                    |column: &Column| !member.name.is_empty() && !column.takes(&member.name);
                if reader.columns.get(column).is_some_and(is_other) {
                    let name = String::from_utf8_lossy(&member.name);
                    problems.add(member.header, format!("`{name}` is not the field expected here"));
                }
                let (field, slot) = (&reader.facts.schema.fields[column], reader.slots[column]);
                if let Err(what) = self.agree(n_samples, field, slot, member) {
                    let of = format!("sample {n_samples}, field `{}`", field.name);
                    problems.add(member.data, what.reworded(|what| format!("{of}: {what}")));
                }
            }
            n_samples += 1;
        }
        if n_samples != index.n_samples() {
            problems.add(0, format!("{n_samples} samples, its index has {}", index.n_samples()));
        }
    }

    /// The members of a sample in the order of its fields, one for each: those of an empty list have
    /// neither name nor bytes. `None` if there are more or fewer.
    fn by_field(&self, members: Vec<Member>, order: &[usize]) -> Option<Vec<Member>> {
        let mut members = members.into_iter().peekable();
        let mut found = Vec::with_capacity(order.len());
        for &column in order {
            let is_list = self.reader.facts.schema.fields.get(column)?.kind == Kind::Images;
            let takes = |member: &Member| {
                self.reader.columns.get(column).is_some_and(|column| column.takes(&member.name))
            };
            found.push(match members.next_if(|member| !is_list || takes(member)) {
                Some(member) => member,
                None if is_list => Member { name: Vec::new(), header: 0, data: 0, len: 0 },
                None => return None,
            });
        }
        members.next().is_none().then_some(found)
    }

    fn agree(
        &self,
        sample: u64,
        field: &FieldSpec,
        slot: Slot,
        member: &Member,
    ) -> Result<(), Remark> {
        let stored = || members::decode(&field.kind, self.archive.slice(member.range()));
        match slot {
            Slot::Cell(_) => {
                let said = self.shard.value(sample, 0, field, slot);
                let said = said.map_err(Refusal::into_remark)?;
                let stored = stored()?;
                let same = match (&stored, &said) {
                    (Value::Float(a), Value::Float(b)) => a == b || (a.is_nan() && b.is_nan()),
                    _ => stored == said,
                };
                if same { Ok(()) } else { Err("tar and index have different numbers".into()) }
            }
            Slot::Region(region) => {
                let region =
                    self.index.region(sample, region).map_err(|error| error.to_string())?;
                let header = match &field.kind {
                    Kind::Array(_) => {
                        // Also checks type and shape.
                        stored()?;
                        member.len - region.len.min(member.len)
                    }
                    _ => 0,
                };
                let place = (member.data + header, member.len - header);
                let are_empty = member.name.is_empty() && region.len == 0;
                if place == (region.offset, region.len) || are_empty {
                    Ok(())
                } else {
                    let at = member.data;
                    Err(format!("tar and index disagree on where its bytes are: {at}").into())
                }
            }
        }
    }
}

/// Returns the path of a shard's done-record.
fn record_of(reader: &WdsReader, number: usize, shard: &Shard) -> Option<PathBuf> {
    let facts = reader.manifest.as_ref().and_then(|manifest| manifest.shards.get(number));
    if let Some(stem) = facts.and_then(|facts| facts.name.strip_suffix(".tar")) {
        return Some(reader.files.path(&format!("{RECORDS}/{stem}.json")));
    }
    Some(record_path(shard.path.parent()?, shard.path.file_stem()?.to_str()?))
}

/// The done-record, if any, describes this file.
fn record(path: &Path, found: &(u64, u64, String), problems: &mut Problems<'_>) {
    match read::<Record>(path) {
        Ok(None) => {}
        Ok(Some(record)) => {
            if (record.bytes, record.samples) != (found.0, found.1) {
                problems.add(0, "bytes or samples are not what its record says");
            } else if record.shard_xxh3 != found.2 {
                problems.add(0, "the checksum in its record does not match");
            }
        }
        Err(error) => problems.listed.push(error),
    }
}

fn sidecar(files: &Files, file: &FileFacts) -> Option<Error> {
    let path = files.path(&file.name);
    match place::whole(&path) {
        Err(error) => Some(error),
        Ok(bytes) => {
            let what = "it is not what was written when the dataset was completed";
            (FileFacts::new(file.name.clone(), &bytes) != *file)
                .then(|| Error::corrupt(FORMAT, &path, 0, what))
        }
    }
}

/// Checks bounds and kinds by reading the sample, checksums if there is an index, and the headers
/// of its images.
pub(crate) fn sample(reader: &WdsReader, number: u64) -> Result<()> {
    let read = compared(reader, number)?;
    for (field, value) in reader.facts.schema.fields.iter().zip(&read.values) {
        for image in value.images() {
            check_image(image).map_err(|what| {
                reader.bad_sample(number, format!("field `{}`: {what}", field.name))
            })?;
        }
    }
    Ok(())
}

/// Reads a sample and compares its values with the checksums of the index.
pub(crate) fn compared(reader: &WdsReader, number: u64) -> Result<Sample<Encoded>> {
    let (shard, local) = reader.locate(number)?;
    let mut read = reader.get(number)?;
    for (column, value) in read.values.iter_mut().enumerate() {
        compare(reader, number, (shard, local), column, value)?;
    }
    Ok(read)
}

/// Reads a value of a sample alone, and compares it with its checksum.
pub(crate) fn value(reader: &WdsReader, number: u64, column: usize) -> Result<Value<Encoded>> {
    let (shard, local) = reader.locate(number)?;
    let (Some(field), Some(&slot)) =
        (reader.facts.schema.fields.get(column), reader.slots.get(column))
    else {
        return Err(Error::usage("field", format!("there is no field {column}")));
    };
    let value = shard.value(local, column, field, slot);
    let mut value = value.map_err(|refusal| reader.refused(number, field, refusal))?;
    compare(reader, number, (shard, local), column, &mut value)?;
    Ok(value)
}

/// Compares a value that was read with the checksum of the index, if there is one.
fn compare(
    reader: &WdsReader,
    number: u64,
    (shard, local): (&Shard, u64),
    column: usize,
    value: &mut Value<Encoded>,
) -> Result<()> {
    let Contents::Indexed(index) = &shard.contents else { return Ok(()) };
    let Slot::Region(region) = reader.slots[column] else { return Ok(()) };
    // Use the bytes just read: fetching them again may be expensive.
    let read = match &*value {
        Value::Image(image) => Some(&image.bytes),
        _ => None,
    };
    let xxh3 = checksum(shard, index, local, region, read).map_err(|refusal| {
        let field = &reader.facts.schema.fields[column];
        refusal.into_error(|what| {
            let what = what.reworded(|what| format!("field `{}`: {what}", field.name));
            reader.bad_sample(number, what)
        })
    })?;
    if let Value::Image(image) = value {
        image.xxh3 = Some(xxh3);
    }
    Ok(())
}

fn checksum(
    shard: &Shard,
    index: &Index,
    sample: u64,
    region: u32,
    read: Option<&Bytes>,
) -> Result<u64, Refusal> {
    let region = index.region(sample, region).map_err(|error| error.to_string())?;
    let bytes = match read {
        Some(bytes) => bytes.clone(),
        None => shard.slice(region.offset, region.len)?,
    };
    if xxh3_64(&bytes) == region.xxh3 {
        return Ok(region.xxh3);
    }
    let what =
        format!("the checksum of its {} bytes at {} does not match", region.len, region.offset);
    Err(what.into())
}

fn check_image(image: &Encoded) -> Result<(), String> {
    let header = fdconvert_core::probe::probe(&image.bytes)?;
    if (header.codec, header.width, header.height) != (image.codec, image.width, image.height) {
        return Err(format!(
            "the index says {} of {}x{}, the image {} of {}x{}",
            image.codec.extension(),
            image.width,
            image.height,
            header.codec.extension(),
            header.width,
            header.height
        ));
    }
    fdconvert_core::probe::check_complete(&image.bytes, &header).map(|_| ())
}
