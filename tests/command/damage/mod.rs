//! Every bit flipped, every length cut, every file grown and removed, in a small dataset of every
//! format: verification notices all damage, and with checksum comparison only the packed samples
//! are served.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "tests, and a table")]

use fdconvert_core::{
    ArraySpec, Common, Create, DType, Encoded, FieldSpec, Format, Kind, Provenance, Reader, Sample,
    Schema, Shard,
};
use fdconvert_formats::beton::Beton;
use fdconvert_testkit::{
    damage::{Damage, Extent, Tally, campaign},
    fixtures,
};
use std::{
    cell::Cell,
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    process::Command,
};

const RECIPE: &str = "fractal:fractaldb?classes=1&instances=100&size=16&points=500";

/// Name, source, and options of every kind of dataset.
const SETS: [(&str, &str, &[&str]); 13] = [
    ("beton", "photos", &["--format", "beton", "--page-size", "2MiB", "--jpeg-index", "off"]),
    ("beton, compact", "all.beton", &["--format", "beton", "--compact", "--jpeg-index", "off"]),
    (
        "beton, compact, entry points",
        "photos",
        &["--format", "beton", "--compact", "--jpeg-index", "on"],
    ),
    (
        "beton, compact, raw",
        "photos",
        &[
            "--format",
            "beton",
            "--compact",
            "--encode",
            "raw",
            "--max-side",
            "12",
            "--jpeg-index",
            "off",
        ],
    ),
    ("wds", "all.beton", &["--format", "wds", "--jpeg-index", "off"]),
    (
        "wds, all sidecars, entry points",
        "photos",
        &[
            "--format",
            "wds",
            "--shard-count",
            "2",
            "--jpeg-index",
            "on",
            "--sidecars",
            "fdx,dali,wids,timm,hf,energon,img2dataset",
        ],
    ),
    ("wds, no sidecars", "photos", &["--format", "wds", "--sidecars", "none"]),
    ("mds", "all.beton", &["--format", "mds"]),
    ("mds, no hashes", "photos", &["--format", "mds", "--hashes", "none", "--shard-count", "2"]),
    ("mds, zstd", "all.beton", &["--format", "mds", "--compression", "zstd"]),
    ("parquet", "all.beton", &["--format", "parquet"]),
    ("mixed", "photos", &["--format", "mixed", "--ratio", "0.5", "--jpeg-index", "off"]),
    ("formula", RECIPE, &["--format", "formula"]),
];

/// A dataset and the checks after each damage.
struct Case {
    dataset: PathBuf,
    /// Packed samples.
    samples: Vec<Sample<Encoded>>,
    wrong: Cell<u64>,
}

impl Case {
    fn new(dataset: PathBuf) -> Self {
        let reader = fdconvert_reader::open(&dataset).unwrap();
        let samples = (0..reader.len()).map(|index| reader.get(index).unwrap()).collect();
        Self { dataset, samples, wrong: Cell::new(0) }
    }

    /// Returns true if verification finds anything. Also checks the samples that are served with
    /// checksums.
    fn notices(&self) -> bool {
        let look = AssertUnwindSafe(|| {
            let Ok(reader) = fdconvert_reader::open(&self.dataset) else { return true };
            if self.serves_wrong(&*reader) {
                self.wrong.set(self.wrong.get() + 1);
            }
            !reader.verify_layout().is_empty()
                || (0..reader.len()).any(|index| reader.verify_sample(index).is_err())
        });
        catch_unwind(look).unwrap_or_else(|_| panic!("panic in {}", self.dataset.display()))
    }

    fn serves_wrong(&self, reader: &dyn Reader) -> bool {
        let wrong = |(index, sample): (u64, &Sample<Encoded>)| {
            reader.verify_row(index).is_ok()
                && reader.verify_sample(index).is_ok()
                && reader.get(index).is_ok_and(|served| served != *sample)
        };
        reader.has_checksums() && (0..).zip(&self.samples).any(wrong)
    }
}

/// Writes three samples with a value of every kind, and a folder of six small images in two
/// classes.
fn sources(root: &Path) {
    let array = ArraySpec { dtype: DType::F32, shape: vec![2], torch: false };
    let names: Vec<String> = ["ant", "bee"].map(str::to_owned).into();
    let schema = Schema::new(vec![
        FieldSpec::new("image", Kind::Image),
        FieldSpec::label("label", names.into()),
        FieldSpec::new("views", Kind::Images),
        FieldSpec::new("score", Kind::Float),
        FieldSpec::new("blob", Kind::Bytes),
        FieldSpec::new("note", Kind::Text),
        FieldSpec::new("info", Kind::Json),
        FieldSpec::new("box", Kind::Array(array)),
    ]);
    let schema = schema.unwrap();
    let images: Vec<_> = fixtures::images().into_iter().map(|(_, image)| image).take(3).collect();
    let create = Create {
        out: &root.join("all.beton"),
        schema: &schema,
        shard: &Shard::whole(3),
        common: &Common::default(),
        provenance: &Provenance::default(),
        fingerprint: [0; 16],
        stamp: [0; 16],
        overwrite: false,
        entry_points: false,
        is_open: false,
    };
    let mut writer = Beton::default().create(&create).unwrap();
    let samples = fixtures::samples(&schema, &images, 3, 5);
    samples.iter().for_each(|sample| writer.write(sample).unwrap());
    writer.finish().unwrap();
    let photos = [
        ("ant/1.jpg", fixtures::JPEG_420),
        ("ant/2.jpg", fixtures::JPEG_444),
        ("bee/1.jpg", fixtures::JPEG_420),
        ("bee/2.jpg", fixtures::JPEG_444),
    ];
    for (name, bytes) in photos {
        let path = root.join("photos").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

fn pack(root: &Path, number: usize, source: &str, options: &[&str]) -> PathBuf {
    let out = root.join(format!("set{number}"));
    let source = if source.contains(':') { source.into() } else { root.join(source) };
    let command = Command::new(env!("CARGO_BIN_EXE_fdconvert"))
        .args(["pack", "--quiet", "--threads=1"])
        .args([&source, &out])
        .args(options)
        .output();
    assert!(command.unwrap().status.success(), "{options:?}");
    out
}

/// Done-records serve only to resume a run, and may be removed otherwise; the contents of an
/// existing one must be right. A `README.md` that was changed is the user's.
fn may_be(file: &str, damage: Damage) -> bool {
    file.contains(".fdconvert/") && damage == Damage::Gone || file == "README.md"
}

/// Prints a row per file and returns the total of missed and of wrongly served damage.
fn check(extent: Extent) -> (u64, u64) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    sources(root);
    let (mut n_missed, mut n_wrong) = (0, 0);
    println!(
        "| dataset | file | bytes | tries | missed | served wrong |\n|---|---|---|---|---|---|"
    );
    for (number, (name, source, options)) in SETS.into_iter().enumerate() {
        let case = Case::new(pack(root, number, source, options));
        assert!(!case.notices(), "{name} is not sound to begin with");
        for tally in campaign(&case.dataset, extent, || case.notices()) {
            let Tally { file, bytes, tries, mut missed } = tally;
            missed.retain(|damage| !may_be(&file, *damage));
            let n_wrong_here = case.wrong.take();
            println!("| {name} | {file} | {bytes} | {tries} | {} | {n_wrong_here} |", missed.len());
            for damage in missed.iter().take(20) {
                println!("missed: {name}: {file}: {damage:?}");
            }
            n_missed += missed.len() as u64;
            n_wrong += n_wrong_here;
        }
        assert!(!case.notices(), "{name} is not as it was");
    }
    (n_missed, n_wrong)
}

#[test]
fn damage_is_noticed_wherever_it_is() {
    assert_eq!(check(Extent::Every(41)), (0, 0));
}

/// `cargo xtask damage`.
#[test]
#[ignore = "every bit of every file: minutes"]
fn every_damaged_bit_is_noticed() {
    assert_eq!(check(Extent::All), (0, 0));
}
