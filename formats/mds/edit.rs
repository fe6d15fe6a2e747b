//! The next version of a dataset: its indexes and its manifest, from kept and staged shards.
use crate::mds::{
    encoding::Encoding,
    layout::{Entry, INDEX, Index, VERSION, within_split},
    manifest::{Manifest, ShardName},
    open::read_index_at,
    python_json::dumps,
};
use crate::shards::{
    RECORDS, combined,
    manifest::{self, FileFacts, MAX_BYTES},
    versions::{
        self, Commit, EditFacts, current, faster, number, recover, stage_file, without_manifest,
    },
};
use fdconvert_core::{
    Codec, Common, Edit, Error, Kind, LogEntry, NextShard, Result, Shard, Version,
};
use fdconvert_storage::{fingerprint_hex, read_if_there};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// See [`Format::version`](fdconvert_core::Format::version).
pub(crate) fn version(out: &Path) -> Result<Version> {
    recover(out, manifest::NAME)?;
    let Some(manifest) = read(out)? else { return Err(without_manifest(out)) };
    let mut end = 0;
    let shard = |shard: &ShardName| {
        let start = end;
        end += shard.samples;
        let split = shard.split.clone();
        Ok(Shard { number: number_of(shard)?, of: 0, samples: start..end, split })
    };
    let shards = manifest.shards.iter().map(shard).collect::<Result<Vec<_>>>()?;
    let codec = codec_of(out, &manifest)?;
    let Manifest { fingerprint, schema, provenance, edit, .. } = manifest;
    let number = number(edit.as_ref());
    let (edit, common) = (edit.map(|edit| edit.id), Common { codec, ..Common::default() });
    Ok(Version { number, fingerprint, edit, schema, common, provenance, shards })
}

/// Returns the codec of the column of the first image, if it has one.
fn codec_of(out: &Path, manifest: &Manifest) -> Result<Option<Codec>> {
    let image = manifest.schema.first_image().and_then(|at| manifest.schema.fields.get(at));
    let (Some(shard), Some(image)) = (manifest.shards.first(), image) else { return Ok(None) };
    let path = out.join(format!("{}{INDEX}", within_split(&shard.split)?));
    let entries = read_index_at(&path)?.1;
    let Some(entry) = entries.first() else { return Ok(None) };
    let column = entry.column_names.iter().position(|name| *name == image.name);
    let stored = column.and_then(|column| entry.column_encodings.get(column));
    let is_of = |codec: &Codec| {
        let encoding = Encoding::of_field(&Kind::Image, Some(*codec));
        encoding.is_some_and(|encoding| Some(&encoding.name()) == stored)
    };
    // All that have a column of their own.
    Ok([Codec::Jpeg, Codec::Png].into_iter().find(is_of))
}

fn read(out: &Path) -> Result<Option<Manifest>> {
    let path = out.join(manifest::NAME);
    let text = read_if_there(&path, MAX_BYTES)?;
    text.map(|text| Manifest::parse(&text, &path)).transpose()
}

fn stem_of(name: &str) -> &str {
    name.strip_suffix(".mds").unwrap_or(name)
}

fn number_of(shard: &ShardName) -> Result<usize> {
    let number = stem_of(&shard.basename).strip_prefix("shard.");
    number.and_then(|number| number.parse().ok()).ok_or_else(|| {
        let name = &shard.basename;
        let what = format!("the shard `{name}` is not called as fdconvert calls shards");
        Error::usage("dataset", what)
    })
}

/// A manifest with the entries of its shards in the indexes.
struct Described {
    folder: PathBuf,
    manifest: Manifest,
    entries: Vec<Entry>,
}

impl Described {
    fn read(folder: &Path, manifest: Manifest) -> Result<Self> {
        let mut indexes: BTreeMap<&str, std::vec::IntoIter<Entry>> = BTreeMap::new();
        let mut entries = Vec::with_capacity(manifest.shards.len());
        for shard in &manifest.shards {
            if !indexes.contains_key(shard.split.as_str()) {
                let path = folder.join(format!("{}{INDEX}", within_split(&shard.split)?));
                indexes.insert(&shard.split, read_index_at(&path)?.1.into_iter());
            }
            let next = indexes.get_mut(shard.split.as_str()).and_then(Iterator::next);
            let next = next.filter(|entry| entry.raw_data.basename == shard.basename);
            entries.push(next.ok_or_else(|| {
                let what = format!("its shard `{}` is not in the index", shard.basename);
                Error::corrupt("mds", folder.join(manifest::NAME), 0, what)
            })?);
        }
        Ok(Self { folder: folder.to_path_buf(), manifest, entries })
    }

    /// Returns the position of a shard.
    fn find(&self, shard: &Shard) -> Option<usize> {
        let shards = &self.manifest.shards;
        shards.iter().position(|found| {
            found.split == shard.split && number_of(found).is_ok_and(|it| it == shard.number)
        })
    }

    /// Returns the names of all files but the manifest.
    fn names(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for (shard, entry) in self.manifest.shards.iter().zip(&self.entries) {
            let within = within_split(&shard.split)?;
            let stored = entry.zip_data.as_ref().unwrap_or(&entry.raw_data);
            names.push(format!("{within}{}", stored.basename));
            names.extend(shard.index.iter().map(|index| format!("{within}{index}")));
            names.push(format!("{within}{RECORDS}/{}.json", stem_of(&shard.basename)));
        }
        names.extend(self.manifest.files.iter().map(|file| file.name.clone()));
        names.extend(self.manifest.combined.iter().map(|combined| combined.name.clone()));
        Ok(names)
    }
}

/// See [`Format::edit`](fdconvert_core::Format::edit).
pub(crate) fn edit(edit: &Edit<'_>) -> Result<LogEntry> {
    let (text, path) = current(edit.out, manifest::NAME)?;
    let base = Manifest::parse(&text, &path)?;
    if base.fingerprint != edit.base {
        return Err(faster(edit.out, number(base.edit.as_ref())));
    }
    let base = Described::read(edit.out, base)?;
    let staged = read(edit.stage)?;
    let staged = staged.map(|staged| Described::read(edit.stage, staged)).transpose()?;
    let fingerprint = versions::fingerprint(edit.base, edit.id);
    let version = number(base.manifest.edit.as_ref()) + 1;
    let mut after = Described {
        folder: edit.stage.to_path_buf(),
        entries: Vec::new(),
        manifest: Manifest {
            fingerprint: fingerprint_hex(fingerprint),
            shards: Vec::new(),
            edit: Some(EditFacts { version, id: fingerprint_hex(edit.id) }),
            ..base.manifest.clone()
        },
    };
    let (mut kept, mut blocks) = (Vec::new(), Vec::new());
    for shard in edit.shards {
        let (from, at) = match shard {
            NextShard::Kept(at) => (Some(&base), Some(*at)),
            NextShard::New(shard) => {
                (staged.as_ref(), staged.as_ref().and_then(|staged| staged.find(shard)))
            }
        };
        // Without it all samples of the shard were skipped.
        let Some((from, at)) = from.zip(at) else { continue };
        let shard = from.manifest.shards.get(at).zip(from.entries.get(at));
        let Some((shard, entry)) = shard else { continue };
        let within = within_split(&shard.split)?;
        blocks.extend(shard.index.as_ref().map(|it| from.folder.join(format!("{within}{it}"))));
        kept.push((from.folder == base.folder).then_some(at));
        after.manifest.shards.push(shard.clone());
        after.entries.push(entry.clone());
    }
    if after.entries.is_empty() {
        return Err(Error::usage("dataset", "no sample would be left"));
    }
    after.manifest.samples = after.entries.iter().map(|entry| entry.samples).sum();
    if let Some(staged) = &staged {
        if kept.iter().all(Option::is_none) {
            after.manifest.schema.clone_from(&staged.manifest.schema);
            after.manifest.key_column.clone_from(&staged.manifest.key_column);
        }
        let skipped = &staged.manifest.provenance.skipped;
        after.manifest.provenance.skipped.extend_from_slice(skipped);
    }
    after.manifest.files = write_indexes(&after, edit.stage)?;
    let renew = edit.entry.removed + edit.entry.changed > 0;
    let before = base.manifest.combined.as_ref();
    after.manifest.combined =
        combined::edited(before, &kept, renew, &blocks, (edit.stage, fingerprint))?;
    let names: BTreeSet<String> = after.names()?.into_iter().collect();
    let removes = base.names()?.into_iter().filter(|name| !names.contains(name)).collect();
    Commit {
        out: edit.out,
        name: manifest::NAME,
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

/// Writes the index of each split to the stage.
fn write_indexes(after: &Described, stage: &Path) -> Result<Vec<FileFacts>> {
    let mut indexes: Vec<(&str, Index)> = Vec::new();
    for (shard, entry) in after.manifest.shards.iter().zip(&after.entries) {
        match indexes.iter_mut().find(|(split, _)| *split == shard.split) {
            Some((_, index)) => index.shards.push(entry.clone()),
            None => {
                indexes
                    .push((&shard.split, Index { shards: vec![entry.clone()], version: VERSION }));
            }
        }
    }
    let mut files = Vec::with_capacity(indexes.len());
    for (split, index) in &indexes {
        let (name, text) = (format!("{}{INDEX}", within_split(split)?), dumps(index));
        stage_file(stage, &name, &text)?;
        files.push(FileFacts::new(name, &text));
    }
    Ok(files)
}
