//! Room for rows, where it turns out last how many there are.
//!
//! The data begins at the first page behind the rows that are planned. Of an open source the rows of
//! one page are: with the default page, the header and two fields, some 350,000. So up to there the
//! data lies where a plan that knew the number would have put it. Further rows wait in memory, beside
//! the entries of the index, which are larger; when the last sample is there, the data moves behind
//! them by whole pages.
use crate::beton::{
    Beton,
    journal::RunPlan,
    layout::{Column, POINTER_AT, Storage},
    writer::BetonWriter,
};
use fdconvert_core::{Error, Result};
use fdconvert_storage::place::is_url;
use std::path::Path;
use xxhash_rust::xxh3::Xxh3;

/// Bytes of rows that are put together before they are written.
const ROWS_AT_ONCE: u64 = 1 << 20;

/// Rows, and the data behind them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowsPlace {
    pub(crate) rows_offset: u64,
    pub(crate) row_bytes: u64,
    /// The data begins at a multiple of it.
    pub(crate) multiple_of: u64,
}

impl RowsPlace {
    /// Offset of a row.
    pub(crate) fn row(&self, number: u64) -> u64 {
        self.rows_offset + number * self.row_bytes
    }

    /// Offset of the data behind so many rows; `None` for more than there can be.
    pub(crate) fn start(&self, n_rows: u64) -> Option<u64> {
        let rows = n_rows.checked_mul(self.row_bytes)?;
        let end = rows.checked_add(self.rows_offset).filter(|&end| end < 1 << 62)?;
        Some(end.next_multiple_of(self.multiple_of))
    }

    /// Rows that are reserved for an open source: all that there is room for where the data of one
    /// sample would begin.
    fn n_first(&self) -> u64 {
        let room = self.start(1).map_or(0, |start| start - self.rows_offset);
        // Samples without any field have no rows.
        room.checked_div(self.row_bytes).unwrap_or(1)
    }

    /// The same, where this can be written.
    ///
    /// # Errors
    /// `Usage`.
    pub(crate) fn check_open(&self, format: &Beton, out: &Path) -> Result<u64> {
        let what = match (format.compact || format.compat, is_url(out)) {
            (true, _) => "a compact beton, and FFCV's own layout, begin with the number of samples",
            (false, true) => "a beton in a store begins with the number of samples",
            (false, false) => return Ok(self.n_first()),
        };
        Err(Error::usage("source", format!("{what}, which is not known yet")))
    }
}

impl RunPlan {
    /// Splits rows, of which `first` is the number of the first one, into those that there is room for
    /// and the others.
    pub(crate) fn with_room<'a>(&self, first: u64, rows: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        let room = self.reserved_samples.saturating_sub(first).saturating_mul(self.row_bytes);
        rows.split_at(usize::try_from(room).unwrap_or(usize::MAX).min(rows.len()))
    }
}

impl BetonWriter {
    /// Moves the data behind all rows where it begins too early, and returns where it ends then.
    pub(crate) fn make_room(&mut self, data_end: u64) -> Result<u64> {
        let n_rows = self.index.n_samples();
        // A plan reserves rows also for those that turn out to be bad.
        let n_planned = n_rows + self.provenance.skipped.len() as u64;
        let start = self.plan.data_start;
        if !self.is_open || n_planned <= self.plan.reserved_samples {
            return Ok(data_end);
        }
        let n_first = n_rows.min(self.plan.reserved_samples);
        if self.page.number == 0 && self.page.is_empty() {
            // There is no data, and so no gap in front of it.
            self.target.write_all_at(&self.rows_left, self.rows_place.row(n_first))?;
            return Ok(data_end);
        }
        let too_many = || Error::usage("samples", format!("{n_planned} samples are too many"));
        let moved = self.rows_place.start(n_planned).ok_or_else(too_many)?;
        let by = moved - start;
        self.target.insert_zeros(start, by)?;
        self.plan.data_start = moved;
        self.index.move_regions(start, moved);
        self.rows_hash = Xxh3::new();
        let at_once = (ROWS_AT_ONCE / self.plan.row_bytes.max(1)).max(1);
        let mut first = 0;
        while first < n_first {
            let n = at_once.min(n_first - first);
            let mut rows = vec![0; (n * self.plan.row_bytes) as usize];
            self.target.read_exact_at(&mut rows, self.rows_place.row(first))?;
            self.store_moved(rows, first, by)?;
            first += n;
        }
        let rows = std::mem::take(&mut self.rows_left);
        self.store_moved(rows, n_first, by)?;
        Ok(data_end + by)
    }

    /// Stores rows whose values have moved by so many bytes.
    fn store_moved(&mut self, mut rows: Vec<u8>, first: u64, by: u64) -> Result<()> {
        for row in rows.chunks_exact_mut(self.layout.row_bytes.max(1)) {
            for pointer in self.layout.columns.iter().filter_map(pointer_at) {
                if let Some(pointer) = row.get_mut(pointer..).and_then(|row| row.first_chunk_mut())
                {
                    *pointer = (u64::from_le_bytes(*pointer) + by).to_le_bytes();
                }
            }
        }
        self.rows_hash.update(&rows);
        self.target.write_all_at(&rows, self.rows_place.row(first))
    }
}

/// Offset in the row of the pointer to a value that lies elsewhere.
fn pointer_at(column: &Column) -> Option<usize> {
    match column.storage {
        Storage::Float | Storage::Int => None,
        Storage::Image => Some(column.offset + POINTER_AT),
        Storage::Bytes | Storage::Json | Storage::Array(_) => Some(column.offset),
    }
}
