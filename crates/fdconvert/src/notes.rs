//! Notes on a job.
use crate::{
    JpegIndex, PackOptions, choose::Chosen, images, outcome::Outcome, request::plan_request, splits,
};
use fdconvert_core::{Format, Layout, Remark, Source};
use fdconvert_pipeline::Plan;
use std::path::PathBuf;

/// Notes on a job, in sentences, by topic.
#[derive(Default)]
pub(crate) struct Notes {
    /// True if neither an option nor the extension of the output chose the format.
    pub(crate) is_default_format: bool,
    /// True if an option is about entry points, which are stored by default.
    pub(crate) asks_for_entry_points: bool,
    /// True if every file is written to the path in its name, for any split.
    pub(crate) unpacks: bool,
    pub(crate) chosen: Chosen,
    /// Notes on the selection of samples.
    pub(crate) choice: Vec<Remark>,
    /// Notes on the splits of the source and its classes.
    pub(crate) splits: Vec<Remark>,
    /// Note that no field is an image.
    pub(crate) image: Option<Remark>,
}

impl Notes {
    /// Collects the notes on a plan; `on_keys` are those on the list of keys.
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
            asks_for_entry_points: options.jpeg_index != JpegIndex::AUTO,
            unpacks: false,
            chosen,
            choice,
            splits: splits::notes(&all, source, plan, &plan_request(options)),
            // Samples of a program may come only once.
            image: images::note(source, plan, !paths.is_empty()),
        }
    }

    /// Returns the notes on the source; some are known only after it was read.
    pub(crate) fn on_source(&self, source: &dyn Source) -> Vec<Remark> {
        let remarks = source.remarks();
        self.splits.iter().cloned().chain(remarks).chain(self.image.clone()).collect()
    }
}
