//! Columns of the catalog, for samples one after the other.
use super::{
    facts::{Cell, Facts},
    texts::{NO_TEXT, Texts},
};
use crate::fields::{Field, Further};
use fdconvert_core::Codec;
use std::sync::OnceLock;

/// No label, or one that has no place in 32 bits.
pub(crate) const NO_LABEL: i32 = i32::MIN;
/// No integer.
pub(crate) const NO_INT: i64 = i64::MIN;
/// No image.
const NO_CODEC: u8 = u8::MAX;
/// A sample that cannot be read.
const UNREADABLE: u8 = u8::MAX - 1;

/// Columns that never change once they are published.
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
    /// The least and the largest number of each column of numbers, once someone has asked for it.
    pub(crate) spans: Vec<OnceLock<Option<[f64; 2]>>>,
}

/// Columns of numbers beside those of further fields: width, height, bytes, aspect.
pub(crate) const N_SIZES: usize = 4;

/// The column of a further field.
#[derive(Debug)]
pub(crate) enum Cells {
    Ints(Vec<i64>),
    /// Not a number where there is none.
    Floats(Vec<f64>),
    /// Numbers of texts.
    Texts(Vec<u32>),
}

/// The position of a codec in [`Codec::ALL`].
fn codec_number(codec: Codec) -> u8 {
    let position = Codec::ALL.iter().position(|other| *other == codec);
    position.map_or(NO_CODEC, |at| at as u8)
}

impl Chunk {
    pub(super) fn new(start: u64, fields: &[Field]) -> Self {
        let column = |field: &Field| match field.kind {
            Further::Int => Cells::Ints(Vec::new()),
            Further::Float => Cells::Floats(Vec::new()),
            Further::Text => Cells::Texts(Vec::new()),
        };
        let spans = (0..N_SIZES + fields.len()).map(|_| OnceLock::new()).collect();
        Self { start, further: fields.iter().map(column).collect(), spans, ..Self::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.labels.len()
    }

    /// The number behind that of its last sample.
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
            }
        }
    }

    /// The facts of a sample, as it was when it was scanned; `None` for one that is not here, or
    /// that cannot be read.
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

    /// Width divided by height; NaN for samples without an image.
    pub(crate) fn aspect(&self, at: usize) -> f64 {
        match (self.widths.get(at), self.heights.get(at)) {
            (Some(&width), Some(&height)) if width > 0 && height > 0 => {
                f64::from(width) / f64::from(height)
            }
            _ => f64::NAN,
        }
    }
}
