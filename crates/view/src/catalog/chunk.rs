//! Columns of the catalog, for consecutive samples.
use super::{
    facts::{Cell, Facts},
    texts::{NO_TEXT, Texts},
};
use crate::fields::{Field, Further};
use fdconvert_core::Codec;
use std::sync::OnceLock;

/// Value of a missing label, and of one that does not fit 32 bits.
pub(crate) const NO_LABEL: i32 = i32::MIN;
/// Value of a missing integer.
pub(crate) const NO_INT: i64 = i64::MIN;
/// Value of a missing image.
const NO_CODEC: u8 = u8::MAX;
/// Value of a sample that cannot be read.
const UNREADABLE: u8 = u8::MAX - 1;

/// Columns that are immutable once published.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    pub(crate) start: u64,
    pub(crate) labels: Vec<i32>,
    /// Positions in [`Codec::ALL`].
    pub(crate) codecs: Vec<u8>,
    pub(crate) widths: Vec<u32>,
    pub(crate) heights: Vec<u32>,
    pub(crate) bytes: Vec<u32>,
    pub(crate) further: Vec<Cells>,
    /// Least and greatest number of each numeric column, computed on first use.
    pub(crate) spans: Vec<OnceLock<Option<[f64; 2]>>>,
}

/// Number of numeric columns before those of further fields: width, height, bytes, aspect.
pub(crate) const N_SIZES: usize = 4;

#[derive(Debug)]
pub(crate) enum Cells {
    Ints(Vec<i64>),
    /// NaN if missing.
    Floats(Vec<f64>),
    /// Numbers of interned texts.
    Texts(Vec<u32>),
    /// Numbers of the interned texts of all samples, and for each sample the end of its own.
    Lists {
        ends: Vec<u32>,
        numbers: Vec<u32>,
    },
}

/// Returns the position of a codec in [`Codec::ALL`].
fn codec_number(codec: Codec) -> u8 {
    let position = Codec::ALL.iter().position(|other| *other == codec);
    position.map_or(NO_CODEC, |at| at as u8)
}

impl Chunk {
    pub(super) fn new(start: u64, fields: &[Field]) -> Self {
        let column = |field: &Field| match field.kind {
            Further::Int | Further::NObjects => Cells::Ints(Vec::new()),
            Further::Float => Cells::Floats(Vec::new()),
            Further::Text => Cells::Texts(Vec::new()),
            Further::Categories => Cells::Lists { ends: Vec::new(), numbers: Vec::new() },
        };
        let spans = (0..N_SIZES + fields.len()).map(|_| OnceLock::new()).collect();
        Self { start, further: fields.iter().map(column).collect(), spans, ..Self::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.labels.len()
    }

    /// Returns the number after that of the last sample.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.len() as u64
    }

    /// Appends a sample; `None` for one that cannot be read.
    pub(super) fn push(&mut self, facts: Option<&Facts>, texts: &mut [Texts]) {
        let nothing = Facts::default();
        let known = facts.unwrap_or(&nothing);
        let label = known.label.and_then(|label| i32::try_from(label).ok());
        self.labels.push(label.unwrap_or(NO_LABEL));
        self.codecs.push(match (facts, known.codec) {
            (None, _) => UNREADABLE,
            (Some(_), Some(codec)) => codec_number(codec),
            (Some(_), None) => NO_CODEC,
        });
        self.widths.push(known.width);
        self.heights.push(known.height);
        self.bytes.push(u32::try_from(known.bytes).unwrap_or(u32::MAX));
        for (at, column) in self.further.iter_mut().enumerate() {
            match (column, known.further.get(at)) {
                (Cells::Ints(column), Some(Cell::Int(int))) => column.push(*int),
                (Cells::Ints(column), _) => column.push(NO_INT),
                (Cells::Floats(column), Some(Cell::Float(float))) => column.push(*float),
                (Cells::Floats(column), _) => column.push(f64::NAN),
                (Cells::Texts(column), Some(Cell::Text(text))) => {
                    column.push(texts.get_mut(at).map_or(NO_TEXT, |texts| texts.intern(text)));
                }
                (Cells::Texts(column), _) => column.push(NO_TEXT),
                (Cells::Lists { ends, numbers }, cell) => {
                    if let (Some(Cell::Texts(list)), Some(texts)) = (cell, texts.get_mut(at)) {
                        numbers.extend(list.iter().map(|text| texts.intern(text)));
                    }
                    ends.push(u32::try_from(numbers.len()).unwrap_or(u32::MAX));
                }
            }
        }
    }

    /// Returns the facts of a sample at the time of the scan; `None` for one outside the chunk, or
    /// one that cannot be read.
    pub(crate) fn facts(&self, index: u64) -> Option<Facts> {
        let at = usize::try_from(index.checked_sub(self.start)?).ok()?;
        let codec = *self.codecs.get(at)?;
        if codec == UNREADABLE {
            return None;
        }
        Some(Facts {
            label: Some(*self.labels.get(at)?).filter(|it| *it != NO_LABEL).map(i64::from),
            codec: Codec::ALL.get(usize::from(codec)).copied(),
            width: *self.widths.get(at)?,
            height: *self.heights.get(at)?,
            bytes: u64::from(*self.bytes.get(at)?),
            further: Vec::new(),
        })
    }

    /// Returns width divided by height; NaN for samples without an image.
    pub(crate) fn aspect(&self, at: usize) -> f64 {
        match (self.widths.get(at), self.heights.get(at)) {
            (Some(&width), Some(&height)) if width > 0 && height > 0 => {
                f64::from(width) / f64::from(height)
            }
            _ => f64::NAN,
        }
    }
}
