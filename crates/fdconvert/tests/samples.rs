//! Samples that a program has: sources of its own, and spools.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fdconvert::{
    ByteCount, Cancel, Context, DiffOptions, Error, FieldSpec, Image, Kind, OnError, Pack,
    PackOptions, Pixels, Prepared, Result, Sample, SampleSpool, Schema, Source, SpooledSamples,
    Value, diff, fingerprint_of,
};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Squares in two classes; sample 3 cannot be read.
struct Squares {
    schema: Schema,
    broken: bool,
}

impl Squares {
    fn new(broken: bool) -> Arc<Self> {
        let classes: Arc<[String]> = ["dark", "light"].map(String::from).into();
        let fields = vec![
            FieldSpec::new("image", Kind::Image),
            FieldSpec::label("label", classes),
            FieldSpec::new("text", Kind::Text),
        ];
        Arc::new(Self { schema: Schema::new(fields).unwrap(), broken })
    }
}

impl Source for Squares {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn len(&self) -> u64 {
        40
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        if self.broken && index == 3 {
            return Err(Error::sample(self.key(index), "it was never made"));
        }
        let data = vec![index as u8 * 5; 16 * 16 * 3];
        let image = Image::Pixels(Pixels { width: 16, height: 16, channels: 3, data });
        let values = vec![
            Value::Image(image),
            Value::Int(i64::from(index >= 20)),
            Value::Text(format!("square {index}")),
        ];
        Ok(Sample { key: self.key(index), values })
    }

    fn key(&self, index: u64) -> String {
        format!("{index:08}.png")
    }

    fn name(&self) -> String {
        "squares".into()
    }

    fn fingerprint(&self) -> [u8; 16] {
        fingerprint_of(&self.schema, self.len(), &[])
    }
}

/// The same samples, in a spool: the first ones in memory, the others in its file.
fn spooled(source: &Squares, folder: &Path) -> Arc<SpooledSamples> {
    let spool = SampleSpool::new(source.schema().clone(), folder).unwrap();
    let mut spool = spool.memory_budget(20 << 10);
    for index in 0..source.len() {
        match source.read(index) {
            Ok(sample) => spool.push(sample).unwrap(),
            Err(error) => {
                spool.push_unreadable(&source.key(index), "it was never made").unwrap();
                assert!(error.to_string().contains("it was never made"));
            }
        }
    }
    assert_eq!((spool.len(), spool.is_empty()), (40, false));
    spool.finish("squares").unwrap()
}

#[test]
fn sources_of_the_program_are_packed_as_folders_are() {
    let folder = tempfile::tempdir().unwrap();
    let source = Squares::new(false);
    for format in ["beton", "wds", "mds", "mixed"] {
        let options = PackOptions::default().format(format).shuffle(true).seed(4);
        let made = [("made-1", 1), ("made-4", 4)].map(|(name, threads)| {
            let out = folder.path().join(format!("{format}-{name}"));
            let pack = Pack::from_source(source.clone(), &out).options(options.clone());
            let report = pack.threads(threads).run().unwrap();
            assert_eq!((report.samples, report.skipped.len()), (40, 0));
            out
        });
        let out = folder.path().join(format!("{format}-spooled"));
        let spool = spooled(&source, folder.path());
        assert_eq!(spool.key(7), "00000007.png");
        assert_eq!(spool.label(30).unwrap(), Some(1));
        Pack::from_source(spool, &out).options(options).threads(2).run().unwrap();
        for other in [&made[1], &out] {
            assert_eq!(
                diff([&made[0], other], &DiffOptions::default(), Context::default()).unwrap().same,
                40
            );
        }
        let dataset = fdconvert::open(&out).unwrap();
        let sample = dataset.get(0).unwrap();
        let number: u64 = sample.key[..8].parse().unwrap();
        assert!(sample.values.contains(&Value::Text(format!("square {number}"))));
    }
}

#[test]
fn what_a_source_cannot_give_is_left_out_or_fails() {
    let folder = tempfile::tempdir().unwrap();
    let source = Squares::new(true);
    let sources: [Arc<dyn Source>; 2] = [source.clone(), spooled(&source, folder.path())];
    for (number, source) in sources.into_iter().enumerate() {
        let out = folder.path().join(format!("{number}.beton"));
        let failed = Pack::from_source(source.clone(), &out).run().unwrap_err();
        assert_eq!(failed.to_string(), "sample `00000003.png`: it was never made");
        assert!(!out.exists());
        let report = Pack::from_source(source, &out).on_error(OnError::Skip).run().unwrap();
        assert_eq!((report.samples, report.skipped[0].index), (39, 3));
    }
}

#[test]
fn options_of_folders_mean_nothing_to_a_source() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.beton");
    let refused = |pack: Pack| pack.run().unwrap_err().to_string();
    let pack = || Pack::from_source(Squares::new(false), &out);
    let labels = PackOptions::default().labels(PathBuf::from("labels.csv"));
    assert!(refused(pack().options(labels)).starts_with("labels: it is about folders of images"));
    let formula = PackOptions::default().format("formula");
    assert!(refused(pack().options(formula)).contains("would keep a recipe and no samples"));
    pack().check().unwrap();
    pack().run().unwrap();
    // The same options may be of the same samples, which a run finds out.
    pack().check().unwrap();
    assert_eq!(pack().run().unwrap().resumed, 40);
    let other = pack().options(PackOptions::default().max_side(4));
    let exists = other.check().unwrap_err().to_string();
    assert!(exists.ends_with("out.beton exists; replace it with `overwrite`"), "{exists}");
    pack().overwrite(true).check().unwrap();
}

#[test]
fn samples_that_do_not_fit_leave_a_spool_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let source = Squares::new(false);
    let mut spool = SampleSpool::beside(&folder.path().join("a/b"), source.schema.clone()).unwrap();
    let good = source.read(0).unwrap();
    let short = Sample { key: "short".into(), values: good.values[..2].to_vec() };
    spool.push(good).unwrap();
    let refused = spool.push(short).unwrap_err().to_string();
    assert_eq!(refused, "sample `short`: has 2 values for 3 fields");
    let spool = spool.finish("one").unwrap();
    assert_eq!((spool.len(), spool.read(0).unwrap().values.len()), (1, 3));
    assert!(spool.read(1).is_err());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Squares that come one after another: the first ten are there when the plan is made.
struct Coming {
    squares: Arc<Squares>,
    is_planned: AtomicBool,
}

impl Source for Coming {
    fn schema(&self) -> &Schema {
        self.squares.schema()
    }

    fn len(&self) -> u64 {
        self.squares.len()
    }

    fn n_ready(&self) -> u64 {
        10
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        assert!(index < 10 || self.is_planned.load(Ordering::SeqCst), "{index} is not there yet");
        self.squares.read(index)
    }

    fn key(&self, index: u64) -> String {
        self.squares.key(index)
    }

    fn name(&self) -> String {
        self.squares.name()
    }

    fn fingerprint(&self) -> [u8; 16] {
        self.squares.fingerprint()
    }
}

#[test]
fn a_plan_looks_at_samples_that_are_ready() {
    let folder = tempfile::tempdir().unwrap();
    for (format, quality) in [("beton", 90), ("wds", 90), ("mds", 90), ("parquet", 90)] {
        let squares = Squares::new(false);
        let coming = Arc::new(Coming { squares, is_planned: AtomicBool::new(false) });
        let out = folder.path().join(format);
        let options = PackOptions::default().format(format).jpeg_quality(quality);
        let sharded = matches!(format, "wds" | "mds");
        let options = if sharded { options.shard_size(ByteCount(4000)) } else { options };
        let pack = Pack::from_source(coming.clone(), &out).options(options).threads(4);
        assert!(pack.takes_samples_as_they_come());
        let cancel = Cancel::default();
        let context = Context { cancel: &cancel, progress: &() };
        let Prepared::Samples(samples) = pack.prepare(context).unwrap() else { panic!("{format}") };
        assert!(!sharded || samples.dataset().plan.shards.len() > 1, "{format}");
        coming.is_planned.store(true, Ordering::SeqCst);
        assert_eq!(samples.run(context).unwrap().samples, 40, "{format}");
    }
}

#[test]
fn what_looks_at_all_samples_first_does_not_take_them_as_they_come() {
    let takes = |options: PackOptions| {
        let pack = Pack::from_source(Squares::new(false), "x.beton").options(options);
        pack.takes_samples_as_they_come()
    };
    let options = PackOptions::default;
    assert!(takes(options().max_side(8).jpeg_quality(90).seed(3).shards(2)));
    assert!(
        !Pack::from_source(Squares::new(false), "x.beton").dry(true).takes_samples_as_they_come()
    );
    let others = [
        options().shuffle(true),
        options().keys(PathBuf::from("keys.txt")),
        options().r#where("label == 1"),
        PackOptions::from_json(object(r#"{"split": ["train=0.5", "val=0.5"]}"#)).unwrap(),
        PackOptions::from_json(object(r#"{"sample": "50%"}"#)).unwrap(),
        PackOptions::from_json(object(r#"{"dedup": "exact"}"#)).unwrap(),
        PackOptions::from_json(object(r#"{"ratio": 0.5}"#)).unwrap(),
    ];
    for options in others {
        assert!(!takes(options.clone()), "{options:?}");
    }
}

fn object(text: &str) -> serde_json::Map<String, serde_json::Value> {
    serde_json::from_str(text).unwrap()
}
