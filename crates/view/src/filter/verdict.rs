//! Number of failed conditions of each sample of a piece.
use super::{Column, Condition};
use crate::{
    catalog::{CHUNK, Chunk, Published},
    dataset::Dataset,
};
use std::sync::Arc;

/// Number of value codes, the small ones, with cached verdicts.
const CODES: usize = 1 << 16;

/// Consecutive samples, with their columns if needed.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    /// Number of the first sample.
    pub(crate) start: u64,
    /// Position of that sample in the columns.
    pub(crate) offset: usize,
    pub(crate) len: usize,
    pub(crate) columns: Option<Arc<Chunk>>,
}

/// For each sample of a piece, the number of failed conditions, and the position of the last one.
#[derive(Debug, Default)]
pub(crate) struct Verdicts {
    failed: Vec<u16>,
    last: Vec<u16>,
}

impl Piece {
    /// Returns the piece that begins at `start`, and ends before `limit`.
    pub(crate) fn at(start: u64, limit: u64, published: Option<&Published>) -> Option<Self> {
        let end = start.saturating_add(CHUNK as u64).min(limit);
        let columns = match published {
            Some(published) => Some(published.chunk_of(start)?.clone()),
            None => None,
        };
        let end = columns.as_ref().map_or(end, |chunk| end.min(chunk.end()));
        let len = usize::try_from(end.checked_sub(start)?).ok().filter(|len| *len > 0)?;
        let offset = columns.as_ref().map_or(Some(0), |chunk| start.checked_sub(chunk.start))?;
        Some(Self { start, offset: usize::try_from(offset).ok()?, len, columns })
    }

    pub(crate) fn end(&self) -> u64 {
        self.start + self.len as u64
    }

    /// Returns its part of a column.
    pub(crate) fn part<'a, T>(&self, column: &'a [T]) -> &'a [T] {
        column.get(self.offset..).and_then(|rest| rest.get(..self.len)).unwrap_or_default()
    }
}

impl Verdicts {
    /// Evaluates the samples of a piece.
    pub(crate) fn of(
        piece: &Piece,
        conditions: &[Condition],
        dataset: &Dataset,
        published: &Published,
    ) -> Self {
        let mut verdicts = Self { failed: vec![0; piece.len], last: vec![0; piece.len] };
        for (number, condition) in (0_u16..).zip(conditions) {
            let holds = |at: usize| condition.holds(piece, at, dataset, published);
            let mut known: Vec<Option<bool>> = vec![None; CODES];
            for (at, (failed, last)) in
                verdicts.failed.iter_mut().zip(&mut verdicts.last).enumerate()
            {
                let code = match condition.columns.as_slice() {
                    [column] => column.code(piece, at, dataset),
                    _ => None,
                };
                let code = code.and_then(|code| usize::try_from(code).ok());
                let holds = match code.and_then(|code| known.get_mut(code)) {
                    Some(known) => *known.get_or_insert_with(|| holds(at)),
                    None => holds(at),
                };
                if !holds {
                    *failed += 1;
                    *last = number;
                }
            }
        }
        verdicts
    }

    pub(crate) fn keeps(&self, at: usize) -> bool {
        self.failed.get(at) == Some(&0)
    }

    /// Returns true if a sample is kept by all conditions except this one, if given.
    pub(crate) fn keeps_but(&self, at: usize, condition: Option<u16>) -> bool {
        match self.failed.get(at) {
            Some(0) => true,
            Some(1) => condition.is_some() && self.last.get(at).copied() == condition,
            _ => false,
        }
    }
}

impl Condition {
    fn holds(&self, piece: &Piece, at: usize, dataset: &Dataset, published: &Published) -> bool {
        let column = |name: usize| dataset.names.columns.get(name).copied();
        let value = |name: usize| {
            Ok(column(name).and_then(|it: Column| it.value(piece, at, dataset, published)))
        };
        self.parts.iter().all(|part| part.holds(&value).unwrap_or(false))
    }
}
