//! What a run that overwrites does with what is there.
use crate::{Dataset, Identity, Run};
use fdconvert_core::{Existing, Result};

/// Replaces what is there, for a run that overwrites. The fingerprint does not tell what files
/// hold: of shards that are finished only those count that are known to be of the files as they are
/// now.
pub(crate) struct Replacing<'a> {
    dataset: &'a Dataset<'a>,
    identity: &'a Identity,
    before: Existing,
}

impl<'a> Replacing<'a> {
    pub(crate) fn begin(
        dataset: &'a Dataset<'a>,
        run: &Run,
        identity: &'a Identity,
    ) -> Result<Self> {
        let mut this = Self { dataset, identity, before: Existing::Resumable };
        if run.overwrite {
            this.before = this.look()?;
        }
        if this.before == Existing::Unfinished {
            // Before the first shard leaves the times of the source there, by which these shards
            // would count when this run is interrupted.
            dataset.format.withdraw(dataset.out, &dataset.plan.shards)?;
        }
        Ok(this)
    }

    /// Returns whether finished shards count.
    pub(crate) fn resumes(&self) -> bool {
        self.before == Existing::Resumable
    }

    fn look(&self) -> Result<Existing> {
        let Some(shard) = self.dataset.plan.shards.first() else { return Ok(Existing::Resumable) };
        let out = self.dataset.shard_out(shard);
        self.dataset.format.existing(&self.dataset.request(self.identity, shard, &out, true))
    }

    /// Takes a complete dataset back, when the first shard is ready to replace one of its own: by
    /// this run, or by one of another part.
    pub(crate) fn withdraw(&self) -> Result<()> {
        if self.before == Existing::Complete && self.look()? == Existing::Complete {
            return self.dataset.format.withdraw(self.dataset.out, &self.dataset.plan.shards);
        }
        Ok(())
    }
}
