//! Completion of a dataset after its last shard: sidecars, then the manifest.
use crate::shards::{
    RECORDS, combined,
    existing::{list_if_there, recorded},
    manifest::{self, FileFacts, publish},
    record::read,
    record_path,
};
use crate::sidecars::{self, Output, ShardFile, Shards};
use crate::wds::{
    Wds, fields,
    format::FORMAT,
    layout,
    manifest::{Manifest, ShardFacts},
    names::{self, Column},
    outline::{Outline, each_sample},
    record::Record,
};
use fdconvert_core::{Complete, Error, Result, Shard, ShardSummary, option};
use fdconvert_storage::{
    fingerprint_hex, make_folder, open_all,
    os::name_below,
    place::{exists, file_len},
    read_file, remove_source_stamp, replace,
};
use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

pub(crate) fn complete(format: &Wds, request: &Complete<'_>) -> Result<Vec<PathBuf>> {
    let out = request.out;
    let names = fields::names(request.schema, format, request.common)?;
    let columns: Vec<Column> =
        names.iter().map(|name| Column::parse(&name.all().join(";"))).collect();
    let outline = Outline::new(format, request.schema, request.common)?;
    let fingerprint = fingerprint_hex(request.fingerprint);
    let mut manifest = Manifest::new(fingerprint, request.schema.clone(), Vec::new());
    manifest.common = request.common.into();
    manifest.provenance = request.provenance.clone();
    let checked = open_all(out, request.shards, |(shard, summary)| {
        check_shard(format, request, shard, summary)
    });
    for facts in checked {
        let facts = facts?;
        manifest.samples += facts.samples;
        manifest.shards.push(facts);
    }
    refuse_leftovers(request)?;
    let paths =
        request.shards.iter().map(|(shard, _)| Ok(layout::tar_path(out, &layout::stem(shard)?)));
    let paths = paths.collect::<Result<Vec<_>>>()?;
    manifest.members =
        names::found(paths.iter().map(PathBuf::as_path), &columns, outline.as_ref())?;
    let before = Manifest::read(out)?;
    let is_combined = before.as_ref().is_some_and(|manifest| manifest.combined.is_some());
    let before = before.map_or_else(Vec::new, |manifest| manifest.sidecars);
    let mut written = Vec::new();
    for (path, bytes) in sidecars(format, request, &manifest.members, outline.as_ref())? {
        if let Some(folder) = path.parent() {
            make_folder(folder)?;
        }
        let facts = facts_of(out, &path, &bytes)?;
        if before.iter().all(|known| known.name != facts.name) {
            refuse_foreign(&path, &bytes)?;
        }
        replace(&path, &bytes)?;
        manifest.sidecars.push(facts);
        written.push(path);
    }
    let indexes = paths.iter().filter(|_| format.sidecars.contains(&"fdx"));
    let indexes: Vec<_> = indexes.map(|path| layout::index_path(path)).collect();
    manifest.combined = combined::write(out, &indexes, request.fingerprint, is_combined)?;
    written.extend(manifest.combined.iter().map(|combined| out.join(&combined.name)));
    let path = out.join(manifest::NAME);
    publish(&path, &manifest.to_json(), request.fingerprint)?;
    written.push(path);
    remove_source_stamp(&out.join(RECORDS))?;
    Ok(written)
}

/// The shard has a record of this run, with its length.
fn check_shard(
    format: &Wds,
    request: &Complete<'_>,
    shard: &Shard,
    summary: &ShardSummary,
) -> Result<ShardFacts> {
    let stem = layout::stem(shard)?;
    let path = layout::tar_path(request.out, &stem);
    let wrong = |what: String| Error::corrupt(FORMAT, &path, 0, what);
    let record_path = record_path(request.out, &stem);
    let record = read::<Record>(&record_path)?
        .ok_or_else(|| wrong(format!("{} is missing: pack it again", record_path.display())))?;
    if record.fingerprint != fingerprint_hex(request.fingerprint) {
        return Err(wrong("its record is of another run".into()));
    }
    let bytes = file_len(&path)?.ok_or_else(|| wrong("it is missing: pack it again".into()))?;
    if bytes != record.bytes || (summary.bytes, summary.samples) != (bytes, record.samples) {
        return Err(wrong(format!("it has {bytes} bytes, its record says {}", record.bytes)));
    }
    let index_path = layout::index_path(&path);
    let with_index = format.sidecars.contains(&"fdx");
    if with_index && file_len(&index_path)?.is_none() {
        return Err(wrong(format!("{} is missing: pack it again", index_path.display())));
    }
    let index_name = index_path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    let index = index_name.filter(|_| with_index);
    let (samples, xxh3, split) = (record.samples, record.shard_xxh3, shard.split.clone());
    Ok(ShardFacts { name: format!("{stem}.tar"), split, samples, bytes, xxh3, index })
}

/// Readers that take all shards of a split would also take those of an earlier run. Only files that
/// this run made are deleted.
fn refuse_leftovers(request: &Complete<'_>) -> Result<()> {
    let shards: Vec<_> = request.shards.iter().map(|(shard, _)| shard.clone()).collect();
    let leftovers = leftovers(request.out, &shards)?;
    let Some(first) = leftovers.first().and_then(|path| path.file_name()) else { return Ok(()) };
    let what = format!(
        "{} has {} shards of another run, {} among them: move them away and run again, which \
         resumes here",
        request.out.display(),
        leftovers.len(),
        first.display()
    );
    Err(Error::usage("output", what))
}

/// Shards in a folder other than `shards`: in the same splits those of any tool, in other splits
/// only those with a record of fdconvert.
pub(crate) fn leftovers(out: &Path, shards: &[Shard]) -> Result<Vec<PathBuf>> {
    let ours: HashSet<String> = shards.iter().map(layout::stem).collect::<Result<_>>()?;
    let splits: HashSet<&str> = shards.iter().map(|shard| shard.split.as_str()).collect();
    let recorded: HashSet<String> = recorded(out)?.into_iter().collect();
    let mut leftovers = Vec::new();
    for (path, _) in list_if_there(out)? {
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(stem) = name.and_then(|name| name.strip_suffix(".tar")) else { continue };
        let is_shard = stem.rsplit_once('-').is_some_and(|(split, number)| {
            let is_number = number.len() >= 6 && number.bytes().all(|b| b.is_ascii_digit());
            is_number && (splits.contains(split) || recorded.contains(stem))
        });
        if is_shard && !ours.contains(stem) {
            leftovers.push(path);
        }
    }
    leftovers.sort();
    Ok(leftovers)
}

/// Refuses a file of this name that fdconvert did not write, such as a `README.md`. A file of an
/// interrupted run has the same bytes and may stay.
pub(crate) fn refuse_foreign(path: &Path, bytes: &[u8]) -> Result<()> {
    let is_same = || match file_len(path)? {
        Some(len) if len == bytes.len() as u64 => Ok(read_file(path, len)? == bytes),
        _ => Ok::<_, Error>(false),
    };
    if !exists(path)? || is_same()? {
        return Ok(());
    }
    let what = format!(
        "{} exists and is not of this dataset: move it away and run again, which resumes here",
        path.display()
    );
    Err(Error::usage("output", what).cure("to choose others", option::SIDECARS))
}

/// Makes the files for other readers.
fn sidecars(
    format: &Wds,
    request: &Complete<'_>,
    members: &[String],
    outline: Option<&Outline>,
) -> Result<Vec<Output>> {
    let file = |(shard, summary): &'_ (Shard, ShardSummary)| {
        let name = format!("{}.tar", layout::stem(shard)?);
        let (path, split) = (request.out.join(&name), shard.split.clone());
        let (n_samples, bytes) = (summary.samples, summary.bytes);
        Ok(ShardFile { name, path, split, n_samples, bytes })
    };
    let files = request.shards.iter().map(file).collect::<Result<Vec<_>>>()?;
    let shards = Shards {
        out: request.out,
        files: &files,
        schema: request.schema,
        members,
        walk: &|path, visit| each_sample(path, outline, visit),
        provenance: Some(request.provenance),
    };
    sidecars::files(&format.sidecars, &shards)
}

fn facts_of(out: &Path, path: &Path, bytes: &[u8]) -> Result<FileFacts> {
    let name = name_below(path, out).ok_or_else(|| {
        Error::usage("output", format!("{} is outside of the dataset", path.display()))
    })?;
    Ok(FileFacts::new(name.into_owned(), bytes))
}
