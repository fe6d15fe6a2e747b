//! The combined index: the index blocks of all shards of a dataset in one file next to its
//! manifest, so that a dataset in a store is opened with few requests, however many shards it has.
//!
//! The blocks are in the order of the manifest, each aligned to 8 bytes, with zeros in between. The
//! manifest contains the name of the file and the length of each block ([`Combined`]); the file
//! only repeats the indexes of the shards, which are kept. [`write()`] makes it when a dataset is
//! completed, [`Blocks`] reads it, [`verify()`] compares it with the indexes. A dataset can be read
//! without it.

mod read;
mod verify;
#[cfg(feature = "write")]
mod write;

pub(crate) use read::Blocks;
pub(crate) use verify::verify;
#[cfg(feature = "write")]
pub(crate) use write::{edited, remove, write};

use serde::{Deserialize, Serialize};

/// Indexes of shards end in `.fdx`, so that none has this name.
pub(crate) const NAME: &str = "fdconvert.fdxs";

/// Number of shards up to which a dataset has no combined index: `open_all` has 32 requests in
/// flight, so that these indexes arrive together, as soon as one request would be answered.
pub(crate) const MOST_APART: usize = 32;

/// Alignment of every block, as in all files.
const ALIGNMENT: u64 = 8;

/// Description of the combined index in a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Combined {
    /// Name of the file, next to the manifest.
    pub(crate) name: String,
    /// Lengths of the blocks in bytes, in the order of the manifest's shards unless
    /// [`blocks`](Self::blocks) says otherwise.
    pub(crate) lengths: Vec<u64>,
    /// For each shard of the manifest the number of its block, or null if only its own file has it:
    /// after an edit, which leaves the file as it is where that is possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) blocks: Option<Vec<Option<usize>>>,
}

/// Place of the block of a shard in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    offset: u64,
    len: u64,
    /// Including the zeros after the block: the start of the next one.
    end: u64,
}

impl Combined {
    /// Checks the description in a manifest of `n_shards` shards.
    pub(crate) fn check(&self, n_shards: usize) -> Result<(), String> {
        let n_blocks = self.lengths.len();
        let n_described = self.blocks.as_ref().map_or(n_blocks, Vec::len);
        if n_described != n_shards {
            return Err(format!(
                "its combined index has {n_described} blocks for {n_shards} shards"
            ));
        }
        if self.blocks.iter().flatten().flatten().any(|&block| block >= n_blocks) {
            return Err("its combined index does not have all of the blocks".into());
        }
        match self.places() {
            Some(_) => Ok(()),
            None => Err("its combined index is longer than a file can be".into()),
        }
    }

    /// Returns the number of a shard's block.
    fn block(&self, shard: usize) -> Option<usize> {
        match &self.blocks {
            Some(blocks) => blocks.get(shard).copied().flatten(),
            None => Some(shard),
        }
    }

    /// Returns the places of the blocks; `None` if the sum of the lengths overflows.
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

/// Returns the size of the file with blocks in these places.
fn total(places: &[Place]) -> u64 {
    places.last().map_or(0, |place| place.end)
}

#[cfg(test)]
mod tests;
