use crate::mixed::{
    Mixed,
    complete::remove_manifest,
    layout::{CODECS, MANIFEST, code_of, common_of, folder, part},
    manifest::Manifest,
    order::Order,
    record::{Keys, Part, Record},
};
use crate::shards::{
    RECORDS,
    existing::{holds_another, is_shared, name_another, record_of_run, unreadable},
    record::{Proof, Record as _, proof},
    record_path,
};
use crate::wds::{self as wds, Wds};
use fdconvert_core::{
    Codec, Common, Create, Encoded, Error, Format as _, Kind, Provenance, Result, Sample, Schema,
    Shard, ShardSummary, ShardWriter, Skipped, Value, option,
};
use fdconvert_storage::{
    Claim, Folders, SourceStamp, fingerprint_hex as hex,
    place::{exists, is_url, remove},
    remove_source_stamp,
};
use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};
use xxhash_rust::xxh3::xxh3_128;

/// Writes each sample to the shard of its codec. Keeps 16 bytes per key, in addition to the memory
/// of the writers of WebDataset shards.
pub(crate) struct Writer {
    run: Run,
    image: usize,
    open: Vec<Open>,
    order: Order,
    keys: Keys,
    seen: HashSet<u128>,
    skipped: Vec<Skipped>,
    claim: Claim,
    // Last, so that their content is gone before they are dropped.
    folders: Folders,
}

/// The unfinished shard of one codec.
struct Open {
    codec: Codec,
    writer: Box<dyn ShardWriter>,
}

/// Values for the requests of parts.
struct Run {
    wds: Wds,
    out: PathBuf,
    schema: Schema,
    shard: Shard,
    common: Common,
    provenance: Provenance,
    fingerprint: [u8; 16],
    stamp: [u8; 16],
    overwrite: bool,
    /// True if other processes of this run may write it, too: see [`is_shared`].
    is_shared: bool,
    entry_points: bool,
}

impl Writer {
    pub(crate) fn create(format: &Mixed, request: &Create<'_>) -> Result<Self> {
        let Create { out, schema, shard, fingerprint, overwrite, .. } = *request;
        let image = schema.first_image().ok_or_else(|| {
            Error::usage("schema", "a mixed set is made of images, and no field has images")
        })?;
        if let Some(list) = schema.fields.iter().find(|field| field.kind == Kind::Images) {
            let what = format!(
                "field `{}` is a list of images, and a mixed set chooses the codec of one image a \
                 sample: pack into wds, mds, beton or parquet",
                list.name
            );
            return Err(Error::usage("schema", what)
                .cure("to leave the field out", option::DROP_FIELDS.with(&list.name)));
        }
        let stem = wds::stem(shard)?;
        make_way(format, request, &stem)?;
        let records = out.join(RECORDS);
        let source = SourceStamp::new(&records, fingerprint, request.stamp);
        if !overwrite {
            source.check()?;
        }
        let mut folders = Folders::make(&[out], &records)?;
        let claim = Claim::open(&record_path(out, &stem), fingerprint, overwrite)?;
        folders.stamp(source)?;
        claim.hold()?;
        let run = Run {
            wds: format.wds.clone(),
            out: out.to_path_buf(),
            schema: schema.clone(),
            shard: shard.clone(),
            common: request.common.clone(),
            provenance: request.provenance.clone(),
            fingerprint,
            stamp: request.stamp,
            overwrite,
            is_shared: is_shared(request),
            entry_points: request.entry_points,
        };
        // Errors of existing folders are reported before the first sample.
        for codec in CODECS {
            if wds::has_traces(&folder(out, codec), shard)? {
                run.create(codec)?;
            }
        }
        Ok(Self {
            run,
            image,
            open: Vec::new(),
            order: Order::default(),
            keys: Keys::default(),
            seen: HashSet::new(),
            skipped: Vec::new(),
            claim,
            folders,
        })
    }

    /// Returns the codec and code of a sample that can be stored.
    fn route(&self, sample: &Sample<Encoded>) -> Result<(Codec, u8)> {
        self.run.schema.check(sample)?;
        let mut route = None;
        for (column, value) in sample.values.iter().enumerate() {
            let Value::Image(image) = value else { continue };
            let code = code_of(image.codec).ok_or_else(|| {
                let codec = image.codec.extension();
                let what = format!("a mixed set has JPEG, PNG and BMP; this is {codec}");
                Error::sample(&sample.key, what)
            })?;
            if column == self.image {
                route = Some((image.codec, code));
            }
        }
        route.ok_or_else(|| Error::sample(&sample.key, "it has no image"))
    }

    /// Appends to the shard of that codec. A shard without a sample is given up again.
    fn append(&mut self, codec: Codec, sample: &Sample<Encoded>) -> Result<()> {
        if let Some(open) = self.open.iter_mut().find(|open| open.codec == codec) {
            return open.writer.write(sample);
        }
        let mut writer = self.run.create(codec)?;
        writer.write(sample)?;
        self.open.push(Open { codec, writer });
        Ok(())
    }
}

impl ShardWriter for Writer {
    fn write(&mut self, sample: &Sample<Encoded>) -> Result<()> {
        let (codec, code) = self.route(sample)?;
        // Within a codec the shard would find it, too.
        let key = xxh3_128(sample.key.as_bytes());
        if self.seen.contains(&key) {
            let what = "another sample of the shard has the same key; a beton or mds can hold both";
            return Err(Error::sample(&sample.key, what)
                .cure("to distinguish those of several sources", option::PREFIX.with("auto")));
        }
        self.append(codec, sample)?;
        self.seen.insert(key);
        self.order.push(code);
        self.keys.add(code, &sample.key);
        Ok(())
    }

    fn skip(&mut self, skipped: Skipped) -> Result<()> {
        self.skipped.push(skipped);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<ShardSummary> {
        // The folders first, so that they are dropped last.
        let Self { mut folders, claim, run, mut open, order, keys, skipped, .. } = *self;
        let stem = wds::stem(&run.shard)?;
        // The description of the replaced shard must not outlive it.
        let path = record_path(&run.out, &stem);
        if !run.is_shared {
            remove_manifest(&run.out)?;
            remove(&path)?;
        }
        open.sort_by_key(|open| code_of(open.codec));
        let mut parts = Vec::with_capacity(open.len());
        let undo = |parts: &[Part]| {
            let gone = parts.iter().map(|part| run.undo(part.codec));
            gone.fold(true, |all, gone| all & gone)
        };
        if let Err(error) = run.commit(open, &mut parts) {
            if !undo(&parts) {
                claim.leave();
            }
            return Err(error);
        }
        let mut done = Record::new(hex(run.fingerprint), parts.clone(), &order, &keys);
        done.skipped.clone_from(&skipped);
        claim.commit(&done.to_json(), || undo(&parts))?;
        folders.keep_stamp();
        let bytes = parts.iter().map(|part| part.bytes).sum();
        Ok(ShardSummary { path, samples: order.len(), bytes, skipped })
    }
}

impl Run {
    /// Creates the writer of the part in one codec.
    fn create(&self, codec: Codec) -> Result<Box<dyn ShardWriter>> {
        let (folder, common) = (folder(&self.out, codec), common_of(&self.common, codec));
        let request = Create {
            out: &self.out,
            schema: &self.schema,
            shard: &self.shard,
            common: &self.common,
            provenance: &self.provenance,
            fingerprint: self.fingerprint,
            stamp: self.stamp,
            overwrite: self.overwrite,
            // In each codec, because images of further fields may have another one.
            entry_points: self.entry_points,
            is_open: false,
        };
        let first = part(&request, &folder, &common, self.overwrite);
        // A part committed by this run, without the shard: it is written again.
        let again = self.overwrite || !self.is_shared && self.wds.finished(&first)?.is_some();
        self.wds.create(&part(&request, &folder, &common, again))
    }

    /// Commits the parts, recording them, and then removes what the shard no longer has.
    fn commit(&self, open: Vec<Open>, parts: &mut Vec<Part>) -> Result<()> {
        for Open { codec, writer } in open {
            let ShardSummary { samples, bytes, .. } = writer.finish()?;
            parts.push(Part { codec, samples, bytes });
        }
        for codec in CODECS.into_iter().filter(|&codec| parts.iter().all(|p| p.codec != codec)) {
            let folder = folder(&self.out, codec);
            if wds::has_shard(&folder, &self.shard)? {
                wds::remove_shard(&folder, &self.shard)?;
            }
        }
        Ok(())
    }

    /// Takes back a committed part, and returns whether it is gone; other errors are already
    /// reported.
    fn undo(&self, codec: Codec) -> bool {
        if self.is_shared {
            return false;
        }
        let folder = folder(&self.out, codec);
        let removed = wds::remove_shard(&folder, &self.shard);
        remove_empty(&folder);
        removed.is_ok()
    }
}

/// Removes a codec's folder if it is empty.
pub(crate) fn remove_empty(folder: &Path) {
    if is_url(folder) {
        return;
    }
    let records = folder.join(RECORDS);
    let count = fs::read_dir(&records).map_or(0, Iterator::count);
    if count == 1 {
        // The times of the source, once no shard relies on them.
        let _ = remove_source_stamp(&records);
    }
    // Only empty folders can be removed.
    let _ = fs::remove_dir(&records);
    let _ = fs::remove_dir(folder);
}

/// Refuses to replace a shard or a dataset of another run, unless requested.
fn make_way(format: &Mixed, request: &Create<'_>, stem: &str) -> Result<()> {
    if request.overwrite {
        return Ok(());
    }
    let manifest = request.out.join(MANIFEST);
    if exists(&manifest)? && Manifest::read(&manifest)?.0.fingerprint != hex(request.fingerprint) {
        return holds_another(request.out);
    }
    let path = record_path(request.out, stem);
    if !is_shared(request) && finished(format, request)?.is_some() {
        return Err(name_another(format!("{} exists", path.display())));
    }
    match proof::<Record>(&path, request.fingerprint)? {
        Proof::Missing | Proof::Record(_) | Proof::OfThisRun => Ok(()),
        Proof::Damaged(error) => {
            Err(unreadable(&error, "remove it")
                .cure("to replace the shard", option::OVERWRITE.on()))
        }
    }
}

/// Returns the shard, if its record proves it: see
/// [`Format::finished`](fdconvert_core::Format::finished).
pub(crate) fn finished(format: &Mixed, request: &Create<'_>) -> Result<Option<ShardSummary>> {
    let stem = wds::stem(request.shard)?;
    let path = record_path(request.out, &stem);
    let Some(record) = record_of_run::<Record>(request, &stem, &path)? else { return Ok(None) };
    for found in &record.parts {
        let folder = folder(request.out, found.codec);
        let common = common_of(request.common, found.codec);
        let summary = format.wds.finished(&part(request, &folder, &common, request.overwrite))?;
        let facts = summary.map(|summary| (summary.samples, summary.bytes));
        if facts != Some((found.samples, found.bytes)) {
            return Ok(None);
        }
    }
    let bytes = record.bytes();
    let Record { samples, skipped, .. } = record;
    Ok(Some(ShardSummary { path, samples, bytes, skipped }))
}
