use crate::index::{Builder, ImageFacts, Meta, Region, seal_all, xxh3_of};
use crate::shards::{RECORDS, record::Record as _, record_path};
use crate::wds::{
    Wds,
    existing::{Ours, make_way, refuse_other_dataset, remove_manifest},
    fields::{self, Contents},
    keys::KeyCodec,
    layout::{self, BLOCK, END, MAX_MEMBER_BYTES},
    names::Name,
    record::Record,
    scan::MAX_MEMBERS,
};
use fdconvert_core::{
    Create, Encoded, Error, Format as _, Kind, Provenance, Result, Sample, Schema, ShardSummary,
    ShardWriter, Skipped, Value, option,
};
use fdconvert_storage::{
    Appended, Claim, Folders, Scratch, SourceStamp, partial_path,
    place::{exists, remove},
    replace, take_back, write_partial,
};
use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// Bytes per write.
const BUFFER_BYTES: usize = 4 << 20;

/// Appends samples to a shard. Keeps the shard's index in memory, including entry points (1.6 MB in
/// a shard of 256 MiB), and 16 bytes per key.
pub(crate) struct Writer {
    out: PathBuf,
    stem: String,
    with_index: bool,
    fingerprint: [u8; 16],
    schema: Schema,
    provenance: Provenance,
    /// Member names, and their order.
    names: Vec<Name>,
    order: Vec<usize>,
    keys: KeyCodec,
    seen: HashSet<u128>,
    index: Builder,
    /// Sealed entry points; `None` if none are stored.
    entries: Option<Vec<u8>>,
    tar: Archive,
    ours: Ours,
    // Dropped after the files that it stands for.
    claim: Claim,
    // Last, so that folders are empty before they are dropped.
    folders: Folders,
}

struct Archive {
    file: Appended,
    buffer: Vec<u8>,
    hash: Xxh3,
}

impl Writer {
    pub(crate) fn create(format: &Wds, request: &Create<'_>) -> Result<Self> {
        let Create { out, schema, shard, .. } = *request;
        let stem = layout::stem(shard)?;
        let names = fields::names(schema, format, request.common)?;
        let keys = fields::key_codec(schema, &names, request.common);
        refuse_other_dataset(request)?;
        let records = out.join(RECORDS);
        let source = SourceStamp::new(&records, request.fingerprint, request.stamp);
        if !request.overwrite {
            source.check()?;
        }
        let mut folders = Folders::make(&[out], &records)?;
        let record_path = record_path(out, &stem);
        let claim = Claim::open(&record_path, request.fingerprint, request.overwrite)?;
        let with_index = format.sidecars.contains(&"fdx");
        let ours = make_way(request, &stem, &claim, with_index)?;
        let tar = layout::tar_path(out, &stem);
        let claimed = claim.stands_for_leftovers();
        folders.stamp(source)?;
        claim.hold()?;
        if claim.resumes() && !ours.is_shared && !exists(&record_path)? {
            // Left by an interrupted run that had no record yet.
            remove(&layout::index_path(&tar))?;
            remove(&tar)?;
        }
        let file = Appended::start(&tar, claimed, request.fingerprint)?;
        if claimed {
            drop(Scratch::start(&partial_path(&layout::index_path(&tar)), true)?);
        }
        let n_regions = schema.fields.iter().filter(|field| !fields::is_cell(field)).count();
        // More than 2^32 fields do not fit into memory.
        let index = Builder::new(u32::try_from(n_regions).unwrap_or(u32::MAX));
        let stores = request.entry_points && format.capabilities().entry_points;
        let index = if stores { index.with_entry_points() } else { index };
        Ok(Self {
            out: out.to_path_buf(),
            with_index,
            fingerprint: request.fingerprint,
            schema: schema.clone(),
            provenance: request.provenance.clone(),
            order: fields::order(schema),
            names,
            keys,
            seen: HashSet::new(),
            index,
            entries: stores.then(Vec::new),
            tar: Archive { file, buffer: Vec::new(), hash: Xxh3::new() },
            ours,
            claim,
            stem,
            folders,
        })
    }

    fn push(&mut self, sample: &Sample<Encoded>) -> Result<()> {
        let bad = |what: String| Error::sample(&sample.key, what);
        self.schema.check(sample)?;
        let key = self.keys.encode(&sample.key);
        let mut members = Vec::with_capacity(sample.values.len());
        for ((field, name), value) in self.schema.fields.iter().zip(&self.names).zip(&sample.values)
        {
            let stored = members_of(&field.kind, name, value, &key);
            members.push(stored.map_err(|what| bad(format!("field `{}`: {what}", field.name)))?);
        }
        match members.iter().map(Vec::len).sum::<usize>() {
            0 => return Err(bad("it has no images and no other field: no file to store".into())),
            n if n > MAX_MEMBERS => {
                return Err(bad(format!("its {n} files are over {MAX_MEMBERS}")));
            }
            _ => {}
        }
        if !self.seen.insert(xxh3_128(key.as_bytes())) {
            let what = format!(
                "another sample of the shard is called `{key}` already; a beton or mds can hold \
                 both"
            );
            return Err(Error::sample(&sample.key, what)
                .cure("to distinguish those of several sources", option::PREFIX.with("auto")));
        }
        let mut regions = vec![None; members.len()];
        for &i in &self.order {
            let Some(stored) = members.get(i) else { continue };
            let facts = |image: &Encoded| ImageFacts {
                codec: image.codec,
                width: image.width,
                height: image.height,
            };
            let region = match (&sample.values[i], &stored[..]) {
                (Value::Images(_), _) => self.tar.append_list(stored)?,
                (value, [member]) => {
                    let (offset, len) = self.tar.append_member(member)?;
                    let image = match value {
                        Value::Image(image) => Some(facts(image)),
                        _ => None,
                    };
                    let xxh3 = xxh3_of(value, &member.contents.bytes);
                    Region { offset, len, xxh3, image }
                }
                _ => continue,
            };
            regions[i] = (!fields::is_cell(&self.schema.fields[i])).then_some(region);
        }
        let regions: Vec<Region> = regions.into_iter().flatten().collect();
        let row: Vec<[u8; 8]> = sample.values.iter().filter_map(cell).collect();
        self.index.push(&sample.key, &regions);
        self.index.push_row(&row);
        if let Some(entries) = &mut self.entries {
            self.index.push_entry_lens(&seal_all(sample.entry_points(), &regions, entries));
        }
        Ok(())
    }
}

/// A member before it is written.
struct StoredMember<'a> {
    header: [u8; BLOCK as usize],
    contents: Contents<'a>,
}

/// The members of a field: one, or one for each image of a list.
fn members_of<'a>(
    kind: &Kind,
    name: &Name,
    value: &'a Value<Encoded>,
    key: &str,
) -> Result<Vec<StoredMember<'a>>, String> {
    let member = |name: &str, contents: Contents<'a>| {
        if contents.len() > MAX_MEMBER_BYTES {
            return Err(format!("{} bytes are over 8 GiB", contents.len()));
        }
        let header = layout::header(&format!("{key}.{name}"), contents.len());
        Ok(StoredMember { header: header.map_err(|error| error.to_string())?, contents })
    };
    let Value::Images(images) = value else {
        return Ok(vec![member(&name.of(value), fields::encode(kind, value)?)?]);
    };
    let images = images.iter().enumerate();
    let of_image = images.map(|(number, image)| {
        member(&name.of_number(number, image.codec), fields::encode_image(image)?)
    });
    of_image.collect()
}

/// Zeros that pad a member of that many bytes to whole blocks.
fn padding(len: u64) -> usize {
    (len.next_multiple_of(BLOCK) - len) as usize
}

impl ShardWriter for Writer {
    fn write(&mut self, sample: &Sample<Encoded>) -> Result<()> {
        self.push(sample)
    }

    fn skip(&mut self, skipped: Skipped) -> Result<()> {
        self.provenance.skipped.push(skipped);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<ShardSummary> {
        // Folders first, so that they are dropped last.
        let Self { mut folders, claim, out, stem, mut tar, mut provenance, index, ours, .. } =
            *self;
        let samples = index.n_samples();
        tar.append(&END)?;
        tar.flush()?;
        let (bytes, xxh3) = match samples {
            0 => (0, 0),
            _ => (tar.file.size(), tar.hash.digest()),
        };
        let mut done = Record::new(self.fingerprint, samples, bytes, xxh3);
        done.skipped.clone_from(&provenance.skipped);

        // The description of the replaced shard must not outlive it, nor the manifest of the
        // dataset that it belonged to.
        let path = layout::tar_path(&out, &stem);
        if !ours.is_shared {
            remove_manifest(&out)?;
            remove(&record_path(&out, &stem))?;
            if ours.index {
                remove(&layout::index_path(&path))?;
            }
        }
        if samples == 0 {
            // Readers fail on empty shards, so write only the record.
            if ours.tar {
                remove(&path)?;
            }
            drop(tar);
            claim.commit(&done.to_json(), || true)?;
            folders.keep_stamp();
            return Ok(ShardSummary { path, samples, bytes, skipped: done.skipped });
        }
        let index = self.with_index.then_some((
            index,
            self.entries.unwrap_or_default(),
            Meta { schema: self.schema, provenance: std::mem::take(&mut provenance), run: None },
        ));
        let at = layout::index_path(&path);
        let tar_file = tar.file.identity();
        let undo_tar = || take_back(&path, tar_file);
        if let Err(error) = tar.file.commit(ours.tar) {
            // Also when it has been renamed and only the sync of the folder failed.
            if !undo_tar() {
                claim.leave();
            }
            return Err(error);
        }
        let mut index_file = None;
        if let Some((index, entries, meta)) = index {
            let written = index_block(&index, &entries, &meta.to_json(), bytes)
                .and_then(|block| write_partial(&at, &block))
                .and_then(|scratch| {
                    let scratch = scratch.marked(self.fingerprint);
                    index_file = Some(scratch.identity());
                    scratch.commit(&at, ours.index)
                });
            if let Err(error) = written {
                if !(index_file.is_none_or(|file| take_back(&at, file)) & undo_tar()) {
                    claim.leave();
                }
                return Err(error);
            }
        }
        claim.commit(&done.to_json(), || {
            index_file.is_none_or(|file| take_back(&at, file)) & undo_tar()
        })?;
        folders.keep_stamp();
        Ok(ShardSummary { path, samples, bytes, skipped: done.skipped })
    }
}

impl Archive {
    /// Appends a member, and returns the place of its value.
    fn append_member(&mut self, member: &StoredMember<'_>) -> Result<(u64, u64)> {
        let StoredMember { header, contents } = member;
        self.append(header)?;
        self.append(&contents.header)?;
        let place = (self.len(), contents.bytes.len() as u64);
        self.append(&contents.bytes)?;
        self.append(&END[..padding(contents.len())])?;
        Ok(place)
    }

    /// Appends the members of a list; its region is all of them, with their headers.
    fn append_list(&mut self, members: &[StoredMember<'_>]) -> Result<Region> {
        let (offset, mut hash) = (self.len(), Xxh3::new());
        for member in members {
            self.append_member(member)?;
            let padding = padding(member.contents.len());
            for part in [&member.header[..], &member.contents.bytes, &END[..padding]] {
                hash.update(part);
            }
        }
        Ok(Region { offset, len: self.len() - offset, xxh3: hash.digest(), image: None })
    }

    fn len(&self) -> u64 {
        self.file.size() + self.buffer.len() as u64
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.len() < BUFFER_BYTES {
            self.buffer.extend_from_slice(bytes);
            return if self.buffer.len() < BUFFER_BYTES { Ok(()) } else { self.flush() };
        }
        self.flush()?;
        self.store(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        self.store(&buffer)?;
        buffer.clear();
        self.buffer = buffer;
        Ok(())
    }

    fn store(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.append(bytes)?;
        self.hash.update(bytes);
        Ok(())
    }
}

/// Encodes an integer or float in eight bytes.
pub(crate) fn cell(value: &Value<Encoded>) -> Option<[u8; 8]> {
    match value {
        Value::Int(int) => Some(int.to_le_bytes()),
        Value::Float(float) => Some(float.to_le_bytes()),
        _ => None,
    }
}

/// Encodes the index block in one piece: its parts are in memory as well.
fn index_block(index: &Builder, entries: &[u8], meta: &[u8], data_len: u64) -> Result<Vec<u8>> {
    let mut block = Vec::new();
    index.emit_with(meta, data_len, &[], entries, |part| {
        block.extend_from_slice(part);
        Ok::<(), Error>(())
    })?;
    Ok(block)
}

pub(crate) fn write_index(
    path: &Path,
    index: &Builder,
    entries: &[u8],
    meta: &[u8],
    data_len: u64,
) -> Result<()> {
    replace(path, &index_block(index, entries, meta, data_len)?)
}
