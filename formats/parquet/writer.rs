use super::{
    ParquetReader,
    features::{self, Features},
    group::{cells, write},
    layout::{FORMAT, GROUP_BYTES, GROUP_IMAGES, GROUP_ROWS, KEY, Note, Place, VERSION},
    open::is_cell,
    sink::Sink,
    stage::{check, message, properties},
    verify::xxh3_of_list,
};
use crate::{
    index::{Builder, ImageFacts, Meta, Range, Region},
    shards::existing::{complete_file, refuse_existing},
    sidecars::croissant::{self, Described},
};
use ::parquet::{
    errors::ParquetError,
    file::{metadata::KeyValue, writer::SerializedFileWriter},
};
use fdconvert_core::{
    Create, Encoded, Error, FieldSpec, Kind, Provenance, Result, Sample, Schema, ShardSummary,
    ShardWriter, Skipped, Value, option,
};
use fdconvert_storage::{
    Claim, Scratch, fingerprint_hex, has_partial,
    os::identity_at,
    partial_path,
    place::{exists, is_url},
    refuse_foreign_partial, take_back, write_partial,
};
use sha2::{Digest, Sha256};
use std::{
    ffi::OsString,
    mem,
    path::{Path, PathBuf},
    sync::Arc,
};
use xxhash_rust::xxh3::xxh3_64;

/// Zeros to fill the place of the index block, per write.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// Keeps the samples of a row group in memory, and the index entries of all samples. A killed run
/// starts the file again.
pub(crate) struct ParquetWriter {
    out: PathBuf,
    overwrite: bool,
    fingerprint: [u8; 16],
    sink: Sink,
    /// `None` once the footer is written.
    file: Option<SerializedFileWriter<Sink>>,
    schema: Schema,
    provenance: Provenance,
    pending: Vec<Sample<Encoded>>,
    pending_bytes: u64,
    max_pending: usize,
    index: Builder,
    ranges: Vec<Range>,
    group_start: u64,
    croissant: bool,
    /// A run of the same stamp may have left its description.
    resumes: bool,
    // After the file, because the claim covers its unfinished form.
    claim: Claim,
}

/// Path of the claim of a file, without its last extension.
fn claim_of(out: &Path) -> PathBuf {
    let mut name = OsString::from(out.as_os_str());
    name.push(".claim");
    name.into()
}

/// The file that this same run wrote. Removes leftovers of a kill after that.
pub(crate) fn finished(request: &Create<'_>) -> Result<Option<ShardSummary>> {
    if request.overwrite {
        return Ok(None);
    }
    let run = |reader: &ParquetReader| {
        let note = reader.parts.first().and_then(|part| part.file.note.as_ref());
        note.map(|note| note.fingerprint.clone())
    };
    let claim = claim_of(request.out);
    let is_claimed = exists(&partial_path(&claim))?;
    // The file is being replaced.
    if is_claimed && has_partial(request.out)? {
        return Ok(None);
    }
    let summary = complete_file(request, || ParquetReader::open(request.out), run)?;
    if summary.is_some() && is_claimed {
        let Ok(claim) = Claim::open(&claim, request.stamp, false) else { return Ok(None) };
        if claim.resumes() { claim.remove() } else { claim.leave() }
    }
    Ok(summary)
}

impl ParquetWriter {
    /// Starts a file, with a Croissant description beside it if `croissant` is set.
    pub(crate) fn create(request: &Create<'_>, croissant: bool) -> Result<Self> {
        if request.shard.of != 1 {
            return Err(Error::usage("shards", "a Parquet file is one file"));
        }
        let schema = request.schema;
        let unfit = |error: ParquetError| Error::usage("schema", error.to_string());
        let (message, properties) =
            (message(schema).map_err(unfit)?, properties(schema).map_err(unfit)?);
        refuse_existing(request.out, request.overwrite, request.stamp)?;
        let claim = Claim::open(&claim_of(request.out), request.stamp, request.overwrite)?;
        if !claim.stands_for_leftovers() {
            refuse_foreign_partial(request.out)?;
            if croissant {
                refuse_description(request)?;
            }
        }
        claim.hold()?;
        let scratch = Scratch::start(&partial_path(request.out), claim.stands_for_leftovers())?;
        let sink = Sink::new(scratch.marked(request.stamp));
        let file = SerializedFileWriter::new(sink.clone(), message, Arc::new(properties));
        let file = file.map_err(|error| failed(request.out, &error))?;
        let n_regions = schema.fields.iter().filter(|field| !is_cell(&field.kind)).count();
        let of_images = |field: &FieldSpec| matches!(field.kind, Kind::Image | Kind::Images);
        let has_images = schema.fields.iter().any(of_images);
        Ok(Self {
            out: request.out.to_owned(),
            overwrite: request.overwrite,
            fingerprint: request.fingerprint,
            sink,
            file: Some(file),
            schema: schema.clone(),
            provenance: request.provenance.clone(),
            pending: Vec::new(),
            pending_bytes: 0,
            max_pending: if has_images { GROUP_IMAGES } else { GROUP_ROWS },
            index: Builder::new(u32::try_from(n_regions).unwrap_or(u32::MAX)),
            ranges: Vec::new(),
            group_start: 0,
            croissant,
            resumes: claim.stands_for_leftovers(),
            claim,
        })
    }

    /// Returns the error of the disk, if it is the cause.
    fn failed(&self, error: &ParquetError) -> Error {
        let failure = self.sink.take_failure();
        failure.unwrap_or_else(|| failed(&self.out, error))
    }

    fn write_group(&mut self) -> Result<()> {
        let samples = mem::take(&mut self.pending);
        self.pending_bytes = 0;
        let Some(file) = self.file.as_mut().filter(|_| !samples.is_empty()) else {
            return Ok(());
        };
        let places = write(file, &self.schema, &samples);
        let places = places.map_err(|error| self.failed(&error))?;
        for (number, sample) in samples.iter().enumerate() {
            let mut columns = places.iter();
            let mut regions = Vec::new();
            for value in &sample.values {
                let place = match value {
                    Value::Image(_) => columns.next().and_then(|column| column.get(number)),
                    _ => None,
                };
                regions.extend(region(value, place.map(|place| place.start)));
            }
            self.index.push(&sample.key, &regions);
            self.index.push_row(&cells(sample));
        }
        let (offset, end) = (self.group_start, self.sink.len());
        let xxh3 = self.sink.hash(offset..end, &places.concat())?;
        self.ranges.push(Range { offset, len: end - offset, xxh3 });
        self.group_start = end;
        Ok(())
    }

    /// Leaves room for the index block, and writes the rest of the file after it.
    fn write_tail(&mut self) -> Result<(Vec<u8>, Place)> {
        let at = self.group_start.next_multiple_of(8);
        let padding = at - self.group_start;
        if padding > 0 {
            let zeros = ZEROS.get(..padding as usize).unwrap_or_default();
            let (offset, xxh3) = (self.group_start, xxh3_64(zeros));
            self.ranges.push(Range { offset, len: padding, xxh3 });
        }
        let provenance = self.provenance.clone();
        let meta = Meta { schema: self.schema.clone(), provenance, run: None }.to_json();
        // One more range, for the bytes after the block.
        let len = self.index.block_len(&meta, self.ranges.len() + 1);
        let place = Place { offset: at, len };
        let fields = self.schema.fields.iter();
        let documents = fields.clone().filter(|field| field.kind == Kind::Json);
        let categories =
            fields.filter_map(|field| Some((field.name.clone(), field.categories.clone()?)));
        let note = Note {
            version: VERSION,
            fingerprint: fingerprint_hex(self.fingerprint),
            json: documents.map(|field| field.name.clone()).collect(),
            categories: categories.collect(),
            index: place,
        };
        // Strings and numbers always serialise.
        let note = serde_json::to_string(&note).unwrap_or_default();
        let features = Features::text(&self.schema);
        let texts = [(features::KEY, features), (KEY, note)];
        let file = self.file.take().ok_or_else(|| ParquetError::General("it is complete".into()));
        let written = file.and_then(|mut file| {
            zeros(&mut file, padding + len)?;
            for (key, text) in texts {
                file.append_key_value_metadata(KeyValue::new(key.to_owned(), text));
            }
            file.into_inner().map(drop)
        });
        written.map_err(|error| self.failed(&error))?;
        // This includes bytes that the library wrote when it was dropped.
        match self.sink.take_failure() {
            Some(failure) => Err(failure),
            None => Ok((meta, place)),
        }
    }
}

fn zeros(file: &mut SerializedFileWriter<Sink>, len: u64) -> Result<(), ParquetError> {
    let mut left = len;
    while left > 0 {
        let n_bytes = left.min(ZEROS.len() as u64);
        file.write_all(ZEROS.get(..n_bytes as usize).unwrap_or_default())?;
        left -= n_bytes;
    }
    Ok(())
}

impl ShardWriter for ParquetWriter {
    fn write(&mut self, sample: &Sample<Encoded>) -> Result<()> {
        check(&self.schema, sample)?;
        let bytes = sample.values.iter().map(|value| match value {
            Value::Image(_) | Value::Images(_) => {
                value.images().iter().map(|image| image.bytes.len() as u64).sum()
            }
            Value::Text(text) => text.len() as u64,
            Value::Bytes(bytes) | Value::Json(bytes) | Value::Array(bytes) => bytes.len() as u64,
            _ => 8,
        });
        self.pending_bytes += bytes.sum::<u64>();
        self.pending.push(sample.clone());
        let is_full = self.pending.len() >= self.max_pending || self.pending_bytes >= GROUP_BYTES;
        if is_full { self.write_group() } else { Ok(()) }
    }

    fn skip(&mut self, skipped: Skipped) -> Result<()> {
        self.provenance.skipped.push(skipped);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<ShardSummary> {
        self.write_group()?;
        if self.index.n_samples() == 0 {
            return Err(Error::usage("source", "no sample was given"));
        }
        let (meta, place) = self.write_tail()?;
        let (behind, bytes) = (place.offset + place.len, self.sink.len());
        let xxh3 = self.sink.hash(behind..bytes, &[])?;
        self.ranges.push(Range { offset: behind, len: bytes - behind, xxh3 });
        let mut at = place.offset;
        self.index.emit(&meta, place.offset, &self.ranges, |part| {
            self.sink.write_at(part, at)?;
            at += part.len() as u64;
            Ok::<_, Error>(())
        })?;
        let sha256 = self.croissant.then(|| sha256(&self.sink)).transpose()?;
        let lost = || failed(&self.out, &ParquetError::General("it is gone".into()));
        let scratch = self.sink.take().ok_or_else(lost)?;
        let Self { out, overwrite, index, claim, provenance, schema, resumes, .. } = *self;
        let described = sha256.map(|sha256| {
            let path = &*out;
            let described = Described { path, bytes, sha256, schema: &schema, made: &provenance };
            describe(&out, &described.document(), overwrite || resumes)
        });
        let description = described.transpose()?;
        commit(scratch, &out, overwrite, claim).inspect_err(|_| {
            if let Some((path, identity)) = description.filter(|_| !exists(&out).unwrap_or(true)) {
                // The next run replaces or refuses leftovers.
                let _ = take_back(&path, identity);
            }
        })?;
        let (samples, skipped) = (index.n_samples(), provenance.skipped);
        Ok(ShardSummary { path: out, samples, bytes, skipped })
    }
}

fn sha256(sink: &Sink) -> Result<[u8; 32]> {
    let mut hash = Sha256::new();
    sink.read_range(0..sink.len(), |bytes| hash.update(bytes))?;
    Ok(hash.finalize().into())
}

/// Writes the description before the file is renamed, so that a file with its final name is
/// complete. Returns the identity of the description.
fn describe(out: &Path, bytes: &[u8], replaces: bool) -> Result<(PathBuf, (u64, u64))> {
    let path = croissant::path_of(out);
    let scratch = write_partial(&path, bytes)?;
    let identity = scratch.identity();
    // In a store another process of this run may have written the same.
    let replaces = replaces || is_url(out);
    scratch.commit(&path, replaces)?;
    Ok((path, identity))
}

/// Renames the file to its final name.
fn commit(file: Scratch, out: &Path, overwrite: bool, claim: Claim) -> Result<()> {
    let identity = file.identity();
    if let Err(error) = file.commit(out, overwrite) {
        if identity_at(out).is_ok_and(|named| named == identity) {
            // Only the sync of the folder failed: the same command finds the file complete.
            claim.leave();
        }
        return Err(error);
    }
    claim.remove();
    Ok(())
}

/// Region in the index block for a value that is neither an integer nor a float.
fn region(value: &Value<Encoded>, place: Option<u64>) -> Option<Region> {
    let hashed = |bytes: &[u8]| Region { offset: 0, len: 0, xxh3: xxh3_64(bytes), image: None };
    Some(match value {
        Value::Image(image) => Region {
            offset: place.unwrap_or(0),
            len: image.bytes.len() as u64,
            xxh3: image.xxh3.unwrap_or_else(|| xxh3_64(&image.bytes)),
            image: Some(ImageFacts {
                codec: image.codec,
                width: image.width,
                height: image.height,
            }),
        },
        Value::Images(images) => {
            Region { offset: 0, len: 0, xxh3: xxh3_of_list(images), image: None }
        }
        Value::Text(text) => hashed(text.as_bytes()),
        Value::Bytes(bytes) | Value::Json(bytes) | Value::Array(bytes) => hashed(bytes),
        _ => return None,
    })
}

fn failed(out: &Path, error: &ParquetError) -> Error {
    Error::io("write", out)(std::io::Error::other(format!("{FORMAT}: {error}")))
}

/// An existing description belongs to another file.
fn refuse_description(request: &Create<'_>) -> Result<()> {
    let path = croissant::path_of(request.out);
    // In a store another process of this run may have written it.
    if request.overwrite || is_url(&path) || !exists(&path)? {
        return Ok(());
    }
    let what = format!("{} exists; move it away", path.display());
    Err(Error::usage("output", what)
        .cure("to replace it", option::OVERWRITE.on())
        .cure("to choose others", option::SIDECARS))
}
