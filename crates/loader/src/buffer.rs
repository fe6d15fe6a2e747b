//! The memory of a batch: one allocation, filled by several threads at the same time.
//!
//! A buffer is split into separately owned rows and joined again without a copy. `bytes` checks
//! this, so that no unsafe code is needed here.

use bytes::{Buf, BytesMut};

/// Alignment of a batch in memory, in bytes: suits the widest vector instructions and copies to a
/// GPU.
pub(crate) const ALIGNMENT: usize = 64;

/// Allocates aligned and zeroed memory.
pub(crate) fn allocate(n_bytes: usize) -> BytesMut {
    let mut buffer = BytesMut::zeroed(n_bytes + ALIGNMENT - 1);
    let address = buffer.as_ptr() as usize;
    buffer.advance(address.next_multiple_of(ALIGNMENT) - address);
    buffer.truncate(n_bytes);
    buffer
}

/// Splits a buffer into all its rows of `row_bytes`.
pub(crate) fn split(mut buffer: BytesMut, row_bytes: usize) -> Vec<Option<BytesMut>> {
    let n_rows = buffer.len() / row_bytes.max(1);
    (0..n_rows).map(|_| Some(buffer.split_to(row_bytes))).collect()
}

/// Joins the rows of [`split`] again; `None` if one is missing.
pub(crate) fn join(rows: Vec<Option<BytesMut>>) -> Option<BytesMut> {
    let mut rows = rows.into_iter();
    let mut buffer = rows.next().flatten()?;
    for row in rows {
        // Neighbours in one allocation: this moves an end and copies nothing.
        buffer.unsplit(row?);
    }
    Some(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_cut_and_joined_in_place() {
        for (n_rows, row_bytes) in [(1, 1), (1, 1000), (7, 33), (64, 4096)] {
            let buffer = allocate(n_rows * row_bytes);
            let address = buffer.as_ptr();
            assert_eq!(address as usize % ALIGNMENT, 0);
            let mut rows = split(buffer, row_bytes);
            assert_eq!(rows.len(), n_rows);
            std::thread::scope(|scope| {
                for (number, row) in rows.iter_mut().flatten().enumerate() {
                    scope.spawn(move || row.fill(number as u8));
                }
            });
            let joined = join(rows).unwrap();
            assert_eq!((joined.as_ptr(), joined.len()), (address, n_rows * row_bytes));
            let expected = (0..n_rows).flat_map(|row| vec![row as u8; row_bytes]);
            assert!(joined.iter().copied().eq(expected));
            // Once more, as the ring does.
            assert_eq!(join(split(joined, row_bytes)).unwrap().as_ptr(), address);
        }
        let mut rows = split(allocate(10), 5);
        rows[1] = None;
        assert!(join(rows).is_none());
    }
}
