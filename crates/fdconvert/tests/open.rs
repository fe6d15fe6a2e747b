//! Sources with a number of samples that becomes known while they are packed.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fdconvert::{
    ByteCount, Cancel, Context, Error, FieldSpec, Image, Kind, Look, Observer, OnPackError, Pack,
    PackOptions, Pixels, Progress, Report, Result, Sample, Schema, Skipped, Source, SourceFacts,
    Stage, Steps, Value, fingerprint_of,
};
use fdconvert_testkit::compare::assert_same_tree;
use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

/// `n` squares; a plan does not know the number.
struct Squares {
    facts: SourceFacts,
    n: u64,
    /// Number of an unreadable sample.
    broken: Option<u64>,
    has_ended: AtomicBool,
}

impl Squares {
    fn new(n: u64) -> Self {
        let fields = vec![FieldSpec::new("image", Kind::Image), FieldSpec::new("n", Kind::Int)];
        let schema = Schema::new(fields).unwrap();
        let facts = SourceFacts::new("squares", schema, 1 << 62);
        let facts = SourceFacts { n_given: Some(n.min(3)), ..facts };
        Self { facts, n, broken: None, has_ended: AtomicBool::new(false) }
    }
}

impl Source for Squares {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn end(&self) -> Option<u64> {
        self.has_ended.load(Ordering::SeqCst).then_some(self.n)
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        if index >= self.n {
            self.has_ended.store(true, Ordering::SeqCst);
            return Err(Error::usage("index", "there are no more"));
        }
        if self.broken == Some(index) {
            return Err(Error::sample(self.key(index), "it was never made"));
        }
        let data = vec![index as u8; 8 * 8 * 3];
        let image = Image::Pixels(Pixels { width: 8, height: 8, channels: 3, data });
        let values = vec![Value::Image(image), Value::Int(index as i64)];
        Ok(Sample { key: self.key(index), values })
    }

    fn key(&self, index: u64) -> String {
        format!("{index:08}.png")
    }

    fn fingerprint(&self, _look: Look) -> Result<[u8; 16]> {
        Ok(fingerprint_of(&self.facts.schema, u64::MAX, &[]))
    }
}

const FORMATS: [&str; 3] = ["wds", "mds", "parquet"];

/// Options with seven samples per shard, for formats with shards.
fn options(format: &str) -> PackOptions {
    let options = PackOptions::default().format(format);
    if format == "parquet" { options } else { options.shard_count(7) }
}

fn pack(format: &str, source: Squares, out: &Path, threads: usize) -> Result<Report> {
    let pack = Pack::from_source(Arc::new(source), out).options(options(format));
    assert!(pack.takes_any_number(), "{format}");
    pack.threads(threads).run()
}

#[test]
fn samples_end_anywhere() {
    for format in FORMATS {
        for n in [1, 6, 7, 8, 14, 40] {
            let folder = tempfile::tempdir().unwrap();
            let outs = [1, 3].map(|threads| {
                let out = folder.path().join(format!("{threads}"));
                let report = pack(format, Squares::new(n), &out, threads).unwrap();
                let n_shards = if format == "parquet" { 1 } else { n.div_ceil(7) };
                assert_eq!((report.planned, report.samples), (n, n), "{format}");
                assert_eq!(report.shards.len() as u64, n_shards, "{format} of {n}");
                out
            });
            if outs[0].is_dir() {
                assert_same_tree(&outs[0], &outs[1]);
            } else {
                assert_eq!(fs::read(&outs[0]).unwrap(), fs::read(&outs[1]).unwrap());
            }
            let reader = fdconvert::open(&outs[0]).unwrap();
            assert_eq!(reader.len(), n, "{format}");
            for index in 0..n {
                let sample = reader.get(index).unwrap();
                assert!(sample.values.contains(&Value::Int(index as i64)), "{format}: {index}");
            }
            assert!(reader.verify_layout().is_empty(), "{format}");
            // No unfinished files remain.
            let names = |path: &Path| -> Vec<String> {
                let entries = fs::read_dir(path).unwrap();
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
            };
            let all =
                [names(folder.path()), if outs[0].is_dir() { names(&outs[0]) } else { vec![] }];
            assert!(!all.concat().iter().any(|name| name.contains("partial")), "{all:?}");
        }
    }
}

#[test]
fn shards_are_cut_by_the_size_of_the_first_samples() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("wds");
    let options = PackOptions::default().format("wds").shard_size(ByteCount(16 << 10));
    let pack = Pack::from_source(Arc::new(Squares::new(40)), &out).options(options);
    let report = pack.run().unwrap();
    let lens: Vec<_> = report.shards.iter().map(|shard| shard.samples).collect();
    let (last, whole) = lens.split_last().unwrap();
    assert!(whole.len() > 1 && whole.iter().all(|len| len == &whole[0]) && last <= &whole[0]);
    assert!(report.shards.iter().all(|shard| shard.bytes <= (16 << 10) + 10240), "{lens:?}");
}

#[test]
fn what_needs_the_number_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let takes = |name: &str, options: PackOptions, overwrite| {
        let pack = Pack::from_source(Arc::new(Squares::new(40)), folder.path().join(name));
        let pack = pack.options(options).overwrite(overwrite);
        (pack.takes_any_number(), pack.run().map(drop).map_err(|error| error.to_string()))
    };
    let sharded = || PackOptions::default().format("wds");
    let (takes_it, found) = takes("a", sharded().shards(2), false);
    assert!(!takes_it);
    assert!(found.unwrap_err().contains("the number of samples, which is not known"));
    let (takes_it, found) = takes("b", sharded().shards_multiple_of(2), false);
    assert!(!takes_it);
    assert!(found.unwrap_err().contains("the number of samples, which is not known"));
    let others = [
        (PackOptions::default().format("beton"), false, "with which the files of beton begin"),
        (PackOptions::default().format("mixed"), false, "with which the files of mixed begin"),
        (sharded(), true, "overwrite: the number of samples is not known yet"),
        (sharded().shuffle(true), false, "needs all of them first"),
        (sharded().r#where("index < 9"), false, "needs all of them first"),
    ];
    for (options, overwrite, expected) in others {
        let (takes_it, found) = takes("c", options, overwrite);
        let found = found.unwrap_err();
        assert!(!takes_it && found.contains(expected), "{expected}: {found}");
    }
}

#[test]
fn a_bad_sample_is_left_out_and_the_last_one_may_be_bad() {
    for format in FORMATS {
        for broken in [3, 6, 8] {
            let folder = tempfile::tempdir().unwrap();
            let source = Squares { broken: Some(broken), ..Squares::new(9) };
            let pack = Pack::from_source(Arc::new(source), folder.path().join("out"));
            let report = pack.options(options(format)).on_error(OnPackError::Skip).run().unwrap();
            assert_eq!((report.planned, report.samples), (9, 8), "{format}");
            assert_eq!(report.skipped[0].index, broken, "{format}");
        }
    }
}

/// Stops a run after the given number of samples.
struct StopsAfter {
    cancel: Cancel,
    left: AtomicU64,
}

impl Progress for StopsAfter {
    fn stage(&self, _: Stage) -> Box<dyn Steps + '_> {
        Box::new(())
    }

    fn packing(&self) -> Box<dyn Observer + '_> {
        Box::new(self)
    }
}

impl Observer for &StopsAfter {
    fn stored(&mut self, _: u64, _: u64) {
        if self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.cancel.cancel();
        }
    }

    fn skipped(&mut self, _: &Skipped) {}
}

/// Runs until that many samples are stored, and keeps the finished shards.
fn interrupt(format: &str, n: u64, out: &Path, after: u64) {
    let progress = StopsAfter { cancel: Cancel::default(), left: AtomicU64::new(after) };
    let context = Context { cancel: &progress.cancel, progress: &progress };
    let pack = Pack::from_source(Arc::new(Squares::new(n)), out).options(options(format));
    assert!(
        matches!(pack.prepare(context).and_then(|it| it.run(context)), Err(Error::Cancelled)),
        "{format}"
    );
}

#[test]
fn interrupted_runs_are_continued() {
    for format in ["wds", "mds"] {
        let folder = tempfile::tempdir().unwrap();
        let whole = folder.path().join("whole");
        pack(format, Squares::new(30), &whole, 2).unwrap();
        let out = folder.path().join("continued");
        interrupt(format, 30, &out, 16);
        let report = pack(format, Squares::new(30), &out, 2).unwrap();
        assert_eq!((report.samples, report.resumed), (30, 14), "{format}");
        assert_same_tree(&whole, &out);
    }
}

#[test]
fn finished_shards_count_only_where_the_samples_end_as_before() {
    let manifest = |out: &Path| {
        let names = fs::read_dir(out).unwrap().map(|entry| entry.unwrap().path());
        names.filter(|path| path.extension().is_some_and(|it| it == "json")).collect::<Vec<_>>()
    };
    for format in ["wds", "mds"] {
        for n in [30, 28] {
            let folder = tempfile::tempdir().unwrap();
            let [whole, out] = ["a", "b"].map(|name| folder.path().join(name));
            pack(format, Squares::new(n), &whole, 2).unwrap();
            pack(format, Squares::new(n), &out, 2).unwrap();
            // As after a kill before the last file was written.
            manifest(&out).iter().for_each(|path| fs::remove_file(path).unwrap());
            for others in [n - 1, 3] {
                let refused = pack(format, Squares::new(others), &out, 2).unwrap_err().to_string();
                assert!(refused.contains("and these are others"), "{format} {others}: {refused}");
            }
            if n % 7 > 0 {
                let refused = pack(format, Squares::new(n + 1), &out, 2).unwrap_err().to_string();
                assert!(refused.contains("an interrupted run has left 30 samples"), "{refused}");
            }
            let report = pack(format, Squares::new(n), &out, 2).unwrap();
            assert_eq!((report.samples, report.resumed), (n, n), "{format}");
            assert_same_tree(&whole, &out);
        }
    }
}
