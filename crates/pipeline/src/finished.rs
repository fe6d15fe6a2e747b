//! Finds the shards of a run that are finished already.
use crate::{Identity, PackJob};
use fdconvert_core::{Result, Shard, ShardSummary};
use std::collections::VecDeque;

/// Limit on the shards that are checked in parallel.
const TOGETHER: usize = 32;

/// Checks one shard after the other, in order. In a store each check is several sequential
/// requests: while shards turn out to be finished, the next ones are checked in parallel.
pub(crate) struct Finished<'a> {
    job: &'a PackJob,
    identity: &'a Identity,
    overwrite: bool,
    ahead: VecDeque<Result<Option<ShardSummary>>>,
    /// True if the last shard was finished.
    continues: bool,
}

impl<'a> Finished<'a> {
    pub(crate) fn new(job: &'a PackJob, identity: &'a Identity, overwrite: bool) -> Self {
        Self { job, identity, overwrite, ahead: VecDeque::new(), continues: false }
    }

    /// Returns the summary of the first of these shards if it is finished; they follow those of the
    /// last call.
    ///
    /// # Errors
    /// The errors of `Format::finished`.
    pub(crate) fn next(&mut self, shards: &[&Shard]) -> Result<Option<ShardSummary>> {
        let is_known = !self.ahead.is_empty();
        if !is_known {
            let n = if self.continues { TOGETHER } else { 1 };
            self.look(shards.get(..n).unwrap_or(shards));
        }
        let mut found = self.ahead.pop_front().unwrap_or(Ok(None))?;
        if is_known && found.is_none() {
            // Another run may have finished it since.
            self.ahead.clear();
            self.look(shards.get(..1).unwrap_or_default());
            found = self.ahead.pop_front().unwrap_or(Ok(None))?;
        }
        self.continues = found.is_some();
        Ok(found)
    }

    fn look(&mut self, shards: &[&Shard]) {
        self.ahead = self.job.finished(self.identity, shards, self.overwrite).into();
    }
}

impl PackJob {
    /// Reads the records of finished shards: of the first of these and maybe of more.
    pub(crate) fn finished(
        &self,
        identity: &Identity,
        shards: &[&Shard],
        overwrite: bool,
    ) -> Vec<Result<Option<ShardSummary>>> {
        let outs: Vec<_> = shards.iter().map(|shard| self.shard_out(shard)).collect();
        let requests: Vec<_> = shards
            .iter()
            .zip(&outs)
            .map(|(shard, out)| self.request(identity, shard, out, overwrite))
            .collect();
        self.format.finished_together(&requests)
    }
}
