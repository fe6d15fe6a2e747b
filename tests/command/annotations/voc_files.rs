//! Pascal VOC: what becomes of its files, what is refused, and how other tools write them.
use super::*;

#[test]
fn voc_becomes_lists_of_objects() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("VOC2012");
    tree(&root, &["JPEGImages/1.png", "JPEGImages/2.png", "JPEGImages/3.png"]);
    let object = |name: &str, corners: [&str; 4], more: &str| {
        let [left, top, right, bottom] = corners;
        format!(
            "<object><name>{name}</name>{more}<bndbox><xmax>{right}</xmax><ymax>{bottom}</ymax>\
             <xmin>{left}</xmin><ymin>{top}</ymin></bndbox></object>"
        )
    };
    let size = "<size><width>20</width><height>15</height><depth>3</depth></size>";
    let person =
        object("person", ["1", "1", "20", "15"], "<pose>Left</pose><difficult>0</difficult>");
    let cat =
        object("cat", ["2.5", "3", "4", "3"], "<difficult>1</difficult><truncated>1</truncated>");
    let first = format!("<annotation><folder>x</folder>{person}{size}{cat}</annotation>");
    let second = format!("<annotation>{size}</annotation>");
    let annotations = root.join("Annotations");
    write(&annotations, &[("1.xml", &first), ("2.xml", &second), ("9.xml", &second)]);
    let (said, values) = packed(folder.path(), &root.join("JPEGImages"), &annotations);
    for part in ["1 image has no annotations", "1 file of annotations has no image"] {
        assert!(said.contains(part), "{said}");
    }
    let lists = |bbox: &str, category: &str, names: &str, more: &str| {
        format!("\"bbox\":[{bbox}],\"category\":[{category}],\"category_name\":[{names}],{more}")
    };
    let more = r#""difficult":[0,1],"truncated":[0,1],"pose":["Left",""]"#;
    let filled = lists("[0,0,20,15],[1.5,2,2.5,1]", "1,0", r#""person","cat""#, more);
    let empty = lists("", "", "", r#""difficult":[],"truncated":[],"pose":[]"#);
    let expected = [
        ("1.png".to_owned(), format!("{{\"size\":[20,15],{filled}}}")),
        ("2.png".to_owned(), format!("{{\"size\":[20,15],{empty}}}")),
        ("3.png".to_owned(), format!("{{\"size\":[20,15],{empty}}}")),
    ];
    assert_eq!(values, expected);

    let check = |text: &str, parts: &[&str]| {
        write(&annotations, &[("2.xml", text)]);
        let out = folder.path().join("n.beton");
        let images = root.join("JPEGImages");
        let message = fails(&[&"pack", &images, &out, &"--labels", &annotations]);
        assert!(message.contains("2.xml"), "{message}");
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    };
    check("<annotation>", &["Pascal VOC"]);
    let flipped = object("cat", ["9", "1", "3", "2"], "");
    check(&format!("<annotation>{flipped}</annotation>"), &["object 1", "backwards"]);
    let bomb = "<!DOCTYPE a [<!ENTITY b \"bb\">]><annotation><object><name>&b;</name></object>\
                </annotation>";
    check(bomb, &["Pascal VOC"]);
}

/// Masks of VOC are PNGs with a palette, and its indices are the labels.
#[test]
fn masks_keep_their_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let (images, masks) = (folder.path().join("images"), folder.path().join("SegmentationClass"));
    tree(&images, &["1.png"]);
    fs::create_dir(&masks).unwrap();
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, 20, 15);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_palette([0, 0, 0, 128, 0, 0, 0, 128, 0].to_vec());
    let mut writer = encoder.write_header().unwrap();
    let indices: Vec<u8> = (0..300).map(|at| (at % 3) as u8).collect();
    writer.write_image_data(&indices).unwrap();
    drop(writer);
    fs::write(masks.join("1.png"), &file).unwrap();
    let pair = format!("mask={}", masks.display());
    for name in ["o.wds", "o.mds"] {
        let out = folder.path().join(name);
        ok(&[&"pack", &images, &out, &"--pair", &pair, &"--max-side", &"10"]);
        let sample = fdconvert_reader::open(&out).unwrap().get(0).unwrap();
        let Some(Value::Image(mask)) = sample.values.last() else { panic!("no mask") };
        assert_eq!(&*mask.bytes, file, "{name}");
    }
}

#[test]
fn voc_that_counts_from_0_begins_at_0() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("images");
    tree(&root, &["1.png", "2.png"]);
    let xml = |left: u8| {
        format!(
            "<annotation><object><name>a</name><bndbox><xmin>{left}</xmin><ymin>2</ymin>\
             <xmax>20</xmax><ymax>15</ymax></bndbox></object></annotation>"
        )
    };
    let xmls = folder.path().join("xml");
    write(&xmls, &[("1.xml", &xml(0)), ("2.xml", &xml(4))]);
    let out = folder.path().join("o.beton");
    let said = ok(&[&"pack", &root, &out, &"--labels", &xmls]);
    assert!(said.contains("count pixels from 0"), "{said}");
    let values = last_fields(&out);
    assert!(values[0].1.contains("\"bbox\":[[0,2,20,13]]"), "{values:?}");
    assert!(values[1].1.contains("\"bbox\":[[4,2,16,13]]"), "{values:?}");
}

#[test]
fn imagesets_of_voc_are_keys_without_an_extension() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("JPEGImages");
    tree(&root, &["000000.png", "000001.png", "000002.png", "000002.jpg"]);
    let list = folder.path().join("train.txt");
    fs::write(&list, "000000\n000001.png\n").unwrap();
    let out = folder.path().join("o.beton");
    let said = ok(&[&"pack", &root, &out, &"--keys", &list]);
    assert!(
        said.contains("packed 2 of 2") && said.contains("1 key of `keys` names a sample"),
        "{said}"
    );
    // Two files are ambiguous.
    fs::write(&list, "000002\n").unwrap();
    let out = folder.path().join("n.beton");
    assert!(fails(&[&"pack", &root, &out, &"--keys", &list]).contains("000002"));
    fs::write(&list, "000000 -1\n000001  1\n").unwrap();
    let said = fails(&[&"pack", &root, &out, &"--keys", &list]);
    assert!(said.contains("a number behind each name"), "{said}");
}

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
