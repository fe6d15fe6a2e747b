//! Treatment of an existing output by a run that overwrites.
use crate::{Identity, PackJob};
use fdconvert_core::{Existing, Result};

/// Replaces an existing output for a run that overwrites. The fingerprint does not cover the
/// contents of files: finished shards count only if they are known to come from the files in their
/// present state.
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
            // This comes before the first shard writes the source's times there, by which these
            // shards would count after an interruption of this run.
            job.format.withdraw(&job.out, &job.plan.shards)?;
        }
        Ok(this)
    }

    /// Returns true if finished shards count.
    pub(crate) fn resumes(&self) -> bool {
        self.before == Existing::Resumable
    }

    fn look(&self) -> Result<Existing> {
        let Some(shard) = self.job.plan.shards.first() else { return Ok(Existing::Resumable) };
        let out = self.job.shard_out(shard);
        self.job.format.existing(&self.job.request(self.identity, shard, &out, true))
    }

    /// Withdraws a complete dataset when the first shard is ready to replace one of it, in this run
    /// or in one of another part.
    pub(crate) fn withdraw(&self) -> Result<()> {
        if self.before == Existing::Complete && self.look()? == Existing::Complete {
            return self.job.format.withdraw(&self.job.out, &self.job.plan.shards);
        }
        Ok(())
    }
}
