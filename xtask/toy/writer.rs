use crate::toy::layout::{Cell, MAGIC, Row, Run, Table, tail};
use fdconvert_core::{
    Create, Encoded, Error, Result, Sample, ShardSummary, ShardWriter, Skipped, Value,
};
use fdconvert_storage::{Scratch, partial_path};
use std::path::PathBuf;
use xxhash_rust::xxh3::xxh3_64;

/// Appends values to a scratch file, and keeps the table in memory until the end.
pub(crate) struct Writer {
    scratch: Scratch,
    out: PathBuf,
    overwrite: bool,
    offset: u64,
    table: Table,
}

impl Writer {
    pub(crate) fn create(request: &Create<'_>) -> Result<Self> {
        let Create { out, overwrite, .. } = *request;
        if !overwrite && std::fs::symlink_metadata(out).is_ok() {
            return Err(Error::exists("output", out));
        }
        let scratch = Scratch::open(&partial_path(out))?;
        scratch.set_len(0)?;
        scratch.write_all_at(MAGIC, 0)?;
        let table = Table {
            schema: request.schema.clone(),
            provenance: request.provenance.clone(),
            samples: Vec::new(),
        };
        Ok(Self { scratch, out: out.to_owned(), overwrite, offset: MAGIC.len() as u64, table })
    }

    fn append(&mut self, bytes: &[u8]) -> Result<Run> {
        let run = Run { offset: self.offset, len: bytes.len() as u64, xxh3: xxh3_64(bytes) };
        self.scratch.write_all_at(bytes, self.offset)?;
        self.offset += run.len;
        Ok(run)
    }
}

impl ShardWriter for Writer {
    fn write(&mut self, sample: &Sample<Encoded>) -> Result<()> {
        self.table.schema.check(sample)?;
        let mut cells = Vec::with_capacity(sample.values.len());
        for value in &sample.values {
            cells.push(match value {
                Value::Int(int) => Cell::Int(*int),
                Value::Float(float) => Cell::Float(float.to_bits()),
                Value::Text(text) => Cell::Bytes(self.append(text.as_bytes())?),
                Value::Bytes(bytes) | Value::Json(bytes) | Value::Array(bytes) => {
                    Cell::Bytes(self.append(bytes)?)
                }
                Value::Image(image) => {
                    let (codec, width, height) = (image.codec, image.width, image.height);
                    Cell::Image { codec, width, height, run: self.append(&image.bytes)? }
                }
                _ => return Err(Error::sample(&sample.key, "has a value of a new kind")),
            });
        }
        self.table.samples.push(Row { key: sample.key.clone(), cells });
        Ok(())
    }

    fn skip(&mut self, skipped: Skipped) -> Result<()> {
        self.table.provenance.skipped.push(skipped);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<ShardSummary> {
        let Self { scratch, out, overwrite, offset, table } = *self;
        if table.samples.is_empty() {
            return Err(Error::usage("source", "there is no sample to write"));
        }
        let mut text = serde_json::to_vec(&table)
            .map_err(|cause| Error::usage("schema", format!("cannot be written: {cause}")))?;
        text.extend(tail(&text));
        scratch.write_all_at(&text, offset)?;
        scratch.commit(&out, overwrite)?;
        Ok(ShardSummary {
            path: out,
            samples: table.samples.len() as u64,
            bytes: offset + text.len() as u64,
            skipped: table.provenance.skipped,
        })
    }
}
