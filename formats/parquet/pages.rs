//! Places of a column's pages, and the claims of their headers.
use super::{
    file::Chunk,
    thrift::{PageHeader, PageKind},
};
use ::parquet::file::page_index::index_reader::decode_offset_index;
use fdconvert_core::caught;

/// Places of the pages of a column of a row group.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) dictionary: Option<(u64, u64)>,
    pub(crate) pages: Vec<Page>,
}

/// Rows decoded together: those of a page, or all of them if pages do not say where rows begin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Page {
    pub(crate) offset: u64,
    pub(crate) len: u64,
    pub(crate) first_row: u64,
    pub(crate) n_rows: u64,
}

/// Claims of consecutive pages.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Claims {
    /// Bytes after decompression.
    pub(crate) raw_bytes: u64,
    /// Including nulls.
    pub(crate) n_values: u64,
}

impl Claims {
    /// Adds up the claims of the page headers, before anything is decompressed.
    pub(crate) fn of(bytes: &[u8]) -> Result<Self, String> {
        let (mut at, mut claims) = (0_usize, Self::default());
        let mut has_dictionary = false;
        while at < bytes.len() {
            let header = bytes.get(at..).and_then(PageHeader::parse);
            let header = header.ok_or("the header of a page is damaged")?;
            has_dictionary |= header.kind == PageKind::Dictionary;
            if header.needs_dictionary && !has_dictionary {
                return Err("a page needs a dictionary, and there is none".to_owned());
            }
            claims.raw_bytes = claims.raw_bytes.saturating_add(header.raw_bytes);
            claims.n_values = claims.n_values.saturating_add(header.n_values);
            let next = usize::try_from(header.len.saturating_add(header.stored_bytes)).ok();
            at = next
                .and_then(|len| at.checked_add(len))
                .filter(|&end| end <= bytes.len())
                .ok_or("a page is longer than its place")?;
        }
        Ok(claims)
    }
}

/// The pages of an offset index.
pub(crate) fn indexed(bytes: &[u8], chunk: &Chunk, n_rows: u64) -> Result<Table, String> {
    let index = match caught(|| decode_offset_index(bytes)) {
        Ok(Ok(index)) => index,
        Ok(Err(error)) => return Err(format!("its offset index: {error}")),
        Err(_) => return Err("its offset index cannot be decoded".to_owned()),
    };
    let wrong = || "its offset index names pages that cannot be".to_owned();
    let mut pages: Vec<Page> = Vec::with_capacity(index.page_locations().len());
    let mut end = chunk.start;
    for location in index.page_locations() {
        let offset = u64::try_from(location.offset).map_err(|_| wrong())?;
        let len = u64::try_from(location.compressed_page_size).map_err(|_| wrong())?;
        let first_row = u64::try_from(location.first_row_index).map_err(|_| wrong())?;
        let is_next = match pages.last_mut() {
            None => first_row == 0,
            Some(last) => {
                last.n_rows = first_row.saturating_sub(last.first_row);
                first_row > last.first_row
            }
        };
        let in_chunk = offset >= end && first_row < n_rows;
        end = offset.checked_add(len).ok_or_else(wrong)?;
        if !is_next || !in_chunk || end > chunk.start.saturating_add(chunk.len) {
            return Err(wrong());
        }
        pages.push(Page { offset, len, first_row, n_rows: n_rows - first_row });
    }
    let first = pages.first().map_or(chunk.start, |page| page.offset);
    let dictionary = (first > chunk.start).then(|| (chunk.start, first - chunk.start));
    match pages.is_empty() && n_rows > 0 {
        true => Err("its offset index names no page".to_owned()),
        false => Ok(Table { dictionary, pages }),
    }
}

/// The pages of a column chunk, found by their headers.
pub(crate) fn walked(
    bytes: &[u8],
    chunk: &Chunk,
    n_rows: u64,
    is_flat: bool,
) -> Result<Table, String> {
    let (mut at, mut first_row, mut dictionary) = (0_usize, 0_u64, None);
    let (mut pages, mut n_values) = (Vec::new(), 0_u64);
    while at < bytes.len() && (first_row < n_rows || !is_flat) {
        let header = bytes.get(at..).and_then(PageHeader::parse);
        let header = header.ok_or("the header of a page is damaged")?;
        let len = header.len.saturating_add(header.stored_bytes);
        let end = usize::try_from(len).ok().and_then(|len| at.checked_add(len));
        let end = end.filter(|&end| end <= bytes.len()).ok_or("a page leaves its column")?;
        let offset = chunk.start + at as u64;
        match header.kind {
            PageKind::Dictionary if pages.is_empty() => dictionary = Some((offset, len)),
            PageKind::Data if is_flat => {
                let rows = header.n_rows.unwrap_or(header.n_values);
                if rows > 0 {
                    pages.push(Page { offset, len, first_row, n_rows: rows });
                }
                first_row = first_row.saturating_add(rows);
            }
            PageKind::Data => n_values = n_values.saturating_add(header.n_values),
            _ => {}
        }
        at = end;
    }
    if !is_flat {
        if n_values < n_rows.max(chunk.n_values) {
            let n_claimed = chunk.n_values;
            return Err(format!("its pages hold {n_values} values, not {n_claimed}"));
        }
        // Pages do not say where rows begin, so all of them are decoded together.
        let pages = vec![Page { offset: chunk.start, len: chunk.len, first_row: 0, n_rows }];
        return Ok(Table { dictionary: None, pages });
    }
    if first_row != n_rows {
        return Err(format!("its pages hold {first_row} rows, not {n_rows}"));
    }
    Ok(Table { dictionary, pages })
}
