//! A job that only has to be run, and what there is to say of it.
use crate::{
    Context,
    choose::Chosen,
    notes::Notes,
    out,
    splits::{self, SplitReport},
};
use fdconvert_core::{Error, Message, Result, named};
use fdconvert_pipeline::{PackJob, Report, outputs};
use std::path::PathBuf;

/// Samples on their way into a dataset.
pub struct Samples {
    job: PackJob,
    notes: Notes,
}

impl Samples {
    /// Checks the outputs of the job.
    pub(crate) fn new(job: PackJob, notes: Notes, inputs: &[&PathBuf]) -> Result<Self> {
        let (format, out) = (&*job.format, &*job.out);
        out::check_name(out, format)?;
        let planned = outputs(format, &job.plan, out);
        out::check_each(&planned, out, inputs, format, job.run.overwrite)?;
        if job.run.part.is_some() && !format.is_sharded() {
            let name = format.name();
            let what = format!("a {name} is one file and cannot be written in parts");
            return Err(Error::usage(named::PART, what));
        }
        Ok(Self { job, notes })
    }

    /// Returns what will be written.
    #[must_use]
    pub fn job(&self) -> &PackJob {
        &self.job
    }

    /// Neither an option nor the extension of the output chose the format.
    #[must_use]
    pub fn is_default_format(&self) -> bool {
        self.notes.is_default_format
    }

    /// Returns what was left out by what samples are, in sentences.
    #[must_use]
    pub fn choice_notes(&self) -> &[Message] {
        &self.notes.choice
    }

    /// Samples that were left out by what they are: those of [`choice_notes`](Self::choice_notes).
    #[must_use]
    pub fn chosen_away(&self) -> u64 {
        self.chosen().left_out()
    }

    pub(crate) fn chosen(&self) -> &Chosen {
        &self.notes.chosen
    }

    /// The splits in the order of the plan, as far as this run wrote them.
    #[must_use]
    pub fn splits(&self, report: &Report) -> Vec<SplitReport> {
        match self.notes.unpacks && !self.job.source.splits().is_empty() {
            true => splits::kept_together(&self.job, report),
            false => splits::written(&self.job, report),
        }
    }

    /// Returns what became of the splits of the source, and what else there is to know about it, in
    /// sentences.
    #[must_use]
    pub fn split_notes(&self) -> Vec<Message> {
        self.notes.on_source(&*self.job.source)
    }

    /// Paths that are written: formats of one file have one for each split.
    #[must_use]
    pub fn outputs(&self) -> Vec<PathBuf> {
        outputs(&*self.job.format, &self.job.plan, &self.job.out)
    }

    /// Returns the paths that a run has written: outputs of which no sample was left are not there.
    #[must_use]
    pub fn written(&self, report: &Report) -> Vec<PathBuf> {
        let planned = self.outputs();
        match planned.len() {
            0 | 1 => planned,
            _ => report.shards.iter().map(|shard| shard.path.clone()).collect(),
        }
    }

    /// Returns what the format has to say of how such samples are stored.
    #[must_use]
    pub fn remarks(&self) -> Vec<Message> {
        self.job.format.remarks(self.job.source.schema(), &self.job.plan.common)
    }

    /// Packs them.
    ///
    /// # Errors
    /// As for [`Pack::run`](crate::Pack::run).
    pub fn run(&self, context: Context<'_>) -> Result<Report> {
        let mut observer = context.progress.packing();
        fdconvert_pipeline::pack(&self.job, context.cancel, &mut *observer)
    }
}
