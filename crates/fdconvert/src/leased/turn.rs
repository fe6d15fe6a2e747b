//! One shard of a worker: packed in a place of its own, then published.
use super::{heart::Holding, outcome};
use fdconvert_core::{Error, Result, ShardSummary};
use fdconvert_pipeline::{Dataset, Identity, Turn};
use fdconvert_storage::Leases;
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

pub(super) struct ShardTurn<'a> {
    pub(super) dataset: &'a Dataset<'a>,
    pub(super) identity: &'a Identity,
    pub(super) store: Arc<dyn Leases>,
    pub(super) holding: Holding,
    pub(super) number: usize,
    pub(super) place: PathBuf,
    pub(super) n_lost: Arc<AtomicU64>,
}

impl Turn for ShardTurn<'_> {
    fn shard(&self) -> usize {
        self.number
    }

    fn place(&self) -> &Path {
        &self.place
    }

    fn is_lost(&self) -> bool {
        self.holding.is_lost()
    }

    fn look(&self) -> bool {
        self.holding.look()
    }

    fn publish(self: Box<Self>) -> Result<Option<ShardSummary>> {
        match self.give_names() {
            Ok(summary) => Ok(Some(summary)),
            Err(_) if self.look() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl ShardTurn<'_> {
    fn give_names(&self) -> Result<ShardSummary> {
        let (out, fingerprint) = (self.dataset.out, self.identity.fingerprint);
        let lease = self.holding.lease();
        self.store.publish(lease, &self.place, out, fingerprint)?;
        let found = self.dataset.finished_shard(self.identity, self.number)?;
        let summary = found.ok_or_else(|| {
            let what = "it was written and is not as its record says; is the storage sound?";
            Error::corrupt(self.dataset.format.name(), out, 0, what)
        })?;
        self.store.finish(lease, &outcome::to_text(&summary, out, fingerprint))?;
        Ok(summary)
    }
}

impl Drop for ShardTurn<'_> {
    fn drop(&mut self) {
        if self.is_lost() {
            self.n_lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}
