//! Shards with different kinds of samples, invalid JSON, and omitted fields.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{expect, fails, ok, run, tar, text};
use fdconvert_testkit::fixtures::{JPEG_420 as JPG, PNG_GRAY as PNG};
use serde_json::Value;
use std::{fs, path::Path};

fn write(path: &Path, files: &[(&str, &[u8])]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, tar(files)).unwrap();
}

fn fields(dataset: &Path) -> Vec<String> {
    let found: Value = serde_json::from_str(&ok(&[&"inspect", &dataset, &"--json"])).unwrap();
    let fields = found["schema"]["fields"].as_array().unwrap();
    fields.iter().map(|field| field["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn captions_that_the_first_sample_lacks_are_not_dropped_in_silence() {
    let root = tempfile::tempdir().unwrap();
    let source = root.path().join("captions/000.tar");
    let members =
        [("0.jpg", JPG), ("1.jpg", JPG), ("1.txt", &b"one"[..]), ("2.jpg", JPG), ("2.txt", b"two")];
    write(&source, &members);
    let out = root.path().join("out.wds");
    let error = fails(&[&"pack", &source, &out]);
    for part in
        ["sample `0.jpg`", "field `txt`", "1 of 3 in all", "--drop-fields txt", "--on-error skip"]
    {
        assert!(error.contains(part), "{error}");
    }
    let said = expect(1, &[&"pack", &source, &out, &"--on-error", &"skip"]);
    assert!(said.contains("2 of 3 samples"), "{said}");
    assert_eq!(fields(&out), ["image", "txt"]);

    let whole = root.path().join("whole.wds");
    let said = ok(&[&"pack", &source, &whole, &"--drop-fields", &"txt"]);
    assert!(said.contains("3 of 3 samples"), "{said}");
    assert!(ok(&[&"inspect", &whole]).contains("param drop-fields txt"));
    assert_eq!(fields(&whole), ["image"]);
    let again = ok(&[&"pack", &source, &whole, &"--drop-fields", &"txt"]);
    assert!(again.contains("3 of 3") || again.contains("already"), "{again}");
    let error = fails(&[&"pack", &source, &root.path().join("x.wds"), &"--drop-fields", &"text"]);
    assert!(error.contains("no field of the source is called `text`, only image, txt"), "{error}");
}

#[test]
fn fields_are_left_out_of_what_a_table_relabels_and_labels_keep_their_origin() {
    let root = tempfile::tempdir().unwrap();
    let (source, table) = (root.path().join("shards"), root.path().join("fix.csv"));
    write(&source.join("000.tar"), &[("0.jpg", JPG), ("1.jpg", JPG), ("1.txt", b"one")]);
    fs::write(&table, "path,label\n0.jpg,cat\n1.jpg,dog\n").unwrap();
    let out = root.path().join("out.wds");
    ok(&[&"pack", &source, &out, &"--labels", &table, &"--drop-fields", &"txt"]);
    assert_eq!(fields(&out), ["image", "label"]);

    let folder = root.path().join("folder");
    for (class, name) in [("cat", "0"), ("dog", "1")] {
        fs::create_dir_all(folder.join(class)).unwrap();
        fs::write(folder.join(class).join(format!("{name}.jpg")), JPG).unwrap();
        fs::write(folder.join(class).join(format!("{name}.txt")), "a caption").unwrap();
    }
    let out = root.path().join("folder.wds");
    let said = ok(&[&"pack", &folder, &out, &"--beside", &"txt", &"--drop-fields", &"txt"]);
    assert!(said.contains("2 classes from folders: cat, dog"), "{said}");
}

#[test]
fn a_plan_leaves_fields_out_as_a_run_does() {
    let root = tempfile::tempdir().unwrap();
    let source = root.path().join("000.tar");
    write(&source, &[("0.jpg", JPG), ("1.jpg", JPG), ("1.txt", b"one")]);
    let plan = root.path().join("a.fdplan");
    ok(&[&"plan", &source, &"-o", &plan, &"--format", &"wds", &"--drop-fields", &"txt"]);
    let (planned, direct) = (root.path().join("planned.wds"), root.path().join("direct.wds"));
    ok(&[&"pack", &"--plan", &plan, &planned]);
    ok(&[&"pack", &source, &direct, &"--drop-fields", &"txt"]);
    assert_eq!(fields(&planned), ["image"]);
    let tar = |out: &Path| fs::read(out.join("train-000000.tar")).unwrap();
    assert_eq!(tar(&planned), tar(&direct));
}

#[test]
fn fields_of_any_source_can_be_left_out() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("photos");
    for class in ["cat", "dog"] {
        fs::create_dir_all(folder.join(class)).unwrap();
        fs::write(folder.join(class).join("0.jpg"), JPG).unwrap();
    }
    let out = root.path().join("a.beton");
    ok(&[&"pack", &folder, &out, &"--drop-fields", &"label"]);
    assert_eq!(fields(&out), ["image"]);
    let both = root.path().join("b.wds");
    ok(&[&"pack", &folder, &both]);
    let again = root.path().join("c.beton");
    ok(&[&"pack", &both, &again, &"--drop-fields", &"label"]);
    assert_eq!(fields(&again), ["image"]);
    let error =
        fails(&[&"pack", &folder, &root.path().join("d.wds"), &"--drop-fields", &"image,label"]);
    assert!(error.contains("has no other fields"), "{error}");
}

#[test]
fn json_that_is_none_is_a_broken_sample() {
    let root = tempfile::tempdir().unwrap();
    let source = root.path().join("000.tar");
    write(
        &source,
        &[
            ("0.jpg", JPG),
            ("0.json", br#"{"score": NaN}"#),
            ("1.jpg", JPG),
            ("1.json", b""),
            ("2.jpg", JPG),
            ("2.json", b"{\"a\": "),
        ],
    );
    let verified = run(&[&"verify", &source, &"--deep"]);
    let said = text(&verified.stdout) + &text(&verified.stderr);
    assert!(said.contains("field `json` is empty, and not JSON"), "{said}");
    assert!(said.contains("2 problems"), "{said}");
    let out = root.path().join("a.wds");
    let error = fails(&[&"pack", &source, &out]);
    assert!(error.contains("sample `1.jpg`: field `json` is empty, and not JSON"), "{error}");
    assert!(error.contains("to leave the field out: --drop-fields json"), "{error}");
    let said = expect(1, &[&"pack", &source, &out, &"--on-error", &"skip"]);
    assert!(said.contains("1 of 3 samples"), "{said}");
    let all = root.path().join("b.wds");
    ok(&[&"pack", &source, &all, &"--drop-fields", &"json"]);
}

#[test]
fn masks_in_a_beton_stay_what_they_are() {
    let root = tempfile::tempdir().unwrap();
    let (images, masks) = (root.path().join("images"), root.path().join("masks"));
    for number in 0..2 {
        fs::create_dir_all(&images).unwrap();
        fs::create_dir_all(&masks).unwrap();
        fs::write(images.join(format!("{number}.jpg")), JPG).unwrap();
        fs::write(masks.join(format!("{number}.png")), PNG).unwrap();
    }
    let pair = format!("mask={}", masks.display());
    let (beton, shards, again) =
        (root.path().join("a.beton"), root.path().join("a.wds"), root.path().join("b.beton"));
    let said = ok(&[&"pack", &images, &beton, &"--pair", &pair]);
    assert!(said.contains("2 jpg, 2 png"), "{said}");
    ok(&[&"pack", &images, &shards, &"--pair", &pair]);
    // In a dataset, the first sample shows that the mask is not RGB.
    ok(&[&"pack", &shards, &again]);
    for dataset in [&beton, &again] {
        ok(&[&"verify", dataset, &"--deep"]);
        let folder = dataset.with_extension("files");
        ok(&[&"unpack", dataset, &folder]);
        assert_eq!(fs::read(folder.join("1.mask.png")).unwrap(), PNG);
    }
    ok(&[&"diff", &beton, &shards]);
}

#[test]
fn compressions_that_are_not_read_are_named() {
    let root = tempfile::tempdir().unwrap();
    for (name, start, program) in
        [("a.tar.xz", &b"\xfd7zXZ\0"[..], "xz"), ("a.tar.bz2", b"BZh91A", "bzip2")]
    {
        let path = root.path().join(name);
        fs::write(&path, start).unwrap();
        let error = fails(&[&"pack", &path, &root.path().join("o.beton")]);
        assert!(error.contains(&format!("compressed by {program}, which is not read")), "{error}");
    }
    let out = tempfile::tempdir().unwrap();
    let error = fails(&[&"pack", &root.path(), &out.path().join("o.beton")]);
    assert!(error.contains("xz or bzip2 compressed are not read"), "{error}");
}

#[test]
fn numbers_of_a_palette_are_not_lost_beside_a_first_image_that_is_rgb() {
    let root = tempfile::tempdir().unwrap();
    let mut palette = Vec::new();
    let mut encoder = png::Encoder::new(&mut palette, 2, 1);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_palette(vec![0, 0, 0, 255, 0, 0, 255, 0, 0]);
    encoder.write_header().unwrap().write_image_data(&[1, 2]).unwrap();
    let source = root.path().join("0.tar");
    let rgb = fdconvert_testkit::fixtures::PNG_RGB;
    let second = ("1.seg.png", &palette[..]);
    // Files of a field that does not begin with a JPEG are kept.
    write(&source, &[("0.jpg", JPG), ("0.seg.png", rgb), ("1.jpg", JPG), second]);
    ok(&[&"pack", &source, &root.path().join("kept.beton")]);
    write(&source, &[("0.jpg", JPG), ("0.seg.jpg", JPG), ("1.jpg", JPG), second]);
    let error = fails(&[&"pack", &source, &root.path().join("a.beton")]);
    assert!(error.contains("field `seg` is a PNG with a palette"), "{error}");
    ok(&[&"pack", &source, &root.path().join("a.wds")]);
}

#[test]
fn a_tar_of_a_folder_is_as_the_folder_is() {
    let root = tempfile::tempdir().unwrap();
    let source = root.path().join("val.tar");
    let mut archive = tar(&[("empty/", b""), ("cat/0.jpg", JPG), ("dog/1.jpg", JPG)]);
    archive[156] = b'5';
    archive[148..156].fill(b' ');
    let sum: u32 = archive[..512].iter().map(|&byte| u32::from(byte)).sum();
    archive[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    fs::write(&source, archive).unwrap();
    let out = root.path().join("out.wds");
    let said = ok(&[&"pack", &source, &out]);
    assert!(said.contains("1 folder without images (empty)"), "{said}");
    assert!(out.join("val-000000.tar").is_file());
    let said = ok(&[&"inspect", &source]);
    let lines: Vec<String> = said.lines().map(|it| it.split_whitespace().collect()).collect();
    assert!(lines.contains(&"containertar".to_owned()), "{said}");
}

#[test]
fn a_dataset_of_documents_is_not_told_to_have_no_bytes() {
    let root = tempfile::tempdir().unwrap();
    let (source, out) = (root.path().join("shards"), root.path().join("out.wds"));
    write(&source.join("000.tar"), &[("0.json", b"{\"a\":1}"), ("1.json", b"{\"a\":2}")]);
    let said = ok(&[&"pack", &source, &out]);
    assert!(said.contains(" on disk") && !said.contains("0 B"), "{said}");
    // With images, the summary has their bytes.
    let images = root.path().join("images");
    write(&images.join("000.tar"), &[("0.jpg", JPG)]);
    let said = ok(&[&"pack", &images, &root.path().join("images.wds")]);
    assert!(said.contains(" in, ") && said.contains(" stored, "), "{said}");
}
