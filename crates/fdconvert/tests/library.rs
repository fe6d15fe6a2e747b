//! A program that links only the library: every entry point, on small datasets.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod look;

use fdconvert::{
    Cancel, Context, Error, InspectOptions, Observer, OnPackError, Pack, PackOptions, Planned,
    Prepared, Progress, Stage, Steps, VerifyOptions, inspect, merge, plan, verify,
};
use fdconvert_testkit::fixtures;
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
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
    let found = inspect(&out, &InspectOptions::default(), Context::default()).unwrap();
    assert_eq!(found.stats.unwrap().classes.len(), 3);
    let verified = verify(&out, &VerifyOptions::default(), Context::default()).unwrap();
    assert_eq!((verified.samples, verified.problems.len()), (12, 0));

    let fractals = folder.path().join("fractals.wds");
    let recipe = "fractal:svd?classes=2&instances=3&size=32";
    assert_eq!(Pack::new([recipe], &fractals).run().unwrap().samples, 6);
}

/// The error's suggestion has a unit.
#[test]
fn a_size_of_a_format_is_a_number_of_bytes_or_has_a_unit() {
    let folder = tempfile::tempdir().unwrap();
    let photos = photos(folder.path());
    let pack = |name: &str, size: &str| {
        let out = folder.path().join(name);
        let options = PackOptions::default().format_option("page_size", size);
        Pack::new([&photos], &out).options(options).run().map(|_| fs::read(out).unwrap())
    };
    let bytes = pack("bytes.beton", "4194304").unwrap();
    assert_eq!(pack("unit.beton", "4MiB").unwrap(), bytes);
    let error = pack("none.beton", "four").unwrap_err().to_string();
    assert!(error.contains("`four` is not a size"), "{error}");
}

/// As for Python's keyword, and as in the command.
#[test]
fn parts_of_a_plan_are_the_dataset() {
    let folder = tempfile::tempdir().unwrap();
    let photos = photos(folder.path());
    let [whole, parts] = ["whole", "parts"].map(|name| folder.path().join(name));
    let file = folder.path().join("photos.fdplan");
    let options =
        PackOptions::default().format("wds").shards(4).split("train", 0.5).split("val", 0.5);
    Pack::new([&photos], &whole).options(options.clone()).run().unwrap();

    plan(std::slice::from_ref(&photos), &options, Context::default())
        .unwrap()
        .save(&file, false)
        .unwrap();
    for index in 0..3 {
        Planned::load(&file, Context::default()).unwrap().part(index, 3).run(&parts).unwrap();
    }
    let merged = merge(&parts, None, Context::default()).unwrap();
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
        "split": {"train": 0.9, "val": "10%"}, "pair": ["mask=masks"], "where": "index < 5",
        "sidecars": "fdx", "compact": true,
    })));
    let options = options.unwrap();
    assert_eq!((options.split.len(), options.pair.len()), (2, 1));
    assert_eq!(options.format_options["sidecars"], "fdx");
    assert_eq!(options.format_options["compact"], "");
    assert_eq!(options.shard_size.unwrap().0, 1000);
    for (wrong, says) in [
        (json!({"jpeg_qualty": 90}), "did you mean `jpeg_quality`?"),
        (json!({"jpeg_quality": 900}), "jpeg_quality=900"),
        (json!({"shard_size": "256"}), "256MiB"),
        (json!({"encode": "gif"}), "unknown `gif`; expected one of: "),
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
    let report = pack.on_error(OnPackError::Skip).run().unwrap();
    assert_eq!((report.samples, report.skipped.len()), (12, 1));
}

/// Runs a function when the check of samples is about to begin.
struct OnVerifying<'a>(&'a (dyn Fn() + Sync));

impl Progress for OnVerifying<'_> {
    fn stage(&self, stage: Stage) -> Box<dyn Steps + '_> {
        if stage == Stage::Verifying {
            (self.0)();
        }
        Box::new(())
    }
}

#[test]
fn damage_of_a_dataset_that_was_replaced_meanwhile_is_no_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let photos = photos(folder.path());
    let mut n_refused = 0;
    for format in ["beton", "wds", "mds", "mixed", "parquet"] {
        let out = folder.path().join(format!("photos.{format}"));
        let options = PackOptions::default().format(format);
        let pack = || {
            Pack::new([&photos], &out).options(options.clone()).overwrite(true).run().unwrap();
        };
        let check = |act: &(dyn Fn() + Sync)| {
            let cancel = Cancel::default();
            let context = Context { cancel: &cancel, progress: &OnVerifying(act) };
            verify(&out, &VerifyOptions::default(), context)
        };
        pack();
        damage(&out);
        assert_ne!(check(&|| ()).unwrap().problems, [], "{format}");
        match check(&pack) {
            Err(error @ Error::Usage { .. }) => {
                n_refused += 1;
                assert!(error.to_string().contains("was replaced or changed"), "{format}: {error}");
            }
            // Its files are opened when they are read, and are those of the new one.
            found => assert_eq!(found.unwrap().problems, [], "{format}"),
        }
        assert_eq!(check(&|| ()).unwrap().problems, [], "{format}");
    }
    assert!(n_refused > 0);
}

/// Flips bits of images: they are in the middle of the largest file.
fn damage(dataset: &Path) {
    let mut folders = vec![dataset.to_path_buf()];
    let mut files = Vec::new();
    while let Some(path) = folders.pop() {
        match fs::read_dir(&path) {
            Ok(entries) => folders.extend(entries.map(|entry| entry.unwrap().path())),
            Err(_) => files.push((fs::metadata(&path).unwrap().len(), path)),
        }
    }
    let (_, largest) = files.into_iter().max().unwrap();
    let mut bytes = fs::read(&largest).unwrap();
    let len = bytes.len();
    bytes[len * 3 / 8..len / 2].iter_mut().for_each(|byte| *byte ^= 1);
    fs::write(&largest, bytes).unwrap();
}
