//! Written files: names, the table, and how an interrupted run resumes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
use crate::folder::Folder;
use fdconvert_core::{
    Codec, Common, Create, Encoded, Error, FieldSpec, Format, Kind, Provenance, Reader, Result,
    Sample, Schema, Shard, ShardWriter, Skipped, Source, Value,
};
use fdconvert_storage::{ScratchDir, partial_path};
use fdconvert_testkit::{
    compare::{assert_same_tree, tree},
    fixtures,
};
use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

const FINGERPRINT: [u8; 16] = *b"the run at hand!";

fn create(out: &Path, schema: &Schema) -> Result<Box<dyn ShardWriter>> {
    create_as(&Folder::default(), out, schema)
}

fn create_as(folder: &Folder, out: &Path, schema: &Schema) -> Result<Box<dyn ShardWriter>> {
    folder.create(&Create {
        out,
        schema,
        shard: &Shard::whole(100),
        common: &Common::default(),
        provenance: &Provenance::default(),
        fingerprint: FINGERPRINT,
        stamp: FINGERPRINT,
        overwrite: false,
        entry_points: false,
        is_open: false,
    })
}

fn write(out: &Path, schema: &Schema, samples: &[Sample<Encoded>]) {
    let mut writer = create(out, schema).unwrap();
    samples.iter().for_each(|sample| writer.write(sample).unwrap());
    writer.finish().unwrap();
}

fn labelled(class_names: &[&str]) -> Schema {
    let class_names = class_names.iter().map(|&name| name.to_owned()).collect();
    let fields = vec![FieldSpec::new("image", Kind::Image), FieldSpec::label("label", class_names)];
    Schema::new(fields).unwrap()
}

fn image(codec: Codec) -> Encoded {
    let (_, image) = fixtures::images().into_iter().find(|(h, _)| h.codec == codec).unwrap();
    image
}

fn sample(key: &str, codec: Codec, label: i64) -> Sample<Encoded> {
    let values = vec![Value::Image(image(codec)), Value::Int(label)];
    Sample { key: key.to_owned(), values }
}

fn names(root: &Path) -> Vec<String> {
    tree(root).into_keys().map(|name| String::from_utf8(name).unwrap()).collect()
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    (folder, out)
}

#[test]
fn a_folder_of_classes_comes_back_as_it_was() {
    let (folder, out) = place();
    let root = folder.path().join("root");
    for class in [&b"ant"[..], b"caf\xe9 \\ x", b"zebra.d"] {
        let class = root.join(OsStr::from_bytes(class));
        fs::create_dir_all(class.join("sub")).unwrap();
        fs::write(class.join("sub/1.JPEG"), fixtures::JPEG_420).unwrap();
        fs::write(class.join(OsStr::from_bytes(b"\xfc.Png")), fixtures::PNG_RGB).unwrap();
    }
    let reader = Folder::default().open_folder(&root).unwrap();
    let samples: Vec<_> = (0..reader.len()).map(|index| reader.get(index).unwrap()).collect();
    write(&out, reader.schema(), &samples);
    assert_same_tree(&root, &out);
    // Also with a slash at the end of the name.
    let other = folder.path().join("other/");
    write(&other, reader.schema(), &samples);
    assert_same_tree(&root, &other);
}

#[test]
fn numbered_samples_go_into_class_folders() {
    let (_folder, out) = place();
    let schema = labelled(&["ant", "b/c"]);
    let samples = [sample("00000000", Codec::Jpeg, 1), sample("00000001", Codec::Png, 0)];
    write(&out, &schema, &samples);
    // `b/c` is not valid as a folder name, so the table has it.
    let expected = ["ant/00000001.png", "b_c/00000000.jpg", "fdconvert.json", "labels.jsonl"];
    assert_eq!(names(&out), expected);
    assert_eq!(Folder::default().open_folder(&out).unwrap().schema(), &schema);

    let (_folder, out) = place();
    let schema =
        Schema::new(vec![FieldSpec::new("image", Kind::Image), FieldSpec::new("label", Kind::Int)]);
    write(&out, &schema.unwrap(), &samples);
    assert_eq!(names(&out), ["00000/00000001.png", "00001/00000000.jpg"]);
}

#[test]
fn a_name_that_does_not_fit_its_bytes_gets_an_honest_extension() {
    let (_folder, out) = place();
    let samples = [sample("a/1.JPEG", Codec::Png, 0), sample("a/2.jpe", Codec::Jpeg, 0)];
    write(&out, &labelled(&["a"]), &samples);
    assert_eq!(names(&out), ["a/1.png", "a/2.jpe"]);
}

#[test]
fn the_table_keeps_order_and_missing_classes() {
    let (_folder, out) = place();
    let schema = labelled(&["a", "b", "c"]);
    let samples = [sample("c/1.png", Codec::Png, 2), sample("a/1.png", Codec::Png, 0)];
    write(&out, &schema, &samples);
    let reader = Folder::default().open_folder(&out).unwrap();
    assert_eq!(reader.details()["layout"], "labels.jsonl");
    assert_eq!(reader.schema(), &schema);
    let found: Vec<_> = (0..2).map(|index| reader.get(index).unwrap()).collect();
    assert_eq!(found, samples);
}

#[test]
fn names_in_each_others_way_are_refused_one_by_one() {
    let (_folder, out) = place();
    let mut writer = create(&out, &labelled(&["a"])).unwrap();
    let refused = |result: Result<()>, part: &str| match result {
        Err(Error::Sample { what, .. }) => assert!(what.text.contains(part), "{what}"),
        other => panic!("{other:?}"),
    };
    writer.write(&sample("a/1.png", Codec::Png, 0)).unwrap();
    refused(writer.write(&sample("a/1.png/2.png", Codec::Png, 0)), "in the way");
    refused(writer.write(&sample("a/1.JPEG", Codec::Png, 0)), "`a/1.png` was already written");
    refused(writer.write(&sample("a/2.raw", Codec::Raw, 0)), "raw pixels");
    writer.write(&sample("a/3.png/4.png", Codec::Png, 0)).unwrap();
    refused(writer.write(&sample("a/3.png", Codec::Png, 0)), "in the way");
    assert_eq!(writer.finish().unwrap().samples, 2);
    assert_eq!(names(&out), ["a/1.png", "a/3.png/4.png"]);
}

#[test]
fn an_interrupted_run_continues_with_what_is_there() {
    let (folder, out) = place();
    let schema = labelled(&["a", "b", "unused"]);
    let nth = |i: i64| {
        let class = if i % 2 == 0 { "a" } else { "b" };
        sample(&format!("{class}/{i}.png"), Codec::Png, i % 2)
    };
    let samples: Vec<_> = (0..6).map(nth).collect();
    let whole = folder.path().join("whole");
    write(&whole, &schema, &samples);

    // Leftovers of a killed run: its mark, whole files, a truncated one, rows, and a file of a
    // sample that cannot be read any more.
    let partial = partial_path(&out);
    let leave = |name: &str, bytes: &[u8]| {
        let path = partial.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    leave(ScratchDir::MARK, &FINGERPRINT);
    leave("a/0.png", fixtures::PNG_RGB);
    leave("b/1.png", &fixtures::PNG_RGB[..100]);
    leave("a/2.png", fixtures::PNG_GRAY);
    leave("b/7.png", fixtures::PNG_RGB);
    leave("gone/8.png", fixtures::PNG_RGB);
    leave("labels.jsonl", b"{}");
    leave("labels.jsonl.partial", &[b'\n'; 5000]);
    write(&out, &schema, &samples);
    assert_same_tree(&whole, &out);
    assert!(!partial.exists());
}

/// The same run would refuse it as a foreign file, and never finish.
#[test]
fn rows_that_cannot_be_removed_end_the_run_and_do_not_stay() {
    let (_folder, out) = place();
    let schema = labelled(&["a"]);
    let samples = [sample("a/0.png", Codec::Png, 0)];
    let mut writer = create(&out, &schema).unwrap();
    writer.write(&samples[0]).unwrap();
    let rows = partial_path(&out).join("labels.jsonl.partial");
    fs::remove_file(&rows).unwrap();
    fs::create_dir(&rows).unwrap();
    let error = writer.finish().unwrap_err().to_string();
    assert!(error.contains("labels.jsonl.partial"), "{error}");
    assert!(!out.exists());
    write(&out, &schema, &samples);
    assert_eq!(names(&out), ["a/0.png"]);
}

#[test]
fn another_run_and_other_folders_are_left_alone() {
    let (_folder, out) = place();
    let partial = partial_path(&out);
    fs::create_dir(&partial).unwrap();
    fs::write(partial.join(ScratchDir::MARK), b"some other runs.").unwrap();
    fs::write(partial.join("precious.png"), b"x").unwrap();
    assert!(matches!(create(&out, &labelled(&["a"])), Err(Error::Usage { .. })));
    assert!(partial.join("precious.png").is_file());
}

#[test]
fn what_cannot_be_a_folder_is_refused_at_once() {
    let (_folder, out) = place();
    let with_path = Schema::new(vec![FieldSpec::new("path", Kind::Text)]).unwrap();
    let refused = create(&out, &with_path);
    assert!(matches!(refused, Err(Error::Usage { option, .. }) if option.name == "schema"));
    let flat = Schema::new(vec![FieldSpec::new("image", Kind::Image)]).unwrap();
    for name in [".", "..", "/"] {
        assert!(matches!(create(Path::new(name), &flat), Err(Error::Usage { .. })), "{name}");
    }
}

#[test]
fn several_images_lie_side_by_side() {
    let (_folder, out) = place();
    let schema = Schema::new(vec![
        FieldSpec::new("image", Kind::Image),
        FieldSpec::new("mask", Kind::Image),
        FieldSpec::new("note", Kind::Bytes),
    ])
    .unwrap();
    let values = vec![
        Value::Image(image(Codec::Jpeg)),
        Value::Image(image(Codec::Png)),
        Value::Bytes(vec![0, 255].into()),
    ];
    let samples = [Sample { key: "s/1.jpg".into(), values }];
    write(&out, &schema, &samples);
    assert_eq!(names(&out), ["fdconvert.json", "labels.jsonl", "s/1.jpg", "s/1.mask.png"]);
    let row = fs::read_to_string(out.join("labels.jsonl")).unwrap();
    assert_eq!(row, "{\"path\":\"s/1.jpg\",\"mask\":\"s/1.mask.png\",\"note\":\"AP8=\"}\n");
    assert_eq!(Folder::default().open_folder(&out).unwrap().get(0).unwrap(), samples[0]);
}

#[test]
fn a_table_that_lost_lines_or_is_of_another_version_is_refused() {
    let (_folder, out) = place();
    let samples = [sample("b/1.png", Codec::Png, 0), sample("a/1.png", Codec::Png, 1)];
    write(&out, &labelled(&["b", "a"]), &samples);
    let open = || Folder::default().open_folder(&out).map(drop);
    let change = |name: &str, change: &dyn Fn(String) -> String| {
        let text = fs::read_to_string(out.join(name)).unwrap();
        fs::write(out.join(name), change(text)).unwrap();
    };
    change("labels.jsonl", &|text| text.lines().take(1).map(|line| format!("{line}\n")).collect());
    let Err(Error::Corrupt { what, .. }) = open() else { panic!("{:?}", open()) };
    assert!(what.text.contains("1 lines") && what.text.contains("says 2"), "{what}");
    change("labels.jsonl", &|line| line.repeat(2).replace("\"label\":0", "\"label\":\"x\""));
    let Err(Error::Corrupt { what, .. }) = open() else { panic!("{:?}", open()) };
    assert!(what.text.contains("line 1") && what.text.contains("`label`"), "{what}");
    change("fdconvert.json", &|text| text.replace("\"version\": 1", "\"version\": 2"));
    assert!(matches!(open(), Err(Error::Version { found: 2, .. })));
}

#[test]
fn splits_are_recorded_less_what_was_left_out_and_damage_is_seen() {
    let (_folder, out) = place();
    let ranges = [("train", 0..2), ("val", 2..3), ("test", 3..4), ("train", 4..6)];
    let splits = ranges.map(|(name, range)| (name.to_owned(), range)).to_vec();
    let folder = Folder::default().record_splits(splits);
    let mut writer = create_as(&folder, &out, &labelled(&["a"])).unwrap();
    for (index, key) in ["a/1.png", "a/2.png", "a/3.png", "a/4.png", "a/5.png"].iter().enumerate() {
        if index == 1 || index == 3 {
            let (index, key, reason) = (index as u64, (*key).to_owned(), "broken".into());
            writer.skip(Skipped { index, key, reason }).unwrap();
        } else {
            writer.write(&sample(key, Codec::Png, 0)).unwrap();
        }
    }
    writer.finish().unwrap();
    let open = || Folder::default().open_folder(&out);
    let ranges = [("train", 0..1), ("val", 1..2), ("train", 2..3)];
    assert_eq!(open().unwrap().splits(), ranges.map(|(name, range)| (name.to_owned(), range)));
    assert_eq!(open().unwrap().len(), 3);

    let meta = fs::read_to_string(out.join("fdconvert.json")).unwrap();
    for n_samples in ["2", "18446744073709551615"] {
        let broken = meta.replacen("\"samples\": 1", &format!("\"samples\": {n_samples}"), 1);
        fs::write(out.join("fdconvert.json"), broken).unwrap();
        let error = open().map(drop).unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{error}");
    }
}
