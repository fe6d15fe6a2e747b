//! How a run tells what it does, and how it is stopped.
use fdconvert_pipeline::{Cancel, Observer};
use fdconvert_profile::Report as Profile;
use std::{path::Path, sync::LazyLock};

/// Context of a run: the switch that stops it, and the listener. The default stops nothing and listens
/// to nothing.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Stops the run; it then ends with `Cancelled`.
    pub cancel: &'a Cancel,
    /// Listens; cannot steer.
    pub progress: &'a dyn Progress,
}

impl Default for Context<'_> {
    fn default() -> Self {
        static NEVER: LazyLock<Cancel> = LazyLock::new(Cancel::default);
        Self { cancel: &NEVER, progress: &() }
    }
}

/// Listens to a run. The methods do nothing by default, and `()` listens to nothing.
pub trait Progress: Sync {
    /// A stage begins; it ends when what is returned is dropped.
    fn stage(&self, _stage: Stage) -> Box<dyn Steps + '_> {
        Box::new(())
    }

    /// Samples are packed from now on.
    fn packing(&self) -> Box<dyn Observer + '_> {
        Box::new(())
    }

    /// Something that a person may want to know before the run ends.
    fn event(&self, _event: Event<'_>) {}
}

impl Progress for () {}

/// Stage of a run before samples are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Lists a source.
    Opening,
    /// Searches the categories of fractals.
    Searching,
    /// Asks of which samples an expression holds.
    Choosing,
    /// Decides which sample goes where.
    Planning,
    /// Measures for a ratio.
    Profiling,
    /// Checks samples for damage.
    Verifying,
    /// Compares two datasets.
    Comparing,
    /// Counts what samples are.
    Counting,
    /// Hashes what samples hold.
    Hashing,
    /// Measures pixels.
    Measuring,
    /// Carries out the experiment of a paper.
    Reproducing,
}

impl Stage {
    /// Its verb.
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
    /// So many steps there are.
    fn total(&self, _n: u64) {}
    /// So many steps are done.
    fn done(&self, _n: u64) {}
    /// One more step is done.
    fn step(&self) {}
    /// Returns what is worked on.
    fn on(&self, _what: &str) {}
}

impl Steps for () {}

/// Finding of a run.
#[non_exhaustive]
pub enum Event<'a> {
    /// A profile chose the ratio.
    Profiled {
        /// The profile.
        profile: &'a Profile,
        /// File in which an earlier run kept it.
        kept: Option<&'a Path>,
    },
}
