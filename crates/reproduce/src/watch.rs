use fdconvert::{Cancel, Context, Stage, Steps};
use fdconvert_core::{Error, Result};

/// Observer of an experiment, which may stop it.
pub(crate) struct Watch<'a> {
    cancel: &'a Cancel,
    steps: Box<dyn Steps + 'a>,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(context: Context<'a>) -> Self {
        Self { cancel: context.cancel, steps: context.progress.stage(Stage::Reproducing) }
    }

    /// Announces this many more calls of [`begins`](Self::begins).
    pub(crate) fn total(&self, n: u64) {
        self.steps.total(n);
    }

    /// Reports the start of a step, and the end of the previous one.
    ///
    /// # Errors
    /// `Cancelled`.
    pub(crate) fn begins(&self, what: &str) -> Result<()> {
        if self.is_cancelled() {
            return Err(Error::Cancelled);
        }
        self.steps.on(what);
        self.steps.step();
        Ok(())
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    pub(crate) fn cancel(&self) -> &'a Cancel {
        self.cancel
    }
}
