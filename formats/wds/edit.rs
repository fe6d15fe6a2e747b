//! The next version of a dataset: its manifest and the files about all shards, from kept and staged
//! shards.
use crate::shards::{
    RECORDS, combined,
    manifest::{self, FileFacts},
    versions::{self, Commit, EditFacts, current, number, recover, stage_file, without_manifest},
};
use crate::sidecars::{self, ShardFile, Shards, shard_of};
use crate::wds::{
    Wds, kept, layout,
    manifest::{Manifest, ShardFacts},
    names::Column,
    outline::{Outline, each_sample},
};
use fdconvert_core::{Common, Edit, Error, LogEntry, NextShard, Result, Shard, Version};
use fdconvert_storage::{fingerprint_hex, os::name_below};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// See [`Format::version`](fdconvert_core::Format::version).
pub(crate) fn version(out: &Path) -> Result<Version> {
    recover(out, manifest::NAME)?;
    let Some(manifest) = Manifest::read(out)? else { return Err(without_manifest(out)) };
    let mut end = 0;
    let shard = |facts: &ShardFacts| {
        let start = end;
        end += facts.samples;
        let split = facts.split.clone();
        Ok(Shard { number: number_of(facts)?, of: 0, samples: start..end, split })
    };
    let shards = manifest.shards.iter().map(shard).collect::<Result<Vec<_>>>()?;
    let common = common_of(&manifest);
    let number = number(manifest.edit.as_ref());
    let Manifest { fingerprint, schema, provenance, edit, .. } = manifest;
    let edit = edit.map(|edit| edit.id);
    Ok(Version { number, fingerprint, edit, schema, common, provenance, shards })
}

/// Returns the properties that all samples of a dataset share.
pub(crate) fn common_of(manifest: &Manifest) -> Common {
    let columns = manifest.members.iter().map(|text| Column::parse(text)).enumerate();
    let mut members: Vec<Option<String>> =
        columns.map(|(field, column)| kept::of_source(&manifest.schema, field, &column)).collect();
    if members.iter().all(Option::is_none) {
        members.clear();
    }
    Common {
        codec: manifest.common.codec,
        extension: manifest.common.extension.clone(),
        distinct_stems: manifest.common.distinct_stems,
        members,
        ..Common::default()
    }
}

fn number_of(facts: &ShardFacts) -> Result<usize> {
    let number = facts.name.strip_suffix(".tar").and_then(|stem| stem.rsplit_once('-'));
    let number = number.and_then(|(_, number)| number.parse().ok());
    number.ok_or_else(|| {
        let what = format!("the shard `{}` is not called as fdconvert calls shards", facts.name);
        Error::usage("dataset", what)
    })
}

/// A shard of the next version, by the name of its files without extension.
pub(crate) struct Named {
    pub(crate) is_new: bool,
    pub(crate) stem: String,
}

/// See [`Format::edit`](fdconvert_core::Format::edit).
pub(crate) fn edit(format: &Wds, edit: &Edit<'_>) -> Result<LogEntry> {
    let (text, path) = current(edit.out, manifest::NAME)?;
    let base = Manifest::parse(&text, &path)?;
    if base.fingerprint != edit.base {
        return Err(versions::faster(edit.out, number(base.edit.as_ref())));
    }
    let fingerprint = versions::fingerprint(edit.base, edit.id);
    let staged = Manifest::read(edit.stage)?;
    let shards = edit.shards.iter().map(|shard| match shard {
        NextShard::Kept(at) => {
            let facts = base.shards.get(*at);
            let stem = facts.and_then(|facts| facts.name.strip_suffix(".tar"));
            Ok(Named { is_new: false, stem: stem.unwrap_or_default().to_owned() })
        }
        NextShard::New(shard) => Ok(Named { is_new: true, stem: layout::stem(shard)? }),
    });
    let next = Next {
        format,
        out: edit.out,
        stage: edit.stage,
        base: Some(&base),
        staged: staged.as_ref(),
        shards: &shards.collect::<Result<Vec<_>>>()?,
        common: edit.common,
        fingerprint,
        renew: edit.entry.removed + edit.entry.changed > 0,
    };
    let Some(mut after) = next.make()? else {
        return Err(Error::usage("dataset", "no sample would be left"));
    };
    let (version, id) = (number(base.edit.as_ref()) + 1, fingerprint_hex(edit.id));
    after.edit = Some(EditFacts { version, id });
    let names: BTreeSet<String> = after.names().into_iter().collect();
    let removes = base.names().into_iter().filter(|name| !names.contains(name)).collect();
    Commit {
        out: edit.out,
        name: manifest::NAME,
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

/// A version in the making.
pub(crate) struct Next<'a> {
    pub(crate) format: &'a Wds,
    /// The folder of the shards.
    pub(crate) out: &'a Path,
    /// The folder of the staged shards.
    pub(crate) stage: &'a Path,
    pub(crate) base: Option<&'a Manifest>,
    pub(crate) staged: Option<&'a Manifest>,
    pub(crate) shards: &'a [Named],
    pub(crate) common: &'a Common,
    pub(crate) fingerprint: [u8; 16],
    /// True if nothing may stay of shards that are replaced.
    pub(crate) renew: bool,
}

impl Next<'_> {
    /// Returns its manifest, after writing the files about all shards to the stage; `None` if no
    /// shard is left.
    pub(crate) fn make(&self) -> Result<Option<Manifest>> {
        let is_kept = self.shards.iter().any(|shard| !shard.is_new);
        let base = self.base.filter(|_| is_kept).or(self.staged);
        let Some(mut after) = base.or(self.base).cloned() else { return Ok(None) };
        if let Some(base) = self.base {
            after.provenance = base.provenance.clone();
        }
        after.fingerprint = fingerprint_hex(self.fingerprint);
        after.common = self.common.into();
        after.shards.clear();
        let mut kept = Vec::new();
        let of = |manifest: Option<&'_ Manifest>| -> BTreeMap<String, (usize, ShardFacts)> {
            let shards = manifest.iter().flat_map(|it| it.shards.iter().enumerate());
            shards.map(|(at, facts)| (facts.name.clone(), (at, facts.clone()))).collect()
        };
        let (base, staged) = (of(self.base), of(self.staged));
        let mut files = Vec::new();
        for shard in self.shards {
            let name = format!("{}.tar", shard.stem);
            let from = if shard.is_new { &staged } else { &base };
            // Without it all samples of the shard were skipped, or are of other codecs.
            let Some((at, facts)) = from.get(&name) else { continue };
            let folder = if shard.is_new { self.stage } else { self.out };
            files.push(ShardFile {
                path: folder.join(&name),
                name,
                split: facts.split.clone(),
                n_samples: facts.samples,
                bytes: facts.bytes,
            });
            kept.push((!shard.is_new).then_some(*at));
            after.shards.push(facts.clone());
        }
        if after.shards.is_empty() {
            return Ok(None);
        }
        after.samples = after.shards.iter().map(|shard| shard.samples).sum();
        if let (Some(base), Some(staged)) = (self.base, self.staged) {
            if is_kept {
                let both = base.members.iter().zip(&staged.members);
                after.members = both.map(|(a, b)| union(a, b)).collect();
            }
            after.provenance.skipped.extend_from_slice(&staged.provenance.skipped);
        }
        after.sidecars = self.sidecars(&files, &after)?;
        let index = |(file, facts): (&ShardFile, &ShardFacts)| {
            facts.index.as_ref().map(|index| file.path.with_file_name(index))
        };
        let indexes: Vec<PathBuf> = files.iter().zip(&after.shards).filter_map(index).collect();
        let before = self.base.and_then(|base| base.combined.as_ref());
        let stage = (self.stage, self.fingerprint);
        after.combined = combined::edited(before, &kept, self.renew, &indexes, stage)?;
        Ok(Some(after))
    }

    /// Returns the files for other readers: of kept and of staged shards, and those about all.
    fn sidecars(&self, files: &[ShardFile], after: &Manifest) -> Result<Vec<FileFacts>> {
        let stems = |is_new: bool| -> BTreeSet<&str> {
            let shards = self.shards.iter().filter(|shard| shard.is_new == is_new);
            shards.map(|shard| shard.stem.as_str()).collect()
        };
        let mut facts = Vec::new();
        for (manifest, stems) in [(self.base, stems(false)), (self.staged, stems(true))] {
            let sidecars = manifest.iter().flat_map(|manifest| &manifest.sidecars);
            let of_shards = sidecars
                .filter(|file| shard_of(&file.name).is_some_and(|stem| stems.contains(stem)));
            facts.extend(of_shards.cloned());
        }
        let outline = Outline::new(self.format, &after.schema, self.common)?;
        let shards = Shards {
            out: self.out,
            files,
            schema: &after.schema,
            members: &after.members,
            walk: &|path, visit| each_sample(path, outline.as_ref(), visit),
            provenance: Some(&after.provenance),
        };
        for (path, bytes) in sidecars::files_of_all(&self.format.sidecars, &shards)? {
            let name = name_below(&path, self.out).unwrap_or_default().into_owned();
            stage_file(self.stage, &name, &bytes)?;
            facts.push(FileFacts::new(name, &bytes));
        }
        Ok(facts)
    }
}

/// Joins the names that a field's members may have.
fn union(a: &str, b: &str) -> String {
    let mut names: Vec<&str> = a.split(';').collect();
    names.extend(b.split(';').filter(|name| !a.split(';').any(|known| known == *name)));
    names.join(";")
}

impl Manifest {
    /// Returns the names of all files but the manifest.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for shard in &self.shards {
            let stem = shard.name.strip_suffix(".tar").unwrap_or(&shard.name);
            names.push(shard.name.clone());
            names.extend(shard.index.clone());
            names.push(format!("{RECORDS}/{stem}.json"));
        }
        names.extend(self.sidecars.iter().map(|file| file.name.clone()));
        names.extend(self.combined.iter().map(|combined| combined.name.clone()));
        names
    }
}
