//! The next version of a mixed set: the manifests of its folders and its own, from kept and staged
//! shards.
use crate::mixed::{
    Mixed,
    layout::{CODECS, MANIFEST, common_of, folder, folder_name},
    manifest::{CodecFacts, Manifest, ShardFacts},
    order::Order,
    record::encode,
};
use crate::shards::{
    RECORDS,
    manifest::{MAX_BYTES, NAME},
    versions::{
        self, Commit, EditFacts, current, faster, number, recover, stage_file, without_manifest,
    },
};
use crate::wds::{self, Named, Next};
use fdconvert_core::{
    Codec, Common, Edit, Error, Kind, LogEntry, NextShard, Result, Shard, Version,
};
use fdconvert_storage::{fingerprint_hex, read_if_there};
use std::{collections::BTreeSet, path::Path};

/// See [`Format::version`](fdconvert_core::Format::version).
pub(crate) fn version(out: &Path) -> Result<Version> {
    recover(out, MANIFEST)?;
    let Some((manifest, _)) = read(out)? else { return Err(without_manifest(out)) };
    let mut end = 0;
    let shard = |facts: &ShardFacts| {
        let start = end;
        end += facts.samples;
        let split = facts.split.clone();
        Shard { number: facts.number, of: 0, samples: start..end, split }
    };
    let shards = manifest.shards.iter().map(shard).collect();
    let common = common(out, &manifest)?;
    let Manifest { fingerprint, schema, provenance, edit, .. } = manifest;
    let number = number(edit.as_ref());
    let edit = edit.map(|edit| edit.id);
    Ok(Version { number, fingerprint, edit, schema, common, provenance, shards })
}

fn read(out: &Path) -> Result<Option<(Manifest, Order)>> {
    let path = out.join(MANIFEST);
    let text = read_if_there(&path, MAX_BYTES)?;
    text.map(|text| Manifest::parse(&text, &path)).transpose()
}

/// Returns the properties that all samples share, by the manifest of a folder.
fn common(out: &Path, manifest: &Manifest) -> Result<Common> {
    let Some(facts) = manifest.codecs.first() else { return Ok(Common::default()) };
    let Some(part) = wds::Manifest::read(&folder(out, facts.codec))? else {
        return Err(without_manifest(&folder(out, facts.codec)));
    };
    let mut common = Common { codec: None, ..wds::common_of(&part) };
    // The image field has the same name for all codecs, which is a matter of this format.
    for (member, field) in common.members.iter_mut().zip(&manifest.schema.fields) {
        if field.kind == Kind::Image {
            *member = None;
        }
    }
    if common.members.iter().all(Option::is_none) {
        common.members.clear();
    }
    Ok(common)
}

/// A manifest with the codes of its samples by shard.
struct Described {
    manifest: Manifest,
    /// Number of samples up to each shard.
    starts: Vec<u64>,
    codes: Vec<u8>,
}

impl Described {
    fn new((manifest, order): (Manifest, Order)) -> Self {
        let mut start = 0;
        let starts = manifest.shards.iter().map(|shard| {
            start += shard.samples;
            start - shard.samples
        });
        let starts = starts.collect();
        Self { starts, codes: order.codes().collect(), manifest }
    }

    /// Returns a shard and the codes of its samples.
    fn shard(&self, at: usize) -> Option<(&ShardFacts, &[u8])> {
        let facts = self.manifest.shards.get(at)?;
        let start = usize::try_from(*self.starts.get(at)?).ok()?;
        let len = usize::try_from(facts.samples).ok()?;
        Some((facts, self.codes.get(start..start.checked_add(len)?)?))
    }

    fn find(&self, shard: &Shard) -> Option<usize> {
        let shards = &self.manifest.shards;
        shards.iter().position(|it| (&it.split, it.number) == (&shard.split, shard.number))
    }

    /// Returns the names of the files of the set itself but the manifest.
    fn names(&self) -> Result<Vec<String>> {
        let stems = self.manifest.shards.iter().map(stem);
        stems.map(|stem| Ok(format!("{RECORDS}/{}.json", stem?))).collect()
    }
}

fn stem(facts: &ShardFacts) -> Result<String> {
    let shard = Shard { number: facts.number, split: facts.split.clone(), ..Shard::whole(0) };
    wds::stem(&shard)
}

/// See [`Format::edit`](fdconvert_core::Format::edit).
pub(crate) fn edit(format: &Mixed, edit: &Edit<'_>) -> Result<LogEntry> {
    let (text, path) = current(edit.out, MANIFEST)?;
    let base = Described::new(Manifest::parse(&text, &path)?);
    if base.manifest.fingerprint != edit.base {
        return Err(faster(edit.out, number(base.manifest.edit.as_ref())));
    }
    let staged = read(edit.stage)?.map(Described::new);
    let fingerprint = versions::fingerprint(edit.base, edit.id);
    let version = number(base.manifest.edit.as_ref()) + 1;
    let mut manifest = Manifest {
        fingerprint: fingerprint_hex(fingerprint),
        codecs: Vec::new(),
        shards: Vec::new(),
        edit: Some(EditFacts { version, id: fingerprint_hex(edit.id) }),
        ..base.manifest.clone()
    };
    let (mut order, mut shards) = (Order::default(), Vec::new());
    for shard in edit.shards {
        let (from, at, is_new) = match shard {
            NextShard::Kept(at) => (Some(&base), Some(*at), false),
            NextShard::New(shard) => {
                let at = staged.as_ref().and_then(|staged| staged.find(shard));
                (staged.as_ref(), at, true)
            }
        };
        // Without it all samples of the shard were skipped.
        let Some((facts, codes)) = from.zip(at).and_then(|(from, at)| from.shard(at)) else {
            continue;
        };
        codes.iter().for_each(|code| order.push(*code));
        manifest.shards.push(facts.clone());
        shards.push(Named { is_new, stem: stem(facts)? });
    }
    if let (Some(staged), true) = (&staged, shards.iter().all(|shard| shard.is_new)) {
        manifest.schema.clone_from(&staged.manifest.schema);
    }
    let skipped = staged.iter().flat_map(|staged| &staged.manifest.provenance.skipped);
    manifest.provenance.skipped.extend(skipped.cloned());
    manifest.samples = order.len();
    manifest.order = encode(&order);
    let mut removes = Vec::new();
    for codec in CODECS {
        let folder = CodecFolder { format, edit, codec, shards: &shards, fingerprint };
        manifest.codecs.extend(folder.make(&mut removes)?);
    }
    if manifest.samples == 0 {
        return Err(Error::usage("dataset", "no sample would be left"));
    }
    let after = Described { manifest, starts: Vec::new(), codes: Vec::new() };
    let names: BTreeSet<String> = after.names()?.into_iter().collect();
    removes.extend(base.names()?.into_iter().filter(|name| !names.contains(name)));
    Commit {
        out: edit.out,
        name: MANIFEST,
        before: &text,
        number: version - 1,
        after: &after.manifest.to_json(),
        fingerprint: &after.manifest.fingerprint,
        removes,
        keep_versions: edit.keep_versions,
        samples: after.manifest.samples,
        entry: edit.entry.clone(),
    }
    .run()
}

/// The folder of a codec in the next version.
struct CodecFolder<'a> {
    format: &'a Mixed,
    edit: &'a Edit<'a>,
    codec: Codec,
    shards: &'a [Named],
    fingerprint: [u8; 16],
}

impl CodecFolder<'_> {
    /// Stages its manifest and the files about all of its shards; adds the names of files that it
    /// no longer has. `None` without a sample.
    fn make(&self, removes: &mut Vec<String>) -> Result<Option<CodecFacts>> {
        let Edit { out, stage, common, ref entry, .. } = *self.edit;
        let (out, stage) = (folder(out, self.codec), folder(stage, self.codec));
        let (base, staged) = (wds::Manifest::read(&out)?, wds::Manifest::read(&stage)?);
        let next = Next {
            format: &self.format.wds,
            out: &out,
            stage: &stage,
            base: base.as_ref(),
            staged: staged.as_ref(),
            shards: self.shards,
            common: &common_of(common, self.codec),
            fingerprint: self.fingerprint,
            renew: entry.removed + entry.changed > 0,
        };
        let name = folder_name(self.codec);
        let mut after = next.make()?;
        let mut names = BTreeSet::new();
        if let Some(after) = &mut after {
            // The codec of skipped samples is unknown.
            after.provenance.skipped.clear();
            // So that an interrupted run finds its own dataset in the stage.
            let of_run = staged.as_ref().or(base.as_ref());
            if let Some(of_run) = of_run {
                after.fingerprint.clone_from(&of_run.fingerprint);
            }
            stage_file(&stage, NAME, &after.to_json())?;
            names.extend(after.names());
            names.insert(NAME.to_owned());
        }
        let mut before =
            base.map_or_else(Vec::new, |base| [base.names(), vec![NAME.to_owned()]].concat());
        before.retain(|name| !names.contains(name));
        removes.extend(before.into_iter().map(|file| format!("{name}/{file}")));
        let facts = after.map(|after| CodecFacts {
            codec: self.codec,
            folder: name.to_owned(),
            samples: after.samples,
            bytes: after.shards.iter().map(|shard| shard.bytes).sum(),
        });
        Ok(facts)
    }
}
