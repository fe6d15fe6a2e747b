//! Two datasets compared, sample by sample.
//!
//! Samples are matched by their keys at any position; samples with the same key are matched in
//! order. Fields are matched by name, and the rest by kind and order: a beton's `image` is `jpg` in
//! tar shards. Values are compared as stored, byte for byte, and labels by class name if both
//! datasets have names.
mod fields;
mod keys;
mod tables;
mod values;

pub use keys::Matched;
pub use values::{Difference, PixelDifference};

use crate::Cancel;
use fdconvert_codec::Decoder;
use fdconvert_core::{Ahead, Class, Error, Limits, Reader, Remark, Result};
use fields::FieldPair;
use rayon::prelude::*;

/// Number of pairs between two checks of the cancel switch.
const PIECE: usize = 1024;
/// Approximate bytes that are fetched at a time from datasets in stores.
const PIECE_BYTES: u64 = 16 << 20;

/// Sample of both datasets with different contents.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Changed {
    /// Key of the sample in both.
    pub key: String,
    /// Number of the sample in each dataset.
    pub indices: [u64; 2],
    /// Fields that differ, by their name in the first dataset; empty if only checksums show a
    /// difference.
    pub fields: Vec<(String, Difference)>,
    /// The reason why it cannot be compared, if one of the two cannot be read.
    pub unreadable: Option<Remark>,
}

/// Comparison of two datasets.
pub struct Comparison<'a> {
    readers: [&'a dyn Reader; 2],
    pairs: Vec<FieldPair>,
    fields_of_one: [Vec<String>; 2],
    pixels: Option<Limits>,
    trusts_checksums: bool,
}

impl<'a> Comparison<'a> {
    /// Matches the fields of two datasets.
    #[must_use]
    pub fn new(a: &'a dyn Reader, b: &'a dyn Reader) -> Self {
        let (pairs, fields_of_one) = fields::matched(a.schema(), b.schema());
        Self { readers: [a, b], pairs, fields_of_one, pixels: None, trusts_checksums: false }
    }

    /// Decodes images with different bytes, within these limits: they are equal if their pixels
    /// are.
    #[must_use]
    pub fn pixels(mut self, limits: Limits) -> Self {
        self.pixels = Some(limits);
        self
    }

    /// Treats images as equal if their recorded lengths and checksums are. If there are only images
    /// and labels, nothing else is read.
    #[must_use]
    pub fn trusting_checksums(mut self) -> Self {
        self.trusts_checksums = true;
        self
    }

    /// Returns true if the datasets have no field in common.
    #[must_use]
    pub fn has_no_fields(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Returns the pairs of fields that are compared despite different names.
    #[must_use]
    pub fn renamed(&self) -> Vec<[String; 2]> {
        let renamed = self.pairs.iter().filter(|pair| pair.names[0] != pair.names[1]);
        renamed.map(|pair| pair.names.clone()).collect()
    }

    /// Returns the names of the fields of one dataset alone.
    #[must_use]
    pub fn fields_of_one(&self) -> &[Vec<String>; 2] {
        &self.fields_of_one
    }

    /// Matches the samples of the datasets.
    ///
    /// # Errors
    /// `Cancelled`.
    pub fn matched(&self, cancel: &Cancel) -> Result<Matched> {
        keys::matched(self.readers[0], self.readers[1], cancel)
    }

    /// Compares pairs of samples on the threads of the current pool with `compare`, usually
    /// [`compare`](Self::compare), and passes the results to `found` in the order of the pairs.
    ///
    /// # Errors
    /// `Cancelled`; the first error of `compare`.
    pub fn each<T: Send>(
        &self,
        both: &[[u64; 2]],
        cancel: &Cancel,
        compare: impl Fn([u64; 2], &mut Decoder) -> Result<T> + Sync,
        mut found: impl FnMut([u64; 2], T),
    ) -> Result<()> {
        let (mut piece, mut rest) = self.piece(both);
        let mut ahead = self.announce(piece);
        while !piece.is_empty() {
            // Fetched while this one is compared.
            let (next, behind) = self.piece(rest);
            let announced = self.announce(next);
            if cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let compare = |decoder: &mut Decoder, pair: &[u64; 2]| compare(*pair, decoder);
            let compared: Result<Vec<T>> =
                piece.par_iter().map_init(Decoder::default, compare).collect();
            for (pair, result) in piece.iter().zip(compared?) {
                found(*pair, result);
            }
            drop(std::mem::replace(&mut ahead, announced));
            (piece, rest) = (next, behind);
        }
        Ok(())
    }

    /// Compares one pair of samples; `None` if they are equal.
    ///
    /// # Errors
    /// Errors of reading that concern more than these samples.
    pub fn compare(&self, indices: [u64; 2], decoder: &mut Decoder) -> Result<Option<Changed>> {
        let [a, b] = self.readers;
        let changed =
            |fields, unreadable| Changed { key: a.key(indices[0]), indices, fields, unreadable };
        if let Some(is_same) = self.compare_tables(indices)? {
            return Ok((!is_same).then(|| changed(Vec::new(), None)));
        }
        let read = a.get(indices[0]).and_then(|one| Ok((one, b.get(indices[1])?)));
        let (one, other) = match read {
            Ok(both) => both,
            Err(error) if error.class() == Class::Data => {
                return Ok(Some(changed(Vec::new(), Some(error.remark()))));
            }
            Err(error) => return Err(error),
        };
        let mut fields = Vec::new();
        for pair in &self.pairs {
            let values = [one.values.get(pair.at[0]), other.values.get(pair.at[1])];
            let [Some(one), Some(other)] = values else { continue };
            let pixels = self.pixels.as_ref().map(|limits| (&mut *decoder, limits));
            if let Some(how) = pair.difference(one, other, pixels) {
                fields.push((pair.names[0].clone(), how));
            }
        }
        Ok((!fields.is_empty()).then(|| changed(fields, None)))
    }

    /// Splits off the pairs to compare next. Pairs of datasets in stores are limited by the bytes
    /// to fetch at a time.
    fn piece<'b>(&self, both: &'b [[u64; 2]]) -> (&'b [[u64; 2]], &'b [[u64; 2]]) {
        let mut left = PIECE_BYTES;
        let fits = |pair: &&[u64; 2]| {
            let fits = left > 0;
            if fits && !self.is_in_tables(**pair) {
                for (reader, index) in self.readers.into_iter().zip(**pair) {
                    let bytes =
                        if reader.facts().reads_ahead { reader.ahead_bytes(index) } else { 0 };
                    left = left.saturating_sub(bytes);
                }
            }
            fits
        };
        let n_pairs = both.iter().take(PIECE).take_while(fits).count();
        both.split_at(n_pairs)
    }

    fn announce(&self, piece: &[[u64; 2]]) -> [Ahead; 2] {
        let announce = |reader: &dyn Reader, side: usize| {
            if !reader.facts().reads_ahead {
                return Ahead::default();
            }
            let read = piece.iter().filter(|pair| !self.is_in_tables(**pair));
            let indices: Vec<u64> = read.filter_map(|pair| pair.get(side).copied()).collect();
            reader.read_ahead(&indices)
        };
        [announce(self.readers[0], 0), announce(self.readers[1], 1)]
    }
}
