//! How many conditions each sample of a piece fails, column by column.
use super::{Column, Condition, Range, Test};
use crate::{
    catalog::{CHUNK, Cells, Chunk, NO_INT, NO_LABEL, Published},
    dataset::Dataset,
};
use std::sync::Arc;

/// Samples one after the other, with their columns where those are needed.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    /// The first sample.
    pub(crate) start: u64,
    /// Place of that sample in the columns.
    pub(crate) offset: usize,
    pub(crate) len: usize,
    pub(crate) columns: Option<Arc<Chunk>>,
}

/// Of each sample of a piece, how many conditions it fails, and the number of the last one.
#[derive(Debug, Default)]
pub(crate) struct Verdicts {
    failed: Vec<u8>,
    last: Vec<u8>,
}

impl Piece {
    /// The piece that begins at `start`, and ends before `limit`.
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

    /// The part of a column that belongs to it.
    pub(crate) fn part<'a, T>(&self, column: &'a [T]) -> &'a [T] {
        column.get(self.offset..).and_then(|rest| rest.get(..self.len)).unwrap_or_default()
    }
}

impl Verdicts {
    /// Judges the samples of a piece.
    pub(crate) fn of(
        piece: &Piece,
        conditions: &[Condition],
        dataset: &Dataset,
        published: &Published,
    ) -> Self {
        let mut verdicts = Self { failed: vec![0; piece.len], last: vec![0; piece.len] };
        for (number, condition) in (0_u8..).zip(conditions) {
            verdicts.judge(number, condition, piece, dataset, published);
        }
        verdicts
    }

    /// Returns whether a sample is kept.
    pub(crate) fn keeps(&self, at: usize) -> bool {
        self.failed.get(at) == Some(&0)
    }

    /// Returns whether a sample is kept by all conditions but that one, if there is one.
    pub(crate) fn keeps_but(&self, at: usize, condition: Option<u8>) -> bool {
        match self.failed.get(at) {
            Some(0) => true,
            Some(1) => condition.is_some() && self.last.get(at).copied() == condition,
            _ => false,
        }
    }

    fn judge(
        &mut self,
        number: u8,
        condition: &Condition,
        piece: &Piece,
        dataset: &Dataset,
        published: &Published,
    ) {
        let tests = &condition.tests;
        let Some(columns) = &piece.columns else {
            return self.judge_splits(number, tests, piece, dataset);
        };
        let ints: Vec<i64> = tests.iter().filter_map(Test::int).collect();
        let ranges: Vec<Range> = tests.iter().filter_map(Test::range).collect();
        let in_ranges = |value: f64| ranges.iter().any(|range| range.holds(value));
        match condition.column {
            Column::Split => self.judge_splits(number, tests, piece, dataset),
            Column::Class => {
                let is_it = |label: &i32| *label != NO_LABEL && ints.contains(&i64::from(*label));
                self.fail(number, piece.part(&columns.labels).iter().map(is_it));
            }
            Column::Codec => {
                let codecs: Vec<u8> = tests.iter().filter_map(Test::codec).collect();
                let is_it = |codec: &u8| codecs.contains(codec);
                self.fail(number, piece.part(&columns.codecs).iter().map(is_it));
            }
            Column::Width | Column::Height | Column::Bytes => {
                let column = match condition.column {
                    Column::Width => &columns.widths,
                    Column::Height => &columns.heights,
                    _ => &columns.bytes,
                };
                // What is 0 is not known.
                let is_it = |value: &u32| *value > 0 && in_ranges(f64::from(*value));
                self.fail(number, piece.part(column).iter().map(is_it));
            }
            Column::Aspect => {
                let places = piece.offset..piece.offset + piece.len;
                self.fail(number, places.map(|at| in_ranges(columns.aspect(at))));
            }
            Column::Further(field) => match columns.further.get(field) {
                Some(Cells::Ints(column)) => {
                    let is_it = |value: &i64| {
                        *value != NO_INT && (ints.contains(value) || in_ranges(*value as f64))
                    };
                    self.fail(number, piece.part(column).iter().map(is_it));
                }
                Some(Cells::Floats(column)) => {
                    self.fail(number, piece.part(column).iter().map(|value| in_ranges(*value)));
                }
                Some(Cells::Texts(column)) => {
                    let texts = published.texts(field);
                    let number_of = |test: &Test| texts?.number(test.text()?);
                    let numbers: Vec<u32> = tests.iter().filter_map(number_of).collect();
                    let is_it = |text: &u32| numbers.contains(text);
                    self.fail(number, piece.part(column).iter().map(is_it));
                }
                None => self.fail(number, (0..piece.len).map(|_| false)),
            },
        }
    }

    fn judge_splits(&mut self, number: u8, tests: &[Test], piece: &Piece, dataset: &Dataset) {
        let asked = |name: &str| tests.iter().any(|test| test.text() == Some(name));
        let ranges = dataset.splits().iter().filter(|(name, _)| asked(name));
        let ranges: Vec<_> = ranges.map(|(_, range)| range.clone()).collect();
        let is_it = |index: u64| ranges.iter().any(|range| range.contains(&index));
        self.fail(number, (piece.start..piece.end()).map(is_it));
    }

    fn fail(&mut self, number: u8, passes: impl Iterator<Item = bool>) {
        for ((failed, last), passes) in self.failed.iter_mut().zip(&mut self.last).zip(passes) {
            if !passes {
                *failed += 1;
                *last = number;
            }
        }
    }
}
