//! Zips as sources: their contents are packed like the same files in a folder.
#![allow(clippy::unwrap_used)]

use crate::common::{expect, fails, kodak_classes, names, ok, run, text};
use fdconvert_testkit::{
    fixtures,
    zip::{Entry, of_folder, zip, zip64},
};
use serde_json::Value;
use std::{fs, path::Path};

fn write(root: &Path, name: &str, entries: &[Entry]) -> std::path::PathBuf {
    let path = root.join(name);
    fs::write(&path, zip(entries)).unwrap();
    path
}

fn image(name: &str) -> Entry {
    Entry::stored(name, fixtures::PNG_RGB)
}

#[test]
fn a_zip_gives_the_bytes_that_the_folder_gives() {
    let root = tempfile::tempdir().unwrap();
    let folder = kodak_classes(root.path());
    fs::write(folder.join("even/notes.txt"), "grey").unwrap();
    fs::write(folder.join("even/.hidden.png"), "x").unwrap();
    // The name of the source is recorded.
    let zips = root.path().join("zips");
    for (number, (kind, bytes)) in [
        ("stored", zip(&of_folder(&folder, "", Entry::stored))),
        ("deflated", zip(&of_folder(&folder, "", Entry::deflated))),
        ("large", zip64(&of_folder(&folder, "", Entry::stored))),
        ("in a folder", zip(&of_folder(&folder, "holidays/", Entry::deflated))),
    ]
    .into_iter()
    .enumerate()
    {
        let zips = zips.join(number.to_string());
        fs::create_dir_all(&zips).unwrap();
        let source = zips.join("kodak");
        fs::write(&source, bytes).unwrap();
        for (format, threads) in [("beton", "1"), ("beton", "4"), ("wds", "3")] {
            let [a, b] = ["folder", "zip"].map(|it| zips.join(format!("{it}{threads}.{format}")));
            let [said, expected] = [(&source, &b), (&folder, &a)]
                .map(|(source, out)| ok(&[&"pack", source, out, &"--threads", &threads]));
            let note = "1 file ignored (.txt 1), 1 hidden name";
            assert!(said.contains(note) && expected.contains(note), "{kind}: {said}\n{expected}");
            let is_wrapped = said.contains("is in its folder holidays");
            assert_eq!(is_wrapped, kind == "in a folder", "{said}");
            if format == "beton" {
                assert!(fs::read(&a).unwrap() == fs::read(&b).unwrap(), "{kind}");
                continue;
            }
            for name in names(&a).iter().filter(|name| !name.starts_with(".fdconvert")) {
                let [a, b] = [&a, &b].map(|out| fs::read(out.join(name)).unwrap());
                assert!(a == b, "{kind}: {name}");
            }
        }
    }
}

#[test]
fn a_zip_is_inspected_verified_unpacked_and_planned() {
    let root = tempfile::tempdir().unwrap();
    let files = [image("train/b/2.png"), image("train/a/1.png"), image("val/b/3.png")];
    let source = write(root.path(), "photos.zip", &files);
    let found: Value =
        serde_json::from_str(&ok(&[&"inspect", &source, &"--json", &"--samples", &"3"])).unwrap();
    assert_eq!((&found["samples"], &found["details"]["container"]), (&3.into(), &"zip".into()));
    assert_eq!(found["first"][0]["key"], "train/a/1.png");
    assert!(ok(&[&"verify", &source, &"--deep"]).contains("3 samples"));
    let back = root.path().join("back");
    ok(&[&"unpack", &source, &back]);
    assert_eq!(fs::read(back.join("val/b/3.png")).unwrap(), fixtures::PNG_RGB);
    let [direct, planned] = ["direct.wds", "planned.wds"].map(|name| root.path().join(name));
    let said = ok(&[&"pack", &source, &direct]);
    assert!(said.contains("train") && said.contains("val"), "{said}");
    let plan = root.path().join("p.fdplan");
    ok(&[&"plan", &source, &"-o", &plan, &"--format", &"wds"]);
    ok(&[&"pack", &"--plan", &plan, &planned]);
    for name in ["train-000000.tar", "val-000000.tar", "fdconvert.json"] {
        assert_eq!(fs::read(direct.join(name)).unwrap(), fs::read(planned.join(name)).unwrap());
    }
    // A zip that was written again differs.
    write(root.path(), "photos.zip", &files[1..]);
    assert!(fails(&[&"pack", &"--plan", &plan, &root.path().join("x.wds")]).contains("plan again"));
}

#[test]
fn a_zip_that_is_called_as_a_split_gives_shards_of_it() {
    let root = tempfile::tempdir().unwrap();
    let source = write(root.path(), "val.zip", &[image("a/1.png"), image("b/2.png")]);
    let out = root.path().join("o.wds");
    ok(&[&"pack", &source, &out]);
    assert!(names(&out).contains(&"val-000000.tar".to_owned()), "{:?}", names(&out));
}

#[test]
fn several_zips_are_packed_one_after_the_other() {
    let root = tempfile::tempdir().unwrap();
    let zips = ["a", "b"].map(|part| {
        let files = [format!("cat/{part}.png"), format!("dog/{part}.png")];
        write(root.path(), &format!("{part}.zip"), &files.map(|name| image(&name)))
    });
    let out = root.path().join("o.beton");
    assert!(ok(&[&"pack", &zips[0], &zips[1], &out]).contains("packed 4 of 4 samples"));
}

#[test]
fn tables_lie_beside_a_zip_or_in_it() {
    let root = tempfile::tempdir().unwrap();
    let table = b"{\"file_name\": \"b.png\", \"caption\": \"two\"}\n";
    let files = [image("p/a.png"), image("p/b.png"), Entry::deflated("p/metadata.jsonl", table)];
    let source = write(root.path(), "p.zip", &files);
    let [inside, outside] = [source.join("p/metadata.jsonl"), root.path().join("m.jsonl")];
    fs::write(&outside, "{\"path\": \"p/b.png\", \"caption\": \"two\"}\n").unwrap();
    let out = |name: &str| root.path().join(name);
    ok(&[&"pack", &source, &out("o.wds"), &"--labels", &outside]);
    let message = fails(&[&"pack", &source, &out("i.wds"), &"--labels", &inside]);
    assert!(message.contains("`b.png`") && message.contains("write `p/` in front"), "{message}");
    let message = fails(&[&"pack", &source, &out("n.wds"), &"--labels", &source.join("no.csv")]);
    assert!(message.contains("no.csv is missing"), "{message}");

    // A dataset that was unpacked with its table, and zipped.
    let back = root.path().join("back");
    ok(&[&"unpack", &out("o.wds"), &back]);
    assert!(names(&back).contains(&"labels.jsonl".to_owned()));
    let zipped = write(root.path(), "back.zip", &of_folder(&back, "back/", Entry::deflated));
    let shown = ok(&[&"inspect", &zipped, &"--samples", &"1"]);
    assert!(shown.contains("caption") && shown.contains("two"), "{shown}");
}

#[test]
fn what_is_no_file_is_counted() {
    let root = tempfile::tempdir().unwrap();
    let link = Entry { mode: 0o120_777, ..Entry::stored("a/link.png", b"1.png") };
    let pipe = Entry { mode: 0o010_644, ..Entry::stored("a/pipe", b"") };
    let files = [
        Entry::stored("a/", b""),
        Entry::stored("empty/", b""),
        image("./a/1.png"),
        link,
        pipe,
        image("__MACOSX/a/._1.png"),
        image("a/.DS_Store"),
    ];
    let source = write(root.path(), "p.zip", &files);
    let said = ok(&[&"pack", &source, &root.path().join("o.beton")]);
    let note = "1 file ignored (no extension 1), 1 hidden name, 1 folder without images (empty), \
                1 __MACOSX folder, 1 link not followed";
    assert!(said.contains("packed 1 of 1") && said.contains(note), "{said}");
}

#[test]
fn names_are_utf_8_or_of_the_old_code_page() {
    let root = tempfile::tempdir().unwrap();
    let old = Entry { name: b"a/\x81ber.png".to_vec(), ..image("") };
    let unsaid = image("a/naïve.png");
    let said = Entry { flags: 0x800, ..image("a/日本.png") };
    let mut unicode = image("a/fa?ade.png");
    let name = "a/façade.png";
    unicode.extra = [&b"up"[..], &[5 + name.len() as u8, 0, 1]].concat();
    unicode.extra.extend(crc32(&unicode.name));
    unicode.extra.extend(name.as_bytes());
    let source = write(root.path(), "p.zip", &[old, unsaid, said, unicode]);
    let shown = ok(&[&"inspect", &source, &"--samples", &"4"]);
    for name in ["a/über.png", "a/naïve.png", "a/日本.png", "a/façade.png"] {
        assert!(shown.contains(name), "{shown}");
    }
}

fn crc32(bytes: &[u8]) -> [u8; 4] {
    Entry { name: Vec::new(), ..Entry::stored("", bytes) }.crc.to_le_bytes()
}

#[test]
fn hostile_and_broken_zips_are_refused_with_the_reason() {
    let root = tempfile::tempdir().unwrap();
    let refused = |entries: &[Entry], parts: &[&str]| {
        let source = write(root.path(), "p.zip", entries);
        let message = fails(&[&"pack", &source, &root.path().join("o.beton")]);
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
        assert_eq!(names(root.path()), ["p.zip"]);
    };
    for name in ["../1.png", "/etc/1.png", "a/../../1.png", "a//1.png", "C:/1.png", "a\\1.png"] {
        refused(&[image(name)], &["damaged zip file", "p.zip", name, "the name"]);
    }
    refused(&[Entry { flags: 0x800, name: b"a/\xff.png".to_vec(), ..image("") }], &["UTF-8"]);
    refused(&[image("a/1.png"), image("a/1.png")], &["a/1.png", "twice"]);
    let bomb = [image("a/1.png"), Entry { offset: Some(0), ..image("a/2.png") }];
    refused(&bomb, &["overlap"]);
    refused(&[Entry { offset: Some(9_999), ..image("a/2.png") }], &["damaged", "a/2.png"]);
    refused(&[], &["holds no image"]);

    // Damage in one member costs that sample.
    let sample = |entry: Entry, parts: &[&str]| {
        refused(std::slice::from_ref(&entry), parts);
        let source = write(root.path(), "p.zip", &[image("a/1.png"), entry]);
        let out = root.path().join("o.beton");
        let said = expect(1, &[&"pack", &source, &out, &"--on-error", &"skip"]);
        assert!(said.contains("packed 1 of 2"), "{said}");
        assert!(!text(&run(&[&"verify", &source]).stdout).contains("panic"));
        fs::remove_file(out).unwrap();
    };
    let bytes = fixtures::PNG_RGB;
    let len = bytes.len() as u32;
    let deflated = Entry::deflated("b/2.png", bytes);
    sample(Entry { crc: 7, ..deflated.clone() }, &["b/2.png", "checksum"]);
    sample(Entry { crc: 7, ..image("b/2.png") }, &["b/2.png", "checksum"]);
    sample(Entry { len: len - 1, ..deflated.clone() }, &["inflates to more than", "b/2.png"]);
    sample(Entry { len: len + 1, ..deflated.clone() }, &["claims"]);
    sample(Entry { len: len + 1, ..image("b/2.png") }, &["claims"]);
    sample(Entry { flags: 1, ..image("b/2.png") }, &["encrypted", "7z x"]);
    sample(Entry { method: 93, ..image("b/2.png") }, &["93", "ZSTD", "zip -0"]);
    let half = deflated.stored.len() / 2;
    sample(Entry { stored: deflated.stored[..half].to_vec(), ..deflated.clone() }, &["damaged"]);
    // A bomb with an honest size, and one with a false size.
    let zeros = Entry::deflated("b/2.png", &vec![0; 80 << 20]);
    sample(zeros.clone(), &["--max-decompressed", "p.zip/b/2.png", "83886080"]);
    sample(Entry { len: 1000, ..zeros }, &["inflates to more than the 1000 bytes"]);
}

#[test]
fn a_zip_that_was_cut_is_refused_at_every_length() {
    let root = tempfile::tempdir().unwrap();
    let whole = zip(&[image("a/1.png"), Entry::deflated("a/2.png", fixtures::PNG_RGB)]);
    let source = root.path().join("p.zip");
    for len in (0..whole.len()).step_by(7) {
        fs::write(&source, &whole[..len]).unwrap();
        let message = fails(&[&"pack", &source, &root.path().join("o.beton")]);
        assert!(message.contains("damaged zip file") && message.contains("cut"), "{message}");
    }
}
