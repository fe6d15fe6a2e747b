//! Mixed sets by their parts: contents of folders, resumed runs, and damage.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
use crate::mixed::Mixed;
use crate::wds::Wds;
use fdconvert_core::*;
use fdconvert_testkit::{compare, fixtures};
use proptest::{collection::vec, prelude::*};
use std::{
    fs,
    path::{Path, PathBuf},
};

const CODECS: [Codec; 4] = [Codec::Jpeg, Codec::Png, Codec::Bmp, Codec::Webp];

fn schema() -> Schema {
    let class_names: [String; 2] = ["cat", "dög"].map(str::to_owned);
    Schema::new(vec![
        FieldSpec::new("image", Kind::Image),
        FieldSpec::label("label", class_names.into()),
    ])
    .unwrap()
}

/// Returns one sample for each code.
fn samples(codes: &[u8]) -> Vec<Sample<Encoded>> {
    let jpeg = fixtures::images().into_iter().map(|(_, image)| image).next().unwrap();
    let sample = |(i, code): (usize, &u8)| {
        let seed = i as u64;
        let image = match code {
            0 => jpeg.clone(),
            1 => fixtures::png(3, 2, seed),
            _ => fixtures::bmp(3, 2, seed),
        };
        let values = vec![Value::Image(image), Value::Int(i as i64 % 2)];
        Sample { key: format!("a/{i:04}.png"), values }
    };
    codes.iter().enumerate().map(sample).collect()
}

/// A dataset under construction.
struct Run {
    out: PathBuf,
    fingerprint: [u8; 16],
    overwrite: bool,
}

impl Run {
    fn new(out: &Path) -> Self {
        Self { out: out.to_path_buf(), fingerprint: [7; 16], overwrite: false }
    }

    fn with<T>(&self, shard: &Shard, call: impl FnOnce(&Create<'_>) -> T) -> T {
        call(&Create {
            out: &self.out,
            schema: &schema(),
            shard,
            common: &Common { extension: Some("png".into()), ..Common::default() },
            provenance: &provenance(),
            fingerprint: self.fingerprint,
            stamp: self.fingerprint,
            overwrite: self.overwrite,
            entry_points: false,
            is_open: false,
        })
    }

    fn create(&self, shard: &Shard) -> Result<Box<dyn ShardWriter>> {
        self.with(shard, |request| Mixed::default().create(request))
    }

    fn write(&self, shard: &Shard, samples: &[Sample<Encoded>]) -> Result<ShardSummary> {
        let mut writer = self.create(shard)?;
        samples.iter().try_for_each(|sample| writer.write(sample))?;
        writer.finish()
    }

    fn finished(&self, shard: &Shard) -> Result<Option<ShardSummary>> {
        self.with(shard, |request| Mixed::default().finished(request))
    }

    fn complete(&self, shards: &[(Shard, ShardSummary)]) -> Result<Vec<PathBuf>> {
        Mixed::default().complete(&Complete {
            out: &self.out,
            schema: &schema(),
            shards,
            common: &Common { extension: Some("png".into()), ..Common::default() },
            provenance: &provenance(),
            fingerprint: self.fingerprint,
        })
    }

    /// Writes and completes it in shards of `per_shard` samples.
    fn pack(&self, all: &[Sample<Encoded>], per_shard: usize) {
        let of = all.len().div_ceil(per_shard);
        let write = |(number, samples)| {
            let shard = shard(number, of);
            let summary = self.write(&shard, samples).unwrap();
            (shard, summary)
        };
        let written: Vec<_> = all.chunks(per_shard).enumerate().map(write).collect();
        self.complete(&written).unwrap();
    }
}

fn provenance() -> Provenance {
    let params = [("ratio".to_owned(), "3:7".to_owned())].into();
    Provenance { params, ..Provenance::default() }
}

fn shard(number: usize, of: usize) -> Shard {
    Shard { number, of, ..Shard::whole(4) }
}

fn all_of(reader: &dyn Reader) -> Vec<Sample<Encoded>> {
    (0..reader.len()).map(|i| reader.get(i).unwrap()).collect()
}

fn codec(sample: &Sample<Encoded>) -> Codec {
    match &sample.values[0] {
        Value::Image(image) => image.codec,
        other => panic!("{other:?}"),
    }
}

/// Checks all properties of a dataset of these samples.
fn check(out: &Path, all: &[Sample<Encoded>]) {
    let reader = Mixed::default().open_dataset(out).unwrap();
    assert_eq!(all_of(&reader), all);
    let problems = reader.verify_layout();
    assert!(problems.is_empty(), "{problems:?}");
    let mut n_samples = 0;
    for stratum in reader.strata() {
        let ids: Vec<_> = stratum.ids().collect();
        assert_eq!(ids.len() as u64, stratum.n_samples());
        let part = Wds::default().open_dataset(&out.join(stratum.name())).unwrap();
        let expected: Vec<_> = ids.iter().map(|&id| all[id as usize].clone()).collect();
        assert!(expected.iter().all(|sample| codec(sample) == stratum.codec()));
        assert_eq!(all_of(&part), expected);
        assert!(part.verify_layout().is_empty());
        for (position, &id) in (0..).zip(&ids) {
            assert_eq!(stratum.id(position), Some(id));
            assert_eq!(reader.place(id), Some((stratum.codec(), position)));
            assert_eq!(reader.codec_hint(id).unwrap(), Some(stratum.codec()));
            reader.verify_sample(id).unwrap();
        }
        assert_eq!(stratum.id(stratum.n_samples()), None);
        n_samples += stratum.n_samples();
    }
    assert_eq!(n_samples, all.len() as u64);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn every_sample_is_in_the_folder_of_its_codec(
        codes in vec(0u8..3, 1..40),
        per_shard in 1usize..15,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("d");
        let all = samples(&codes);
        Run::new(&out).pack(&all, per_shard);
        check(&out, &all);
    }
}

#[test]
fn every_shard_is_one_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("d");
    let all = samples(&[1, 2, 2, 1, 2, 1, 2, 2]);
    Run::new(&out).pack(&all, 4);
    let tar = |name: &str| all_of(&Wds::default().open_dataset(&out.join(name)).unwrap());
    let pick = |ids: &[usize]| ids.iter().map(|&i| all[i].clone()).collect::<Vec<_>>();
    assert_eq!(tar("png/train-000000.tar"), pick(&[0, 3]));
    assert_eq!(tar("png/train-000001.tar"), pick(&[5]));
    assert_eq!(tar("bmp/train-000000.tar"), pick(&[1, 2]));
    assert_eq!(tar("bmp/train-000001.tar"), pick(&[4, 6, 7]));
    // One field name for all codecs.
    let bytes = fs::read(out.join("bmp/train-000000.tar")).unwrap();
    assert!(bytes.starts_with(b"a/0001.png\0"), "{:?}", &bytes[..20]);
    assert!(!out.join("jpg").exists());

    let reader = Mixed::default().open_dataset(&out).unwrap();
    let details = serde_json::Value::from(reader.details());
    assert_eq!((&details["asked"], &details["bmp"]["samples"]), (&"3:7".into(), &5.into()));
    assert_eq!(details["bmp"]["share"], 0.625);
    let strata: Vec<_> = reader.strata().map(|s| (s.codec(), s.n_samples())).collect();
    assert_eq!(strata, [(Codec::Png, 3), (Codec::Bmp, 5)]);
}

#[test]
fn other_codecs_and_keys_twice_are_refused_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(&folder.path().join("d"));
    let all = samples(&[1, 2, 1]);
    let mut writer = run.create(&shard(0, 1)).unwrap();
    writer.write(&all[0]).unwrap();
    let mut raw = all[1].clone();
    raw.values[0] = Value::Image(fixtures::raw(2, 2, 1));
    let mut twice = all[1].clone();
    twice.key.clone_from(&all[0].key);
    for bad in [&raw, &twice] {
        assert!(matches!(writer.write(bad), Err(Error::Sample { .. })));
    }
    all[1..].iter().for_each(|sample| writer.write(sample).unwrap());
    run.complete(&[(shard(0, 1), writer.finish().unwrap())]).unwrap();
    check(&run.out, &all);

    let only_labels = Schema::new(vec![FieldSpec::new("label", Kind::Int)]).unwrap();
    let refused = run.with(&shard(0, 1), |request| {
        Mixed::default().create(&Create { schema: &only_labels, ..request.clone() }).map(drop)
    });
    assert!(matches!(refused, Err(Error::Usage { .. })));
}

#[test]
fn a_run_continues_after_one_that_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let all = samples(&[1, 2, 0, 1, 2, 2, 1, 2]);
    let whole = Run::new(&folder.path().join("whole"));
    whole.pack(&all, 4);

    let run = Run::new(&folder.path().join("d"));
    let first = run.write(&shard(0, 2), &all[..4]).unwrap();
    // Killed in the middle of the second shard: a writer that is never dropped.
    let mut writer = run.create(&shard(1, 2)).unwrap();
    all[4..6].iter().for_each(|sample| writer.write(sample).unwrap());
    let locked = run.create(&shard(1, 2)).map(drop);
    assert!(matches!(locked, Err(Error::Usage { .. })));
    let left = copy(&run.out, &folder.path().join("left"));
    drop(writer);

    let run = Run::new(&left);
    assert!(!Mixed::default().detect(&left), "an unfinished set is none");
    let other = Run { fingerprint: [8; 16], ..Run::new(&left) };
    assert!(matches!(other.create(&shard(1, 2)).map(drop), Err(Error::Usage { .. })));
    assert!(matches!(other.finished(&shard(0, 2)), Err(Error::Usage { .. })));
    let found = run.finished(&shard(0, 2)).unwrap().unwrap();
    assert_eq!((found.samples, found.bytes), (first.samples, first.bytes));
    assert_eq!(run.finished(&shard(1, 2)).unwrap(), None);
    let second = run.write(&shard(1, 2), &all[4..]).unwrap();
    run.complete(&[(shard(0, 2), found), (shard(1, 2), second)]).unwrap();
    compare::assert_same_tree(&whole.out, &left);
}

#[test]
fn parts_that_were_committed_without_their_shard_are_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let all = samples(&[1, 2, 0, 2]);
    let run = Run::new(&folder.path().join("d"));
    run.write(&shard(0, 1), &all).unwrap();
    // The state after a kill between the parts' records and the shard's.
    let record = run.out.join(".fdconvert/train-000000.json");
    let claim = fdconvert_storage::mark(run.fingerprint);
    fs::write(record.with_extension("json.partial"), claim).unwrap();
    fs::remove_file(&record).unwrap();
    assert_eq!(run.finished(&shard(0, 1)).unwrap(), None);
    let other = Run { fingerprint: [8; 16], ..Run::new(&run.out) };
    assert!(matches!(other.create(&shard(0, 1)).map(drop), Err(Error::Usage { .. })));
    run.pack(&all, 4);
    check(&run.out, &all);
}

#[test]
fn replacing_removes_codecs_that_are_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(&folder.path().join("d"));
    run.pack(&samples(&[1, 2, 2, 1]), 4);
    let all = samples(&[0, 1, 1, 0, 1]);
    let other = Run { fingerprint: [8; 16], overwrite: true, out: run.out.clone() };
    other.pack(&all, 5);
    check(&run.out, &all);
    assert!(!run.out.join("bmp").exists());

    // Shards that the new run does not have must not be removed.
    let long = Run::new(&folder.path().join("long"));
    long.pack(&samples(&[1, 2, 2, 1]), 2);
    let short = Run { fingerprint: [8; 16], overwrite: true, out: long.out.clone() };
    let summary = short.write(&shard(0, 1), &samples(&[1])).unwrap();
    let refused = short.complete(&[(shard(0, 1), summary)]);
    assert!(matches!(refused, Err(Error::Usage { .. })), "{refused:?}");
}

#[test]
fn somebody_elses_shards_are_refused_before_the_first_sample() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("d");
    let run = Run::new(&out);
    fs::create_dir_all(out.join("bmp")).unwrap();
    fs::write(out.join("bmp/train-000000.tar"), b"mine").unwrap();
    assert!(matches!(run.create(&shard(0, 1)).map(drop), Err(Error::Usage { .. })));
    assert_eq!(fs::read(out.join("bmp/train-000000.tar")).unwrap(), b"mine");
    run.create(&shard(1, 2)).unwrap();
}

#[test]
fn damage_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("d");
    Run::new(&out).pack(&samples(&[1, 2, 2, 1, 1, 2]), 3);
    let broken = |name: &str, change: &dyn Fn(&Path)| {
        let copy = copy(&out, &folder.path().join(name));
        change(&copy);
        copy
    };
    let error = |out: &Path| Mixed::default().open(out).map(drop).unwrap_err().to_string();

    let missing = broken("missing", &|out| fs::remove_dir_all(out.join("bmp")).unwrap());
    assert!(error(&missing).contains("bmp, which is missing"), "{}", error(&missing));
    let bare = broken("bare", &|out| fs::remove_file(out.join("bmp/fdconvert.json")).unwrap());
    assert!(error(&bare).contains("has no manifest"), "{}", error(&bare));
    let manifest = |out: &Path| out.join("fdconvert-mixed.json");
    let text = fs::read_to_string(manifest(&out)).unwrap();
    for changed in [text.replace("\"samples\": 6", "\"samples\": 7"), text[..300].to_owned()] {
        let damaged = broken("damaged", &|out| fs::write(manifest(out), &changed).unwrap());
        assert!(error(&damaged).contains("checksum is wrong"), "{}", error(&damaged));
    }
    fs::write(manifest(&folder.path().join("damaged")), "{}").unwrap();
    assert!(!Mixed::default().detect(&folder.path().join("damaged")));
    assert!(error(&folder.path().join("damaged")).contains("cut short"));

    // The folder of another dataset with as many samples, or of this one in another order.
    let other = folder.path().join("other");
    let mut moved = samples(&[1, 2, 2, 1, 1, 2]);
    moved[1].key = "b/other.png".into();
    Run::new(&other).pack(&moved, 3);
    let exchanged = broken("exchanged", &|out| {
        fs::remove_dir_all(out.join("bmp")).unwrap();
        copy(&other.join("bmp"), &out.join("bmp"));
    });
    let problems = Mixed::default().open(&exchanged).unwrap().verify_layout();
    assert!(problems[0].to_string().contains("shard train-000000"), "{problems:?}");
    assert_eq!(problems.len(), 1, "{problems:?}");
}

#[test]
fn shards_in_any_order_give_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let all = samples(&[1, 2, 0, 1, 2, 2, 1, 2, 1]);
    let whole = Run::new(&folder.path().join("a"));
    whole.pack(&all, 3);
    let run = Run::new(&folder.path().join("b"));
    let mut written: Vec<_> = [2, 0, 1]
        .into_iter()
        .map(|n| (shard(n, 3), run.write(&shard(n, 3), &all[n * 3..n * 3 + 3]).unwrap()))
        .collect();
    written.sort_by_key(|(shard, _)| shard.number);
    run.complete(&written).unwrap();
    run.complete(&written).unwrap();
    compare::assert_same_tree(&whole.out, &run.out);
}

#[test]
fn only_three_codecs_are_held() {
    for codec in Codec::ALL {
        let header = ImageHeader { codec, ..ImageHeader::raw(1, 1, 3) };
        assert_eq!(Mixed::default().holds(&header), CODECS.contains(&codec));
    }
}

fn copy(from: &Path, to: &Path) -> PathBuf {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
        }
    }
    to.to_path_buf()
}
