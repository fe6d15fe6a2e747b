//! Datasets of several shards: splits, interrupted runs, other runs' files.
#![allow(clippy::unwrap_used, clippy::panic)]
use super::common::{Run, mds, shards};
use crate::mds::MdsReader;
use fdconvert_core::{
    Common, Encoded, Error, FieldSpec, Kind, OpenOptions, Reader as _, Sample, Schema, Shard,
    Skipped, Source as _, Value,
};
use fdconvert_testkit::{
    compare::{assert_same_tree, tree},
    fixtures,
};
use std::{fs, path::Path};

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

/// The contents of a record's file while a run of that fingerprint writes its shard.
fn claim(byte: u8) -> Vec<u8> {
    fdconvert_storage::mark([byte; 16])
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
    // To Streaming, and without fdconvert's manifest, a split is a separate dataset.
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

    // A shard that lost bytes is written again, but only by the same run.
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[1..]).unwrap();
    assert!(run.finished(&plan[1]).unwrap().is_none());
    assert!(usage(other.create(&plan[1]).map(drop)));
    let summary = run.shard(&plan[1], &samples).unwrap();
    assert!(!out.join("fdconvert.json").exists(), "complete although a shard was replaced");
    let first = run.finished(&plan[0]).unwrap().unwrap();
    run.complete(&[(plan[0].clone(), first), (plan[1].clone(), summary)]).unwrap();
    assert!(whole == tree(&out));

    // Without its record a shard belongs to no run, unless a claim identifies it: killed in
    // between.
    fs::remove_file(&record).unwrap();
    assert!(usage(run.finished(&plan[1]).map(drop)) && usage(run.create(&plan[1]).map(drop)));
    fs::write(out.join(".fdconvert/shard.00001.json.partial"), claim(7)).unwrap();
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
    fs::write(out.join(".fdconvert/shard.00000.json.partial"), claim(8)).unwrap();
    fs::write(out.join("shard.00000.mds.partial"), [1; 100_000]).unwrap();
    let before = tree(&out);
    let shard = Shard::whole(4);
    assert!(matches!(run.create(&shard), Err(Error::Usage { .. })));
    assert!(before == tree(&out));
    // The same run starts over.
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
    // A manifest of a version without checksum: everything else is still compared.
    let sealed = fs::read_to_string(&path).unwrap();
    let (_, members) = sealed.split_once("\",\n").unwrap();
    let text = format!("{{\n{members}");
    fs::write(&path, &text).unwrap();
    assert_holds(&out, &schema, &samples);
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

/// A flipped bit still gives valid pixels: only the checksum of the sample reveals it.
#[test]
fn a_flipped_bit_is_an_error_of_its_sample() {
    let (schema, samples) = dataset(4);
    for options in [[("hashes", "none")], [("compression", "none")]] {
        let format = mds(&options);
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("set");
        Run::new(&*format, &out, &schema).all(&[Shard::whole(4)], &samples).unwrap();
        let extent = format.open(&out).unwrap().image_extent(1).unwrap().unwrap();
        let path = out.join("shard.00000.mds");
        let mut shard = fs::read(&path).unwrap();
        shard[(extent.offset + extent.len - 3) as usize] ^= 4;
        fs::write(&path, &shard).unwrap();
        let reader = format.open(&out).unwrap();
        assert!(reader.verify_sample(0).is_ok() && reader.verify_row(1).is_ok());
        let said = reader.verify_sample(1).unwrap_err().to_string();
        assert!(said.contains("checksum"), "{said}");
    }
}

#[test]
fn an_index_that_the_manifest_names_is_missed() {
    let (schema, samples) = dataset(4);
    let format = mds(&[]);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("set");
    Run::new(&*format, &out, &schema).all(&[Shard::whole(4)], &samples).unwrap();
    fs::remove_file(out.join("shard.00000.fdx")).unwrap();
    let reader = format.open(&out).unwrap();
    assert!(!reader.has_checksums());
    assert_eq!(reader.get(2).unwrap(), samples[2]);
    let problems = reader.verify_layout();
    assert!(problems.iter().any(|error| error.to_string().contains("shard.00000.fdx")));
    assert!(reader.verify_row(2).is_err());
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
    assert!(matches!(&error, Error::Sample { what, .. } if what.text.contains("4 GiB")), "{error}");
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
        // A BMP in a column of PNGs is read back as a BMP.
        assert_holds(&out, &schema, &samples);
    }
}

/// One shard with these values in a bytes field, as other tools write it.
fn foreign(out: &Path, values: &[&[u8]], options: &[(&str, &str)]) {
    let schema = Schema::new(vec![FieldSpec::new("photo", Kind::Bytes)]).unwrap();
    let samples: Vec<_> = values
        .iter()
        .zip(0..)
        .map(|(value, n): (&&[u8], u64)| Sample {
            key: n.to_string(),
            values: vec![Value::Bytes(value.to_vec().into())],
        })
        .collect();
    let format = mds(options);
    let run = Run::new(&*format, out, &schema);
    run.all(&shards(&[(samples.len() as u64, "train")]), &samples).unwrap();
    fs::remove_file(out.join("fdconvert.json")).unwrap();
}

#[test]
fn bytes_of_others_that_are_all_images_are_images() {
    let folder = tempfile::tempdir().unwrap();
    let (jpg, png) = (fixtures::JPEG_420, fixtures::PNG_RGB);
    let kind = |name: &str, values: &[&[u8]], options: &[(&str, &str)]| {
        let out = folder.path().join(name);
        foreign(&out, values, options);
        let reader = MdsReader::open(&out).unwrap();
        let photo = reader.schema().position("photo").unwrap();
        reader.get(0).unwrap();
        reader.schema().fields[photo].kind.clone()
    };
    assert_eq!(kind("images", &[jpg, png, jpg], &[]), Kind::Image);
    assert_eq!(kind("zstd", &[jpg, png, jpg], &[("compression", "zstd")]), Kind::Image);
    assert_eq!(kind("one-is-none", &[jpg, b"text", jpg], &[]), Kind::Bytes);
    assert_eq!(kind("empty", &[b""], &[]), Kind::Bytes);
    // A field that fdconvert's manifest declares as bytes stays bytes.
    let out = folder.path().join("ours");
    let schema = Schema::new(vec![FieldSpec::new("photo", Kind::Bytes)]).unwrap();
    let sample = Sample { key: "0".into(), values: vec![Value::Bytes(jpg.into())] };
    let format = mds(&[]);
    Run::new(&*format, &out, &schema).all(&shards(&[(1, "train")]), &[sample]).unwrap();
    assert_eq!(MdsReader::open(&out).unwrap().schema(), &schema);
}

#[test]
fn shards_that_decompress_to_more_than_images_do_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("bomb");
    foreign(&out, &[&vec![0; 65 << 20]], &[("compression", "zstd"), ("hashes", "none")]);
    let get = |limit| {
        let options = OpenOptions::default().max_decompressed(limit);
        mds(&[]).open_with(&out, &options).unwrap().get(0)
    };
    let message = match get(None) {
        Err(error @ Error::Limit { .. }) => error.to_string(),
        other => panic!("{:?}", other.map(|sample| sample.key)),
    };
    assert!(
        message.contains("to raise it: max_decompressed") && message.contains("mds.zstd"),
        "{message}"
    );
    assert!(get(Some(1 << 20)).is_err());
    get(Some(1 << 30)).unwrap();
}
