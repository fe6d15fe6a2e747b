//! The memory of a batch: one allocation, filled by several threads at the same time.
//!
//! A buffer is split into separately owned views of rows and joined again without a copy. `bytes`
//! checks this, so that no unsafe code is needed here.

use crate::views::{ViewLayout, Views};
use bytes::{Buf, BytesMut};
use std::ops::Range;

/// Alignment of each group of views in memory, in bytes: suits the widest vector instructions and
/// copies to a GPU.
const ALIGNMENT: usize = 64;

/// The memory of one row: a piece for each of its views.
pub(crate) type RowBuffers = Vec<BytesMut>;

/// Allocates aligned and zeroed memory.
pub(crate) fn allocate(n_bytes: usize) -> BytesMut {
    let mut buffer = BytesMut::zeroed(n_bytes + ALIGNMENT - 1);
    let address = buffer.as_ptr() as usize;
    buffer.advance(address.next_multiple_of(ALIGNMENT) - address);
    buffer.truncate(n_bytes);
    buffer
}

/// Returns the bytes of a batch of that many rows.
pub(crate) fn n_bytes(views: &Views, n_rows: usize) -> usize {
    range(views, views.groups().len(), n_rows).start
}

/// Returns the place of a group of views in the memory of a batch.
pub(crate) fn range(views: &Views, group: usize, n_rows: usize) -> Range<usize> {
    let bytes = |at: usize| {
        let group = views.groups().get(at);
        group.map_or(0, |group| group.n_views * group.output.n_bytes() * n_rows)
    };
    let begin = (0..group).map(|at| bytes(at).next_multiple_of(ALIGNMENT)).sum();
    begin..begin + bytes(group)
}

/// Yields row, number of the view and bytes of each piece, in the order of memory; `None` for what
/// lies between groups.
fn pieces(views: &Views, n_rows: usize) -> impl Iterator<Item = (Option<(usize, usize)>, usize)> {
    let mut first = 0;
    views.groups().iter().enumerate().flat_map(move |(number, group)| {
        let (n_views, row_bytes, before) = (group.n_views, group.output.n_bytes(), first);
        first += n_views;
        let Range { end, .. } = range(views, number, n_rows);
        let layout = views.layout;
        let group = (0..n_views * n_rows).map(move |at| {
            let (row, view) = match layout {
                ViewLayout::Views => (at % n_rows, at / n_rows),
                ViewLayout::Rows => (at / n_views, at % n_views),
            };
            (Some((row, before + view)), row_bytes)
        });
        group.chain([(None, end.next_multiple_of(ALIGNMENT) - end)])
    })
}

/// Splits a buffer into the rows of a batch, and what remains, in the order of memory.
pub(crate) fn split(
    mut buffer: BytesMut,
    views: &Views,
    n_rows: usize,
) -> (Vec<Option<RowBuffers>>, Vec<BytesMut>) {
    let n_views = views.each().count();
    let mut rows = vec![vec![BytesMut::new(); n_views]; n_rows];
    let mut rest = Vec::new();
    for (place, n_bytes) in pieces(views, n_rows) {
        let piece = buffer.split_to(n_bytes.min(buffer.len()));
        match place.and_then(|(row, view)| rows.get_mut(row)?.get_mut(view)) {
            Some(place) => *place = piece,
            None => rest.push(piece),
        }
    }
    rest.push(buffer);
    (rows.into_iter().map(Some).collect(), rest)
}

/// Joins the parts of [`split`] again; `None` if one is missing.
pub(crate) fn join(
    rows: Vec<Option<RowBuffers>>,
    rest: Vec<BytesMut>,
    views: &Views,
) -> Option<BytesMut> {
    let n_rows = rows.len();
    let mut rows = rows.into_iter().collect::<Option<Vec<_>>>()?;
    let mut rest = rest.into_iter();
    let mut all: Option<BytesMut> = None;
    let mut append = |piece: BytesMut| match &mut all {
        // Neighbours in one allocation: this moves an end and copies nothing.
        Some(all) => all.unsplit(piece),
        None => all = Some(piece),
    };
    for (place, _) in pieces(views, n_rows) {
        append(match place {
            Some((row, view)) => std::mem::take(rows.get_mut(row)?.get_mut(view)?),
            None => rest.next()?,
        });
    }
    append(rest.next()?);
    all
}

/// Returns the place of each row in the memory of rows of their own sizes, of these lengths.
pub(crate) fn places(lens: impl Iterator<Item = usize>) -> impl Iterator<Item = Range<usize>> {
    lens.scan(0, |next: &mut usize, len| {
        let place = *next..*next + len;
        *next = place.end.next_multiple_of(ALIGNMENT);
        Some(place)
    })
}

/// Puts rows of their own sizes next to each other, each aligned; `buffer` is used if it is large
/// enough.
pub(crate) fn gather(mut buffer: BytesMut, rows: Vec<BytesMut>) -> BytesMut {
    let places: Vec<_> = places(rows.iter().map(BytesMut::len)).collect();
    let n_bytes = places.last().map_or(0, |place| place.end);
    if buffer.len() < n_bytes {
        buffer = allocate(n_bytes);
    }
    for (place, row) in places.into_iter().zip(rows) {
        if let Some(to) = buffer.get_mut(place) {
            to.copy_from_slice(&row);
        }
    }
    buffer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ViewGroup,
        transform::{ResizeTo, Transform, TransformList},
    };

    fn views(groups: &[(u32, [u32; 2])], layout: ViewLayout) -> Views {
        let group = |(number, &(n_views, size)): (usize, &(u32, [u32; 2]))| {
            let size = ResizeTo::Exact(size);
            let interpolation = crate::transform::Interpolation::Bilinear;
            let resize = Transform::Resize { size, max_size: None, interpolation };
            ViewGroup::new(number.to_string(), n_views, TransformList::new(vec![resize]).unwrap())
        };
        let groups: Vec<_> = groups.iter().enumerate().map(group).collect();
        Views::new(&groups, layout, true).unwrap()
    }

    #[test]
    fn rows_are_cut_and_joined_in_place() {
        for layout in [ViewLayout::Views, ViewLayout::Rows] {
            for (most, n_rows, groups) in [
                (1, 1, &[(1, [1, 1])][..]),
                (7, 7, &[(1, [11, 1])]),
                (64, 40, &[(2, [16, 16]), (8, [5, 7])]),
                (3, 0, &[(2, [2, 2]), (1, [3, 3])]),
            ] {
                let views = views(groups, layout);
                let buffer = allocate(n_bytes(&views, most));
                let (address, len) = (buffer.as_ptr(), buffer.len());
                assert_eq!(address as usize % ALIGNMENT, 0);
                let (mut rows, rest) = split(buffer, &views, n_rows);
                assert_eq!(rows.len(), n_rows);
                std::thread::scope(|scope| {
                    for (row, pieces) in rows.iter_mut().flatten().enumerate() {
                        for (view, piece) in pieces.iter_mut().enumerate() {
                            scope.spawn(move || piece.fill((row * 16 + view) as u8));
                        }
                    }
                });
                let joined = join(rows, rest, &views).unwrap();
                assert_eq!((joined.as_ptr(), joined.len()), (address, len));
                let mut first = 0;
                for (number, group) in views.groups().iter().enumerate() {
                    let range = range(&views, number, n_rows);
                    assert_eq!(range.start % ALIGNMENT, 0);
                    let of_group = joined[range].chunks_exact(group.output.n_bytes());
                    let places = match layout {
                        ViewLayout::Views => (0..group.n_views)
                            .flat_map(|view| (0..n_rows).map(move |row| (row, view)))
                            .collect::<Vec<_>>(),
                        ViewLayout::Rows => (0..n_rows)
                            .flat_map(|row| (0..group.n_views).map(move |view| (row, view)))
                            .collect(),
                    };
                    assert_eq!(of_group.len(), places.len());
                    for (piece, (row, view)) in of_group.zip(places) {
                        assert!(piece.iter().all(|byte| *byte == (row * 16 + first + view) as u8));
                    }
                    first += group.n_views;
                }
                // Once more, with all rows, as the ring does.
                let (mut rows, rest) = split(joined, &views, most);
                let all = join(rows.clone(), rest.clone(), &views);
                assert_eq!(all.map(|all| all.len()), Some(len));
                if let Some(row) = rows.first_mut() {
                    *row = None;
                    assert!(join(rows, rest, &views).is_none());
                }
            }
        }
    }
}
