//! The combined index: the index blocks of all shards of a dataset in one file beside its
//! manifest, so that a dataset in a store is opened by a few requests however many shards it has.
//!
//! The blocks follow each other in the order of the manifest, each from a multiple of 8 on, with
//! zeros in between. The manifest names the file and the length of each block ([`Combined`]); the
//! file itself has nothing that the indexes of the shards do not have, and these stay where they
//! are. [`write()`] makes it when a dataset is completed, [`Blocks`] reads it, [`verify()`] compares
//! it with the indexes. A dataset can be read without it.

mod read;
mod verify;
#[cfg(feature = "write")]
mod write;

pub(crate) use read::Blocks;
pub(crate) use verify::verify;
#[cfg(feature = "write")]
pub(crate) use write::{remove, write};

use serde::{Deserialize, Serialize};

/// Indexes of shards end in `.fdx`, so that none is called so.
pub(crate) const NAME: &str = "fdconvert.fdxs";

/// A dataset of at most so many shards has no combined index: `open_all` has 32 requests in flight,
/// so that these indexes come together, as soon as one request is answered.
pub(crate) const MOST_APART: usize = 32;

/// Every block starts at a multiple of this, as blocks do in all files.
const ALIGNMENT: u64 = 8;

/// Description of the combined index in a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Combined {
    /// Name of the file, beside the manifest.
    pub(crate) name: String,
    /// Bytes of the block of each shard, in the order of the manifest's shards.
    pub(crate) lengths: Vec<u64>,
}

/// Place of the block of a shard in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    offset: u64,
    len: u64,
    /// With the zeros behind the block: where the next one starts.
    end: u64,
}

impl Combined {
    /// Checks what a manifest of so many shards says of it.
    pub(crate) fn check(&self, n_shards: usize) -> Result<(), String> {
        if self.lengths.len() != n_shards {
            let n_blocks = self.lengths.len();
            return Err(format!("its combined index has {n_blocks} blocks for {n_shards} shards"));
        }
        match self.places() {
            Some(_) => Ok(()),
            None => Err("its combined index is longer than a file can be".into()),
        }
    }

    /// Places of the blocks; `None` where the sum of the lengths overflows.
    fn places(&self) -> Option<Vec<Place>> {
        let mut offset = 0_u64;
        let place = |&len: &u64| {
            let end = offset.checked_add(len)?.checked_next_multiple_of(ALIGNMENT)?;
            let place = Place { offset, len, end };
            offset = end;
            Some(place)
        };
        self.lengths.iter().map(place).collect()
    }
}

/// Bytes of the file whose blocks lie there.
fn total(places: &[Place]) -> u64 {
    places.last().map_or(0, |place| place.end)
}

#[cfg(test)]
mod tests;
