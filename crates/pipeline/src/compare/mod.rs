//! Two datasets compared, sample by sample.
//!
//! Samples are matched by their keys, wherever they stand; those with the same key are matched in
//! their order. Fields are matched by their names, and those that are left by kind and order: what
//! a beton calls `image` is `jpg` in tar shards. Values are compared as they are stored, byte for
//! byte, and labels by the names of their classes where both datasets have them.
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

/// Pairs between two looks at the cancel switch.
const PIECE: usize = 1024;
/// About how many bytes of datasets in stores are fetched at a time.
const PIECE_BYTES: u64 = 16 << 20;

/// A sample that both datasets have, and not with the same content.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Changed {
    /// Key of the sample in both.
    pub key: String,
    /// Its number in the one and in the other.
    pub indices: [u64; 2],
    /// Fields that differ, by their name in the first dataset; none where checksums say that
    /// something does.
    pub fields: Vec<(String, Difference)>,
    /// Why it cannot be compared, where one of the two cannot be read.
    pub unreadable: Option<Remark>,
}

/// Two datasets that are compared.
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

    /// Decodes images whose bytes differ, within these limits: they are the same when they show the
    /// same.
    #[must_use]
    pub fn pixels(mut self, limits: Limits) -> Self {
        self.pixels = Some(limits);
        self
    }

    /// Takes images for equal whose recorded lengths and checksums are. Where images and labels are
    /// all there is, nothing else is read.
    #[must_use]
    pub fn trusting_checksums(mut self) -> Self {
        self.trusts_checksums = true;
        self
    }

    /// Returns whether there is no field that both have.
    #[must_use]
    pub fn has_no_fields(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Pairs of fields that have other names, and are compared all the same.
    #[must_use]
    pub fn renamed(&self) -> Vec<[String; 2]> {
        let renamed = self.pairs.iter().filter(|pair| pair.names[0] != pair.names[1]);
        renamed.map(|pair| pair.names.clone()).collect()
    }

    /// Names of the fields of one dataset alone.
    #[must_use]
    pub fn fields_of_one(&self) -> &[Vec<String>; 2] {
        &self.fields_of_one
    }

    /// Matches the samples of both.
    ///
    /// # Errors
    /// `Cancelled`.
    pub fn matched(&self, cancel: &Cancel) -> Result<Matched> {
        keys::matched(self.readers[0], self.readers[1], cancel)
    }

    /// Compares pairs of samples on the threads of the pool at hand with `compare`, which mostly is
    /// [`compare`](Self::compare), and hands the results to `found` in the order of the pairs.
    ///
    /// # Errors
    /// `Cancelled`; the first of `compare`.
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
            // On its way while this one is compared.
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

    /// Compares one pair of samples; `None` where they are the same.
    ///
    /// # Errors
    /// Those of reading that are about more than these samples.
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

    /// The pairs that are compared next, and the others. Of datasets in stores as many as take about
    /// so many bytes as are fetched at a time.
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
