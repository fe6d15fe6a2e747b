//! Completion after all shards: the folders' own files, then the manifest.
use crate::mixed::{
    Mixed,
    layout::{CODECS, FORMAT, MANIFEST, common_of, folder, folder_name},
    manifest::{CodecFacts, Manifest, ShardFacts},
    order::Order,
    record::{Record, encode},
    writer::remove_empty,
};
use crate::shards::{
    RECORDS,
    existing::{holds_another, list_if_there, remove_records},
    manifest::publish,
    record::read,
    record_path, versions,
};
use crate::wds;
use fdconvert_core::{
    Codec, Complete, Error, Format as _, Provenance, Result, Shard, ShardSummary,
};
use fdconvert_storage::{
    fingerprint_hex as hex,
    place::{exists, remove},
    remove_source_stamp,
};
use std::path::{Path, PathBuf};

pub(crate) fn complete(format: &Mixed, request: &Complete<'_>) -> Result<Vec<PathBuf>> {
    let fingerprint = hex(request.fingerprint);
    let mut order = Order::default();
    let mut manifest =
        Manifest::new(fingerprint, request.schema.clone(), request.provenance.clone());
    let mut records = Vec::with_capacity(request.shards.len());
    for (shard, summary) in request.shards {
        let (record, of_shard) = check_shard(request, shard, summary)?;
        order.extend(&of_shard);
        manifest.shards.push(ShardFacts {
            split: shard.split.clone(),
            number: shard.number,
            samples: record.samples,
            keys: record.keys.clone(),
        });
        records.push((shard, record));
    }
    manifest.samples = order.len();
    manifest.order = encode(&order);
    let mut written = Vec::new();
    for codec in CODECS {
        let parts = parts(request.out, &records, codec)?;
        if parts.is_empty() {
            refuse_leftovers(request.out, codec)?;
            continue;
        }
        written.extend(complete_part(format, request, codec, &parts)?);
        manifest.codecs.push(CodecFacts {
            codec,
            folder: folder_name(codec).to_owned(),
            samples: parts.iter().map(|(_, summary)| summary.samples).sum(),
            bytes: parts.iter().map(|(_, summary)| summary.bytes).sum(),
        });
    }
    let path = request.out.join(MANIFEST);
    publish(&path, &manifest.to_json(), request.fingerprint)?;
    written.push(path);
    remove_source_stamp(&request.out.join(RECORDS))?;
    Ok(written)
}

/// Returns true if the manifest of a run with that fingerprint exists; that of another is refused.
pub(crate) fn completed(out: &Path, fingerprint: [u8; 16]) -> Result<bool> {
    let path = out.join(MANIFEST);
    let is_there = exists(&path)?;
    if is_there && Manifest::read(&path)?.0.fingerprint != hex(fingerprint) {
        return holds_another(out);
    }
    Ok(is_there)
}

/// See [`Format::withdraw`](fdconvert_core::Format::withdraw). Records and manifests in the codecs'
/// folders do not count without these.
pub(crate) fn withdraw(out: &Path, shards: &[Shard]) -> Result<()> {
    let records = shards.iter().map(|shard| Ok(record_path(out, &wds::stem(shard)?)));
    remove_records(&records.collect::<Result<Vec<_>>>()?)?;
    remove_manifest(out)
}

/// Removes the manifest, if there is one, and the versions before it.
pub(crate) fn remove_manifest(out: &Path) -> Result<()> {
    let path = out.join(MANIFEST);
    if exists(&path)? {
        versions::forget(out)?;
        remove(&path)?;
    }
    Ok(())
}

/// Checks that a shard has a record, which belongs to this run and matches its summary.
fn check_shard(
    request: &Complete<'_>,
    shard: &Shard,
    summary: &ShardSummary,
) -> Result<(Record, Order)> {
    let path = record_path(request.out, &wds::stem(shard)?);
    let wrong = |what: &str| Error::corrupt(FORMAT, &path, 0, what);
    let record: Record =
        read(&path)?.ok_or_else(|| wrong("it is missing: pack its shard again"))?;
    if record.fingerprint != hex(request.fingerprint) {
        return Err(wrong("it is of another run"));
    }
    if (record.samples, record.bytes()) != (summary.samples, summary.bytes) {
        return Err(wrong("its samples or bytes are not those of the shard"));
    }
    let order = record.order().map_err(|what| wrong(&what))?;
    Ok((record, order))
}

/// Returns the shards of a codec's folder.
fn parts(
    out: &Path,
    records: &[(&Shard, Record)],
    codec: Codec,
) -> Result<Vec<(Shard, ShardSummary)>> {
    let mut parts = Vec::new();
    for (shard, record) in records {
        if let Some(part) = record.part(codec) {
            let path = folder(out, codec).join(format!("{}.tar", wds::stem(shard)?));
            let (samples, bytes, skipped) = (part.samples, part.bytes, Vec::new());
            parts.push(((*shard).clone(), ShardSummary { path, samples, bytes, skipped }));
        }
    }
    Ok(parts)
}

fn complete_part(
    format: &Mixed,
    request: &Complete<'_>,
    codec: Codec,
    parts: &[(Shard, ShardSummary)],
) -> Result<Vec<PathBuf>> {
    // The codec of skipped samples is unknown.
    let provenance = Provenance { skipped: Vec::new(), ..request.provenance.clone() };
    format.wds.complete(&Complete {
        out: &folder(request.out, codec),
        schema: request.schema,
        shards: parts,
        common: &common_of(request.common, codec),
        provenance: &provenance,
        fingerprint: request.fingerprint,
    })
}

/// Returns the shards in the codecs' folders that do not belong to these.
pub(crate) fn leftovers(out: &Path, shards: &[Shard]) -> Result<Vec<PathBuf>> {
    let found = CODECS.iter().map(|codec| wds::leftovers(&folder(out, *codec), shards));
    Ok(found.collect::<Result<Vec<_>>>()?.concat())
}

/// Refuses leftovers, because readers that use the shards of all folders would include those of an
/// earlier run. Files that this run did not make are not deleted.
fn refuse_leftovers(out: &Path, codec: Codec) -> Result<()> {
    let folder = folder(out, codec);
    remove_empty(&folder);
    for (path, _) in list_if_there(&folder)? {
        if path.extension().is_some_and(|extension| extension == "tar") {
            let what = format!(
                "{} is a shard of another run: move its folder away and run again, which resumes \
                 here",
                path.display()
            );
            return Err(Error::usage("output", what));
        }
    }
    Ok(())
}
