use crate::mds::{
    Mds,
    encoding::Encoding,
    layout::{Config, FORMAT, FileInfo, MAX_SHARD_BYTES, VERSION, ZSTD, config_offset},
    place::{Held, Place},
    python_json::dumps,
    record::Record,
    seal, sidecar,
};
use crate::{
    index::{Builder, Meta},
    shards::record::Record as _,
};
use fdconvert_core::{
    Codec, Common, Create, Encoded, Error, Provenance, Result, Sample, Schema, ShardSummary,
    ShardWriter, Skipped, Value, image_list, option,
};
use fdconvert_storage::{Scratch, partial_path, place::remove, take_back, write_partial};
use std::{borrow::Cow, collections::BTreeMap};

/// Bytes per write, approximately.
const FLUSH_BYTES: usize = 1 << 20;

/// The columns of a dataset, in storage order.
#[derive(Debug, Clone)]
pub(crate) struct Columns {
    pub(crate) key: String,
    /// Name, type, and index of the field; `None` for the key.
    columns: Vec<(String, Encoding, Option<usize>)>,
}

impl Columns {
    pub(crate) fn new(schema: &Schema, common: &Common) -> Result<Self> {
        let key = key_column(schema);
        let mut columns = vec![(key.clone(), Encoding::Str, None)];
        for (position, field) in schema.fields.iter().enumerate() {
            let unfit =
                |why: &str| Error::usage("schema", format!("field `{}`: {why}", field.name));
            let encoding = Encoding::of_field(&field.kind, common.codec)
                .ok_or_else(|| unfit("MDS does not hold this kind of value"))?;
            if encoding.size().is_some_and(|bytes| bytes > MAX_SHARD_BYTES) {
                return Err(unfit("its values are over 4 GiB, more than a shard holds"));
            }
            columns.push((field.name.clone(), encoding, Some(position)));
        }
        columns.sort_by(|(a, ..), (b, ..)| a.cmp(b));
        Ok(Self { key, columns })
    }

    pub(crate) fn config(&self, mds: &Mds) -> Config {
        Config {
            column_encodings: self.columns.iter().map(|(_, column, _)| column.name()).collect(),
            column_names: self.columns.iter().map(|(name, ..)| name.clone()).collect(),
            column_sizes: self.columns.iter().map(|(_, column, _)| column.size()).collect(),
            compression: mds.zstd.then(|| ZSTD.to_owned()),
            format: FORMAT.to_owned(),
            hashes: mds.hashes.clone(),
            size_limit: None,
            version: VERSION,
        }
    }

    /// Stored values of a sample, in storage order, or why they cannot be stored.
    fn stage<'a>(
        &self,
        schema: &Schema,
        sample: &'a Sample<Encoded>,
    ) -> Result<Vec<(Stored<'a>, bool)>> {
        schema.check(sample)?;
        let mut staged = Vec::with_capacity(self.columns.len());
        for (name, encoding, field) in &self.columns {
            let refuse = |what: &str| Error::sample(&sample.key, format!("field `{name}`: {what}"));
            let value = match field.and_then(|field| sample.values.get(field)) {
                None => Stored::Bytes(sample.key.as_bytes().into()),
                Some(Value::Image(image)) => {
                    check_image(image).map_err(|what| refuse(&what))?;
                    Stored::Bytes((&image.bytes[..]).into())
                }
                Some(Value::Images(images)) => {
                    images.iter().try_for_each(check_image).map_err(|what| refuse(&what))?;
                    Stored::Bytes(image_list::to_bytes(images).into())
                }
                Some(Value::Int(int)) => Stored::Word(int.to_le_bytes()),
                Some(Value::Float(float)) => Stored::Word(float.to_le_bytes()),
                Some(Value::Text(text)) => Stored::Bytes(text.as_bytes().into()),
                Some(Value::Json(json)) if std::str::from_utf8(json).is_err() => {
                    return Err(refuse("its JSON is not UTF-8"));
                }
                Some(Value::Bytes(bytes) | Value::Json(bytes) | Value::Array(bytes)) => {
                    Stored::Bytes((&bytes[..]).into())
                }
                Some(_) => return Err(refuse("MDS does not hold this kind of value")),
            };
            staged.push((value, encoding.size().is_none()));
        }
        Ok(staged)
    }
}

enum Stored<'a> {
    Word([u8; 8]),
    Bytes(Cow<'a, [u8]>),
}

impl Stored<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Word(word) => word,
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// A column name that no field has.
fn key_column(schema: &Schema) -> String {
    let mut name = "key".to_owned();
    while schema.position(&name).is_some() {
        name = if name == "key" { "__key__".to_owned() } else { format!("_{name}_") };
    }
    name
}

/// Readers detect codec and size from the content, so these must match.
fn check_image(image: &Encoded) -> Result<(), String> {
    if image.codec == Codec::Raw {
        return Err("raw pixels are no image that readers of MDS could name".to_owned());
    }
    let header = fdconvert_core::probe::probe(&image.bytes)?;
    let (said, found) =
        ((image.codec, image.width, image.height), (header.codec, header.width, header.height));
    if said == found { Ok(()) } else { Err(format!("said to be {said:?}, it is {found:?}")) }
}

/// Writes one shard. Samples are written as they come, after a gap for the largest table of offsets
/// that the plan could need.
pub(crate) struct Writer {
    raw: Scratch,
    // After the file, because dropping it removes the folders.
    held: Held,
    place: Place,
    schema: Schema,
    columns: Columns,
    config: Config,
    config_json: Vec<u8>,
    fingerprint: [u8; 16],
    overwrite: bool,
    n_planned: u64,
    /// Offsets of the samples' ends, relative to the first sample, and 0 before them.
    ends: Vec<u64>,
    pending: Vec<u8>,
    skipped: Vec<Skipped>,
    index: Builder,
    provenance: Provenance,
}

impl Writer {
    pub(crate) fn create(mds: &Mds, request: &Create<'_>) -> Result<Self> {
        let place = Place::new(request.out, request.shard)?;
        let columns = Columns::new(request.schema, request.common)?;
        let config = columns.config(mds);
        let config_json = dumps(&config);
        let samples = &request.shard.samples;
        let n_planned = samples.end.saturating_sub(samples.start);
        let header = config_offset(n_planned).map(|at| at + config_json.len() as u64);
        if header.is_none_or(|header| header > MAX_SHARD_BYTES) {
            let what = format!("{n_planned} samples are more than a shard of 4 GiB holds");
            return Err(Error::usage(option::SHARD_SIZE, what));
        }
        place.check_free(request)?;
        let mut names = vec![place.raw_name(), place.index_name()];
        names.extend(mds.zstd.then(|| place.zip_name()));
        let held = place.claim_for(request, &names)?;
        let claimed = held.claim.stands_for_leftovers();
        for name in [place.raw_name(), place.zip_name(), place.index_name()] {
            let path = place.folder.join(name);
            if claimed {
                // Unfinished file of an interrupted run.
                drop(Scratch::start(&partial_path(&path), true)?);
            }
            if held.claim.resumes() && !held.is_shared && !held.had_record {
                // Committed by an interrupted run that had no record yet.
                remove(&path)?;
            }
        }
        let raw = Scratch::start(&partial_path(&place.folder.join(place.raw_name())), claimed)?
            .marked(request.fingerprint);
        Ok(Self {
            raw,
            held,
            overwrite: request.overwrite,
            place,
            schema: request.schema.clone(),
            columns,
            config,
            config_json,
            fingerprint: request.fingerprint,
            n_planned,
            ends: vec![0],
            pending: Vec::new(),
            skipped: Vec::new(),
            index: sidecar::builder(request.schema),
            provenance: request.provenance.clone(),
        })
    }

    /// Offset of the first sample until the number of samples is known.
    fn data_offset(&self) -> u64 {
        config_offset(self.n_planned).unwrap_or(u64::MAX) + self.config_json.len() as u64
    }

    fn data_bytes(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Records a shard with all samples skipped. It has no file, because readers fail on empty
    /// shards.
    fn finish_empty(self) -> Result<ShardSummary> {
        let Self { raw, held, place, config, skipped, fingerprint, overwrite, .. } = self;
        drop(raw);
        let Held { had_record, is_shared, mut folders, claim, .. } = held;
        if !is_shared {
            place.withdraw()?;
        }
        if overwrite || had_record || claim.resumes() {
            for name in [place.raw_name(), place.zip_name(), place.index_name()] {
                remove(&place.folder.join(name))?;
            }
        }
        let (basename, hashes) = (place.raw_name(), BTreeMap::new());
        let entry = config.into_entry(0, FileInfo { basename, bytes: 0, hashes }, None);
        let record = Record::new(fingerprint, entry, 0, skipped);
        claim.commit(&record.to_json(), || true)?;
        folders.keep_stamp();
        Ok(record.summary(&place.folder))
    }

    fn flush(&mut self) -> Result<()> {
        let at = self.data_offset() + self.data_bytes() - self.pending.len() as u64;
        self.raw.write_all_at(&self.pending, at)?;
        self.pending.clear();
        Ok(())
    }
}

impl ShardWriter for Writer {
    fn write(&mut self, sample: &Sample<Encoded>) -> Result<()> {
        let staged = self.columns.stage(&self.schema, sample)?;
        let sizes = staged.iter().map(|(value, is_variable)| {
            value.bytes().len() as u64 + if *is_variable { 4 } else { 0 }
        });
        let end = self.data_bytes() + sizes.sum::<u64>();
        if self.data_offset() + end > MAX_SHARD_BYTES {
            let what = "the shard would pass 4 GiB, which MDS cannot address; make shards smaller";
            return Err(Error::sample(&sample.key, what));
        }
        if self.ends.len() as u64 > self.n_planned {
            let what = format!("only {} samples were planned", self.n_planned);
            return Err(Error::sample(&sample.key, what));
        }
        for (value, _) in staged.iter().filter(|(_, is_variable)| *is_variable) {
            // The whole shard is shorter than 4 GiB.
            let size = u32::try_from(value.bytes().len()).unwrap_or(u32::MAX);
            self.pending.extend_from_slice(&size.to_le_bytes());
        }
        let n_sizes = staged.iter().filter(|(_, is_variable)| *is_variable).count() as u64;
        let mut at = self.data_offset() + self.data_bytes() + 4 * n_sizes;
        let mut places = vec![(0, &[][..]); sample.values.len()];
        for ((value, _), (.., field)) in staged.iter().zip(&self.columns.columns) {
            let bytes = value.bytes();
            self.pending.extend_from_slice(bytes);
            if let Some(place) = field.and_then(|field| places.get_mut(field)) {
                *place = (at, bytes);
            }
            at += bytes.len() as u64;
        }
        sidecar::push(&mut self.index, sample, &places);
        self.ends.push(end);
        if self.pending.len() >= FLUSH_BYTES { self.flush() } else { Ok(()) }
    }

    fn skip(&mut self, skipped: Skipped) -> Result<()> {
        self.skipped.push(skipped);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<ShardSummary> {
        if self.ends.len() < 2 {
            return self.finish_empty();
        }
        self.flush()?;
        let from = self.data_offset();
        let this = *self;
        let hashes = this.config.hashes.clone();
        // Compressing reads the shard anyway.
        let wanted = this.config.compression.is_none().then_some(&hashes[..]);
        let sums = seal::write_header(&this.raw, from, &this.config_json, &this.ends, wanted)?;
        let n_samples = this.ends.len() as u64 - 1;
        let to = config_offset(n_samples).unwrap_or(0) + this.config_json.len() as u64;
        let mut index = this.index;
        index.move_regions(from.saturating_sub(to));
        let raw_name = this.place.raw_name();
        let raw_path = this.place.folder.join(&raw_name);
        let zip_name = this.config.compression.is_some().then(|| this.place.zip_name());
        let zip_path = zip_name.as_ref().map(|name| this.place.folder.join(name));
        let Held { had_record, listed, is_shared, mut folders, claim } = this.held;
        let zip = zip_path.clone().zip(zip_name);
        let sealed = seal::seal(
            this.raw,
            sums,
            &hashes,
            raw_name,
            zip,
            claim.stands_for_leftovers(),
            this.fingerprint,
        )?;
        let entry = this.config.into_entry(n_samples, sealed.raw_data, sealed.zip_data);
        let mut provenance = this.provenance;
        provenance.skipped.extend_from_slice(&this.skipped);
        let meta = Meta { schema: this.schema, provenance, run: None }.to_json();
        let block = sidecar::block(&index, &meta, entry.raw_data.bytes)?;
        let record = Record::new(this.fingerprint, entry, sealed.xxh3, this.skipped);

        let json = record.to_json();
        if !is_shared {
            this.place.withdraw()?;
        }
        let path = zip_path.as_ref().unwrap_or(&raw_path);
        let (file, index_path) = (sealed.file.identity(), this.place.index_path());
        let mut index_file = None;
        // An object in a store is known to be of this run, but its mark does not cover the contents
        // of the source's files.
        let is_ours = this.overwrite || had_record || claim.resumes() || is_shared;
        let committed = (sealed.file)
            .commit(path, is_ours)
            .and_then(|()| match listed {
                // The file that the replaced record listed under the other name.
                Some(listed) if listed != record.file => remove(&this.place.folder.join(listed)),
                _ => Ok(()),
            })
            .and_then(|()| write_partial(&index_path, &block))
            .and_then(|scratch| {
                index_file = Some(scratch.identity());
                scratch.marked(this.fingerprint).commit(&index_path, is_ours)
            });
        let undo =
            || index_file.is_none_or(|file| take_back(&index_path, file)) & take_back(path, file);
        if let Err(error) = committed {
            // Also when it has been renamed and only the sync of the folder failed.
            if !undo() {
                claim.leave();
            }
            return Err(error);
        }
        claim.commit(&json, undo)?;
        folders.keep_stamp();
        Ok(record.summary(&this.place.folder))
    }
}
