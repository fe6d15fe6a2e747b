//! Shows the events of a run on the screen.
use crate::{
    Session, output,
    progress::{Bar, PackProgress, bar, steps},
};
use fdconvert::{Context, Event, Observer, ProfileReport, Progress, Stage, Steps};
use std::path::Path;

/// Receives events for a session.
pub(crate) struct Listener<'a> {
    pub(crate) session: &'a Session,
    pub(crate) quiet: bool,
    pub(crate) packing: &'static str,
}

impl<'a> Listener<'a> {
    pub(crate) fn new(session: &'a Session, quiet: bool) -> Self {
        Self { session, quiet, packing: "packing" }
    }

    /// Returns the context of a run.
    pub(crate) fn context(&'a self) -> Context<'a> {
        Context { cancel: self.session.cancel(), progress: self }
    }
}

impl Progress for Listener<'_> {
    fn stage(&self, stage: Stage) -> Box<dyn Steps + '_> {
        let begin =
            if matches!(stage, Stage::Profiling | Stage::Reproducing) { steps } else { bar };
        Box::new(begin(stage.name(), self.quiet, self.session))
    }

    fn packing(&self) -> Box<dyn Observer + '_> {
        Box::new(PackProgress::new(self.packing, self.quiet, self.session))
    }

    fn event(&self, event: Event<'_>) {
        if let Event::Profiled { profile, kept } = event
            && !self.quiet
        {
            self.session.say(&profiled(profile, kept));
        }
    }
}

impl Steps for Bar {
    fn total(&self, n: u64) {
        self.set_length(n);
    }

    fn done(&self, n: u64) {
        self.set_position(n);
    }

    fn step(&self) {
        self.inc(1);
    }

    fn on(&self, what: &str) {
        self.set_message(what.to_owned());
    }
}

fn profiled(report: &ProfileReport, kept: Option<&Path>) -> String {
    let chosen = &report.solution.chosen;
    let from =
        kept.map_or(String::new(), |copy| format!(" (profiled before: {})", output::path(copy)));
    format!(
        "ratio {:.3}{from}: {:.0} images/s predicted, {:.0} with everything {}; {} to store",
        chosen.share,
        chosen.throughput.images_per_s(),
        report.solution.encoded_only.throughput.images_per_s(),
        report.encoded.name,
        output::size(chosen.dataset_bytes as u64),
    )
}
