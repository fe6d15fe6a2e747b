//! Datasets of several shards: splits, interrupted runs, other runs' files.
#![allow(clippy::unwrap_used, clippy::panic)]
use common::{Run, mds, shards};
use fdconvert_core::{
    Common, Encoded, Error, FieldSpec, Kind, Reader as _, Sample, Schema, Shard, Skipped,
    Source as _,
};
use fdconvert_mds::MdsReader;
use fdconvert_testkit::{
    compare::{assert_same_tree, tree},
    fixtures,
};
use std::{fs, path::Path};

mod common;

fn dataset(n_samples: usize) -> (Schema, Vec<Sample<Encoded>>) {
    let classes: [String; 2] = ["ant", "bee"].map(str::to_owned);
    let schema = Schema::new(vec![
        FieldSpec::new("image", Kind::Image),
        FieldSpec::label("label", classes.into()),
        FieldSpec::new("key", Kind::Text),
    ])
    .unwrap();
    let images = [fixtures::png(5, 4, 1), fixtures::bmp(4, 3, 2)];
    let samples = fixtures::samples(&schema, &images, n_samples, 1);
    (schema, samples)
}

fn assert_holds(out: &Path, schema: &Schema, samples: &[Sample<Encoded>]) {
    let reader = MdsReader::open(out).unwrap();
    assert!(reader.verify_layout().is_empty(), "{:?}", reader.verify_layout());
    assert_eq!((reader.schema(), reader.len()), (schema, samples.len() as u64));
    for (index, sample) in (0..).zip(samples) {
        assert_eq!(reader.get(index).unwrap(), *sample);
        assert_eq!(reader.key(index), sample.key);
        reader.verify_sample(index).unwrap();
    }
}

#[test]
fn splits_have_folders_and_keep_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("set.mds");
    let (schema, samples) = dataset(20);
    let format = mds(&[]);
    let run = Run::new(&*format, &out, &schema);
    let plan = shards(&[(5, "train"), (6, "train"), (4, "val"), (5, "test")]);
    run.all(&plan, &samples).unwrap();
    assert_holds(&out, &schema, &samples);
    for path in ["shard.00001.mds", "index.json", "val/shard.00002.mds", "test/index.json"] {
        assert!(out.join(path).is_file(), "{path}");
    }
    // To Streaming, and without our manifest, a split is a dataset of its own.
    let val = MdsReader::open(&out.join("val")).unwrap();
    assert_eq!((val.len(), val.key(0).as_str()), (4, "00000000"));
    let names: Vec<_> = val.schema().fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["__key__", "image", "key", "label"]);

    for split in ["", "..", "a/b", ".hidden", "/", "a/"] {
        let shard = Shard { split: split.into(), ..plan[0].clone() };
        assert!(matches!(run.create(&shard), Err(Error::Usage { .. })), "{split:?}");
    }
}

#[test]
fn order_of_writing_and_second_completing_change_nothing() {
    let (schema, samples) = dataset(12);
    let format = mds(&[]);
    let plan = shards(&[(5, "train"), (4, "train"), (3, "train")]);
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let orders = [[0, 1, 2], [2, 0, 1]];
    for (folder, order) in folders.iter().zip(orders) {
        let out = folder.path().join("set");
        let run = Run::new(&*format, &out, &schema);
        // All at the same time, as threads would.
        let mut writers: Vec<_> = plan.iter().map(|shard| run.create(shard).unwrap()).collect();
        for (shard, writer) in plan.iter().zip(&mut writers) {
            let range = shard.samples.start as usize..shard.samples.end as usize;
            samples[range].iter().for_each(|sample| writer.write(sample).unwrap());
        }
        let mut writers: Vec<_> = writers.into_iter().map(Some).collect();
        for number in order {
            writers[number].take().unwrap().finish().unwrap();
        }
        let finished = |shard: &Shard| (shard.clone(), run.finished(shard).unwrap().unwrap());
        let finished: Vec<_> = plan.iter().map(finished).collect();
        let written = run.complete(&finished).unwrap();
        assert_eq!(written.last().unwrap(), &out.join("fdconvert.json"));
        let before = tree(&out);
        run.complete(&finished).unwrap();
        assert!(before == tree(&out));
        assert_holds(&out, &schema, &samples);
    }
    assert_same_tree(folders[0].path(), folders[1].path());
}

#[test]
fn skipped_samples_leave_no_gap_and_are_recorded() {
    let (schema, samples) = dataset(9);
    let format = mds(&[("compression", "zstd")]);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("set");
    let run = Run::new(&*format, &out, &schema);
    let shard = Shard::whole(9);
    let mut writer = run.create(&shard).unwrap();
    let skip = Skipped { index: 4, key: "k".into(), reason: "r".into() };
    for (index, sample) in samples.iter().enumerate() {
        match index {
            4 => writer.skip(skip.clone()).unwrap(),
            _ => writer.write(sample).unwrap(),
        }
    }
    let summary = writer.finish().unwrap();
    assert_eq!(run.finished(&shard).unwrap(), Some(summary.clone()));
    assert_eq!((summary.samples, &summary.skipped[..]), (8, &[skip][..]));
    run.complete(&[(shard, summary)]).unwrap();
    let kept: Vec<_> = [&samples[..4], &samples[5..]].concat();
    assert_holds(&out, &schema, &kept);
}

#[test]
fn only_records_make_shards_finished() {
    let (schema, samples) = dataset(8);
    let format = mds(&[]);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("set");
    let plan = shards(&[(4, "train"), (4, "train")]);
    let run = Run::new(&*format, &out, &schema);
    let other = Run { fingerprint: [8; 16], ..Run::new(&*format, &out, &schema) };
    run.all(&plan, &samples).unwrap();
    let whole = tree(&out);
    let record = out.join(".fdconvert/shard.00001.json");
    let file = out.join("shard.00001.mds");
    let usage = |result: Result<_, Error>| matches!(result, Err(Error::Usage { .. }));

    // Another run's.
    assert!(usage(other.finished(&plan[1]).map(drop)) && usage(other.create(&plan[1]).map(drop)));
    let replacing = Run { overwrite: true, ..Run::new(&*format, &out, &schema) };
    let replacing = Run { fingerprint: [8; 16], ..replacing };
    assert!(replacing.finished(&plan[1]).unwrap().is_none());
    assert!(whole == tree(&out));

    // A shard that lost bytes is written again, by the same run only.
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[1..]).unwrap();
    assert!(run.finished(&plan[1]).unwrap().is_none());
    assert!(usage(other.create(&plan[1]).map(drop)));
    let summary = run.shard(&plan[1], &samples).unwrap();
    assert!(!out.join("fdconvert.json").exists(), "complete although a shard was replaced");
    let first = run.finished(&plan[0]).unwrap().unwrap();
    run.complete(&[(plan[0].clone(), first), (plan[1].clone(), summary)]).unwrap();
    assert!(whole == tree(&out));

    // Without its record a shard is nobody's, unless a claim says whose: killed in between.
    fs::remove_file(&record).unwrap();
    assert!(usage(run.finished(&plan[1]).map(drop)) && usage(run.create(&plan[1]).map(drop)));
    fs::write(out.join(".fdconvert/shard.00001.claim"), [7; 16]).unwrap();
    assert!(run.finished(&plan[1]).unwrap().is_none());
    assert!(usage(other.create(&plan[1]).map(drop)));
    let summary = run.shard(&plan[1], &samples).unwrap();
    let first = run.finished(&plan[0]).unwrap().unwrap();
    run.complete(&[(plan[0].clone(), first.clone()), (plan[1].clone(), summary)]).unwrap();
    assert!(whole == tree(&out));

    // Completing trusts no summary.
    fs::remove_file(&record).unwrap();
    let wrong = [(plan[0].clone(), first.clone()), (plan[1].clone(), first)];
    assert!(matches!(run.complete(&wrong), Err(Error::Corrupt { .. })));
}

#[test]
fn a_shard_left_unfinished_by_another_run_is_refused() {
    let (schema, samples) = dataset(4);
    let format = mds(&[]);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("set");
    let run = Run::new(&*format, &out, &schema);
    fs::create_dir_all(out.join(".fdconvert")).unwrap();
    fs::write(out.join(".fdconvert/shard.00000.claim"), [8; 16]).unwrap();
    fs::write(out.join("shard.00000.mds.partial"), [1; 100_000]).unwrap();
    let before = tree(&out);
    let shard = Shard::whole(4);
    assert!(matches!(run.create(&shard), Err(Error::Usage { .. })));
    assert!(before == tree(&out));
    // The same run goes on, from the start.
    let same = Run { fingerprint: [8; 16], ..Run::new(&*format, &out, &schema) };
    same.all(&[shard], &samples).unwrap();
    assert_holds(&out, &schema, &samples);
    assert!(!out.join("shard.00000.mds.partial").exists());
}

#[test]
fn overwriting_with_another_compression_leaves_one_shard() {
    let (schema, samples) = dataset(4);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("set");
    for (number, options) in
        [[("compression", "none")], [("compression", "zstd")]].iter().enumerate()
    {
        let format = mds(options);
        let fingerprint = [number as u8; 16];
        let run = Run { fingerprint, overwrite: true, ..Run::new(&*format, &out, &schema) };
        run.all(&[Shard::whole(4)], &samples).unwrap();
        assert_holds(&out, &schema, &samples);
    }
    assert!(!out.join("shard.00000.mds").exists() && out.join("shard.00000.mds.zstd").exists());
}

#[test]
fn a_manifest_that_disagrees_is_reported_and_not_used() {
    let (schema, samples) = dataset(4);
    let format = mds(&[]);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("set");
    let run = Run::new(&*format, &out, &schema);
    run.all(&[Shard::whole(4)], &samples).unwrap();
    let path = out.join("fdconvert.json");
    let text = fs::read_to_string(&path).unwrap();
    for (from, to) in
        [("\"label\"", "\"lable\""), ("\"samples\": 4", "\"samples\": 5"), ("\"mds\"", "\"x\"")]
    {
        assert!(text.contains(from), "{from}");
        fs::write(&path, text.replace(from, to)).unwrap();
        let reader = format.open(&out).unwrap();
        assert!(!reader.verify_layout().is_empty(), "{to}");
        assert_eq!((reader.schema().fields.len(), reader.key(1).as_str()), (4, "00000001"));
    }
}

#[test]
fn shards_stop_before_offsets_overflow() {
    let (schema, samples) = dataset(1);
    let format = mds(&[]);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("set");
    let run = Run::new(&*format, &out, &schema);
    // The table alone is 4 GiB.
    assert!(matches!(run.create(&Shard::whole(1 << 30)), Err(Error::Usage { .. })));
    assert!(!out.exists());
    // The table leaves room for the config and no more; the file is sparse.
    let shard = Shard::whole((1 << 30) - 200);
    let mut writer = run.create(&shard).unwrap();
    let mut n_written = 0;
    let error = loop {
        match writer.write(&samples[0]) {
            Ok(()) => n_written += 1,
            Err(error) => break error,
        }
        assert!(n_written < 100);
    };
    assert!(matches!(&error, Error::Sample { what, .. } if what.contains("4 GiB")), "{error}");
    let summary = match n_written {
        0 => return,
        _ => writer.finish().unwrap(),
    };
    assert!(summary.bytes < 1 << 20, "the samples were not moved up");
}

#[test]
fn columns_are_named_after_the_common_codec() {
    let (schema, samples) = dataset(2);
    for (codec, encoding) in [(Some(fdconvert_core::Codec::Png), "png"), (None, "bytes")] {
        let format = mds(&[("hashes", "none")]);
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("set");
        let common = Common { codec, ..Common::default() };
        let run = Run { common, ..Run::new(&*format, &out, &schema) };
        run.all(&[Shard::whole(2)], &samples).unwrap();
        let reader = format.open(&out).unwrap();
        assert_eq!(reader.details()["columns"]["image"], encoding);
        // A BMP in a column of PNGs comes back as what it is.
        assert_holds(&out, &schema, &samples);
    }
}
