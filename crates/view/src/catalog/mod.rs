//! Columns with label, codec and sizes of every sample, and its numbers and short texts.
//!
//! One thread collects them, in sample order, while requests are answered from the complete chunks.
//! If a sample takes long, as when each file of a folder must be opened, other threads help. A
//! chunk is published when it is full or a fifth of a second old, so that a slow dataset shows
//! progress. Nothing is stored on disk: a million samples take about a second, and no cache has to
//! be invalidated.

mod block;
mod chunk;
mod facts;
mod texts;

pub(crate) use chunk::{Cells, Chunk, N_SIZES, NO_INT, NO_LABEL};
pub(crate) use facts::{Facts, How, NAMED};
pub(crate) use texts::Texts;

use crate::fields::{self, Field};
use block::Blocks;
use fdconvert_core::{Ahead, Reader};
use fdconvert_pipeline::Cancel;
use std::{
    sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard},
    time::{Duration, Instant},
};

/// Number of samples in a full chunk.
pub(crate) const CHUNK: usize = 1 << 14;

/// Time after which an incomplete chunk is published.
const PATIENCE: Duration = Duration::from_millis(200);

/// Number of samples between checks of the clock; they are also announced together.
const BLOCK: u64 = 64;

pub(crate) struct Catalog {
    fields: Vec<Field>,
    /// Final number of samples; filters hold 32-bit positions.
    len: u64,
    how: OnceLock<How>,
    published: RwLock<Published>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Published {
    chunks: Vec<Arc<Chunk>>,
    /// One for each further field; used for text fields only.
    texts: Vec<Arc<Texts>>,
}

impl Catalog {
    pub(crate) fn new(reader: &dyn Reader) -> Self {
        let fields = fields::of(reader.schema());
        let texts = fields.iter().map(|_| Arc::default()).collect();
        Self {
            len: reader.len().min(u64::from(u32::MAX)),
            how: OnceLock::new(),
            published: RwLock::new(Published { chunks: Vec::new(), texts }),
            fields,
        }
    }

    pub(crate) fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Returns the final number of samples.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn published(&self) -> Published {
        self.read().clone()
    }

    /// Returns the facts of a scanned sample.
    pub(crate) fn facts(&self, index: u64) -> Option<Facts> {
        self.read().chunk_of(index)?.facts(index)
    }

    /// Reads the facts of a sample that was not scanned yet, or could not be read then.
    pub(crate) fn look(&self, reader: &dyn Reader, index: u64) -> fdconvert_core::Result<Facts> {
        self.how(reader).facts(reader, index, &self.fields)
    }

    fn how(&self, reader: &dyn Reader) -> How {
        *self.how.get_or_init(|| How::of(reader))
    }

    fn read(&self) -> RwLockReadGuard<'_, Published> {
        self.published.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Collects all samples, unless the server ends earlier.
    pub(crate) fn scan(&self, reader: &dyn Reader, ended: &Cancel) {
        let how = self.how(reader);
        let announces = how == How::Stored && reader.facts().reads_ahead;
        let mut texts: Vec<Texts> = self.fields.iter().map(|_| Texts::default()).collect();
        let mut blocks = Blocks::default();
        let mut start = 0;
        while start < self.len && !ended.is_cancelled() {
            let began = Instant::now();
            let mut chunk = Chunk::new(start, &self.fields);
            while chunk.len() < CHUNK && chunk.end() < self.len {
                let block = chunk.end()..self.len.min(chunk.end() + BLOCK);
                let ahead = match announces {
                    true => reader.read_ahead(&block.clone().collect::<Vec<_>>()),
                    false => Ahead::default(),
                };
                let facts = |index| how.facts(reader, index, &self.fields).ok();
                blocks.each(block, &facts, |facts| chunk.push(facts.as_ref(), &mut texts));
                drop(ahead);
                if ended.is_cancelled() {
                    return;
                }
                if began.elapsed() > PATIENCE {
                    break;
                }
            }
            start = chunk.end();
            self.publish(chunk, &texts);
        }
    }

    fn publish(&self, chunk: Chunk, texts: &[Texts]) {
        let mut published = self.published.write().unwrap_or_else(PoisonError::into_inner);
        for (known, texts) in published.texts.iter_mut().zip(texts) {
            let has_more = known.all().len() != texts.all().len();
            if has_more || known.is_given_up() != texts.is_given_up() {
                *known = Arc::new(texts.clone());
            }
        }
        published.chunks.push(Arc::new(chunk));
    }
}

impl Published {
    /// Returns the number of scanned samples, which are the first ones.
    pub(crate) fn scanned(&self) -> u64 {
        self.chunks.last().map_or(0, |chunk| chunk.end())
    }

    pub(crate) fn chunks(&self) -> &[Arc<Chunk>] {
        &self.chunks
    }

    pub(crate) fn texts(&self, field: usize) -> Option<&Texts> {
        self.texts.get(field).map(|texts| &**texts)
    }

    pub(crate) fn chunk_of(&self, index: u64) -> Option<&Arc<Chunk>> {
        let at = self.chunks.partition_point(|chunk| chunk.end() <= index);
        self.chunks.get(at)
    }
}
