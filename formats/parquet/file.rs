//! One file: its footer, and the rows of its pages.
use super::{
    arrow,
    features::{self, Features},
    files::Found,
    footer,
    layout::{CREATED_BY, FORMAT, KEY, Note, TAIL_LEN},
    leaf::{Leaf, Node},
    pages::{Claims, Table, indexed, walked},
    values::{Encoded, Rows},
};
use crate::index::Index;
use ::parquet::{basic::Compression, file::metadata::KeyValue};
use fdconvert_core::{Error, MaxDecompressed, Remark, Result};
use fdconvert_storage::Blob;
use std::{
    path::Path,
    sync::{Arc, OnceLock},
};
use xxhash_rust::xxh3::xxh3_128;

/// Limit of rows per byte of a file: far more than in any table with images.
const ROWS_PER_BYTE: u64 = 256;
/// Below this many bytes per row, all columns together, the row count is checked against the pages.
const ROW_BYTES: u64 = 64;
/// Bytes of a decoded value, with its levels.
const VALUE_BYTES: u64 = 48;

#[derive(Debug)]
pub(crate) struct File {
    pub(crate) path: Arc<Path>,
    pub(crate) data: Blob,
    pub(crate) leaves: Vec<Leaf>,
    pub(crate) roots: Vec<(Arc<str>, Node)>,
    pub(crate) groups: Vec<Group>,
    pub(crate) n_rows: u64,
    pub(crate) features: Features,
    /// Columns of fixed-length lists, which the features may omit.
    pub(crate) fixed_lists: Vec<(String, Vec<u64>)>,
    pub(crate) note: Option<Note>,
    /// XXH3 of the footer.
    pub(crate) xxh3: u128,
    pub(crate) created_by: Option<String>,
    /// The pages of each column of each row group, filled on demand.
    tables: Vec<OnceLock<Arc<Table>>>,
}

#[derive(Debug)]
pub(crate) struct Group {
    /// Number of rows in the file before it.
    pub(crate) first_row: u64,
    pub(crate) n_rows: u64,
    pub(crate) chunks: Vec<Chunk>,
}

/// A column of a row group.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) start: u64,
    pub(crate) len: u64,
    /// Claimed number of values, including nulls.
    pub(crate) n_values: u64,
    pub(crate) compression: Compression,
    pub(crate) offset_index: Option<(u64, u64)>,
}

impl File {
    /// Opens a file and reads its footer. The fields in `dropped` may be unreadable.
    pub(crate) fn open(found: &Found, dropped: &[String]) -> Result<Self> {
        let data = Blob::open(&found.path)?.or_elsewhere(found.elsewhere.clone());
        Self::new(data, &found.path, dropped)
    }

    pub(crate) fn new(data: Blob, path: &Path, dropped: &[String]) -> Result<Self> {
        let corrupt = |offset: u64, what: String| Error::corrupt(FORMAT, path, offset, what);
        let footer = footer::read(&data, path)?;
        let metadata =
            footer::parse(&footer).map_err(|what| corrupt(data.len() - TAIL_LEN, what))?;
        let footer_at = data.len() - TAIL_LEN - footer.len() as u64;
        let schema = metadata.file_metadata().schema_descr();
        let leaves: Vec<Leaf> = schema.columns().iter().cloned().map(Leaf::new).collect();
        let roots = Node::roots(schema.root_schema());
        let roots = roots.map_err(|what| corrupt(footer_at, what))?;
        footer::refuse_summary(&metadata, path)?;
        let (mut groups, mut n_rows) = (Vec::new(), 0_u64);
        for (number, group) in metadata.row_groups().iter().enumerate() {
            let group = footer::group_of(group, n_rows, footer_at, &leaves)
                .map_err(|what| corrupt(footer_at, format!("row group {number}: {what}")))?;
            n_rows = n_rows.saturating_add(group.as_ref().map_or(0, |group| group.n_rows));
            groups.extend(group);
        }
        let said = metadata.file_metadata().num_rows();
        if u64::try_from(said) != Ok(n_rows) {
            let what = format!("it is said to have {said} rows, and its row groups have {n_rows}");
            return Err(corrupt(footer_at, what));
        }
        if n_rows > data.len().saturating_mul(ROWS_PER_BYTE) {
            let what = format!("{n_rows} rows do not fit {} bytes", data.len());
            return Err(corrupt(footer_at, what));
        }
        footer::refuse_unread(&footer, &groups, &leaves, dropped, path)?;
        let pairs = metadata.file_metadata().key_value_metadata();
        let pairs: &[KeyValue] = pairs.map_or(&[], Vec::as_slice);
        let value = |key: &str| pairs.iter().find(|pair| pair.key == key)?.value.as_deref();
        let n_tables = groups.len().saturating_mul(leaves.len());
        let file = Self {
            path: path.into(),
            fixed_lists: value(arrow::KEY).map(arrow::fixed_lists).unwrap_or_default(),
            features: value(features::KEY).map(Features::parse).unwrap_or_default(),
            note: footer::note(value(KEY), path)?,
            xxh3: xxh3_128(&footer),
            created_by: metadata.file_metadata().created_by().map(str::to_owned),
            tables: std::iter::repeat_with(OnceLock::new).take(n_tables).collect(),
            data,
            leaves,
            roots,
            groups,
            n_rows,
        };
        file.check_rows(dropped)?;
        Ok(file)
    }

    /// Finds the pages of one column in each row group if rows are smaller than images can be:
    /// every operation on samples takes time and memory for each claimed row.
    fn check_rows(&self, dropped: &[String]) -> Result<()> {
        if self.n_rows <= self.data.len() / ROW_BYTES {
            return Ok(());
        }
        for group in &self.groups {
            let columns = self.leaves.iter().zip(&group.chunks);
            let readable = columns.filter(|(leaf, _)| !leaf.is_in(dropped));
            let Some((leaf, chunk)) = readable.min_by_key(|(_, chunk)| chunk.len) else { continue };
            // An offset index has the places of pages, but not their contents.
            self.walk(group, chunk, leaf)?;
        }
        Ok(())
    }

    /// The index block of a file of fdconvert; or why it cannot be used.
    pub(crate) fn index(&self) -> Result<Result<Option<Index>, String>> {
        let is_ours = || self.created_by.as_ref().is_some_and(|by| by.starts_with(CREATED_BY));
        let Some(note) = &self.note else {
            let what = "it does not say where its index block is, which fdconvert has written";
            return Ok(if is_ours() { Err(what.to_owned()) } else { Ok(None) });
        };
        let bytes = self.data.read(note.index.offset, note.index.len)?;
        let Some(bytes) = bytes else {
            return Ok(Err("its index block is outside the file".to_owned()));
        };
        let index = match Index::parse(bytes) {
            Ok(index) => index,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let is_own = index.n_samples() == self.n_rows && index.data_len() <= note.index.offset;
        Ok(if is_own { Ok(Some(index)) } else { Err("its index block is of another file".into()) })
    }

    /// The row group of a row, and the row's position in it.
    pub(crate) fn group_of(&self, row: u64) -> Option<(usize, u64)> {
        let after = self.groups.partition_point(|group| group.first_row <= row);
        let number = after.checked_sub(1)?;
        let group = self.groups.get(number)?;
        let row = row - group.first_row;
        (row < group.n_rows).then_some((number, row))
    }

    pub(crate) fn corrupt(&self, offset: u64, what: impl Into<Remark>) -> Error {
        Error::corrupt(FORMAT, &*self.path, offset, what)
    }

    fn chunk(&self, group: usize, leaf: usize) -> Result<(&Group, &Chunk, &Leaf)> {
        let found = self
            .groups
            .get(group)
            .and_then(|group| Some((group, group.chunks.get(leaf)?, self.leaves.get(leaf)?)));
        found.ok_or_else(|| self.corrupt(0, format!("column {leaf} is missing")))
    }

    /// The pages of a column of a row group.
    pub(crate) fn table(&self, group: usize, leaf: usize) -> Result<Arc<Table>> {
        let number = group.saturating_mul(self.leaves.len()).saturating_add(leaf);
        let slot = self.tables.get(number);
        if let Some(table) = slot.and_then(OnceLock::get) {
            return Ok(table.clone());
        }
        let table = Arc::new(self.make_table(group, leaf)?);
        Ok(slot.map_or_else(|| table.clone(), |slot| slot.get_or_init(|| table.clone()).clone()))
    }

    /// Returns true if the pages of a column of a row group are already known.
    pub(crate) fn has_table(&self, group: usize, leaf: usize) -> bool {
        let number = group.saturating_mul(self.leaves.len()).saturating_add(leaf);
        self.tables.get(number).is_some_and(|slot| slot.get().is_some())
    }

    fn make_table(&self, group: usize, leaf: usize) -> Result<Table> {
        let (group, chunk, leaf) = self.chunk(group, leaf)?;
        let failed = |what| self.failed(chunk, leaf, what);
        let Some((offset, len)) = chunk.offset_index else {
            return self.walk(group, chunk, leaf);
        };
        let bytes = self.data.read(offset, len)?;
        let bytes = bytes.ok_or_else(|| failed("its offset index is outside".into()))?;
        indexed(&bytes, chunk, group.n_rows).map_err(failed)
    }

    fn failed(&self, chunk: &Chunk, leaf: &Leaf, what: String) -> Error {
        let column = leaf.descr.path().string();
        self.corrupt(chunk.start, format!("column `{column}`: {what}"))
    }

    /// Finds the pages of a column of a row group by their headers.
    fn walk(&self, group: &Group, chunk: &Chunk, leaf: &Leaf) -> Result<Table> {
        let failed = |what| self.failed(chunk, leaf, what);
        let bytes = self.data.read(chunk.start, chunk.len)?;
        let bytes = bytes.ok_or_else(|| failed("it is outside the file".into()))?;
        let is_flat = leaf.descr.max_rep_level() == 0;
        walked(&bytes, chunk, group.n_rows, is_flat).map_err(failed)
    }

    /// The number of the page with a row of a row group, and its first row.
    pub(crate) fn page_of(&self, group: usize, leaf: usize, row: u64) -> Result<(usize, u64)> {
        let table = self.table(group, leaf)?;
        let after = table.pages.partition_point(|page| page.first_row <= row);
        let page = after.checked_sub(1).and_then(|at| Some((at, table.pages.get(at)?.first_row)));
        page.ok_or_else(|| self.corrupt(0, format!("no page holds row {row}")))
    }

    pub(crate) fn rows(
        &self,
        group: usize,
        leaf: usize,
        page: usize,
        limit: MaxDecompressed,
    ) -> Result<Rows> {
        let table = self.table(group, leaf)?;
        let (_, chunk, leaf) = self.chunk(group, leaf)?;
        let page = table.pages.get(page).copied();
        let page = page.ok_or_else(|| self.corrupt(chunk.start, "the page does not exist"))?;
        let failed = |what: String| {
            let column = leaf.descr.path().string();
            self.corrupt(page.offset, format!("column `{column}`: {what}"))
        };
        let outside = || failed("a page is outside the file".to_owned());
        let bytes = self.data.read(page.offset, page.len)?.ok_or_else(outside)?;
        let (bytes, dictionary) = match table.dictionary {
            None => (bytes, 0),
            Some((offset, len)) => {
                let first = self.data.read(offset, len)?.ok_or_else(outside)?;
                ([&first[..], &bytes[..]].concat().into(), len)
            }
        };
        let claims = Claims::of(&bytes).map_err(failed)?;
        let (stored, n_values) = (bytes.len() as u64, claims.n_values);
        let asked = claims.raw_bytes.max(n_values.saturating_mul(VALUE_BYTES));
        if asked > limit.of(stored) {
            return Err(limit.refuse(&self.path, stored, asked));
        }
        let (compression, n_rows) = (chunk.compression, page.n_rows);
        let encoded = Encoded { bytes, dictionary, compression, n_values, n_rows };
        Rows::decode(leaf, &encoded).map_err(failed)
    }
}
