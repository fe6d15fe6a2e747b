//! Makes index and sidecars for existing shards of any writer.
use crate::index::{Builder, ImageFacts, Meta, Region};
use crate::shards::{
    combined::{self, Combined},
    manifest,
};
use crate::sidecars::{self, Output, ShardFile, Shards};
use crate::wds::{
    Wds, WdsReader,
    complete::refuse_foreign,
    entry_points::{self, AddEntryPoints, Entries},
    fields,
    format::FORMAT,
    layout,
    manifest::Manifest,
    names,
    outline::each_sample,
    shard::{Contents, IndexProblem, Shard},
    splits::split_of,
    writer::{cell, write_index},
};
use bytes::Bytes;
use fdconvert_core::{Error, Provenance, Reader as _, Result, Source as _, Value, option};
use fdconvert_storage::replace;
use std::{
    fs,
    path::{Path, PathBuf},
};
use xxhash_rust::xxh3::xxh3_64;

impl Wds {
    /// Makes the files of [`Wds`]'s sidecars for existing shards, and keeps an index that fits its
    /// shard. The shards themselves are only read. Returns the paths of the files written.
    ///
    /// # Errors
    /// `Usage` when a file with other content is in the way (unless `overwrite`), or shards are
    /// compressed; those of reading.
    pub fn index(&self, path: &Path, overwrite: bool) -> Result<Vec<PathBuf>> {
        self.index_with(path, overwrite, None)
    }

    /// Like [`index`](Self::index), with entry points of the JPEGs in the indexes. Rewrites an
    /// index without entry points, and with `overwrite` also one with entry points of another grid.
    ///
    /// # Errors
    /// As for [`index`](Self::index); `Usage` when the sidecars include no index.
    pub fn index_with(
        &self,
        path: &Path,
        overwrite: bool,
        how: Option<AddEntryPoints<'_>>,
    ) -> Result<Vec<PathBuf>> {
        let makes_index = self.sidecars.contains(&"fdx");
        if how.is_some() && !makes_index {
            let what = "entry points are stored in the index: add `fdx` to `sidecars`";
            return Err(Error::usage(option::JPEG_INDEX, what));
        }
        let reader = self.open_dataset(path)?;
        let mut written = Vec::new();
        let mut start = 0;
        for (shard, &end) in reader.shards.iter().zip(&reader.ends) {
            if shard.path.extension().is_none_or(|extension| extension != "tar") {
                let what = format!(
                    "{} is compressed; other readers need the shard itself: decompress it first",
                    shard.path.display()
                );
                return Err(Error::usage("index", what));
            }
            match (&shard.contents, how) {
                (Contents::Scanned(_), _) if makes_index => {
                    written.push(self.write_fdx(&reader, shard, start..end, overwrite, how)?);
                }
                (Contents::Indexed(index), Some(how))
                    if !how.is_done(shard, index, overwrite)? =>
                {
                    written.push(entry_points::add(how, &reader, shard, start..end)?);
                }
                _ => {}
            }
            start = end;
        }
        if makes_index {
            written.extend(combine(&reader)?);
        }
        for (path, bytes) in self.others(&reader)? {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).map_err(Error::io("create the folder", folder))?;
            }
            if !overwrite {
                refuse_foreign(&path, &bytes)?;
            }
            replace(&path, &bytes)?;
            written.push(path);
        }
        Ok(written)
    }

    fn write_fdx(
        &self,
        reader: &WdsReader,
        shard: &Shard,
        samples: std::ops::Range<u64>,
        overwrite: bool,
        how: Option<AddEntryPoints<'_>>,
    ) -> Result<PathBuf> {
        let path = layout::index_path(&shard.path);
        if path.exists() && !overwrite {
            let problem = shard
                .index_problem
                .as_ref()
                .map_or("it does not fit its shard", IndexProblem::what);
            return Err(Error::usage("index", format!("{} exists: {problem}", path.display()))
                .cure("to replace it", option::OVERWRITE.on()));
        }
        let schema = reader.schema();
        let n_regions = schema.fields.iter().filter(|field| !fields::is_cell(field)).count();
        let mut builder = Builder::new(u32::try_from(n_regions).unwrap_or(u32::MAX));
        let mut entries = how.map(Entries::new);
        if entries.is_some() {
            builder = builder.with_entry_points();
        }
        for index in samples {
            let sample = reader.get(index)?;
            let mut regions = Vec::with_capacity(n_regions);
            for ((column, field), value) in schema.fields.iter().enumerate().zip(&sample.values) {
                if !fields::is_cell(field) {
                    let place = self.place(reader, shard, index, column, value)?;
                    regions.push(region(shard, place, value));
                }
            }
            let row: Vec<[u8; 8]> = sample.values.iter().filter_map(cell).collect();
            builder.push(&sample.key, &regions);
            builder.push_row(&row);
            if let Some(entries) = &mut entries {
                entries.push(&sample.values, regions, &mut builder);
            }
        }
        let provenance = Provenance {
            tool: concat!("fdconvert ", env!("CARGO_PKG_VERSION"), " index").into(),
            source: reader.name().to_owned(),
            ..Provenance::default()
        };
        let mut meta = Meta { schema: schema.clone(), provenance, run: None };
        if let Some(how) = how {
            how.note(&mut meta);
        }
        let mut sealed = Vec::new();
        if let Some(mut entries) = entries {
            entries.flush(&mut builder);
            sealed = entries.sealed;
        }
        let data_len = shard.archive.len();
        write_index(&path, &builder, &sealed, &meta.to_json(), data_len)?;
        Ok(path)
    }

    /// Place of a value's bytes in the shard. Arrays and images are slices of it; parsed values
    /// (text) take their whole member.
    fn place(
        &self,
        reader: &WdsReader,
        shard: &Shard,
        index: u64,
        column: usize,
        value: &Value<fdconvert_core::Encoded>,
    ) -> Result<std::ops::Range<usize>> {
        let (_, sample) = reader.locate(index)?;
        let Contents::Scanned(scanned) = &shard.contents else {
            return Err(reader.bad_sample(index, "the shard is indexed already"));
        };
        let member = match value {
            Value::Images(images) if images.is_empty() => Some(0..0),
            _ => scanned.place(sample, column),
        };
        let member = member.ok_or_else(|| reader.bad_sample(index, "a field is missing"))?;
        Ok(match value {
            Value::Array(bytes) => {
                let archive = shard.archive.here();
                archive.and_then(|archive| within(archive, bytes)).unwrap_or(member)
            }
            _ => member,
        })
    }

    fn others(&self, reader: &WdsReader) -> Result<Vec<Output>> {
        let paths = reader.shards.iter().map(|shard| &*shard.path);
        let members = match self.sidecars[..] {
            ["fdx"] | [] => Vec::new(),
            _ => names::found(paths, &reader.columns, None)?,
        };
        let file = |shard: &Shard| ShardFile {
            name: shard.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            path: shard.path.to_path_buf(),
            split: split_of(&shard.path),
            n_samples: shard.len(),
            bytes: shard.archive.len(),
        };
        let files: Vec<ShardFile> = reader.shards.iter().map(file).collect();
        // A failed check must not put the files beside the dataset.
        let is_folder =
            fs::metadata(&reader.path).map_err(Error::io("access", &reader.path))?.is_dir();
        let out = if is_folder {
            reader.path.as_path()
        } else {
            reader.path.parent().unwrap_or(Path::new(""))
        };
        let shards = Shards {
            out,
            files: &files,
            schema: reader.schema(),
            members: &members,
            walk: &|path, visit| each_sample(path, None, visit),
            provenance: reader.provenance(),
        };
        sidecars::files(&self.sidecars, &shards)
    }
}

/// Rebuilds the combined index of a dataset of fdconvert from its indexes, and then updates the
/// manifest. In between, a reader finds blocks of other lengths and reads the shards' own indexes.
fn combine(reader: &WdsReader) -> Result<Vec<PathBuf>> {
    let Some(manifest) = &reader.manifest else { return Ok(Vec::new()) };
    let is_named = manifest.shards.iter().all(|shard| shard.index.is_some());
    if !is_named || manifest.shards.len() <= combined::MOST_APART {
        return Ok(Vec::new());
    }
    let shards = reader.shards.iter();
    let indexes: Vec<_> = shards.map(|shard| layout::index_path(&shard.path)).collect();
    let is_true = |known: &Combined| {
        combined::verify(FORMAT, &reader.path.join(&known.name), known, &indexes).is_empty()
    };
    if manifest.combined.as_ref().is_some_and(is_true) {
        return Ok(Vec::new());
    }
    let is_known = manifest.combined.is_some();
    let fingerprint = fingerprint_of_hex(&manifest.fingerprint);
    let made = combined::write(&reader.path, &indexes, fingerprint, is_known)?;
    let mut written: Vec<_> = made.iter().map(|made| reader.path.join(&made.name)).collect();
    if made != manifest.combined {
        let path = reader.path.join(manifest::NAME);
        replace(&path, &Manifest { combined: made, ..manifest.clone() }.to_json())?;
        written.push(path);
    }
    Ok(written)
}

/// The run that marks objects; files have no marks.
fn fingerprint_of_hex(hex: &str) -> [u8; 16] {
    u128::from_str_radix(hex, 16).unwrap_or(0).to_be_bytes()
}

fn region(
    shard: &Shard,
    place: std::ops::Range<usize>,
    value: &Value<fdconvert_core::Encoded>,
) -> Region {
    let image = match value {
        Value::Image(image) => {
            Some(ImageFacts { codec: image.codec, width: image.width, height: image.height })
        }
        _ => None,
    };
    let (offset, len) = (place.start as u64, place.len() as u64);
    // Shards that were walked are in memory.
    let bytes = shard.archive.here().map(|archive| archive.slice(place)).unwrap_or_default();
    Region { offset, len, xxh3: xxh3_64(&bytes), image }
}

/// Returns the range of a slice in the bytes that contain it.
fn within(whole: &Bytes, part: &Bytes) -> Option<std::ops::Range<usize>> {
    let start = (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
    let end = start.checked_add(part.len())?;
    (end <= whole.len()).then_some(start..end)
}
