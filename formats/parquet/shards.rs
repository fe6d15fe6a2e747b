//! Datasets of several files: each is a complete one of its own, and the manifest names them.
//!
//! A file proves by itself that it is complete, and of which run. A shard whose samples were all
//! skipped has no file: its record says so.
use super::{
    card,
    layout::FORMAT,
    manifest::{DATA, Manifest, NAME, ShardFacts, name, parsed, record_name},
    record::{self, Record},
    writer::{self, ParquetWriter},
};
use crate::shards::{
    RECORDS,
    existing::{holds_another, is_shared, list_if_there, recorded, remove_records},
    manifest::publish,
    record::read,
    versions,
};
use fdconvert_core::{
    Complete, Create, Encoded, Error, Result, Sample, Shard, ShardSummary, ShardWriter, Skipped,
};
use fdconvert_storage::{
    Folders, SourceStamp, fingerprint_hex,
    os::name_below,
    place::{exists, file_len, remove},
    refuse_link, remove_source_stamp,
};
use std::{
    collections::{BTreeSet, HashSet},
    path::{Path, PathBuf},
};

/// Writes a shard of a dataset.
pub(crate) struct Writer {
    // First, so that its files are gone before the folders are dropped.
    inner: Box<ParquetWriter>,
    n_samples: u64,
    skipped: Vec<Skipped>,
    out: PathBuf,
    path: PathBuf,
    record: PathBuf,
    fingerprint: [u8; 16],
    is_shared: bool,
    overwrite: bool,
    folders: Folders,
}

/// The request for a shard as a file of its own.
fn alone<'a>(request: &Create<'a>, path: &'a Path, shard: &'a Shard) -> Create<'a> {
    Create { out: path, shard, ..request.clone() }
}

fn whole(shard: &Shard) -> Shard {
    Shard { number: 0, of: 1, ..shard.clone() }
}

fn record_of(out: &Path, shard: &Shard) -> Result<PathBuf> {
    Ok(out.join(record_name(&name(shard)?)))
}

impl Writer {
    pub(crate) fn create(request: &Create<'_>) -> Result<Self> {
        let Create { out, shard, .. } = *request;
        let path = out.join(name(shard)?);
        refuse_other_dataset(request)?;
        let records = out.join(RECORDS);
        let source = SourceStamp::new(&records, request.fingerprint, request.stamp);
        if !request.overwrite {
            source.check()?;
        }
        let mut folders = Folders::make(&[out, &out.join(DATA)], &records)?;
        let whole = whole(shard);
        let inner = Box::new(ParquetWriter::create(&alone(request, &path, &whole), false)?);
        folders.stamp(source)?;
        Ok(Self {
            inner,
            n_samples: 0,
            skipped: Vec::new(),
            record: record_of(out, shard)?,
            out: out.to_path_buf(),
            path,
            fingerprint: request.fingerprint,
            is_shared: is_shared(request),
            overwrite: request.overwrite,
            folders,
        })
    }
}

impl ShardWriter for Writer {
    fn write(&mut self, sample: &Sample<Encoded>) -> Result<()> {
        self.n_samples += 1;
        self.inner.write(sample)
    }

    fn skip(&mut self, skipped: Skipped) -> Result<()> {
        self.skipped.push(skipped.clone());
        self.inner.skip(skipped)
    }

    fn finish(self: Box<Self>) -> Result<ShardSummary> {
        // Folders first, so that they are dropped last.
        let Self { mut folders, inner, n_samples, skipped, out, path, record, .. } = *self;
        if !self.is_shared {
            // What it replaces must not outlive it.
            remove_manifest(&out)?;
        }
        // Before the file has its name: a complete one has a record.
        record::write(&record, self.fingerprint, n_samples, &skipped)?;
        let summary = if n_samples == 0 {
            drop(inner);
            if self.overwrite {
                remove(&path)?;
            }
            ShardSummary { path, samples: 0, bytes: 0, skipped }
        } else {
            inner.finish().inspect_err(|_| {
                // The file may have its name, and be found complete.
                if !self.is_shared && matches!(exists(&path), Ok(false)) {
                    let _ = remove(&record);
                }
            })?
        };
        folders.keep_stamp();
        Ok(summary)
    }
}

impl ParquetWriter {
    fn finish(self: Box<Self>) -> Result<ShardSummary> {
        ShardWriter::finish(self)
    }
}

fn refuse_other_dataset(request: &Create<'_>) -> Result<()> {
    let Some(manifest) = Manifest::read(request.out)? else { return Ok(()) };
    if request.overwrite || manifest.fingerprint == fingerprint_hex(request.fingerprint) {
        return Ok(());
    }
    holds_another(request.out)
}

/// See [`Format::finished`](fdconvert_core::Format::finished).
pub(crate) fn finished(request: &Create<'_>) -> Result<Option<ShardSummary>> {
    let Create { out, shard, .. } = *request;
    let records = out.join(RECORDS);
    refuse_link(out)?;
    refuse_link(&out.join(DATA))?;
    refuse_link(&records)?;
    match SourceStamp::new(&records, request.fingerprint, request.stamp).check() {
        Err(Error::Usage { .. }) if request.overwrite => return Ok(None),
        checked => checked?,
    }
    let path = out.join(name(shard)?);
    // The file is looked at, and damaged records are written again with it.
    if let Ok(Some(Record { samples: 0, fingerprint, skipped, .. })) = read(&record_of(out, shard)?)
        && fingerprint == fingerprint_hex(request.fingerprint)
        && !exists(&path)?
    {
        return Ok(Some(ShardSummary { path, samples: 0, bytes: 0, skipped }));
    }
    writer::finished(&alone(request, &path, &whole(shard)))
}

/// See [`Format::withdraw`](fdconvert_core::Format::withdraw). The files are the proofs, so they go;
/// with them all others of the dataset that is replaced, as names have the number of shards in them.
pub(crate) fn withdraw(out: &Path, shards: &[Shard]) -> Result<()> {
    let mut names = named(out)?;
    for shard in shards {
        names.push(name(shard)?);
        names.push(record_name(&name(shard)?));
    }
    let paths: Vec<PathBuf> = names.iter().map(|name| out.join(name)).collect();
    remove_records(&paths)?;
    remove_manifest(out)
}

/// Returns the names of the files of the dataset at the output, but for the manifest. A damaged one
/// names none.
fn named(out: &Path) -> Result<Vec<String>> {
    let manifest = match Manifest::read(out) {
        Ok(Some(manifest)) => manifest,
        Ok(None) | Err(Error::Corrupt { .. } | Error::Version { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names: Vec<String> = manifest.names().collect();
    // Shards without samples have a record alone.
    let files = recorded(out)?.into_iter().map(|stem| format!("{stem}.{FORMAT}"));
    names.extend(files.filter(|name| parsed(name).is_some()).map(|name| record_name(&name)));
    Ok(names)
}

fn remove_manifest(out: &Path) -> Result<()> {
    let path = out.join(NAME);
    card::remove(out)?;
    if exists(&path)? {
        versions::forget(out)?;
        remove(&path)?;
    }
    Ok(())
}

/// See [`Format::leftovers`](fdconvert_core::Format::leftovers). Files that the manifest names are
/// replaced with it.
pub(crate) fn leftovers(out: &Path, shards: &[Shard]) -> Result<Vec<PathBuf>> {
    let known: HashSet<String> = named(out)?.into_iter().collect();
    let mut leftovers = others(out, shards)?;
    leftovers.retain(|path| !name_below(path, out).is_some_and(|name| known.contains(&*name)));
    Ok(leftovers)
}

/// Lists the files of the same splits that are not those of `shards`.
fn others(out: &Path, shards: &[Shard]) -> Result<Vec<PathBuf>> {
    let ours: HashSet<String> = shards.iter().map(name).collect::<Result<_>>()?;
    let splits: BTreeSet<&str> = shards.iter().map(|shard| shard.split.as_str()).collect();
    let mut others = Vec::new();
    // Earlier versions had no folder of their own for the files.
    for folder in [out.to_path_buf(), out.join(DATA)] {
        let listed = list_if_there(&folder)?.into_iter().map(|(path, _)| path);
        others.extend(listed.filter(|path| {
            let Some(name) = name_below(path, out) else { return false };
            let is_shard = parsed(&name).is_some_and(|named| splits.contains(named.split));
            is_shard && !ours.contains(&*name)
        }));
    }
    Ok(others)
}

/// See [`Format::completed`](fdconvert_core::Format::completed).
pub(crate) fn completed(out: &Path, fingerprint: [u8; 16]) -> Result<bool> {
    match Manifest::read(out)? {
        Some(manifest) if manifest.fingerprint != fingerprint_hex(fingerprint) => {
            holds_another(out)
        }
        found => Ok(found.is_some()),
    }
}

/// See [`Format::complete`](fdconvert_core::Format::complete).
pub(crate) fn complete(request: &Complete<'_>, with_card: bool) -> Result<Vec<PathBuf>> {
    let out = request.out;
    let fingerprint = fingerprint_hex(request.fingerprint);
    let (schema, provenance) = (request.schema.clone(), request.provenance.clone());
    let mut manifest = Manifest::new(fingerprint, schema, provenance);
    for (shard, summary) in request.shards {
        let (name, split) = (name(shard)?, shard.split.clone());
        let path = out.join(&name);
        let found = file_len(&path)?;
        if found != Some(summary.bytes) {
            let what = format!(
                "it has {} bytes, and {} were written: pack it again",
                found.unwrap_or(0),
                summary.bytes
            );
            return Err(Error::corrupt(FORMAT, path, 0, what));
        }
        manifest.samples += summary.samples;
        let (samples, bytes) = (summary.samples, summary.bytes);
        manifest.shards.push(ShardFacts { name, split, samples, bytes });
    }
    let shards: Vec<Shard> = request.shards.iter().map(|(shard, _)| shard.clone()).collect();
    if let Some(first) = others(out, &shards)?.first() {
        let what = format!(
            "{} is a shard of another run: move it away and run again, which resumes here",
            first.display()
        );
        return Err(Error::usage("output", what));
    }
    let card = if with_card { card::write(out, &manifest)? } else { None };
    let path = out.join(NAME);
    publish(&path, &manifest.to_json(), request.fingerprint)?;
    remove_source_stamp(&out.join(RECORDS))?;
    Ok(card.into_iter().chain([path]).collect())
}
