//! Files next to images that become fields, and unsupported kinds of images.
#![allow(clippy::unwrap_used)]

use crate::common::{expect, fails, names, ok, tree};
use fdconvert_testkit::{
    fixtures,
    zip::{Entry, zip},
};
use serde_json::{Value, json};
use std::{fs, path::Path};

fn inspect(dataset: &Path) -> Value {
    serde_json::from_str(&ok(&[&"inspect", &dataset, &"--json", &"--samples", &"9"])).unwrap()
}

fn fields(dataset: &Path) -> Vec<(String, String)> {
    let found = inspect(dataset);
    let fields = found["schema"]["fields"].as_array().unwrap();
    let text = |field: &Value, name: &str| {
        field[name].as_str().map_or_else(|| field[name].to_string(), str::to_owned)
    };
    fields.iter().map(|field| (text(field, "name"), text(field, "kind"))).collect()
}

/// Writes files like img2dataset, in two parts with two images each.
fn img2dataset(root: &Path) -> std::path::PathBuf {
    let out = root.join("laion");
    for (part, key) in [("00000", "000000000"), ("00000", "000000001"), ("00001", "000010000")] {
        tree(&out, &[&format!("{part}/{key}.png")]);
        let file = |extension: &str| out.join(format!("{part}/{key}.{extension}"));
        fs::write(file("txt"), format!("caption of {key}")).unwrap();
        let about = json!({"caption": format!("caption of {key}"), "url": "http://x", "width": 2});
        fs::write(file("json"), about.to_string()).unwrap();
        fs::write(out.join(format!("{part}_stats.json")), "{}").unwrap();
        fs::write(out.join(format!("{part}.parquet")), "PAR1").unwrap();
    }
    out
}

#[test]
fn folders_of_img2dataset_become_what_its_shards_are() {
    let root = tempfile::tempdir().unwrap();
    let source = img2dataset(root.path());
    let out = root.path().join("out.wds");
    let said = ok(&[&"pack", &source, &out, &"--beside", &"json,txt"]);
    assert!(said.contains("4 files ignored (.json 2, .parquet 2)"), "{said}");
    assert!(said.contains("they are not classes"), "{said}");
    let expected = [("image", "image"), ("json", "json"), ("txt", "text")];
    assert_eq!(fields(&out), expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    let tar = fs::read(out.join("train-000000.tar")).unwrap();
    for member in ["00000/000000000.png", "00000/000000000.txt", "00001/000010000.json"] {
        assert!(tar.windows(member.len() + 1).any(|at| at == [member.as_bytes(), b"\0"].concat()));
    }
    let first = &inspect(&out)["first"][0];
    assert_eq!(first["txt"], "caption of 000000000");
    assert_eq!(first["json"]["url"], "http://x");

    // Without our index the names alone give the same fields.
    let bare = root.path().join("bare");
    fs::create_dir(&bare).unwrap();
    fs::write(bare.join("00000.tar"), &tar).unwrap();
    assert_eq!(fields(&bare), fields(&out));
    // Out to a folder and in again.
    let back = root.path().join("back");
    ok(&[&"unpack", &out, &back]);
    let again = root.path().join("again.wds");
    ok(&[&"pack", &back, &again]);
    assert!(ok(&[&"diff", &out, &again]).contains("same"));

    // A zip of the folder gives the same shard.
    let mut entries = Vec::new();
    for folder in ["", "00000/", "00001/"] {
        for name in names(&source.join(folder)) {
            let path = source.join(folder).join(&name);
            if path.is_file() {
                entries.push(Entry::deflated(&format!("{folder}{name}"), &fs::read(path).unwrap()));
            }
        }
    }
    let zipped = root.path().join("laion.zip");
    fs::write(&zipped, zip(&entries)).unwrap();
    let of_zip = root.path().join("zip.wds");
    let said = ok(&[&"pack", &zipped, &of_zip, &"--beside", &"json,txt", &"--threads", &"3"]);
    assert!(said.contains("4 files ignored (.json 2, .parquet 2)"), "{said}");
    assert!(fs::read(of_zip.join("train-000000.tar")).unwrap() == tar);
    // So does a plan, which has the list of the files.
    let (plan, planned) = (root.path().join("p.fdplan"), root.path().join("planned.wds"));
    let wds = "wds";
    ok(&[&"plan", &source, &"-o", &plan, &"--format", &wds, &"--beside", &"json,txt"]);
    ok(&[&"pack", &"--plan", &plan, &planned]);
    assert!(fs::read(planned.join("train-000000.tar")).unwrap() == tar);
}

#[test]
fn a_sample_without_its_file_is_named_or_left_out() {
    let root = tempfile::tempdir().unwrap();
    let source = root.path().join("photos");
    tree(&source, &["a/1.png", "a/2.png", "b/3.png"]);
    for name in ["a/1.txt", "b/3.txt", "b/4.txt"] {
        fs::write(source.join(name), name).unwrap();
    }
    let out = root.path().join("o.wds");
    let pack: [&dyn AsRef<std::ffi::OsStr>; 5] = [&"pack", &source, &out, &"--beside", &".txt"];
    let message = fails(&pack);
    assert!(message.contains("a/2.png") && message.contains("a/2.txt is missing"), "{message}");
    assert!(message.contains("--on-error skip"), "{message}");
    let skip: [&dyn AsRef<std::ffi::OsStr>; 2] = [&"--on-error", &"skip"];
    let said = expect(1, &[&pack[..], &skip].concat());
    assert!(said.contains("packed 2 of 3") && said.contains("a/2.txt"), "{said}");
    // The one without an image is counted, the used ones are not.
    assert!(said.contains("1 file ignored (.txt 1)"), "{said}");
    assert_eq!(inspect(&out)["first"][1]["txt"], "b/3.txt");
    // Without the option they are foreign files.
    let said = ok(&[&"pack", &source, &root.path().join("plain.wds")]);
    assert!(said.contains("3 files ignored (.txt 3)"), "{said}");
}

#[test]
fn every_kind_of_file_becomes_a_field_of_its_kind() {
    let root = tempfile::tempdir().unwrap();
    let source = root.path().join("photos");
    let npy = |value: f32| {
        let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
        bytes.extend(format!("{text:<117}\n").bytes());
        bytes.extend(value.to_le_bytes());
        bytes
    };
    for stem in ["1", "2"] {
        let file = |extension: &str| source.join(format!("{stem}.{extension}"));
        fs::create_dir_all(&source).unwrap();
        fs::write(file("bmp"), fixtures::bmp(4, 3, 1).bytes).unwrap();
        fs::write(file("mask.png"), fixtures::PNG_RGB).unwrap();
        fs::write(file("cls"), stem).unwrap();
        fs::write(file("clip.npy"), npy(0.5)).unwrap();
        fs::write(file("bin"), [0, 1, 2]).unwrap();
    }
    let out = root.path().join("o.wds");
    let list = "mask.png,cls,clip.npy,bin";
    let args: [&dyn AsRef<std::ffi::OsStr>; 5] = [&"pack", &source, &out, &"--beside", &list];
    ok(&args);
    let found = inspect(&out);
    let names: Vec<_> = fields(&out).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["image", "mask", "label", "clip", "bin"]);
    assert_eq!(found["first"][1]["label"], 2);
    assert_eq!(found["first"][0]["mask"]["codec"], "png");
    // A mask is a label: its bytes stay, whatever happens to the image.
    let small = root.path().join("small.wds");
    let resized: [&dyn AsRef<std::ffi::OsStr>; 7] =
        [&"pack", &source, &small, &"--beside", &list, &"--max-side", &"1"];
    ok(&resized);
    let first = &inspect(&small)["first"][0];
    assert_eq!(
        (&first["image"]["width"], &first["mask"]["bytes"]),
        (&1.into(), &fixtures::PNG_RGB.len().into())
    );

    fs::write(source.join("2.cls"), "two").unwrap();
    let refuse = |list: &str, from: &Path, parts: &[&str]| {
        let x = root.path().join("x.wds");
        let args: [&dyn AsRef<std::ffi::OsStr>; 5] = [&"pack", &from, &x, &"--beside", &list];
        let message = fails(&args);
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    };
    refuse("cls,mask.png", &source, &["2.bmp", "2.cls is not an integer"]);
    refuse("a/b", &source, &["--beside", "a/b"]);
    refuse("txt,txt", &source, &["--beside", "twice"]);
    refuse("txt", &out, &["--beside", "not a folder of images"]);
    refuse("txt", Path::new("fractal:fractaldb"), &["--beside", "not a folder of images"]);
}

#[test]
fn images_of_kinds_that_are_not_read_are_named_with_the_cure() {
    let root = tempfile::tempdir().unwrap();
    let heic = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic".as_slice();
    let kinds = [
        ("heic", heic, "HEIC", "heif-convert"),
        ("hif", b"\0\0\0\x14ftypmif1\0\0\0\0mif1", "HEIC", "heif-convert"),
    ];
    let source = root.path().join("photos");
    tree(&source, &["a/1.png"]);
    for (extension, bytes, ..) in kinds {
        fs::write(source.join(format!("a/2.{extension}")), bytes).unwrap();
    }
    let said = ok(&[&"pack", &source, &root.path().join("o.beton")]);
    assert!(said.contains("2 files ignored (.heic 1, .hif 1)"), "{said}");
    for (extension, bytes, name, tool) in kinds {
        assert!(said.contains(&format!("{name} is not read here")), "{said}");
        assert!(said.contains(&format!("`{tool} photo.heic")), "{said}");
        // With the extension of another kind, in a folder and in a zip.
        let lie = root.path().join(extension);
        fs::create_dir_all(lie.join("a")).unwrap();
        fs::write(lie.join("a/3.jpg"), bytes).unwrap();
        let zipped = root.path().join(format!("{extension}.zip"));
        fs::write(&zipped, zip(&[Entry::deflated("a/3.jpg", bytes)])).unwrap();
        for source in [&lie, &zipped] {
            let message = fails(&[&"pack", source, &root.path().join("x.beton")]);
            let parts = ["a/3.jpg", &format!("the file is {name}"), tool];
            assert!(parts.iter().all(|part| message.contains(part)), "{message}");
        }
        // Without any other file.
        fs::rename(lie.join("a/3.jpg"), lie.join(format!("a/3.{extension}"))).unwrap();
        let message = fails(&[&"pack", &lie, &root.path().join("x.beton")]);
        assert!(message.contains("holds no image") && message.contains(tool), "{message}");
    }
}
