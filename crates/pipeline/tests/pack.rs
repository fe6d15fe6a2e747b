//! `pack` against a source and a format that live in memory and misbehave on demand.
#![allow(clippy::unwrap_used, clippy::panic)]
use fdconvert_core::{
    Bilevel, Codec, Create, Encoded, Error, FieldSpec, Format, Image, ImageHeader, Kind, Look,
    OpenOptions, OptionValues, Pixels, Reader, Result, Sample, Schema, ShardSummary, ShardWriter,
    Skipped, Source, SourceFacts, Value,
};
use fdconvert_pipeline::{Cancel, Observer, OnError, PackJob, Report, Run, pack};
use std::{
    io,
    path::Path,
    sync::{Arc, Mutex},
};

/// Behaviour of sample `i` when it is read.
#[derive(Clone, Copy, PartialEq)]
enum Deed {
    Good,
    Bad,
    Unreadable,
    Panic,
    /// Readable, but the writer refuses it.
    Refused,
    /// Readable, but the disk is full by then.
    DiskFull,
}

struct Memory {
    facts: SourceFacts,
    deeds: Vec<Deed>,
}

impl Source for Memory {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        let deed = self.deeds[index as usize];
        match deed {
            Deed::Bad => return Err(Error::sample(self.key(index), "bad")),
            Deed::Unreadable => return Err(Error::io("open", "x")(io::ErrorKind::NotFound.into())),
            Deed::Panic => panic!("a decoder's bug"),
            _ => {}
        }
        if index.is_multiple_of(5) {
            std::thread::yield_now();
        }
        let (width, height) = (1, 1);
        let image = if index.is_multiple_of(3) {
            Image::Bilevel(Bilevel { width, height, levels: [0, 127], bits: vec![0x80] })
        } else {
            Image::Pixels(Pixels { width, height, channels: 3, data: vec![index as u8; 3] })
        };
        let values = vec![Value::Image(image), Value::Int(deed as i64)];
        Ok(Sample { key: self.key(index), values })
    }

    fn key(&self, index: u64) -> String {
        index.to_string()
    }

    fn fingerprint(&self, _look: Look) -> Result<[u8; 16]> {
        Ok([0; 16])
    }
}

/// The writer's actions, seen from outside.
#[derive(Default)]
struct Log {
    written: Vec<String>,
    skipped: Vec<u64>,
    reasons: Vec<Skipped>,
    finished: bool,
}

struct Target {
    log: Arc<Mutex<Log>>,
    resume_after: u64,
}

struct TargetWriter {
    log: Arc<Mutex<Log>>,
    resume_after: u64,
}

impl Format for Target {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn about(&self) -> &'static str {
        "for tests"
    }

    fn with_options(&self, _: &OptionValues) -> Result<Box<dyn Format>> {
        unreachable!()
    }

    fn detect(&self, _: &Path) -> bool {
        false
    }

    fn suits(&self, _: &Path) -> bool {
        false
    }

    fn holds(&self, _: &ImageHeader) -> bool {
        true
    }

    fn fallback(&self) -> Codec {
        Codec::Raw
    }

    fn create(&self, _: &Create<'_>) -> Result<Box<dyn ShardWriter>> {
        let log = self.log.clone();
        Ok(Box::new(TargetWriter { log, resume_after: self.resume_after }))
    }

    fn open_with(&self, _: &Path, _: &OpenOptions) -> Result<Box<dyn Reader>> {
        unreachable!()
    }
}

impl ShardWriter for TargetWriter {
    fn resumed(&self) -> u64 {
        self.resume_after
    }

    fn write(&mut self, sample: &Sample<Encoded>) -> Result<()> {
        match sample.values[1] {
            Value::Int(deed) if deed == Deed::Refused as i64 => {
                return Err(Error::sample(&sample.key, "too large for a page"));
            }
            Value::Int(deed) if deed == Deed::DiskFull as i64 => {
                return Err(Error::io("write", "out")(io::ErrorKind::StorageFull.into()));
            }
            _ => {}
        }
        self.log.lock().unwrap().written.push(sample.key.clone());
        Ok(())
    }

    fn skip(&mut self, skipped: Skipped) -> Result<()> {
        let mut log = self.log.lock().unwrap();
        log.skipped.push(skipped.index);
        log.reasons.push(skipped);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<ShardSummary> {
        let mut log = self.log.lock().unwrap();
        log.finished = true;
        let samples = log.written.len() as u64 + self.resume_after;
        Ok(ShardSummary {
            path: "out".into(),
            samples,
            bytes: 0,
            skipped: std::mem::take(&mut log.reasons),
        })
    }
}

struct Ended {
    result: Result<Report>,
    log: Log,
}

fn run(deeds: Vec<Deed>, on_error: OnError, threads: usize, cancel_after: Option<u64>) -> Ended {
    run_from(deeds, on_error, Run { threads: Some(threads), ..Run::default() }, cancel_after, 0)
}

fn run_from(
    deeds: Vec<Deed>,
    on_error: OnError,
    run: Run,
    cancel_after: Option<u64>,
    resume_after: u64,
) -> Ended {
    let fields = vec![FieldSpec::new("image", Kind::Image), FieldSpec::new("deed", Kind::Int)];
    let schema = Schema::new(fields).unwrap();
    let source = Memory { facts: SourceFacts::new("memory", schema, deeds.len() as u64), deeds };
    let log = Arc::new(Mutex::new(Log::default()));
    let format = Target { log: log.clone(), resume_after };
    let run = Run { buffer: Some(10), on_error, ..run };
    let job = PackJob { run, ..PackJob::new(Arc::new(source), Box::new(format), "out") };
    struct CancelAfter(Option<u64>, Cancel);
    impl Observer for CancelAfter {
        fn stored(&mut self, _: u64, _: u64) {
            if let Some(left) = &mut self.0 {
                *left = left.saturating_sub(1);
                if *left == 0 {
                    self.1.cancel();
                }
            }
        }
    }
    let cancel = Cancel::default();
    let result = pack(&job, &cancel, &mut CancelAfter(cancel_after, cancel.clone()));
    let log = std::mem::take(&mut *log.lock().unwrap());
    Ended { result, log }
}

#[test]
fn samples_arrive_in_order_whatever_the_threads() {
    for threads in [1, 2, 7] {
        let Ended { result, log } = run(vec![Deed::Good; 200], OnError::Fail, threads, None);
        assert_eq!(result.unwrap().samples, 200);
        assert_eq!(log.written, (0..200).map(|i| i.to_string()).collect::<Vec<_>>());
        assert!(log.finished);
    }
}

/// The images had no stored form that the format could refuse, so that none was encoded again.
#[test]
fn images_that_the_source_makes_count_as_made() {
    let report = run(vec![Deed::Good; 9], OnError::Fail, 2, None).result.unwrap();
    let notes: Vec<_> = report.notes.iter().map(|(name, _, n)| (*name, *n)).collect();
    assert_eq!(notes, [("made", 9)]);
    assert_eq!(report.fell_back, (0, 0, 0));
    // Six of three channels, three of one bit in a byte; as raw pixels these take a byte as well.
    assert_eq!((report.bytes_in, report.bytes_stored), (21, 21));
}

#[test]
fn bad_samples_are_skipped_in_place_and_a_panic_costs_one_sample() {
    let mut deeds = vec![Deed::Good; 50];
    let bad = [(3, Deed::Bad), (9, Deed::Panic), (10, Deed::Refused), (49, Deed::Unreadable)];
    for (index, deed) in bad {
        deeds[index] = deed;
    }
    for threads in [1, 3] {
        let Ended { result, log } = run(deeds.clone(), OnError::Skip, threads, None);
        let report = result.unwrap();
        assert_eq!(log.skipped, [3, 9, 10, 49]);
        assert_eq!(log.written.len(), 46);
        let reasons: Vec<_> = report.skipped.iter().map(|s| s.reason.text.as_str()).collect();
        assert!(reasons[1].contains("a decoder's bug"), "{reasons:?}");
        assert!(reasons[2].contains("too large"), "{reasons:?}");
    }
}

#[test]
fn without_skip_the_first_bad_sample_in_order_is_the_error() {
    let mut deeds = vec![Deed::Good; 50];
    deeds[30] = Deed::Bad;
    deeds[31] = Deed::Refused;
    for threads in [1, 4] {
        let Ended { result, log } = run(deeds.clone(), OnError::Fail, threads, None);
        assert!(result.unwrap_err().to_string().contains("`30`"));
        assert_eq!(log.written.len(), 30);
        assert!(!log.finished);
    }
}

#[test]
fn storage_that_is_gone_ends_the_run_and_leaves_no_sample_out() {
    let mut deeds = vec![Deed::Unreadable; 300];
    deeds[..50].fill(Deed::Good);
    for threads in [1, 4] {
        let Ended { result, log } = run(deeds.clone(), OnError::Skip, threads, None);
        let error = result.unwrap_err();
        assert!(error.chain().contains("storage seems to be gone"), "{}", error.chain());
        assert!(!log.finished);
    }
    // The same number of broken samples is only a failure of these samples.
    deeds[50..].fill(Deed::Bad);
    assert!(run(deeds, OnError::Skip, 2, None).log.finished);
}

#[test]
fn more_failures_than_allowed_end_the_run() {
    let mut deeds = vec![Deed::Good; 50];
    deeds[10..13].fill(Deed::Bad);
    for threads in [1, 4] {
        let allow = |n| Run { threads: Some(threads), max_failures: Some(n), ..Run::default() };
        assert!(run_from(deeds.clone(), OnError::Skip, allow(3), None, 0).log.finished);
        let Ended { result, log } = run_from(deeds.clone(), OnError::Skip, allow(2), None, 0);
        let error = result.unwrap_err().to_string();
        assert!(
            error.contains("`12`")
                && error.contains("than the 2 allowed; to allow more: max_failures"),
            "{error}"
        );
        assert!(!log.finished);
    }
}

/// Each of them is kept with its reason, and rows without data take no bytes in a file.
#[test]
fn a_run_that_skips_without_end_is_ended_unless_as_many_samples_are_fine() {
    let n_skipped = 100_001;
    let mut deeds = vec![Deed::Bad; n_skipped];
    deeds.push(Deed::Good);
    for threads in [1, 4] {
        let run = Run { threads: Some(threads), ..Run::default() };
        let ends = |deeds: &[Deed], run, resume_after| {
            run_from(deeds.to_vec(), OnError::Skip, run, None, resume_after).result
        };
        let error = ends(&deeds, run, 0).unwrap_err().to_string();
        assert!(error.contains("`100000`") && error.contains("100001 of 100001"), "{error}");
        assert!(error.contains("more than half; to allow more: max_failures"), "{error}");
        assert!(ends(&deeds[1..], run, 0).is_ok());
        let allowed = Run { max_failures: Some(u64::MAX), ..run };
        assert_eq!(ends(&deeds, allowed, 0).unwrap().skipped.len(), n_skipped);
        // Samples that an interrupted run has stored count as fine, too.
        let both = [vec![Deed::Panic; n_skipped], deeds.clone()].concat();
        assert!(ends(&both, run, n_skipped as u64).is_ok());
    }
}

#[test]
fn a_full_disk_is_nobodys_sample() {
    let mut deeds = vec![Deed::Good; 50];
    deeds[20] = Deed::DiskFull;
    for threads in [1, 4] {
        let Ended { result, log } = run(deeds.clone(), OnError::Skip, threads, None);
        assert!(matches!(result.unwrap_err(), Error::Io { action: "write", .. }));
        assert!(!log.finished);
    }
}

#[test]
fn cancelling_stops_at_the_next_sample() {
    for threads in [1, 4] {
        let Ended { result, log } = run(vec![Deed::Good; 500], OnError::Fail, threads, Some(7));
        assert!(matches!(result.unwrap_err(), Error::Cancelled));
        assert_eq!(log.written.len(), 7);
        assert!(!log.finished);
    }
}

#[test]
fn resumed_samples_are_not_read_again() {
    let mut deeds = vec![Deed::Panic; 40];
    deeds[25..].fill(Deed::Good);
    for threads in [1, 4] {
        let Ended { result, log } = run_from(
            deeds.clone(),
            OnError::Fail,
            Run { threads: Some(threads), ..Run::default() },
            None,
            25,
        );
        let report = result.unwrap();
        assert_eq!((report.samples, report.resumed), (40, 25));
        assert_eq!(log.written.first().map(String::as_str), Some("25"));
    }
}

#[test]
fn an_empty_plan_is_refused() {
    assert!(matches!(run(vec![], OnError::Skip, 1, None).result, Err(Error::Usage { .. })));
}
