use super::BandForm;
use crate::transform::{DType, Layout, Output};
use fdconvert_core::{Bands, DType as Stored};
use half::{bf16, f16};

/// Writes lines of pixels, the bands of each next to each other, into a row of the batch.
pub(super) struct LineWriter<'a> {
    output: &'a Output,
    stored: DType,
    row: &'a mut [u8],
    /// Those of each number of a line; empty without normalisation.
    mean: Vec<f32>,
    std: Vec<f32>,
}

impl<'a> LineWriter<'a> {
    pub(super) fn new(form: &BandForm, output: &'a Output, row: &'a mut [u8]) -> Self {
        let pairs = form.normalise.as_deref().unwrap_or_default();
        let width = if pairs.is_empty() { 0 } else { output.size.0 as usize };
        let line = || std::iter::repeat_n(pairs, width).flatten();
        let (mean, std) = (line().map(|it| it.0).collect(), line().map(|it| it.1).collect());
        let stored = match form.bands.dtype {
            Stored::U16 => DType::U16,
            Stored::I16 => DType::I16,
            Stored::F32 => DType::F32,
            _ => DType::U8,
        };
        Self { output, stored, row, mean, std }
    }

    /// Writes a line of stored values.
    pub(super) fn stored(
        &mut self,
        number: usize,
        line: &[u8],
        bands: Bands,
        values: &mut Vec<f32>,
    ) {
        let is_as_stored = self.output.dtype == self.stored && self.mean.is_empty();
        if is_as_stored && self.output.layout == Layout::Nhwc {
            let place = self.row.chunks_exact_mut(line.len().max(1)).nth(number);
            if let Some(place) = place {
                place.copy_from_slice(line);
            }
            return;
        }
        values.clear();
        match bands.dtype {
            Stored::U16 => {
                values
                    .extend(line.as_chunks().0.iter().map(|it| f32::from(u16::from_ne_bytes(*it))));
            }
            Stored::I16 => {
                values
                    .extend(line.as_chunks().0.iter().map(|it| f32::from(i16::from_ne_bytes(*it))));
            }
            Stored::F32 => {
                values.extend(line.as_chunks().0.iter().map(|it| f32::from_ne_bytes(*it)));
            }
            _ => values.extend(line.iter().copied().map(f32::from)),
        }
        self.values(number, values);
    }

    /// Writes a line of values.
    pub(super) fn values(&mut self, number: usize, values: &mut [f32]) {
        for ((value, mean), std) in values.iter_mut().zip(&self.mean).zip(&self.std) {
            *value = (*value - mean) / std;
        }
        // Casts round towards zero and clamp; NaN becomes 0.
        match self.output.dtype {
            DType::U8 => self.put(number, values, |value| [(value + 0.5) as u8]),
            DType::U16 => self.put(number, values, |value| ((value + 0.5) as u16).to_ne_bytes()),
            DType::I16 => self.put(number, values, |value| {
                ((value + 0.5_f32.copysign(value)) as i16).to_ne_bytes()
            }),
            DType::F16 => self.put(number, values, |value| f16::from_f32(value).to_ne_bytes()),
            DType::Bf16 => self.put(number, values, |value| bf16::from_f32(value).to_ne_bytes()),
            DType::F32 => self.put(number, values, f32::to_ne_bytes),
        }
    }

    fn put<const N: usize>(
        &mut self,
        number: usize,
        values: &[f32],
        number_of: impl Fn(f32) -> [u8; N],
    ) {
        let Output { size: (width, height), layout, channels, .. } = *self.output;
        let (width, height, n) = (width as usize, height as usize, channels as usize);
        let to = self.row.as_chunks_mut().0;
        match layout {
            Layout::Nhwc => {
                let to = to.get_mut(number * width * n..).unwrap_or_default();
                to.iter_mut().zip(values).for_each(|(to, value)| *to = number_of(*value));
            }
            Layout::Nchw => {
                for band in 0..n {
                    let start = (band * height + number) * width;
                    let to = to.get_mut(start..start + width).unwrap_or_default();
                    let from = values.iter().skip(band).step_by(n.max(1));
                    to.iter_mut().zip(from).for_each(|(to, value)| *to = number_of(*value));
                }
            }
        }
    }
}
