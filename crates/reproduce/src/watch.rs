use fdconvert::{Cancel, Context, Progress, Stage, Steps};
use fdconvert_core::{Error, Result};
use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

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

    /// Returns a receiver that shows how far the step `what`, which was begun, is.
    pub(crate) fn inside(&self, what: &'static str) -> Inside<'_> {
        Inside { steps: &*self.steps, what }
    }
}

/// Receiver of the events of a step.
pub(crate) struct Inside<'a> {
    steps: &'a dyn Steps,
    what: &'static str,
}

impl Progress for Inside<'_> {
    fn stage(&self, _stage: Stage) -> Box<dyn Steps + '_> {
        let (done, total) = (AtomicU64::new(0), AtomicU64::new(0));
        let began = Instant::now();
        Box::new(Parts { steps: self.steps, what: self.what, began, done, total })
    }
}

/// The parts of a step, which are told by their number.
struct Parts<'a> {
    steps: &'a dyn Steps,
    what: &'static str,
    began: Instant,
    done: AtomicU64,
    total: AtomicU64,
}

impl Parts<'_> {
    fn show(&self) {
        let total = self.total.load(Relaxed);
        let done = self.done.load(Relaxed);
        let part = (done + 1).min(total);
        let left = left(self.began.elapsed(), done, total);
        self.steps.on(&format!("{}, {part} of {total}{left}", self.what));
    }
}

impl Steps for Parts<'_> {
    fn total(&self, n: u64) {
        self.total.store(n, Relaxed);
        self.show();
    }

    fn done(&self, n: u64) {
        self.done.store(n, Relaxed);
        self.show();
    }

    fn step(&self) {
        self.done.fetch_add(1, Relaxed);
        self.show();
    }
}

/// Returns the time that alike parts still take, by those that are done; nothing while none is, and
/// below a second.
pub(crate) fn left(elapsed: Duration, done: u64, total: u64) -> String {
    let seconds = elapsed.as_secs_f64() / done as f64 * total.saturating_sub(done) as f64;
    match seconds {
        known if !known.is_finite() || known < 1.0 => String::new(),
        short if short < 100.0 => format!(", about {short:.0} s left"),
        long => format!(", about {:.0} min left", long / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn time_left_follows_from_what_is_done() {
        let left = |seconds, done, total| left(Duration::from_secs(seconds), done, total);
        assert_eq!(left(5, 0, 10), "");
        assert_eq!(left(5, 10, 10), "");
        assert_eq!(left(0, 1, 10), "");
        assert_eq!(left(30, 3, 5), ", about 20 s left");
        assert_eq!(left(60, 1, 4), ", about 3 min left");
    }

    #[derive(Default)]
    struct Said(Mutex<Vec<String>>);

    impl Steps for &Said {
        fn on(&self, what: &str) {
            self.0.lock().unwrap().push(what.to_owned());
        }
    }

    impl Progress for Said {
        fn stage(&self, _stage: Stage) -> Box<dyn Steps + '_> {
            Box::new(self)
        }
    }

    #[test]
    fn parts_of_a_long_step_are_counted() {
        let (said, cancel) = (Said::default(), Cancel::default());
        let watch = Watch::new(Context { cancel: &cancel, progress: &said });
        watch.begins("trying ratios").unwrap();
        let inside = watch.inside("trying ratios");
        let parts = inside.stage(Stage::Profiling);
        parts.total(2);
        parts.step();
        parts.step();
        let said = said.0.lock().unwrap().join("; ");
        let counted = "trying ratios, 1 of 2; trying ratios, 2 of 2; trying ratios, 2 of 2";
        assert_eq!(said, format!("trying ratios; {counted}"));
    }
}
