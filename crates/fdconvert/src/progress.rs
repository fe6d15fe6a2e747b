//! The events of a run, and the way to stop it.
use fdconvert_pipeline::{Cancel, Observer};
use fdconvert_profile::Report as Profile;
use std::{path::Path, sync::LazyLock};

/// Context of a run: its cancel switch and its event receiver. The default never stops and ignores
/// events.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Switch that stops the run, which then ends with `Cancelled`.
    pub cancel: &'a Cancel,
    /// Receiver of events, which cannot influence the run.
    pub progress: &'a dyn Progress,
}

impl Default for Context<'_> {
    fn default() -> Self {
        static NEVER: LazyLock<Cancel> = LazyLock::new(Cancel::default);
        Self { cancel: &NEVER, progress: &() }
    }
}

/// Receiver of a run's events. The methods do nothing by default, and `()` ignores all events.
pub trait Progress: Sync {
    /// Begins a stage, which ends when the returned value is dropped.
    fn stage(&self, _stage: Stage) -> Box<dyn Steps + '_> {
        Box::new(())
    }

    /// Begins the packing of samples.
    fn packing(&self) -> Box<dyn Observer + '_> {
        Box::new(())
    }

    /// Reports something that a person may want to know before the run ends.
    fn event(&self, _event: Event<'_>) {}
}

impl Progress for () {}

/// Stage of a run before samples are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Listing a source.
    Opening,
    /// Searching the categories of fractals.
    Searching,
    /// Evaluating an expression on samples.
    Choosing,
    /// Planning the output.
    Planning,
    /// Measuring for a ratio.
    Profiling,
    /// Checking samples for damage.
    Verifying,
    /// Comparing two datasets.
    Comparing,
    /// Counting properties of samples.
    Counting,
    /// Hashing the contents of samples.
    Hashing,
    /// Measuring pixels.
    Measuring,
    /// Running the experiment of a paper.
    Reproducing,
}

impl Stage {
    /// Returns its name, a verb.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Opening => "opening",
            Self::Searching => "searching",
            Self::Choosing => "choosing",
            Self::Planning => "planning",
            Self::Profiling => "profiling",
            Self::Verifying => "verifying",
            Self::Comparing => "comparing",
            Self::Counting => "counting",
            Self::Hashing => "hashing",
            Self::Measuring => "measuring",
            Self::Reproducing => "reproducing",
        }
    }
}

/// Progress of a stage.
pub trait Steps: Sync {
    /// Reports the total number of steps.
    fn total(&self, _n: u64) {}
    /// Reports the number of finished steps.
    fn done(&self, _n: u64) {}
    /// Reports one more finished step.
    fn step(&self) {}
    /// Reports the current item.
    fn on(&self, _what: &str) {}
}

impl Steps for () {}

/// Finding of a run.
#[non_exhaustive]
pub enum Event<'a> {
    /// A profile chose the ratio.
    Profiled {
        /// Profile of the machine.
        profile: &'a Profile,
        /// File of an earlier run with the profile.
        kept: Option<&'a Path>,
    },
}
