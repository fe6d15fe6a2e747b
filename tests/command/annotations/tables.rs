//! Tables of labels: of folders of splits, of packed datasets, and as other tools write them.
use super::*;

#[test]
fn tables_of_folders_of_splits_are_one_table() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("im");
    tree(&root, &["train/1.png", "train/2.png", "test/3.png"]);
    let lines = "{\"file_name\": \"1.png\", \"text\": \"a\"}\n{\"file_name\": \"2.png\"}\n";
    write(
        &root,
        &[
            ("train/metadata.jsonl", lines),
            ("test/metadata.jsonl", "{\"file_name\": \"3.png\", \"text\": \"c\"}\n"),
        ],
    );
    let said = ok(&[&"pack", &root, &folder.path().join("n.wds"), &"--layout", &"folder"]);
    assert!(said.contains("train/metadata.jsonl") && said.contains("--labels"), "{said}");
    let out = folder.path().join("o.wds");
    let said = ok(&[&"pack", &root, &out, &"--labels", &root]);
    assert!(said.contains("column `text`: 1 line has none, which is empty"), "{said}");
    let reader = fdconvert_reader::open(&out).unwrap();
    let sample = reader.get(2).unwrap();
    assert_eq!(
        (sample.key.as_str(), &sample.values[1]),
        ("train/2.png", &Value::Text(String::new()))
    );
    assert_eq!(reader.splits().len(), 2);
}

#[test]
fn packed_datasets_are_relabelled_by_key() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    tree(&at("d"), &["cat/1.png", "cat/2.png", "dog/3.png"]);
    ok(&[&"pack", &at("d"), &at("o.wds")]);
    let labels = |dataset: &Path| {
        let reader = fdconvert_reader::open(dataset).unwrap();
        let names = reader.schema().fields[1].class_names.clone().unwrap();
        let label = |index| names[reader.label(index).unwrap().unwrap() as usize].clone();
        (names.to_vec(), (0..reader.len()).map(label).collect::<Vec<_>>())
    };
    for (out, label, names) in
        [("1.wds", "dog", vec!["cat", "dog"]), ("2.beton", "cow", vec!["cat", "cow", "dog"])]
    {
        fs::write(at("fix.csv"), format!("path,label\ncat/2.png,{label}\n")).unwrap();
        let said = ok(&[&"pack", &at("o.wds"), &at(out), &"--labels", &at("fix.csv")]);
        assert!(said.contains("1 of 3 samples have values of `labels`"), "{said}");
        let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        let expected = ["cat", label, "dog"].map(str::to_owned).to_vec();
        assert_eq!(labels(&at(out)), (names, expected));
    }
    fs::write(at("fix.csv"), "path,label\ncat/9.png,dog\n").unwrap();
    let said = fails(&[&"pack", &at("o.wds"), &at("3.wds"), &"--labels", &at("fix.csv")]);
    assert!(said.contains("`cat/9.png`") && said.contains("such as `cat/1.png`"), "{said}");
    fs::write(at("fix.csv"), "path,score\ncat/1.png,0.5\n").unwrap();
    let said = fails(&[&"pack", &at("o.wds"), &at("3.wds"), &"--labels", &at("fix.csv")]);
    assert!(said.contains("`score` is a new field"), "{said}");
    fs::write(at("a.json"), "{}").unwrap();
    let said = fails(&[&"pack", &at("o.wds"), &at("3.wds"), &"--labels", &at("a.json")]);
    assert!(said.contains("packed already"), "{said}");
}

/// Packs images of 20x15 with this table.
fn pack(status: i32, name: &str, text: &str, more: &[&str]) -> (String, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let (root, file) = (folder.path().join("images"), folder.path().join(name));
    tree(&root, &["a.png", "b.png"]);
    fs::write(&file, text).unwrap();
    let out = folder.path().join("o.wds");
    let mut args: Vec<&dyn AsRef<std::ffi::OsStr>> =
        vec![&"pack", &root, &out, &"--labels", &file, &"--on-error", &"skip"];
    args.extend(more.iter().map(|it| it as &dyn AsRef<std::ffi::OsStr>));
    if status == 2 {
        return (fails(&args), Vec::new());
    }
    let said = expect(status, &args);
    let reader = fdconvert_reader::open(&out).unwrap();
    let last = (0..reader.len()).map(|index| {
        let sample = reader.get(index).unwrap();
        match sample.values.last() {
            Some(Value::Json(text)) => String::from_utf8(text.to_vec()).unwrap(),
            other => format!("{other:?}"),
        }
    });
    (said, last.collect())
}

#[test]
fn images_and_tables_that_are_not_read_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("os");
    tree(&root, &["train/a.png", "test/b.png"]);
    let line = |name: &str| format!("{{\"file_name\": \"{name}\", \"text\": \"t\"}}\n");
    write(&root, &[("train/metadata.jsonl", &line("a.png"))]);
    let said = ok(&[&"pack", &root, &folder.path().join("1.wds"), &"--labels", &root]);
    for part in ["is in", "os/test, so its images", "1 image of the source is not listed"] {
        assert!(said.contains(part), "{part}: {said}");
    }

    write(&root, &[("metadata.csv", "file_name,text\ntrain/a.png,x\ntest/b.png,y\n")]);
    let said = ok(&[&"pack", &root, &folder.path().join("2.wds"), &"--labels", &root]);
    assert!(said.contains("train/metadata.jsonl in the source is not read"), "{said}");
    assert!(!said.contains("metadata.csv in the source") && !said.contains("not listed"), "{said}");

    write(&root, &[("metadata.jsonl", &line("test/b.png"))]);
    let said = fails(&[&"pack", &root, &folder.path().join("3.wds"), &"--labels", &root]);
    assert!(said.contains("both metadata.csv and metadata.jsonl; keep one"), "{said}");

    // As in datasets of Hugging Face's hub, and of an unsupported kind.
    let root = folder.path().join("hub");
    tree(&root, &["data/train/a.png", "data/test/b.png"]);
    write(
        &root,
        &[
            ("data/train/metadata.jsonl", &line("a.png")),
            ("data/test/metadata.jsonl", &line("b.png")),
            ("metadata.parquet", ""),
        ],
    );
    let said = ok(&[&"pack", &root, &folder.path().join("4.wds"), &"--layout", &"folder"]);
    for part in ["data/train/metadata.jsonl", "metadata.parquet next to the images is not read"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let out = folder.path().join("5.wds");
    ok(&[&"pack", &root, &out, &"--labels", &root]);
    assert_eq!(fdconvert_reader::open(&out).unwrap().len(), 2);
}

#[test]
fn why_a_table_gives_no_classes_is_said() {
    let check = |name: &str, text: &str, more: &[&str], part: &str| {
        let (said, _) = pack(0, name, text, more);
        assert!(said.contains(part), "{part}: {said}");
    };
    let floats = "image,label\na.png,0.0\nb.png,1.0\n";
    check("f.csv", floats, &[], "column `label` of f.csv is a field of float");
    let list = "{\"file_name\": \"a.png\", \"label\": [1, 2]}\n";
    check("l.jsonl", list, &[], "column `label` of l.jsonl is a field of json");
    let boxes = "image,xmin,ymin,xmax,ymax,label\na.png,1,2,3,4,cat\nb.png,,,,,\n";
    check(
        "b.csv",
        boxes,
        &[],
        "none: the boxes of b.csv and their classes are the field `objects`",
    );
    // As written by Excel.
    let flags = "image,cat,dog\na.png,TRUE,FALSE\nb.png,FALSE,TRUE\n";
    check(
        "e.csv",
        flags,
        &["--label-columns", "cat,dog"],
        "the columns cat, dog of e.csv are flags",
    );
    let (said, _) = pack(2, "e.csv", flags, &["--label-columns", "cat,cow"]);
    assert!(said.contains("no column `cow`, only `cat`, `dog`"), "{said}");
}

#[test]
fn nan_of_a_jsonl_is_a_float() {
    let lines = "{\"file_name\": \"a.png\", \"score\": NaN}\n\
                 {\"file_name\": \"b.png\", \"score\": 1.5}\n";
    let (said, values) = pack(0, "t.jsonl", lines, &[]);
    assert!(said.contains("1 number is NaN"), "{said}");
    assert_eq!(values, ["Some(Float(NaN))", "Some(Float(1.5))"]);
    let (said, _) = pack(2, "t.jsonl", &lines.replace("NaN", "Infinity"), &[]);
    assert!(said.contains("line 1"), "{said}");
}

#[test]
fn sizes_in_rows_of_boxes_are_those_of_one_image() {
    let table = |size: &str| {
        format!(
            "image,width,height,class,xmin,ymin,xmax,ymax\na.png,,,cat,1,2,3,4\na.png,40,30,cat,5,6,7,8\n\
             b.png,20,15,cat,1,2,3,4\nb.png,{size},cat,40,6,47,8\n"
        )
    };
    // A size in a later row also applies to the first box.
    let (said, values) = pack(0, "t.csv", &table(","), &[]);
    assert!(values[0].starts_with("{\"size\":[40,30]"), "{values:?}");
    assert!(said.contains("boxes of 1 image are wholly outside"), "{said}");
    for (size, part) in [
        ("15,20", "line 5: its size is 15x20 here, and 20x15 in a row before"),
        ("wide,15", "line 5: its `width` is no number of pixels: `wide`"),
    ] {
        let (said, values) = pack(1, "t.csv", &table(size), &[]);
        assert!(said.contains(part) && values.len() == 1, "{part}: {said}");
    }
}

#[test]
fn rows_without_a_box_need_no_class() {
    let lines = "{\"file_name\": \"a.png\", \"xmin\": 1, \"ymin\": 2, \"xmax\": 3, \"ymax\": 4, \
                 \"label\": \"cat\"}\n{\"file_name\": \"b.png\"}\n";
    let (_, values) = pack(0, "t.jsonl", lines, &[]);
    assert!(values[1].contains("\"bbox\":[]"), "{values:?}");
}
