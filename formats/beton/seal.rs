//! The end of a file: last page, index block, allocation table, header.
use crate::beton::{layout::Entry, spool::Spool, writer::BetonWriter};
use crate::index::{Meta, REGION_LEN, Range};
use fdconvert_core::{Result, bytes::u64_at};
use fdconvert_storage::fingerprint_hex;
use std::mem;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Table entries per write.
const TABLE_CHUNK: usize = 4096;

impl BetonWriter {
    /// Writes the last page; returns the end of the data.
    pub(crate) fn store_last_page(&mut self) -> Result<u64> {
        let end = match (self.page.number, self.page.is_empty()) {
            // No value takes space, so there are no pages, and no gap before them.
            (0, true) => self.header.rows_offset() + self.index.n_samples() * self.plan.row_bytes,
            (_, true) => self.page.start,
            (_, false) if self.compact => self.page.position(),
            (_, false) => self.page.end,
        };
        self.page.store(&self.target)?;
        let record = mem::take(&mut self.pending);
        self.store_rows(&record)?;
        self.store_entries(&record)?;
        self.target.set_len(end)?;
        Ok(end)
    }

    /// Writes index block, table and header after the data, which ends at `data_end`; returns the
    /// file's size.
    pub(crate) fn store_tables(&mut self, data_end: u64) -> Result<u64> {
        let (mut table_hash, mut table_len) = (Xxh3::new(), 0);
        self.table(|chunk| {
            table_hash.update(chunk);
            table_len += chunk.len() as u64;
            Ok(())
        })?;
        let mut at = data_end;
        if !self.plan.compat {
            let (schema, provenance) = (self.schema.clone(), mem::take(&mut self.provenance));
            let run = Some(fingerprint_hex(self.fingerprint));
            let meta = Meta { schema, provenance, run }.to_json();
            let start = data_end.next_multiple_of(8);
            let table_offset = start + self.index.block_len(&meta, 3);
            self.header.n_samples = self.index.n_samples();
            self.header.table_offset = table_offset;
            let prefix = self.prefix();
            let len = prefix.len() as u64;
            let rows_len = self.index.n_samples() * self.plan.row_bytes;
            let ranges = [
                Range { offset: 0, len, xxh3: xxh3_64(&prefix) },
                Range { offset: len, len: rows_len, xxh3: self.rows_hash.digest() },
                Range { offset: table_offset, len: table_len, xxh3: table_hash.digest() },
            ];
            at = start;
            let entries = self.spool.as_ref().map(Spool::entries).transpose()?.unwrap_or_default();
            self.index.emit_with(&meta, start, &ranges, &entries, |part| {
                self.target.write_all_at(part, at)?;
                at += part.len() as u64;
                Ok(())
            })?;
        }
        let table_offset = at;
        self.table(|chunk| {
            self.target.write_all_at(chunk, at)?;
            at += chunk.len() as u64;
            Ok(())
        })?;
        self.store_header(table_offset)?;
        Ok(at)
    }

    /// Writes the allocation table in chunks. It has no information that the index lacks.
    fn table(&self, mut write: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let per_sample = u64::from(self.plan.n_regions).max(1);
        let mut number = 0_u64;
        let mut chunk = Vec::new();
        for records in self.index.regions().chunks(TABLE_CHUNK * REGION_LEN) {
            chunk.clear();
            for record in records.chunks_exact(REGION_LEN) {
                let pointer = u64_at(record, 0).unwrap_or(0);
                let len = u64_at(record, 8).unwrap_or(0);
                Entry { sample: number / per_sample, pointer, len }.encode(&mut chunk);
                number += 1;
            }
            write(&chunk)?;
        }
        Ok(())
    }
}
