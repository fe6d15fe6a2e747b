//! Finds and opens shards, and determines their fields.
use crate::index::Index;
use crate::shards::{
    among::{self, Among},
    combined::Blocks,
    manifest::NAME,
    versions::{self, Files, OpenVersion, number},
};
use crate::tarball;
use crate::wds::{
    WdsReader,
    infer::infer,
    layout::index_path,
    list::{self, Lists},
    manifest::{Manifest, ShardFacts},
    names::{self, Column},
    scan::{Scanned, samples},
    shard::{Contents, IndexProblem, Shard, find_index, slots, usable},
    strangers,
};
use bytes::Bytes;
use fdconvert_core::{
    Error, MaxDecompressed, OpenOptions, Provenance, Result, Schema, SourceFacts, option,
};
use fdconvert_storage::{
    Blob, name_of, open_all,
    place::{self, Kind},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::OnceLock,
};

/// The shards of a folder; an error if it has so many images that they may be the dataset.
fn shards_among_images(folder: &Path) -> Result<Vec<PathBuf>> {
    let shards = tarball::in_folder(folder)?;
    let Among::Both { n_images, n_samples } =
        Among::of(folder, |enough| tarball::held(&shards, enough))
    else {
        return Ok(shards);
    };
    let least = if n_images < among::MANY { "" } else { "at least " };
    let (shown, n_tars) = (folder.display(), shards.len());
    let tars = if n_tars == 1 { "tar" } else { "tars" };
    let what = format!(
        "{shown} holds {least}{n_images} images, and {least}{n_samples} samples in {n_tars} \
         {tars}, and which of them are the dataset is not clear: move the ones or the others into \
         a separate folder, and give that, or a tar"
    );
    Err(Error::usage("source", what))
}

/// A shard before its samples have been found.
struct Unscanned {
    path: PathBuf,
    archive: Blob,
    /// True if the archive is the file or object itself rather than made from it.
    is_stored: bool,
    index: Option<Index>,
    problem: Option<IndexProblem>,
}

impl WdsReader {
    /// Opens a folder of shards (those in its manifest, otherwise all), or a single shard.
    ///
    /// A shard with an index opens in constant time. Without an index all headers are read, and a
    /// compressed shard is decompressed into a temporary file.
    ///
    /// # Errors
    /// `Io`; `Corrupt`, `Unsupported` or `Version` when a shard or the manifest cannot be read;
    /// `Limit` for compressed shards that are too large.
    pub(crate) fn open(path: &Path, options: &OpenOptions) -> Result<Self> {
        if place::look_at(path)? != Kind::Folder {
            return Self::open_files(path, None, Files::plain(path), options);
        }
        versions::open(path, NAME, options.version, |opened| {
            let Some(OpenVersion { text, path: at, files, .. }) = opened else {
                return Self::open_files(path, None, Files::plain(path), options);
            };
            Self::open_files(path, Some(Manifest::parse(&text, &at)?), files, options)
        })
    }

    /// Opens the shards of a manifest at `at`, a part of a dataset.
    pub(crate) fn open_with_manifest(
        path: &Path,
        text: &[u8],
        at: &Path,
        files: Files,
    ) -> Result<Self> {
        let manifest = Manifest::parse(text, at)?;
        Self::open_files(path, Some(manifest), files, &OpenOptions::default())
    }

    /// Opens the shards of a manifest, or those that are there.
    pub(crate) fn open_files(
        path: &Path,
        manifest: Option<Manifest>,
        located: Files,
        options: &OpenOptions,
    ) -> Result<Self> {
        let OpenOptions { max_decompressed: limit, drop_fields: dropped, .. } = options;
        let limit = *limit;
        let is_folder = manifest.is_some() || place::look_at(path)? == Kind::Folder;
        let files: Vec<ShardFile> = match &manifest {
            Some(manifest) => {
                let listed = manifest.shards.iter().enumerate();
                listed.map(|(number, facts)| ShardFile::listed(&located, number, facts)).collect()
            }
            None if is_folder => {
                shards_among_images(path)?.into_iter().map(ShardFile::found).collect()
            }
            None => vec![ShardFile::found(path.to_path_buf())],
        };
        if files.is_empty() {
            let what = format!("{} has no .tar file in it", path.display());
            return Err(Error::usage("source", what));
        }
        let mut budget = limit.total();
        let blocks = manifest.as_ref().and_then(|it| Blocks::of(&located, it.combined.as_ref()));
        let combined = blocks.as_ref().zip(manifest.as_ref().map(|manifest| &manifest.schema));
        let opened = open_all(path, &files, |file| file.open(combined));
        let shards = files.iter().zip(opened);
        let shards = shards.map(|(file, opened)| file.load(opened?, limit, &mut budget));
        let mut shards = shards.collect::<Result<Vec<Unscanned>>>()?;
        let listed = manifest.iter().flat_map(|manifest| &manifest.shards);
        for (shard, facts) in shards.iter_mut().zip(listed) {
            if let (Some(name), None, None) = (&facts.index, &shard.index, &shard.problem) {
                shard.problem = Some(IndexProblem::Missing(format!(
                    "its index {name} is missing, and with it the checksums of its samples; \
                     `fdconvert index` makes it again"
                )));
            }
        }
        let n_images_beside = match &manifest {
            None if is_folder => among::images_beside(path),
            _ => 0,
        };
        let mut reader = Self::assemble(path, manifest, shards, dropped)?;
        reader.files = located;
        reader.combined_problem = blocks.and_then(|blocks| blocks.problem());
        Ok(reader.told(n_images_beside))
    }

    /// Opens a single shard in memory, without an index; messages call it `path`.
    #[doc(hidden)]
    pub fn from_archive(archive: Bytes, path: &Path) -> Result<Self> {
        let path = path.to_path_buf();
        let (archive, index, problem) = (archive.into(), None, None);
        let shard = Unscanned { path: path.clone(), archive, is_stored: false, index, problem };
        Ok(Self::assemble(&path, None, vec![shard], &[])?.told(0))
    }

    fn assemble(
        path: &Path,
        manifest: Option<Manifest>,
        mut shards: Vec<Unscanned>,
        dropped: &[String],
    ) -> Result<Self> {
        let given = given(&mut shards, manifest.as_ref())?;
        let lists = match &given {
            Some((_, columns)) => Lists::of_columns(columns),
            None => Lists::AllBut(BTreeSet::new()),
        };
        let shards = shards.into_iter().map(|shard| shard.scan(&lists));
        let mut shards = shards.collect::<Result<Vec<Shard>>>()?;
        let (mut schema, mut columns) = match given {
            Some(given) => given,
            None => {
                scan_without_broken_lists(&mut shards)?;
                strangers::leave_out(&mut shards);
                infer(&shards)?
            }
        };
        assign(&mut shards, &schema, &columns);
        let extra = extra(&shards);
        let mut dropped_fields = Vec::new();
        // With an index, each sample has all fields.
        if shards.iter().all(|shard| matches!(shard.contents, Contents::Scanned(_))) {
            let fields = schema.fields.iter().map(|field| &field.name);
            dropped_fields = fields.filter(|name| dropped.contains(name)).cloned().collect();
            (schema, columns) = without(schema, columns, dropped)?;
        }
        if !dropped_fields.is_empty() {
            assign(&mut shards, &schema, &columns);
        }
        note_missing(&mut shards, &schema, &columns);
        let mut end = 0;
        let ends = shards.iter().map(|shard| {
            end += shard.len();
            end
        });
        let ends: Vec<u64> = ends.collect();
        let name = name_of(path)?.unwrap_or_else(|| "shards".into());
        let len = ends.last().copied().unwrap_or(0);
        let slots = slots(&schema);
        let version = manifest.as_ref().map(|manifest| number(manifest.edit.as_ref()));
        let facts = SourceFacts { dropped_fields, version, ..SourceFacts::new(name, schema, len) };
        let provenance = match &manifest {
            Some(manifest) => Some(manifest.provenance.clone()),
            None => merged_provenance(&shards),
        };
        Ok(Self {
            path: path.to_path_buf(),
            facts,
            slots,
            columns,
            manifest,
            provenance,
            shards,
            ends,
            extra,
            fingerprint: OnceLock::new(),
            combined_problem: None,
            files: Files::plain(path),
        })
    }
}

impl Unscanned {
    fn scan(mut self, lists: &Lists) -> Result<Shard> {
        let contents = match self.index.take() {
            Some(index) => Contents::Indexed(Box::new(index)),
            None => {
                let scanned = Scanned::new(&self.walkable()?, lists);
                Contents::Scanned(Box::new(scanned.map_err(|error| error.at(&self.path))?))
            }
        };
        let Self { path, archive, is_stored, index: _, problem: index_problem } = self;
        Ok(Shard { path: path.into(), archive, is_stored, contents, index_problem })
    }

    /// Returns the whole archive. An object is copied for the walk, and later reads use the copy.
    fn walkable(&mut self) -> Result<Bytes> {
        let whole = self.archive.whole()?;
        if self.archive.here().is_none() {
            self.archive = whole.clone().into();
            self.is_stored = false;
        }
        Ok(whole)
    }

    /// Member names of the first sample, in the order of its fields.
    fn columns(&self, schema: &Schema) -> Option<Vec<Column>> {
        let start = self.first_samples().ok()?;
        let (_, members) = samples(&start, &Lists::of_schema(schema)).next()?.ok()?;
        names::in_our_order(&members, schema)
    }

    /// The archive, at least up to the end of its first sample.
    fn first_samples(&self) -> Result<Bytes> {
        if let Some(archive) = self.archive.here() {
            return Ok(archive.clone());
        }
        // The first sample ends at the headers of the second one, so include those.
        let third = self.index.as_ref().and_then(|index| index.region(2, 0).ok());
        let end = third.map_or(self.archive.len(), |region| region.offset);
        Ok(self.archive.read(0, end)?.unwrap_or_default())
    }
}

/// Scans shards again if numbered images that are a list in one sample are none in another: then
/// they are none in all.
fn scan_without_broken_lists(shards: &mut [Shard]) -> Result<()> {
    let scanned = shards.iter().filter_map(|shard| match &shard.contents {
        Contents::Scanned(scanned) => Some(scanned),
        Contents::Indexed(_) => None,
    });
    let names = scanned.flat_map(|scanned| scanned.shapes()).flat_map(|shape| &shape.names);
    let broken: BTreeSet<Vec<u8>> =
        names.filter_map(|name| Some(list::numbered(name)?.0.to_vec())).collect();
    if broken.is_empty() {
        return Ok(());
    }
    let lists = Lists::AllBut(broken);
    for shard in shards {
        if let Contents::Scanned(scanned) = &mut shard.contents {
            let archive = shard.archive.whole()?;
            **scanned = Scanned::new(&archive, &lists).map_err(|error| error.at(&shard.path))?;
        }
    }
    Ok(())
}

/// Schema and member names from the manifest, otherwise from the first index. Indexes that disagree
/// are ignored. `None` if they must be inferred from all members.
fn given(
    shards: &mut [Unscanned],
    manifest: Option<&Manifest>,
) -> Result<Option<(Schema, Vec<Column>)>> {
    let parse = |names: &[String]| names.iter().map(|name| Column::parse(name)).collect();
    let from_index = |shard: &Unscanned| {
        let schema = shard.index.as_ref()?.meta().schema.clone();
        let columns = shard.columns(&schema)?;
        Some((schema, columns))
    };
    let given = match manifest {
        Some(manifest) => Some((manifest.schema.clone(), parse(&manifest.members))),
        None => shards.iter().find_map(from_index),
    };
    let schema = given.as_ref().map(|(schema, _)| schema);
    for shard in shards {
        if shard.index.as_ref().is_some_and(|index| Some(&index.meta().schema) != schema) {
            shard.index = None;
            let what = "the index is of another dataset: its fields differ";
            shard.problem = Some(IndexProblem::Unusable(what.into()));
        }
    }
    Ok(given)
}

/// Removes the dropped fields.
fn without(
    schema: Schema,
    columns: Vec<Column>,
    dropped: &[String],
) -> Result<(Schema, Vec<Column>)> {
    let fields = schema.fields.into_iter().zip(columns);
    let kept = fields.filter(|(field, _)| !dropped.contains(&field.name));
    let (fields, columns): (Vec<_>, Vec<_>) = kept.unzip();
    if fields.is_empty() {
        return Err(Error::usage(option::DROP_FIELDS, "no other field is left"));
    }
    Ok((Schema::new(fields)?, columns))
}

/// Assigns members to fields in the shards without an index.
fn assign(shards: &mut [Shard], schema: &Schema, columns: &[Column]) {
    for shard in shards {
        if let Contents::Scanned(scanned) = &mut shard.contents {
            scanned.assign(schema, columns);
        }
    }
}

/// Counts the members that belong to no field, by name.
fn extra(shards: &[Shard]) -> BTreeMap<Vec<u8>, u64> {
    let mut extra: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    for shard in shards {
        let Contents::Scanned(scanned) = &shard.contents else { continue };
        for (name, n) in scanned.extra() {
            *extra.entry(name.to_vec()).or_default() += n;
        }
    }
    extra
}

/// Counts the samples that lack fields, for their error messages.
fn note_missing(shards: &mut [Shard], schema: &Schema, columns: &[Column]) {
    let n_samples = shards.iter().map(Shard::len).sum();
    let mut n_without = vec![0; columns.len()];
    for shard in &*shards {
        if let Contents::Scanned(scanned) = &shard.contents {
            for (field, n_without) in n_without.iter_mut().enumerate() {
                *n_without += scanned.n_without(field);
            }
        }
    }
    for shard in shards {
        if let Contents::Scanned(scanned) = &mut shard.contents {
            scanned.note_missing(schema, columns, &n_without, n_samples);
        }
    }
}

struct ShardFile {
    path: PathBuf,
    index: PathBuf,
    /// Where it is when an edit has replaced it.
    elsewhere: Vec<PathBuf>,
    /// Its length, if a manifest has it: then fdconvert wrote the shard, uncompressed.
    len: Option<u64>,
    number: usize,
}

/// A shard and its index, if it has one.
struct Opened {
    file: Blob,
    index: Option<Result<Index, String>>,
}

impl ShardFile {
    fn listed(files: &Files, number: usize, facts: &ShardFacts) -> Self {
        let path = files.path(&facts.name);
        let index = facts.index.as_ref().map_or_else(|| index_path(&path), |name| files.path(name));
        let elsewhere = files.elsewhere(&facts.name);
        Self { path, index, elsewhere, len: Some(facts.bytes), number }
    }

    fn found(path: PathBuf) -> Self {
        Self { index: index_path(&path), path, elsewhere: Vec::new(), len: None, number: 0 }
    }

    /// `combined` is the combined index, if any, and the fields that its blocks must have.
    fn open(&self, combined: Option<(&Blocks, &Schema)>) -> Result<Opened> {
        let file = match self.len {
            Some(len) => Blob::open_with_len(&self.path, len)?.or_elsewhere(self.elsewhere.clone()),
            None => Blob::open(&self.path)?,
        };
        let index = combined.and_then(|(blocks, schema)| {
            blocks.take(self.number, |block| {
                let index = usable(block, file.len())?;
                let is_ours = index.meta().schema == *schema;
                if is_ours { Ok(index) } else { Err("its block is of other fields".to_owned()) }
            })
        });
        let index = match index {
            Some(index) => Some(Ok(index)),
            None => find_index(&self.path, &self.index, file.len())?,
        };
        Ok(Opened { file, index })
    }

    /// `budget` is the limit of decompressed bytes for this shard and those after it.
    fn load(&self, opened: Opened, limit: MaxDecompressed, budget: &mut u64) -> Result<Unscanned> {
        let Opened { file, index } = opened;
        let path = self.path.clone();
        let start = match self.len {
            Some(_) if file.here().is_none() => Bytes::new(),
            _ => file.read(0, file.len().min(4))?.unwrap_or_default(),
        };
        let is_stored = !tarball::is_compressed(&start);
        let archive = if is_stored {
            file
        } else {
            tarball::inflate(&path, &file.whole()?, limit, budget)?.into()
        };
        let index = if is_stored { index } else { find_index(&path, &self.index, archive.len())? };
        let (index, problem) = match index {
            None => (None, None),
            Some(Ok(index)) => (Some(index), None),
            Some(Err(problem)) => (None, Some(problem)),
        };
        let problem = problem.map(IndexProblem::Unusable);
        Ok(Unscanned { path, archive, is_stored, index, problem })
    }
}

/// Merges the provenance of all indexes.
fn merged_provenance(shards: &[Shard]) -> Option<Provenance> {
    let mut merged: Option<Provenance> = None;
    for shard in shards {
        let Contents::Indexed(index) = &shard.contents else { return None };
        let found = &index.meta().provenance;
        match &mut merged {
            None => merged = Some(found.clone()),
            Some(merged) => merged.skipped.extend_from_slice(&found.skipped),
        }
    }
    merged
}
