//! One hash of all contents of a dataset's samples, independent of its format.
//!
//! `docs/guide/root-hash.md` defines it: a tree of XXH3 hashes with the samples as leaves, in
//! order. Threads hash leaves, and the tree grows in order, so that only the hashes of unfinished
//! nodes are kept.
use crate::{Context, Stage, chunk::Chunk};
use fdconvert_core::{Encoded, Error, Kind, Reader, Result, Sample, Schema, Value};
use fdconvert_storage::sigbus;
use rayon::prelude::*;
use std::fmt;
use xxhash_rust::xxh3::Xxh3Default;

/// Number of hashes below a node.
const NODE: usize = 1024;
/// Prefix of the root's input.
const ROOT: &[u8] = b"fdconvert root hash 1\n";
/// Prefix of a sample, so that a sample cannot equal a node.
const LEAF_TAG: u8 = 0;
/// Prefix of a node.
const NODE_TAG: u8 = 1;

/// Root hash of a dataset; displayed as 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RootHash(u128);

impl fmt::Display for RootHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Computes the hash of keys, fields and values, in the order of the samples. Reads every sample;
/// those with checksums are compared with them first.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let photos = folder.path().join("photos/cats");
/// # std::fs::create_dir_all(&photos)?;
/// # std::fs::write(photos.join("1.png"), fdconvert_testkit::fixtures::png(64, 48, 1).bytes)?;
/// # let (photos, packed) = (folder.path().join("photos"), folder.path().join("photos.wds"));
/// fdconvert::Pack::new([&photos], &packed).run()?;
/// let (a, b) = (fdconvert::open(&photos)?, fdconvert::open(&packed)?);
/// let hash = |reader| fdconvert::root_hash(reader, fdconvert::Context::default());
/// assert_eq!(hash(&*a)?, hash(&*b)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The errors of the first unreadable or damaged sample; `Cancelled`.
pub fn root_hash(reader: &dyn Reader, context: Context<'_>) -> Result<RootHash> {
    let steps = context.progress.stage(Stage::Hashing);
    steps.total(reader.len());
    let fields = by_name(reader.schema());
    let mut tree = Tree::default();
    let mut chunk = Chunk::of(reader, 0);
    while !chunk.samples.is_empty() {
        // Fetched while this one is hashed.
        let next = Chunk::of(reader, chunk.samples.end);
        if context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let hash = |index: u64| {
            // A page that cannot be read would be hashed as zeros.
            let leaf = sigbus::caught(|| {
                if reader.has_checksums() {
                    reader.verify_row(index)?;
                    reader.verify_sample(index)?;
                }
                leaf(&reader.get(index)?, &fields)
            });
            steps.step();
            leaf
        };
        let leaves: Vec<Result<u128>> = chunk.samples.clone().into_par_iter().map(hash).collect();
        // In order, so that the first bad sample is reported.
        for leaf in leaves {
            tree.push(leaf?);
        }
        chunk = next;
    }
    Ok(root(reader.schema(), &fields, reader.len(), tree.top()))
}

/// Returns the positions of the fields, in the order of their names: the order in storage depends
/// on the format.
fn by_name(schema: &Schema) -> Vec<usize> {
    let mut fields: Vec<usize> = (0..schema.fields.len()).collect();
    fields.sort_by_key(|at| schema.fields.get(*at).map(|field| &field.name));
    fields
}

/// Returns the hash of one sample.
fn leaf(sample: &Sample<Encoded>, fields: &[usize]) -> Result<u128> {
    let mut hash = Hash::tagged(LEAF_TAG);
    hash.bytes(sample.key.as_bytes());
    for at in fields {
        match sample.values.get(*at) {
            Some(value @ (Value::Image(_) | Value::Images(_))) => {
                if let Value::Images(images) = value {
                    hash.number(images.len() as u64);
                }
                for image in value.images() {
                    hash.bytes(image.codec.extension().as_bytes());
                    hash.number(image.width.into());
                    hash.number(image.height.into());
                    hash.bytes(&image.bytes);
                }
            }
            Some(Value::Int(int)) => hash.0.update(&int.to_le_bytes()),
            Some(Value::Float(float)) => hash.0.update(&float.to_bits().to_le_bytes()),
            Some(Value::Text(text)) => hash.bytes(text.as_bytes()),
            Some(Value::Bytes(bytes) | Value::Json(bytes) | Value::Array(bytes)) => {
                hash.bytes(bytes);
            }
            _ => {
                let what = "it has a value of a kind that the root hash does not know, or too few";
                return Err(Error::sample(&sample.key, what));
            }
        }
    }
    Ok(hash.0.digest128())
}

/// Returns the hash of the dataset: its fields, its number of samples, and the top of the tree.
fn root(schema: &Schema, fields: &[usize], n_samples: u64, top: u128) -> RootHash {
    let mut hash = Hash(Xxh3Default::new());
    hash.0.update(ROOT);
    hash.number(fields.len() as u64);
    for field in fields.iter().filter_map(|at| schema.fields.get(*at)) {
        hash.bytes(field.name.as_bytes());
        hash.bytes(field.kind.name().as_bytes());
        if let Kind::Array(spec) = &field.kind {
            hash.bytes(spec.dtype.numpy().as_bytes());
            hash.number(spec.shape.len() as u64);
            spec.shape.iter().for_each(|len| hash.number(*len));
        }
    }
    hash.number(n_samples);
    hash.0.update(&top.to_be_bytes());
    RootHash(hash.0.digest128())
}

/// Hashes of incomplete nodes, the leaves first.
#[derive(Default)]
struct Tree {
    levels: Vec<Vec<u128>>,
}

impl Tree {
    /// Adds the next leaf, and hashes the nodes that it completes.
    fn push(&mut self, leaf: u128) {
        self.push_at(0, leaf);
    }

    fn push_at(&mut self, mut level: usize, mut hash: u128) {
        loop {
            if self.levels.len() <= level {
                self.levels.push(Vec::with_capacity(NODE));
            }
            let Some(open) = self.levels.get_mut(level) else { return };
            open.push(hash);
            if open.len() < NODE {
                return;
            }
            hash = node(open);
            open.clear();
            level += 1;
        }
    }

    /// Hashes the incomplete nodes, and returns the one remaining hash.
    fn top(mut self) -> u128 {
        let mut level = 0;
        while let Some(open) = self.levels.get_mut(level) {
            let open = std::mem::take(open);
            let is_last = level + 1 == self.levels.len();
            match &open[..] {
                [top] if is_last => return *top,
                [] => {}
                open => self.push_at(level + 1, node(open)),
            }
            level += 1;
        }
        // Without any sample.
        node(&[])
    }
}

fn node(hashes: &[u128]) -> u128 {
    let mut hash = Hash::tagged(NODE_TAG);
    hashes.iter().for_each(|below| hash.0.update(&below.to_be_bytes()));
    hash.0.digest128()
}

/// XXH3 of 128 bits with seed 0 over the inputs of the definition.
struct Hash(Xxh3Default);

impl Hash {
    fn tagged(tag: u8) -> Self {
        let mut hash = Xxh3Default::new();
        hash.update(&[tag]);
        Self(hash)
    }

    fn number(&mut self, number: u64) {
        self.0.update(&number.to_le_bytes());
    }

    /// Adds a length and the bytes.
    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.update(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::{NODE, Tree, node};

    /// The definition as written: rounds of groups, until one hash is left.
    fn by_rounds(leaves: &[u128]) -> u128 {
        let mut hashes = leaves.to_vec();
        while hashes.len() != 1 {
            if hashes.is_empty() {
                return node(&[]);
            }
            hashes = hashes.chunks(NODE).map(node).collect();
        }
        hashes[0]
    }

    #[test]
    fn the_tree_that_grows_is_the_one_that_is_defined() {
        let square = NODE * NODE;
        for n in [0, 1, 2, 1023, 1024, 1025, 2048, 2049, square - 1, square, square + 1] {
            let leaves: Vec<u128> = (0..n as u128).collect();
            let mut tree = Tree::default();
            leaves.iter().for_each(|leaf| tree.push(*leaf));
            assert_eq!(tree.top(), by_rounds(&leaves), "{n} leaves");
        }
    }
}
