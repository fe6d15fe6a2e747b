//! Samples from a program: its own sources, and temporary datasets.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fdconvert::{
    Context, DiffOptions, Error, FieldSpec, Image, Kind, Look, OnPackError, Pack, PackOptions,
    Pixels, Result, Sample, Schema, Source, SourceFacts, TemporaryDataset, Value, diff,
    fingerprint_of,
};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Squares in two classes; sample 3 is unreadable.
struct Squares {
    facts: SourceFacts,
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
        let schema = Schema::new(fields).unwrap();
        Arc::new(Self { facts: SourceFacts::new("squares", schema, 40), broken })
    }
}

impl Source for Squares {
    fn facts(&self) -> &SourceFacts {
        &self.facts
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

    fn fingerprint(&self, _look: Look) -> Result<[u8; 16]> {
        Ok(fingerprint_of(&self.facts.schema, self.len(), &[]))
    }
}

/// The same samples in a temporary dataset.
fn waiting(source: &Squares, out: &Path) -> Arc<dyn Source> {
    let mut samples = TemporaryDataset::beside(out, source.schema().clone()).unwrap();
    for index in 0..source.len() {
        match source.read(index) {
            Ok(sample) => samples.push(&sample).unwrap(),
            Err(error) => {
                samples.push_unreadable(&source.key(index), "it was never made").unwrap();
                assert!(error.to_string().contains("it was never made"));
            }
        }
    }
    assert_eq!((samples.len(), samples.is_empty()), (40, false));
    samples.finish("squares").unwrap()
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
        let out = folder.path().join(format!("{format}-waiting"));
        let waiting = waiting(&source, &out);
        assert_eq!(waiting.key(7), "00000007.png");
        assert_eq!(waiting.label(30).unwrap(), Some(1));
        Pack::from_source(waiting, &out).options(options).threads(2).run().unwrap();
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
    let sources: [Arc<dyn Source>; 2] =
        [source.clone(), waiting(&source, &folder.path().join("x"))];
    for (number, source) in sources.into_iter().enumerate() {
        let out = folder.path().join(format!("{number}.beton"));
        let failed = Pack::from_source(source.clone(), &out).run().unwrap_err();
        assert_eq!(failed.to_string(), "sample `00000003.png`: it was never made");
        assert!(!out.exists());
        let report = Pack::from_source(source, &out).on_error(OnPackError::Skip).run().unwrap();
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
    // Equal options may have the same samples, which a run checks.
    pack().check().unwrap();
    assert_eq!(pack().run().unwrap().resumed, 40);
    let other = pack().options(PackOptions::default().max_side(4));
    let exists = other.check().unwrap_err().to_string();
    assert!(exists.ends_with("out.beton exists; to replace it: overwrite=true"), "{exists}");
    pack().overwrite(true).check().unwrap();
}

#[test]
fn samples_that_do_not_fit_leave_a_temporary_dataset_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let source = Squares::new(false);
    let out = folder.path().join("a/b");
    let mut samples = TemporaryDataset::beside(&out, source.schema().clone()).unwrap();
    let good = source.read(0).unwrap();
    let short = Sample { key: "short".into(), values: good.values[..2].to_vec() };
    samples.push(&good).unwrap();
    let refused = samples.push(&short).unwrap_err().to_string();
    assert_eq!(refused, "sample `short`: has 2 values for 3 fields");
    let source = samples.finish("one").unwrap();
    assert_eq!((source.len(), source.read(0).unwrap().values.len()), (1, 3));
    assert!(source.read(1).is_err());
    drop(source);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_looks_at_all_samples_first_does_not_take_them_as_they_come() {
    let pack = |options| Pack::from_source(Squares::new(false), "x.wds").options(options);
    let takes = |options: PackOptions| pack(options).takes_any_number();
    let options = || PackOptions::default().format("wds");
    assert!(takes(options().max_side(8).jpeg_quality(90).seed(3)));
    assert!(!pack(options()).dry(true).takes_any_number());
    assert!(!pack(options()).overwrite(true).takes_any_number());
    let others = [
        options().shuffle(true),
        options().keys(PathBuf::from("keys.txt")),
        options().r#where("label == 1"),
        PackOptions::from_json(object(r#"{"format": "wds", "split": ["train=0.5", "val=0.5"]}"#))
            .unwrap(),
        PackOptions::from_json(object(r#"{"format": "wds", "sample": "50%"}"#)).unwrap(),
        PackOptions::from_json(object(r#"{"format": "wds", "dedup": "exact"}"#)).unwrap(),
        options().shards(2),
        options().shards_multiple_of(2),
        PackOptions::default().format("beton"),
        PackOptions::default().format("mixed"),
    ];
    for options in others {
        assert!(!takes(options.clone()), "{options:?}");
    }
}

fn object(text: &str) -> serde_json::Map<String, serde_json::Value> {
    serde_json::from_str(text).unwrap()
}
