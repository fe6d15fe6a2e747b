//! Checks before the first sample is read: the indexes, and fdconvert's manifest against them.
use crate::mds::{
    MdsReader,
    columns::{self, Column},
    encoding::Encoding,
    images,
    layout::{Entry, FORMAT, INDEX, Index, MAX_SHARD_BYTES, VERSION, config_offset, within_split},
    manifest::Manifest,
    shape,
    shard::{Inflated, ShardFile, safe_name},
    sidecar::ShardIndex,
    splits,
};
use crate::shards::{
    RECORDS,
    combined::Blocks,
    manifest,
    versions::{self, Files, OpenVersion, number},
};
use bytes::Bytes;
use fdconvert_core::{
    Error, FieldSpec, MaxDecompressed, OpenOptions, Remark, Result, Schema, SourceFacts, option,
};
use fdconvert_storage::{fingerprint_hex as hex, name_of, open_all, place, read_file};
use serde::Deserialize;
use serde_json::Value as Json;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};
use xxhash_rust::xxh3::Xxh3;

/// Limit for `index.json` and `fdconvert.json`.
const MAX_JSON_BYTES: u64 = 1 << 28;
pub(crate) const MISSING: &str =
    "it is missing: the dataset was not finished, or the file was removed";
/// Limit of shards that are opened with their dataset: each takes two memory maps, of which a process
/// has 65,530.
const MOST_OPENED: usize = 8192;
/// Limit for the size of a shard in memory: only a hostile shard of a fuzzer states more.
const MAX_GIVEN_BYTES: u64 = 1 << 26;

/// The fields made from the columns.
#[derive(Debug)]
pub(crate) struct Fields {
    pub(crate) columns: Vec<usize>,
    pub(crate) key: Option<usize>,
}

impl MdsReader {
    /// Opens the dataset in the folder `path`. Reads only its indexes; shards follow on demand. In
    /// a dataset of another tool it also reads a few values of bytes columns, to find out whether
    /// they are images.
    ///
    /// # Errors
    /// `Io`; `Version` and `Unsupported` for data that this build does not support; `Corrupt`.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// Like [`open`](Self::open), with a limit for each compressed shard, and without the dropped
    /// columns.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub(crate) fn open_with(path: &Path, options: &OpenOptions) -> Result<Self> {
        let (limit, dropped) = (options.max_decompressed, &*options.drop_fields);
        if place::is_file(path) {
            let what =
                format!("{} is one shard; give its folder, with the index.json", path.display());
            return Err(Error::usage("dataset", what));
        }
        versions::open(path, manifest::NAME, options.version, |opened| {
            Self::open_version(path, opened, (limit, dropped))
        })
    }

    fn open_version(
        path: &Path,
        opened: Option<OpenVersion>,
        (limit, dropped): (MaxDecompressed, &[String]),
    ) -> Result<Self> {
        let (text, at, files) = match opened {
            Some(opened) => (Some(opened.text), opened.path, opened.files),
            None => (None, PathBuf::new(), Files::plain(path)),
        };
        let mut hash = Xxh3::new();
        hash.update(text.as_deref().unwrap_or_default());
        let manifest = text.map(|text| Manifest::parse(&text, &at)).transpose();
        let (manifest, mut problem) = match manifest {
            Ok(manifest) => (manifest, None),
            // The report of the problem adds its place.
            Err(Error::Corrupt { what, .. }) => (None, Some(what.to_string())),
            Err(error) => (None, Some(error.to_string())),
        };
        if let Some(manifest) = manifest {
            let blocks = Blocks::of(&files, manifest.combined.as_ref()).map(Arc::new);
            match shards_of(&files, &manifest, blocks.as_ref(), &mut hash)? {
                Ok(shards) => {
                    let mut made = Self::new(
                        path,
                        shards,
                        Some(manifest),
                        hash.digest128(),
                        (limit, dropped),
                    )?;
                    if made.problem.is_none() {
                        made.files = files;
                        made.open_shards();
                        return Ok(Self { blocks, ..made });
                    }
                    problem = made.problem;
                }
                Err(other) => problem = Some(other),
            }
        }
        let mut shards = Vec::new();
        for folder in folders(path)? {
            let (text, entries) = read_index(&folder)?;
            hash.update(&text);
            let files =
                entries.into_iter().map(|entry| ShardFile::new(entry, folder.clone(), None));
            shards.extend(files);
        }
        let mut reader = Self::new(path, shards, None, hash.digest128(), (limit, dropped))?;
        // A writer of done-records also writes a manifest in the end.
        let is_split =
            path.parent().is_some_and(|above| place::is_file(&above.join(manifest::NAME)));
        let has_records = |folder: &Path| place::is_folder(&folder.join(RECORDS));
        let is_ours = !is_split && reader.shards.iter().any(|shard| has_records(&shard.folder));
        let unread = splits::unread(path, &reader.shards)?;
        reader.facts.remarks = splits::remarks(&reader, &unread);
        reader.problem = problem.or_else(|| is_ours.then(|| MISSING.to_owned()));
        Ok(reader)
    }

    /// Opens a dataset in memory: the index, and the shards in its order, compressed where the
    /// index says so.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    #[doc(hidden)]
    pub fn from_parts(index: &Bytes, shards: Vec<Bytes>) -> Result<Self> {
        let folder = Path::new("parts");
        let entries = parse_index(index, &folder.join(INDEX))?;
        let mut shards = shards.into_iter();
        let files = entries.into_iter().map(|entry| {
            ShardFile::new(entry, folder.to_path_buf(), Some(shards.next().unwrap_or_default()))
        });
        let hash = xxhash_rust::xxh3::xxh3_128(index);
        let limit = MaxDecompressed(Some(MAX_GIVEN_BYTES));
        Self::new(folder, files.collect(), None, hash, (limit, &[]))
    }

    fn new(
        path: &Path,
        mut shards: Vec<ShardFile>,
        manifest: Option<Manifest>,
        hash: u128,
        (limit, dropped): (MaxDecompressed, &[String]),
    ) -> Result<Self> {
        let index_path = shards.first().map_or(path, |shard| &shard.folder).join(INDEX);
        let corrupt = |what: String| Error::corrupt(FORMAT, &index_path, 0, what);
        let unsupported = |what: Remark| {
            let path = index_path.clone();
            Error::Unsupported { format: FORMAT, path, what }
        };
        let first = shards.first().ok_or_else(|| corrupt("it names no shard".to_owned()))?;
        let first = first.entry.clone();
        let columns_of = |entry: &Entry| {
            columns::columns(entry, dropped).map_err(|(is_damage, what)| {
                if is_damage { corrupt(what.to_string()) } else { unsupported(what) }
            })
        };
        let columns = columns_of(&first)?;
        for shard in &mut shards {
            if shard.entry.same_columns(&first) {
                continue;
            }
            let own = columns::own(&columns, columns_of(&shard.entry)?, &first, dropped);
            shard.own = Some(own.map_err(|what| {
                let shard = &shard.entry.raw_data.basename;
                unsupported(what.reworded(|what| format!("the shard `{shard}` {what}")))
            })?);
        }
        let mut n_samples = 0_u64;
        for shard in &mut shards {
            shard.first = n_samples;
            n_samples += shard.entry.samples;
            if let Some(what) = shard.unsupported() {
                return Err(unsupported(what.into()));
            }
        }
        let differ = shards.iter().any(|shard| shard.own.is_some());
        let agreed = manifest.as_ref().map(|manifest| match differ {
            true => Err("its shards differ in their columns".to_owned()),
            false => agree(manifest, &columns, n_samples),
        });
        let ((schema, fields), problem) = match agreed {
            Some(Ok(agreed)) => (agreed, None),
            Some(Err(problem)) => (plain(&columns, dropped)?, Some(problem)),
            None => (plain(&columns, dropped)?, None),
        };
        let is_left_out = |(at, column): (usize, &Column)| {
            let is_dropped = fields.key != Some(at) && !fields.columns.contains(&at);
            is_dropped.then(|| column.name.clone())
        };
        let left_out = columns.iter().enumerate().filter_map(is_left_out);
        // Some shards may lack a column that is left out.
        let of_shards = shards.iter().filter_map(|shard| shard.own.as_ref());
        let of_shards = of_shards.flat_map(|own| &own.columns).map(|column| column.name.clone());
        let of_shards = of_shards.filter(|name| dropped.contains(name));
        let dropped_fields: BTreeSet<String> = left_out.chain(of_shards).collect();
        let name = name_of(path)?.unwrap_or_else(|| FORMAT.into());
        let mut facts = SourceFacts::new(name, schema, n_samples);
        facts.dropped_fields = dropped_fields.into_iter().collect();
        facts.reads_ahead = shards.iter().any(ShardFile::reads_ahead);
        facts.version = manifest.as_ref().map(|manifest| number(manifest.edit.as_ref()));
        let mut reader = Self {
            path: path.to_path_buf(),
            facts,
            columns,
            fields,
            shards,
            manifest: manifest.filter(|_| problem.is_none()),
            problem,
            fingerprint: hash.to_le_bytes(),
            inflated: Inflated::default(),
            limit,
            blocks: None,
            files: Files::plain(path),
        };
        if reader.manifest.is_none() {
            shape::find(&mut reader)?;
            images::recognise(&mut reader);
        }
        reader.facts.splits = splits::of(&reader);
        Ok(reader)
    }
}

impl MdsReader {
    /// Opens the files of shards and indexes now rather than on first use, so that an edit may
    /// replace them. Errors show again when they are used.
    fn open_shards(&self) {
        if place::is_url(&self.path) || self.shards.len() > MOST_OPENED {
            return;
        }
        for shard in &self.shards {
            shard.open_now();
            let _ = shard.index.open(&shard.entry, &self.facts.schema);
        }
    }
}

/// The shards in the order of the manifest, or how the indexes disagree with it.
fn shards_of(
    located: &Files,
    manifest: &Manifest,
    blocks: Option<&Arc<Blocks>>,
    hash: &mut Xxh3,
) -> Result<Result<Vec<ShardFile>, String>> {
    let mut splits: Vec<(&str, String, std::vec::IntoIter<Entry>)> = Vec::new();
    for shard in &manifest.shards {
        if splits.iter().all(|(split, ..)| *split != shard.split) {
            let within = match within_split(&shard.split) {
                Ok(within) => within,
                Err(error) => return Ok(Err(error.to_string())),
            };
            let (text, entries) = read_index_at(&located.path(&format!("{within}{INDEX}")))?;
            hash.update(&text);
            splits.push((shard.split.as_str(), within, entries.into_iter()));
        }
    }
    let mut files = Vec::with_capacity(manifest.shards.len());
    for (number, shard) in manifest.shards.iter().enumerate() {
        let next = splits.iter_mut().find(|(split, ..)| *split == shard.split);
        let next = next.and_then(|(_, within, entries)| Some((within.clone(), entries.next()?)));
        match next {
            Some((within, entry))
                if entry.raw_data.basename == shard.basename && entry.samples == shard.samples =>
            {
                let stored = entry.zip_data.as_ref().unwrap_or(&entry.raw_data);
                let name = format!("{within}{}", stored.basename);
                let (stored, elsewhere) = (located.path(&name), located.elsewhere(&name));
                let folder = stored.parent().map(Path::to_path_buf).unwrap_or_default();
                let mut file = ShardFile::new(entry, folder, None);
                file.elsewhere = elsewhere;
                let combined = blocks.map(|blocks| (blocks.clone(), number));
                let index = shard.index.as_ref();
                let index = index.map(|name| located.path(&format!("{within}{name}")));
                file.index = ShardIndex::at(index, combined);
                files.push(file);
            }
            _ => return Ok(Err(format!("its shard `{}` is not in the index", shard.basename))),
        }
    }
    if splits.iter_mut().any(|(_, _, entries)| entries.next().is_some()) {
        return Ok(Err("the index has more shards".to_owned()));
    }
    Ok(Ok(files))
}

/// The folders with an index, in the absence of a manifest.
fn folders(path: &Path) -> Result<Vec<PathBuf>> {
    if place::is_file(&path.join(INDEX)) {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut folders = with_index(path, place::list_folders(path)?);
    folders.sort();
    // Without any, opening the folder itself reports the missing index.
    Ok(if folders.is_empty() { vec![path.to_path_buf()] } else { folders })
}

/// Selects the folders that have an index.
pub(crate) fn with_index(path: &Path, folders: Vec<PathBuf>) -> Vec<PathBuf> {
    let has_index = open_all(path, &folders, |folder| place::is_file(&folder.join(INDEX)));
    folders.into_iter().zip(has_index).filter_map(|(folder, has)| has.then_some(folder)).collect()
}

pub(crate) fn read_index(folder: &Path) -> Result<(Bytes, Vec<Entry>)> {
    read_index_at(&folder.join(INDEX))
}

pub(crate) fn read_index_at(path: &Path) -> Result<(Bytes, Vec<Entry>)> {
    let text = read_file(path, MAX_JSON_BYTES)?;
    let entries = parse_index(&text, path)?;
    Ok((text, entries))
}

/// The parts of an index that identify version and format.
#[derive(Deserialize)]
struct Loose {
    #[serde(default)]
    version: Json,
    #[serde(default)]
    shards: Vec<LooseShard>,
}

#[derive(Deserialize)]
struct LooseShard {
    #[serde(default)]
    version: Json,
    #[serde(default)]
    format: Json,
}

fn parse_index(text: &[u8], path: &Path) -> Result<Vec<Entry>> {
    let corrupt = |what: String| Error::corrupt(FORMAT, path, 0, what);
    let loose: Loose = serde_json::from_slice(text)
        .map_err(|cause| corrupt(format!("not an index in JSON: {cause}")))?;
    let versions = loose.shards.iter().map(|shard| &shard.version);
    for version in std::iter::once(&loose.version).chain(versions) {
        if version.as_u64() != Some(VERSION) {
            let (format, path, supported) = (FORMAT, path.to_path_buf(), "2");
            let found = version.as_u64().unwrap_or(0);
            return Err(Error::Version { format, path, found, supported });
        }
    }
    if let Some(shard) = loose.shards.iter().find(|shard| shard.format.as_str() != Some(FORMAT)) {
        let what = format!("its shards are of the format {}, not mds", shard.format);
        return Err(Error::Unsupported {
            format: FORMAT,
            path: path.to_path_buf(),
            what: what.into(),
        });
    }
    let mut index: Index =
        serde_json::from_slice(text).map_err(|cause| corrupt(cause.to_string()))?;
    for (number, entry) in index.shards.iter_mut().enumerate() {
        check_entry(entry).map_err(|what| corrupt(format!("shard {number}: {what}")))?;
    }
    Ok(index.shards)
}

fn check_entry(entry: &mut Entry) -> Result<(), String> {
    let (names, encodings) = (entry.column_names.len(), entry.column_encodings.len());
    if (names, names) != (encodings, entry.column_sizes.len()) {
        return Err("its lists of columns differ in length".to_owned());
    }
    for file in std::iter::once(&mut entry.raw_data).chain(&mut entry.zip_data) {
        let outside = || format!("`{}` is not a name of a file below it", file.basename);
        file.basename = safe_name(&file.basename).ok_or_else(outside)?;
    }
    let (bytes, samples) = (entry.raw_data.bytes, entry.samples);
    if bytes > MAX_SHARD_BYTES {
        return Err(format!("{bytes} bytes are more than offsets of 32 bits reach"));
    }
    match config_offset(samples) {
        Some(table) if table <= bytes => Ok(()),
        _ => Err(format!("{samples} samples do not fit {bytes} bytes")),
    }
}

/// One field per column, except dropped ones.
fn plain(columns: &[Column], dropped: &[String]) -> Result<(Schema, Fields)> {
    let kept = columns.iter().enumerate().filter(|(_, column)| !dropped.contains(&column.name));
    let field = |column: &Column| FieldSpec::new(column.name.clone(), column.encoding.kind());
    let (columns, fields): (Vec<_>, Vec<_>) = kept.map(|(at, column)| (at, field(column))).unzip();
    if fields.is_empty() && !dropped.is_empty() {
        return Err(Error::usage(option::DROP_FIELDS, "no other column is left"));
    }
    Ok((Schema::new(fields)?, Fields { columns, key: None }))
}

/// The manifest's schema, if it describes these columns.
fn agree(
    manifest: &Manifest,
    columns: &[Column],
    n_samples: u64,
) -> Result<(Schema, Fields), String> {
    let find = |name: &str| columns.iter().position(|column| column.name == name);
    let schema = manifest.schema.clone();
    let mut of_fields = Vec::with_capacity(schema.fields.len());
    for field in &schema.fields {
        let column = find(&field.name).filter(|&found| {
            columns.get(found).is_some_and(|column| column.encoding.fits(&field.kind))
        });
        of_fields.push(column.ok_or_else(|| {
            format!("no column holds the field `{}` of {}", field.name, field.kind.name())
        })?);
    }
    let key = find(&manifest.key_column).filter(|&key| {
        !of_fields.contains(&key)
            && columns.get(key).is_some_and(|column| column.encoding == Encoding::Str)
    });
    if key.is_none() || of_fields.len() + 1 != columns.len() {
        return Err("its fields and key are not all the columns".to_owned());
    }
    if manifest.samples != n_samples {
        return Err(format!("it counts {} samples, the index {n_samples}", manifest.samples));
    }
    if manifest.fingerprint.len() != hex([0; 16]).len() {
        return Err("its fingerprint is invalid".to_owned());
    }
    Ok((schema, Fields { columns: of_fields, key }))
}
