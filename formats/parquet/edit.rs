//! The next version of a dataset of several files: its manifest, from kept and staged ones.
use super::card;
use super::manifest::{Manifest, NAME, Named, ShardFacts, name, parsed};
use crate::shards::versions::{
    self, Commit, EditFacts, current, faster, number, recover, stage_file, without_manifest,
};
use fdconvert_core::{Common, Edit, Error, LogEntry, NextShard, Result, Shard, Version};
use fdconvert_storage::fingerprint_hex;
use std::{collections::BTreeSet, path::Path};

/// See [`Format::version`](fdconvert_core::Format::version).
pub(crate) fn version(out: &Path) -> Result<Version> {
    recover(out, NAME)?;
    let Some(manifest) = Manifest::read(out)? else { return Err(without_manifest(out)) };
    let mut end = 0;
    let shard = |facts: &ShardFacts| {
        let start = end;
        end += facts.samples;
        let named = parsed(&facts.name).ok_or_else(|| {
            let name = &facts.name;
            let what = format!("the shard `{name}` is not called as fdconvert calls shards");
            Error::usage("dataset", what)
        })?;
        let Named { number, mut of, .. } = named;
        if of == 0 {
            of = manifest.shards.iter().filter(|shard| shard.split == facts.split).count();
        }
        Ok(Shard { number, of, samples: start..end, split: facts.split.clone() })
    };
    let shards = manifest.shards.iter().map(shard).collect::<Result<Vec<_>>>()?;
    let Manifest { fingerprint, schema, provenance, edit, .. } = manifest;
    let number = number(edit.as_ref());
    let (edit, common) = (edit.map(|edit| edit.id), Common::default());
    Ok(Version { number, fingerprint, edit, schema, common, provenance, shards })
}

/// See [`Format::edit`](fdconvert_core::Format::edit).
pub(crate) fn edit(edit: &Edit<'_>, with_card: bool) -> Result<LogEntry> {
    let (text, path) = current(edit.out, NAME)?;
    let base = Manifest::parse(&text, &path)?;
    if base.fingerprint != edit.base {
        return Err(faster(edit.out, number(base.edit.as_ref())));
    }
    let staged = Manifest::read(edit.stage)?;
    let version = number(base.edit.as_ref()) + 1;
    let mut after = Manifest {
        fingerprint: fingerprint_hex(versions::fingerprint(edit.base, edit.id)),
        shards: Vec::new(),
        edit: Some(EditFacts { version, id: fingerprint_hex(edit.id) }),
        ..base.clone()
    };
    let mut n_kept = 0;
    for shard in edit.shards {
        let facts = match shard {
            NextShard::Kept(at) => {
                n_kept += 1;
                base.shards.get(*at)
            }
            NextShard::New(shard) => {
                let name = name(shard)?;
                let shards = staged.iter().flat_map(|staged| &staged.shards);
                // Without it all samples of the shard were skipped.
                shards.into_iter().find(|facts| facts.name == name)
            }
        };
        after.shards.extend(facts.cloned());
    }
    if after.shards.is_empty() {
        return Err(Error::usage("dataset", "no sample would be left"));
    }
    after.samples = after.shards.iter().map(|shard| shard.samples).sum();
    if let Some(staged) = &staged {
        if n_kept == 0 {
            after.schema.clone_from(&staged.schema);
        }
        after.provenance.skipped.extend_from_slice(&staged.provenance.skipped);
    }
    // That of the staged files alone.
    card::remove(edit.stage)?;
    if with_card && !card::is_of_user(edit.out)? {
        stage_file(edit.stage, card::NAME, &card::text(&after))?;
    }
    let names: BTreeSet<String> = after.names().collect();
    let removes = base.names().filter(|name| !names.contains(name)).collect();
    Commit {
        out: edit.out,
        name: NAME,
        before: &text,
        number: version - 1,
        after: &after.to_json(),
        fingerprint: &after.fingerprint,
        removes,
        keep_versions: edit.keep_versions,
        samples: after.samples,
        entry: edit.entry.clone(),
    }
    .run()
}
