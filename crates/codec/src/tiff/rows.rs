//! Rows of a strip or tile: from stored bytes to samples of 8 bits.
use crate::convert::narrow;
use fdconvert_core::probe::Tiff;

/// Compressions with rows that may be stored as differences; elsewhere the tag has no meaning.
const PREDICTED: [u16; 4] = [5, 8, 32_946, 50_000];

/// Returns true if the compression of a TIFF is one whose rows may be stored as differences.
pub(super) fn is_predicted(tiff: &Tiff<'_>) -> bool {
    PREDICTED.contains(&tiff.compression)
}

/// Converts rows to samples of 8 bits.
pub(super) struct Rows {
    bits: u16,
    /// Samples between one and its prediction; `None` without a predictor.
    distance: Option<usize>,
    is_big_endian: bool,
    /// True if values are indices, and not levels to be scaled to 8 bits.
    are_indices: bool,
    samples: Vec<u8>,
}

impl Rows {
    pub(super) fn new(tiff: &Tiff<'_>, are_indices: bool) -> Self {
        let is_predicted = tiff.predictor == 2 && is_predicted(tiff);
        let stored = if tiff.is_planar { 1 } else { tiff.samples };
        Self {
            bits: tiff.bits,
            distance: is_predicted.then_some(usize::from(stored)),
            is_big_endian: tiff.is_big_endian(),
            are_indices,
            samples: Vec::new(),
        }
    }

    /// Returns the samples of a row. An `is_final` row holds them already.
    pub(super) fn samples<'a>(&'a mut self, row: &'a [u8], is_final: bool) -> &'a [u8] {
        if is_final || self.bits == 8 && self.distance.is_none() {
            return row;
        }
        self.samples.clear();
        match self.bits {
            8 => {
                self.samples.extend_from_slice(row);
                if let Some(distance) = self.distance {
                    add_up(&mut self.samples, distance, u8::wrapping_add);
                }
            }
            16 => {
                let (pairs, _) = row.as_chunks::<2>();
                let read = if self.is_big_endian { u16::from_be_bytes } else { u16::from_le_bytes };
                let values = pairs.iter().map(|pair| read(*pair));
                match self.distance {
                    None => self.samples.extend(values.map(narrow)),
                    Some(distance) => {
                        let mut values: Vec<u16> = values.collect();
                        add_up(&mut values, distance, u16::wrapping_add);
                        self.samples.extend(values.into_iter().map(narrow));
                    }
                }
            }
            bits => self.few_bits(row, usize::from(bits)),
        }
        &self.samples
    }

    /// Extracts samples that share bytes with others, from the highest bit on.
    fn few_bits(&mut self, row: &[u8], bits: usize) {
        let most = (1_u32 << bits) - 1;
        let n_samples = row.len() * 8 / bits;
        self.samples.extend((0..n_samples).map(|index| {
            let at = index * bits;
            // No sample of at most 12 bits spans three bytes.
            let byte = |at: usize| u32::from(row.get(at).copied().unwrap_or_default());
            let pair = byte(at / 8) << 8 | byte(at / 8 + 1);
            let value = pair >> (16 - at % 8 - bits) & most;
            let level = if self.are_indices { value } else { (value * 255 + most / 2) / most };
            level as u8
        }));
    }
}

/// Undoes the differences between neighbours.
pub(super) fn add_up<T: Copy>(values: &mut [T], distance: usize, add: impl Fn(T, T) -> T) {
    for at in distance..values.len() {
        let before = values.get(at - distance).copied();
        if let (Some(before), Some(value)) = (before, values.get_mut(at)) {
            *value = add(*value, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_bits_fill_all_eight() {
        let rows = |bits, are_indices| Rows {
            bits,
            distance: None,
            is_big_endian: false,
            are_indices,
            samples: Vec::new(),
        };
        assert_eq!(rows(1, false).samples(&[0b1010_0000], false)[..4], [255, 0, 255, 0]);
        assert_eq!(rows(2, false).samples(&[0b0001_1011], false), [0, 85, 170, 255]);
        assert_eq!(rows(4, false).samples(&[0x0f, 0x80], false), [0, 255, 136, 0]);
        assert_eq!(rows(12, false).samples(&[0x00, 0x0f, 0xff], false), [0, 255]);
        assert_eq!(rows(4, true).samples(&[0x1f], false), [1, 15]);
    }
}
