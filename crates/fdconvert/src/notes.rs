//! What there is to say of a job besides what it does.
use crate::{PackOptions, choose::Chosen, images, outcome::Outcome, request::plan_request, splits};
use fdconvert_core::{Format, Layout, Remark, Source};
use fdconvert_pipeline::Plan;
use std::path::PathBuf;

/// Notes on a job, in sentences, and what they are about.
#[derive(Default)]
pub(crate) struct Notes {
    /// Neither an option nor the extension of the output chose the format.
    pub(crate) is_default_format: bool,
    /// Every file is written where its name says, whatever split it is of.
    pub(crate) unpacks: bool,
    pub(crate) chosen: Chosen,
    /// On the choice of samples.
    pub(crate) choice: Vec<Remark>,
    /// On the splits of the source and its classes.
    pub(crate) splits: Vec<Remark>,
    /// That no field is an image.
    pub(crate) image: Option<Remark>,
}

impl Notes {
    /// Those on a plan; `on_keys` are those on the list of keys.
    pub(crate) fn new(
        options: &PackOptions,
        paths: &[PathBuf],
        (source, format, plan): (&dyn Source, &dyn Format, &Plan),
        outcome: &Outcome,
        on_keys: Vec<Remark>,
    ) -> Self {
        let masks = options.pair.iter().map(|pair| &pair.path);
        let all: Vec<PathBuf> = paths.iter().chain(masks).cloned().collect();
        let chosen = outcome.chosen.clone().unwrap_or_default();
        let choice = on_keys.into_iter().chain(chosen.notes()).collect();
        let is_default_format =
            options.format.is_none() && format.capabilities().layout == Layout::Images;
        Self {
            is_default_format,
            unpacks: false,
            chosen,
            choice,
            splits: splits::notes(&all, source, plan, &plan_request(options)),
            // Samples of a program may come once only.
            image: images::note(source, plan, !paths.is_empty()),
        }
    }

    /// Those on the source, of which some are known only when it was read.
    pub(crate) fn on_source(&self, source: &dyn Source) -> Vec<Remark> {
        let remarks = source.remarks();
        self.splits.iter().cloned().chain(remarks).chain(self.image.clone()).collect()
    }
}
