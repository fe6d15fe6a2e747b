//! What a run that overwrites does with what is there.
use crate::{Identity, PackJob};
use fdconvert_core::{Existing, Result};

/// Replaces what is there, for a run that overwrites. The fingerprint does not tell what files
/// hold: of shards that are finished only those count that are known to be of the files as they are
/// now.
pub(crate) struct Replacing<'a> {
    job: &'a PackJob,
    identity: &'a Identity,
    before: Existing,
}

impl<'a> Replacing<'a> {
    pub(crate) fn begin(job: &'a PackJob, identity: &'a Identity) -> Result<Self> {
        let mut this = Self { job, identity, before: Existing::Resumable };
        if job.run.overwrite {
            this.before = this.look()?;
        }
        if this.before == Existing::Unfinished {
            // Before the first shard leaves the times of the source there, by which these shards
            // would count when this run is interrupted.
            job.format.withdraw(&job.out, &job.plan.shards)?;
        }
        Ok(this)
    }

    /// Returns whether finished shards count.
    pub(crate) fn resumes(&self) -> bool {
        self.before == Existing::Resumable
    }

    fn look(&self) -> Result<Existing> {
        let Some(shard) = self.job.plan.shards.first() else { return Ok(Existing::Resumable) };
        let out = self.job.shard_out(shard);
        self.job.format.existing(&self.job.request(self.identity, shard, &out, true))
    }

    /// Takes a complete dataset back, when the first shard is ready to replace one of its own: by
    /// this run, or by one of another part.
    pub(crate) fn withdraw(&self) -> Result<()> {
        if self.before == Existing::Complete && self.look()? == Existing::Complete {
            return self.job.format.withdraw(&self.job.out, &self.job.plan.shards);
        }
        Ok(())
    }
}
