//! Checks before the first sample is read: constant work, whatever the number of samples.
use crate::beton::{
    BetonReader,
    layout::{
        BadField, DESCRIPTOR_LEN, FORMAT, HEADER_LEN, Header, RowLayout, Storage, VERSION,
        parse_descriptor, stored_shape,
    },
    table::Table,
};
use crate::index::{Index, TRAILER_LEN};
use bytes::Bytes;
use fdconvert_core::{Error, FieldSpec, Kind, Result, Schema, SourceFacts, bytes::u64_at};
use fdconvert_storage::Blob;
use std::{path::Path, sync::OnceLock};

/// Enough for the header and descriptors of any sensible number of fields.
const START_BYTES: u64 = 64 << 10;

impl BetonReader {
    /// Opens the file at `path`, which is mapped, or the object, of which header, rows, table and
    /// index are read in a handful of requests.
    ///
    /// # Errors
    /// `Io`, and those of [`from_bytes`](Self::from_bytes).
    pub fn open(path: &Path) -> Result<Self> {
        let reader = Self::from_blob(Blob::open(path)?, path)?;
        Ok(Self { is_stored: true, ..reader })
    }

    /// Opens a file in memory; messages call it `path`.
    ///
    /// # Errors
    /// `Version` for a version that is not 2, `Unsupported` for fields that only their writer can
    /// read, `Corrupt` for any other fault that makes the whole file unreadable, such as a killed
    /// writer.
    pub fn from_bytes(file: Bytes, path: &Path) -> Result<Self> {
        Self::from_blob(file.into(), path)
    }

    fn from_blob(data: Blob, path: &Path) -> Result<Self> {
        let corrupt = |offset: u64, what: String| Error::corrupt(FORMAT, path, offset, what);
        let file = start_of(&data, START_BYTES)?;
        let header = Header::parse(&file)
            .ok_or_else(|| corrupt(0, format!("{} bytes are no header", data.len())))?;
        if header.version != VERSION {
            let (format, path) = (FORMAT, path.to_path_buf());
            let found = u64::from(header.version);
            return Err(Error::Version { format, path, found, supported: "2" });
        }
        let schema =
            parse_descriptors(&file, &header).map_err(|(offset, problem)| match problem {
                BadField::Damaged(what) => corrupt(offset, what),
                BadField::Unsupported(what) => Error::Unsupported {
                    format: FORMAT,
                    path: path.to_path_buf(),
                    what: what.into(),
                },
            })?;
        let layout = row_layout(&schema).map_err(|what| corrupt(HEADER_LEN, what))?;
        let (len, table_offset) = (data.len(), header.table_offset);
        if table_offset == 0 {
            let what = "it is unfinished: its writer was stopped before it wrote the table";
            return Err(corrupt(16, what.into()));
        }
        if table_offset > len {
            let what = format!(
                "it is unfinished or cut short: the table is at {table_offset}, the file ends at \
                 {len}"
            );
            return Err(corrupt(16, what));
        }
        let rows_end = header
            .n_samples
            .checked_mul(layout.row_bytes as u64)
            .and_then(|rows| rows.checked_add(header.rows_offset()));
        let Some(rows_end) = rows_end.filter(|&end| end <= table_offset) else {
            let what = format!(
                "{} rows of {} bytes do not fit before the table at {table_offset}",
                header.n_samples, layout.row_bytes
            );
            return Err(corrupt(8, what));
        };
        let table = data.read(table_offset, len - table_offset)?.unwrap_or_default();
        let (index, index_problem) = (None, None);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let facts = SourceFacts::new(name, schema, header.n_samples);
        let facts = SourceFacts { reads_ahead: data.here().is_none(), ..facts };
        let mut reader = Self {
            path: path.into(),
            is_stored: false,
            head: start_of(&data, rows_end)?,
            data,
            header,
            layout,
            facts,
            table: Table::new(table),
            index,
            index_problem,
            tables: OnceLock::new(),
        };
        match reader.find_index()? {
            Ok(None) => {}
            Ok(Some(index)) => {
                reader.facts.schema = index.meta().schema.clone();
                reader.index = Some(index);
            }
            Err(problem) => reader.index_problem = Some(problem),
        }
        Ok(reader)
    }

    /// Finds the index block, if there is one and it describes this file.
    fn find_index(&self) -> Result<Result<Option<Index>, String>> {
        let end = self.header.table_offset;
        let found = match self.data.here() {
            Some(file) => Index::find_before(file, end),
            None => {
                let block = self.block_before(end)?;
                Index::find_before(&block, block.len() as u64)
            }
        };
        Ok(found.map_err(|error| error.to_string()).and_then(|found| match found {
            Some(index) => self.own(index).map(Some),
            None => Ok(None),
        }))
    }

    /// Reads the block that ends at `end`; returns fewer bytes if there is no block.
    fn block_before(&self, end: u64) -> Result<Bytes> {
        let Some(start) = end.checked_sub(TRAILER_LEN) else { return Ok(Bytes::new()) };
        let trailer = self.data.read(start, TRAILER_LEN)?.unwrap_or_default();
        let start = u64_at(&trailer, 0).and_then(|len| end.checked_sub(len));
        let block = start.map(|start| self.data.read(start, end - start)).transpose()?;
        Ok(block.flatten().unwrap_or(trailer))
    }

    /// Accepts the index if it describes this file.
    fn own(&self, index: Index) -> Result<Index, String> {
        let end = self.header.table_offset;
        let start = end - index.block_len();
        let same_place = start >= self.rows_end() && index.data_len() == start;
        let same_shape = index.n_samples() == self.header.n_samples
            && index.regions_per_sample() == self.layout.n_regions;
        let fields = &index.meta().schema.fields;
        let same_schema = fields.len() == self.facts.schema.fields.len()
            && self
                .facts
                .schema
                .fields
                .iter()
                .zip(fields)
                .all(|(stored, said)| agree(stored, said));
        match same_place && same_shape && same_schema {
            true => Ok(index),
            false => Err("the index block belongs to another file".into()),
        }
    }
}

/// The first bytes: everything if mapped, else at least `n_bytes` of an object, or all of a shorter
/// one.
fn start_of(data: &Blob, n_bytes: u64) -> Result<Bytes> {
    match data.here() {
        Some(file) => Ok(file.clone()),
        None => Ok(data.read(0, n_bytes.min(data.len()))?.unwrap_or_default()),
    }
}

fn parse_descriptors(file: &Bytes, header: &Header) -> Result<Schema, (u64, BadField)> {
    let mut fields = Vec::new();
    for number in 0..usize::from(header.n_fields) {
        let at = HEADER_LEN as usize + number * DESCRIPTOR_LEN;
        let descriptor = file.get(at..at + DESCRIPTOR_LEN).unwrap_or_default();
        fields.push(parse_descriptor(descriptor).map_err(|problem| (at as u64, problem))?);
    }
    Schema::new(fields).map_err(|error| (HEADER_LEN, error.to_string().into()))
}

fn row_layout(schema: &Schema) -> Result<RowLayout, String> {
    let storage = |field: &FieldSpec| {
        Storage::of(&field.kind).ok_or_else(|| format!("field `{}` overflows", field.name))
    };
    let storages = schema.fields.iter().map(storage).collect::<Result<Vec<_>, _>>()?;
    Ok(RowLayout::new(storages))
}

/// Returns true if the index and the descriptor of a field agree.
fn agree(stored: &FieldSpec, said: &FieldSpec) -> bool {
    let kinds = match (&stored.kind, &said.kind) {
        // Texts are stored as JSON, and image files and lists of them as bytes.
        (Kind::Json, Kind::Text) | (Kind::Bytes, Kind::Image | Kind::Images) => true,
        (Kind::Array(stored), Kind::Array(said)) => {
            (stored.dtype, stored.torch) == (said.dtype, said.torch)
                && stored.shape == stored_shape(&said.shape)
        }
        (stored, said) => stored == said,
    };
    stored.name == said.name && kinds
}
