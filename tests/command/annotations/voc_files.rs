//! Pascal VOC files as other tools write them.
use super::*;

/// Returns an annotation with a size and one object with these elements.
fn xml(size: [&str; 2], more: &str) -> String {
    let [width, height] = size;
    format!(
        "<annotation><size><width>{width}</width><height>{height}</height></size><object>\
         <name>a</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>32</xmax><ymax>16</ymax></bndbox>\
         {more}</object></annotation>"
    )
}

#[test]
fn sizes_are_read_in_whatever_form_they_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let (root, xmls) = (folder.path().join("images"), folder.path().join("xml"));
    // 75x50 as stored.
    photo(&root, "0.jpg", 6);
    let out = folder.path().join("o.beton");
    let args: [&dyn AsRef<std::ffi::OsStr>; 6] =
        [&"pack", &root, &out, &"--labels", &xmls, &"--overwrite"];
    for size in [["75", "50"], ["75.0", " 50.0 "]] {
        write(&xmls, &[("0.xml", &xml(size, ""))]);
        ok(&args);
        assert!(last_fields(&out)[0].1.contains("\"bbox\":[[34,0,16,32]]"), "{size:?}");
    }
    for (size, part) in [
        (["75 ", "30.5"], "75x30 pixels, and the image has 50x75"),
        (["75px", "50"], "0.xml: its `width` is no number of pixels: `75px`"),
    ] {
        write(&xmls, &[("0.xml", &xml(size, ""))]);
        let said = fails(&args);
        assert!(said.contains(part), "{said}");
    }
    write(&xmls, &[("0.xml", &xml(["", "0"], ""))]);
    ok(&args);
}

#[test]
fn elements_that_are_not_packed_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let (root, xmls) = (folder.path().join("images"), folder.path().join("xml"));
    tree(&root, &["1.png", "2.png"]);
    let more = "<polygon><x1>1</x1></polygon><attributes><attribute><name>rotation</name>\
                <value>30.0</value></attribute></attributes>";
    let outside = xml(["20", "15"], "").replace(">32<", ">60<").replace("xmin>1<", "xmin>40<");
    write(&xmls, &[("1.xml", &xml(["20", "15"], more)), ("2.xml", &outside)]);
    let said = ok(&[&"pack", &root, &folder.path().join("o.beton"), &"--labels", &xmls]);
    for part in [
        "the keys attributes, polygon of the objects are not packed",
        "boxes of 1 image are wholly outside",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn files_say_their_encoding() {
    let folder = tempfile::tempdir().unwrap();
    let (root, xmls) = (folder.path().join("images"), folder.path().join("xml"));
    tree(&root, &["1.png"]);
    fs::create_dir(&xmls).unwrap();
    let out = folder.path().join("o.beton");
    let args: [&dyn AsRef<std::ffi::OsStr>; 6] =
        [&"pack", &root, &out, &"--labels", &xmls, &"--overwrite"];
    let text = |encoding: &str, name: &[u8]| {
        let text = xml(["20", "15"], "");
        let (before, after) = text.split_once("<name>a").unwrap();
        let first = format!("<?xml version=\"1.0\" encoding='{encoding}'?>\n{before}<name>");
        [first.as_bytes(), name, after.as_bytes()].concat()
    };
    let latin = text("ISO-8859-1", b"caf\xe9");
    for (bytes, name) in [
        (latin.clone(), "caf\u{e9}"),
        (text("GB2312", b"cat"), "cat"),
        (text("utf-16", "caf\u{e9}".as_bytes()), "caf\u{e9}"),
    ] {
        fs::write(xmls.join("1.xml"), bytes).unwrap();
        ok(&args);
        assert!(last_fields(&out)[0].1.contains(&format!("[\"{name}\"]")), "{name}");
    }
    let wide: Vec<u8> = [0xfeff_u16]
        .into_iter()
        .chain(latin.iter().map(|&it| it.into()))
        .flat_map(u16::to_le_bytes)
        .collect();
    for (bytes, part) in [
        (text("GB2312", b"\xc3\xa8"), "gb2312; convert it: `iconv -f gb2312"),
        (wide, "UTF-16; convert it"),
        (text("utf-8", b"caf\xe9"), "it is not UTF-8; convert it"),
    ] {
        fs::write(xmls.join("1.xml"), bytes).unwrap();
        let said = fails(&args);
        assert!(said.contains("1.xml") && said.contains(part), "{part}: {said}");
    }
}

#[test]
fn texts_beside_annotations_are_not_of_another_kind() {
    let folder = tempfile::tempdir().unwrap();
    // As Roboflow exports them.
    let root = folder.path().join("rf");
    tree(&root, &["train/a.png", "valid/b.png"]);
    let text = xml(["20", "15"], "");
    let files = [
        ("train/a.xml", text.as_str()),
        ("valid/b.xml", &text),
        ("README.dataset.txt", "b"),
        ("README.roboflow.txt", "b"),
    ];
    write(&root, &files);
    let out = folder.path().join("o.wds");
    let said = ok(&[&"pack", &root, &out, &"--labels", &root]);
    assert!(said.contains("2 .txt files of no image are not read"), "{said}");
    assert!(last_fields(&out).iter().all(|(_, text)| text.contains("[\"a\"]")), "{said}");

    let root = folder.path().join("VOCdevkit");
    tree(&root, &["VOC2012/JPEGImages/a.png"]);
    let lists = ("VOC2012/ImageSets/Main/train.txt", "a\n");
    write(&root, &[("VOC2012/Annotations/a.xml", &text), lists]);
    let out = folder.path().join("v.wds");
    let said = ok(&[&"pack", &root, &out, &"--labels", &root]);
    assert!(said.contains("1 .txt file of no image is not read"), "{said}");
    assert!(last_fields(&out)[0].1.contains("[\"a\"]"), "{said}");
}
