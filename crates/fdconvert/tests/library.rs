//! A program that links the library alone: every door, on small datasets.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fdconvert::{
    Cancel, Context, Error, FieldSpec, Image, InspectOptions, Kind, Observer, OnError, Pack,
    PackOptions, Pixels, Planned, Prepared, Progress, Sample, SampleSpool, Schema, Source,
    SpooledSamples, Value, VerifyOptions, diff, fingerprint_of, inspect, merge, plan, verify,
};
use fdconvert_testkit::fixtures;
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// Twelve images of three classes.
fn photos(root: &Path) -> PathBuf {
    let photos = root.join("photos");
    for n in 0..12 {
        let class = photos.join(["cat", "dog", "fox"][n % 3]);
        fs::create_dir_all(&class).unwrap();
        let image = fixtures::png(40 + n as u32, 30, n as u64 + 1);
        fs::write(class.join(format!("{n}.png")), image.bytes).unwrap();
    }
    photos
}

#[test]
fn sources_are_packed_opened_inspected_and_verified() {
    let folder = tempfile::tempdir().unwrap();
    let photos = photos(folder.path());
    let out = folder.path().join("photos.beton");
    let options = PackOptions::default().jpeg_quality(90).max_side(32).shuffle(true).seed(3);
    let report = Pack::new([&photos], &out).options(options.clone()).threads(2).run().unwrap();
    assert_eq!((report.samples, report.skipped.len()), (12, 0));

    let dataset = fdconvert::open(&out).unwrap();
    assert_eq!(dataset.len(), 12);
    let same = fdconvert::source([&photos], &options).unwrap();
    assert_eq!(same.len(), 12);
    let found = inspect(&out, &InspectOptions::default()).unwrap();
    assert_eq!(found.stats.unwrap().classes.len(), 3);
    let verified = verify(&out, &VerifyOptions::default()).unwrap();
    assert_eq!((verified.samples, verified.problems.len()), (12, 0));

    let fractals = folder.path().join("fractals.wds");
    let recipe = "fractal:svd?classes=2&instances=3&size=32";
    assert_eq!(Pack::new([recipe], &fractals).run().unwrap().samples, 6);
}

#[test]
fn parts_of_a_plan_are_the_dataset() {
    let folder = tempfile::tempdir().unwrap();
    let photos = photos(folder.path());
    let [whole, parts] = ["whole", "parts"].map(|name| folder.path().join(name));
    let file = folder.path().join("photos.fdplan");
    let options =
        PackOptions::default().format("wds").shards(4).split("train", 0.5).split("val", 0.5);
    Pack::new([&photos], &whole).options(options.clone()).run().unwrap();

    plan([&photos], &options).unwrap().save(&file, false).unwrap();
    for index in 0..3 {
        Planned::load(&file).unwrap().part(index, 3).run(&parts).unwrap();
    }
    let merged = merge(&parts, None).unwrap();
    assert_eq!(merged.shards.len(), 8);
    for (_, shard) in &merged.shards {
        let same = whole.join(shard.path.file_name().unwrap());
        assert_eq!(fs::read(&shard.path).unwrap(), fs::read(same).unwrap());
    }
}

/// Stops the run after some samples.
struct Stop {
    cancel: Cancel,
    left: AtomicU64,
}

impl Progress for Stop {
    fn packing(&self) -> Box<dyn Observer + '_> {
        Box::new(self)
    }
}

impl Observer for &Stop {
    fn stored(&mut self, _bytes_in: u64, _bytes_stored: u64) {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.cancel.cancel();
        }
    }
}

#[test]
fn a_run_stops_when_asked_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let photos = photos(folder.path());
    let out = folder.path().join("photos.beton");
    let stop = Stop { cancel: Cancel::default(), left: AtomicU64::new(4) };
    let context = Context { cancel: &stop.cancel, progress: &stop };
    let prepared = Pack::new([&photos], &out).threads(1).prepare(context).unwrap();
    let Prepared::Samples(samples) = prepared else { unreachable!("it is not a recipe") };
    assert!(matches!(samples.run(context), Err(Error::Cancelled)));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn options_come_back_from_json_by_their_names() {
    let object = |value: Value| value.as_object().unwrap().clone();
    let options = PackOptions::from_json(object(json!({
        "format": "mixed", "ratio": 0.5, "seed": 7, "sample": "50%", "shard_size": 1000,
        "split": {"train": 0.9, "val": "10%"}, "pair": ["mask=masks"], "select": "0..5,7..9",
        "sidecars": "fdx", "compact": true,
    })));
    let options = options.unwrap();
    assert_eq!((options.select.len(), options.split.len(), options.pair.len()), (2, 2, 1));
    assert_eq!(options.format_options["sidecars"], "fdx");
    assert_eq!(options.format_options["compact"], "");
    assert_eq!(options.shard_size.unwrap().0, 1000);
    for (wrong, says) in [
        (json!({"jpeg_qualty": 90}), "did you mean `jpeg_quality`?"),
        (json!({"jpeg_quality": 900}), "jpeg_quality=900"),
        (json!({"shard_size": "256"}), "256MiB"),
        (json!({"encode": "gif"}), "`gif` is none of"),
    ] {
        let error = PackOptions::from_json(object(wrong)).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn broken_samples_are_the_callers_choice() {
    let folder = tempfile::tempdir().unwrap();
    let photos = photos(folder.path());
    fs::write(photos.join("cat/broken.png"), b"\x89PNG\r\n\x1a\nnothing").unwrap();
    let out = folder.path().join("photos.wds");
    let pack = Pack::new([&photos], &out);
    assert!(matches!(pack.run(), Err(Error::Sample { .. })));
    let report = pack.on_error(OnError::Skip).run().unwrap();
    assert_eq!((report.samples, report.skipped.len()), (12, 1));
}

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

    fn read(&self, index: u64) -> Result<Sample<Image>, Error> {
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

/// The same samples, in a spool.
fn spooled(source: &Squares, folder: &Path) -> Arc<SpooledSamples> {
    let mut spool = SampleSpool::new(source.schema().clone(), folder).unwrap();
    for index in 0..source.len() {
        match source.read(index) {
            Ok(sample) => spool.push(&sample).unwrap(),
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
            assert_eq!(diff(&made[0], other).unwrap().same, 40);
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
    let cache = pack().listing_cache(folder.path().join("cache"));
    assert!(refused(cache).starts_with("listing_cache: it is about folders"));
    let formula = PackOptions::default().format("formula");
    assert!(refused(pack().options(formula)).contains("would keep a recipe and no samples"));
    pack().check().unwrap();
    pack().run().unwrap();
    let exists = pack().check().unwrap_err().to_string();
    assert!(exists.ends_with("out.beton exists; replace it with `overwrite`"), "{exists}");
    pack().overwrite(true).check().unwrap();
}

#[test]
fn samples_that_do_not_fit_leave_a_spool_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let source = Squares::new(false);
    let mut spool = SampleSpool::beside(&folder.path().join("a/b"), source.schema.clone()).unwrap();
    let good = source.read(0).unwrap();
    spool.push(&good).unwrap();
    let short = Sample { key: "short".into(), values: good.values[..2].to_vec() };
    let refused = spool.push(&short).unwrap_err().to_string();
    assert_eq!(refused, "sample `short`: has 2 values for 3 fields");
    let spool = spool.finish("one").unwrap();
    assert_eq!((spool.len(), spool.read(0).unwrap().values.len()), (1, 3));
    assert!(spool.read(1).is_err());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
