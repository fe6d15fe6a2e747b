use crate::toy::layout::{Cell, FORMAT, MAGIC, Run, TAIL, Table, tail};
use bytes::Bytes;
use fdconvert_core::{
    Codec, Encoded, Error, FieldSpec, Image, Kind, Look, Provenance, Reader, Result, Sample,
    Schema, Source, SourceFacts, Value, bytes::u64_at,
};
use serde_json::{Map, Value as Json, json};
use std::path::Path;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// An open file.
#[derive(Debug)]
pub struct ToyReader {
    file: Bytes,
    /// The table, and the bytes after it.
    end: Bytes,
    table: Table,
    facts: SourceFacts,
    fingerprint: [u8; 16],
}

impl ToyReader {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// `Io`; `Corrupt` if it violates `SPEC.md`.
    pub fn open(path: &Path) -> Result<Self> {
        let file = fdconvert_storage::map(path)?;
        let damaged = |at: usize, what: &str| Error::corrupt(FORMAT, path, at as u64, what);
        let tail_at = file.len().checked_sub(TAIL).ok_or_else(|| damaged(0, "it is cut short"))?;
        let len = u64_at(&file, tail_at).and_then(|len| usize::try_from(len).ok());
        let start = len.and_then(|len| tail_at.checked_sub(len)).filter(|at| *at >= MAGIC.len());
        let start = start.ok_or_else(|| damaged(tail_at, "the length of the table is wrong"))?;
        let text = file.slice(start..tail_at);
        if !file.starts_with(MAGIC) || file[tail_at..] != tail(&text) {
            return Err(damaged(start, "the checksum of the table is wrong"));
        }
        let table: Table = serde_json::from_slice(&text)
            .map_err(|cause| damaged(start, &format!("the table: {cause}")))?;
        let schema = Schema::new(table.schema.fields.clone())
            .map_err(|cause| damaged(start, &cause.to_string()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let facts = SourceFacts::new(name, schema, table.samples.len() as u64);
        let fingerprint = xxh3_128(&text).to_le_bytes();
        let (end, file) = (file.slice(start..), file.slice(..start));
        Ok(Self { file, end, table, facts, fingerprint })
    }

    /// Returns the bytes of a value, after comparing their checksum if `compare`.
    fn bytes(&self, run: Run, compare: bool) -> Result<Bytes, &'static str> {
        let end = run.offset.checked_add(run.len).ok_or("a value lies outside of the file")?;
        let range = usize::try_from(run.offset).ok().zip(usize::try_from(end).ok());
        let (start, end) = range.ok_or("a value lies outside of the file")?;
        if end > self.file.len() {
            return Err("a value lies outside of the file");
        }
        let bytes = self.file.slice(start..end);
        if compare && xxh3_64(&bytes) != run.xxh3 {
            return Err("a value is damaged");
        }
        Ok(bytes)
    }

    fn value(
        &self,
        field: &FieldSpec,
        cell: Cell,
        compare: bool,
    ) -> Result<Value<Encoded>, &'static str> {
        Ok(match (&field.kind, cell) {
            (Kind::Int, Cell::Int(int)) => Value::Int(int),
            (Kind::Float, Cell::Float(bits)) => Value::Float(f64::from_bits(bits)),
            (Kind::Image, Cell::Image { codec, width, height, run }) => {
                let bytes = self.bytes(run, compare)?;
                Value::Image(Encoded::new(codec, width, height, bytes))
            }
            (Kind::Bytes, Cell::Bytes(run)) => Value::Bytes(self.bytes(run, compare)?),
            (Kind::Json, Cell::Bytes(run)) => Value::Json(self.bytes(run, compare)?),
            (Kind::Array(_), Cell::Bytes(run)) => Value::Array(self.bytes(run, compare)?),
            (Kind::Text, Cell::Bytes(run)) => {
                let bytes = self.bytes(run, compare)?;
                Value::Text(String::from_utf8(bytes.into()).map_err(|_| "a text is not a UTF-8")?)
            }
            _ => return Err("a value is of another kind than its field"),
        })
    }

    fn sample(&self, index: u64, compare: bool) -> Result<Sample<Encoded>> {
        let row = usize::try_from(index).ok().and_then(|at| self.table.samples.get(at));
        let Some(row) = row else {
            let what = format!("sample {index} of {}", self.len());
            return Err(Error::usage("index", what));
        };
        let values = self.schema().fields.iter().zip(&row.cells);
        let values = values
            .map(|(field, cell)| self.value(field, *cell, compare))
            .collect::<Result<_, _>>()
            .map_err(|what| Error::sample(&row.key, what))?;
        let sample = Sample { key: row.key.clone(), values };
        self.schema().check(&sample)?;
        Ok(sample)
    }
}

impl Source for ToyReader {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        Ok(self.get(index)?.into())
    }

    fn key(&self, index: u64) -> String {
        let row = usize::try_from(index).ok().and_then(|at| self.table.samples.get(at));
        row.map(|row| row.key.clone()).unwrap_or_default()
    }

    fn codec_hint(&self, index: u64) -> Result<Option<Codec>> {
        let row = usize::try_from(index).ok().and_then(|at| self.table.samples.get(at));
        let mut cells = row.into_iter().flat_map(|row| &row.cells);
        Ok(cells.find_map(|cell| match cell {
            Cell::Image { codec, .. } => Some(*codec),
            _ => None,
        }))
    }

    fn fingerprint(&self, _look: Look) -> Result<[u8; 16]> {
        Ok(self.fingerprint)
    }
}

impl Reader for ToyReader {
    fn get(&self, index: u64) -> Result<Sample<Encoded>> {
        self.sample(index, false)
    }

    fn provenance(&self) -> Option<&Provenance> {
        Some(&self.table.provenance)
    }

    fn details(&self) -> Map<String, Json> {
        [("version".to_owned(), json!(1))].into_iter().collect()
    }

    fn verify_layout(&self) -> Vec<Error> {
        // The table's checksum was compared when the file was opened.
        Vec::new()
    }

    fn verify_sample(&self, index: u64) -> Result<()> {
        self.sample(index, true).map(drop)
    }

    fn verify_row(&self, index: u64) -> Result<()> {
        let (text, sum) = self.end.split_at(self.end.len() - TAIL);
        if *sum != tail(text) || !self.file.starts_with(MAGIC) {
            return Err(Error::sample(self.key(index), "the table is damaged"));
        }
        Ok(())
    }

    fn has_checksums(&self) -> bool {
        true
    }
}
