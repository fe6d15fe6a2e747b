//! Turns options and an open source into a fully decided job.
use crate::{
    Context, PackOptions, Stage, annotated,
    check::{Checked, refuse_without_images},
    choose, classes,
    keys::{self, ListedKeys},
    notes::Notes,
    out::Destination,
    outcome::Outcome,
    page,
    policy::mixture,
    provenance,
    ratio::{self, Given},
    request::plan_request,
    sources::Opening,
    splits,
};
use fdconvert_core::{Result, Source};
use fdconvert_pipeline::{KeyList, OnError, PackJob, Plan, Run};
use std::{path::PathBuf, sync::Arc};

/// Checked options, with the contents of their files.
pub(crate) struct Asked<'a> {
    /// Options with the names of the classes.
    options: PackOptions,
    checked: Checked,
    keys: Option<KeyList>,
    ratio: Option<Given>,
    /// `None` for a plan that other runs carry out.
    to: Option<Destination<'a>>,
    context: Context<'a>,
}

/// A job, with its options and notes.
pub(crate) struct Resolved {
    pub(crate) job: PackJob,
    pub(crate) notes: Notes,
    /// Options with the names of the classes.
    pub(crate) options: PackOptions,
    pub(crate) outcome: Outcome,
}

impl<'a> Asked<'a> {
    /// Reads the files in the options, before a source is opened.
    pub(crate) fn read(
        options: &PackOptions,
        checked: Checked,
        to: Option<Destination<'a>>,
        context: Context<'a>,
    ) -> Result<Self> {
        let ratio = ratio::read(options, to)?;
        let keys = keys::read(options)?;
        let options = classes::resolved(options, context)?.into_owned();
        Ok(Self { options, checked, keys, ratio, to, context })
    }

    pub(crate) fn opening(&self) -> Opening<'_> {
        Opening { options: &self.options, context: self.context }
    }
}

/// Decides the open questions of the options with the source: the samples to pack, their order,
/// their files, and the record.
///
/// # Errors
/// `Usage` for options that do not fit this source; the errors of the source; `Cancelled`.
pub(crate) fn resolve(
    asked: Asked<'_>,
    paths: &[PathBuf],
    source: Arc<dyn Source>,
) -> Result<Resolved> {
    let Asked { options, mut checked, keys, ratio, to, context } = asked;
    refuse_without_images(&options, source.schema())?;
    let ratio = ratio.map(|given| given.settle(&options, &*source, to, context)).transpose()?;
    checked.policy.mixture = ratio.map(|ratio| mixture(&options, ratio.share));
    let Checked { format, policy } = &checked;
    let mut request = plan_request(&options);
    request.balance = ratio.and_then(|ratio| ratio.balance);
    request.on_error = to.map(|to| to.run.on_error);
    request.only_split = splits::only_split(paths, &*source, &**format);
    // Planning by key or size reads every sample.
    let planning = context.progress.stage(Stage::Planning);
    let mut outcome = Outcome { ratio, ..Outcome::default() };
    let mut notes = Vec::new();
    // The plan refuses a selection among incomplete samples.
    if !source.facts().is_open() {
        if let Some(list) = keys {
            let found = keys::find(&list, &*source)?;
            notes = keys::notes(&found);
            outcome.keys = Some(ListedKeys::new(&list));
            request.selection.listed = Some(found.indices);
        }
        outcome.chosen = choose::choose(&options, &*source, &mut request, context)?;
    }
    let plan = Plan::new(&*source, policy, &**format, &request)?;
    let (plan, checked) = annotated::settle(&options, &*source, &request, plan, checked, to)?;
    let Checked { format, policy } = &checked;
    let largest = format.capabilities().max_sample_bytes;
    if let (Some(page_bytes), Some(OnError::Fail)) = (largest, request.on_error) {
        page::check(&*source, policy, &plan, page_bytes)?;
    }
    drop(planning);
    let notes = Notes::new(&options, paths, (&*source, &**format, &plan), &outcome, notes);
    let job = decided((&options, &outcome), checked, source, plan)?;
    let job = match to {
        Some(Destination { out, run, .. }) => PackJob { out: out.to_owned(), run: *run, ..job },
        None => job,
    };
    Ok(Resolved { job, notes, options, outcome })
}

/// Creates the job of a plan, without an output yet.
pub(crate) fn decided(
    (options, outcome): (&PackOptions, &Outcome),
    Checked { format, mut policy }: Checked,
    source: Arc<dyn Source>,
    plan: Plan,
) -> Result<PackJob> {
    policy.mixture = outcome.ratio.map(|ratio| mixture(options, ratio.share));
    let params = provenance::params(options, outcome, &*format)?;
    let jpeg_index = options.jpeg_index.bits_in(&*format);
    let (out, run) = (PathBuf::new(), Run::default());
    Ok(PackJob { source, name: None, policy, format, out, plan, params, jpeg_index, run })
}
