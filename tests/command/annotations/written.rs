//! Annotations in the layouts of other tools, as they are written.
use super::*;
use crate::common::{fdconvert, text};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// The source of [`coco`] and its labels.
fn source(folder: &Path) -> (PathBuf, PathBuf) {
    let (root, labels) = (folder.join("photos"), folder.join("instances.json"));
    tree(&root, &["1.png", "b/2.png", "b/3.png"]);
    fs::write(&labels, coco().to_string()).unwrap();
    (root, labels)
}

/// Writes a layout, and returns the summary.
fn written(root: &Path, labels: &Path, out: &Path, more: &[&str]) -> String {
    let mut args: Vec<&dyn AsRef<std::ffi::OsStr>> =
        vec![&"pack", &root, &out, &"--labels", &labels, &"--format", &"folder"];
    args.extend(more.iter().map(|it| it as &dyn AsRef<std::ffi::OsStr>));
    ok(&args)
}

fn json_of(path: &Path) -> Json {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn text_of(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// The annotations and images of a COCO file, sorted by id, and its categories.
fn parts(file: &Json) -> [Json; 3] {
    ["images", "annotations", "categories"].map(|list| {
        let mut entries = file[list].as_array().unwrap().clone();
        entries.sort_by_key(|entry| entry["id"].as_i64());
        entries.into()
    })
}

#[test]
fn coco_comes_back_with_its_ids_and_all_categories() {
    let folder = tempfile::tempdir().unwrap();
    let (root, labels) = source(folder.path());
    let mut document = coco();
    let unused =
        json!({"id": 7, "name": "cat", "keypoints": ["nose", "tail"], "skeleton": [[1, 2]]});
    document["categories"].as_array_mut().unwrap().push(unused);
    fs::write(&labels, document.to_string()).unwrap();
    let direct = folder.path().join("direct");
    written(&root, &labels, &direct, &["--annotations", "coco"]);
    let file = json_of(&direct.join("annotations/instances.json"));
    let [images, annotations, categories] = parts(&file);
    assert_eq!(categories, parts(&document)[2]);
    assert_eq!(annotations, parts(&document)[1]);
    let images: Vec<_> = images.as_array().unwrap().iter().map(|it| &it["file_name"]).collect();
    assert_eq!(json!(images), json!(["1.png", "b/2.png", "b/3.png"]));
    assert!(direct.join("images/b/3.png").is_file());
    // Through every format the same file comes out.
    for name in ["o.beton", "o.wds", "o.mds", "o.parquet"] {
        let (packed, out) = (folder.path().join(name), folder.path().join(format!("{name}.out")));
        ok(&[&"pack", &root, &packed, &"--labels", &labels]);
        ok(&[&"unpack", &packed, &out, &"--annotations", &"coco"]);
        let again = json_of(&out.join("annotations/instances.json"));
        assert_eq!(parts(&again)[1..], parts(&file)[1..], "{name}");
        let shown = ok(&[&"inspect", &packed, &"--json"]);
        let shown: Json = serde_json::from_str(&shown).unwrap();
        let fields = shown["schema"]["fields"].as_array().unwrap();
        let objects = fields.iter().find(|field| field["name"] == "objects").unwrap();
        assert_eq!(objects["categories"].as_array().unwrap().len(), 3, "{name}");
    }
    // The same run finds its folder, and a changed file in it is not replaced.
    let again: &[&dyn AsRef<std::ffi::OsStr>] = &[
        &"pack",
        &root,
        &direct,
        &"--labels",
        &labels,
        &"--format",
        &"folder",
        &"--annotations",
        &"coco",
        &"--threads",
        &"3",
    ];
    assert!(ok(again).contains("already complete"), "{}", ok(again));
    fs::write(direct.join("images/1.png"), "x").unwrap();
    assert!(fails(again).contains("`images/1.png` is not what this run writes"));
}

#[test]
fn yolo_says_what_each_task_holds_and_counts_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let (root, labels) = source(folder.path());
    let of = |task: &str| {
        let out = folder.path().join(task);
        let said = written(&root, &labels, &out, &["--annotations", "yolo", "--task", task]);
        (text_of(&out.join("labels/b/2.txt")), said, out)
    };
    let (text, said, out) = of("detect");
    // The second object is a crowd.
    assert_eq!(text, "1 0.15 0.275 0.15 0.28333333\n");
    assert_eq!(text_of(&out.join("labels/b/3.txt")), "");
    for part in
        ["2 crowds are left out", "the polygons of 1 object are not written", "--task segment"]
    {
        assert!(said.contains(part), "{said}");
    }
    let expected = "train: \"images\"\nval: \"images\"\nnames:\n  0: \"person\"\n  1: \"dog\"\n";
    assert!(text_of(&out.join("data.yaml")).ends_with(expected));
    let (text, said, _) = of("segment");
    assert_eq!(text.split(' ').count(), 1 + 2 * (3 + 3 + 2));
    assert!(said.contains("1 object of several polygons became one polygon"), "{said}");
    let (text, _, out) = of("pose");
    assert_eq!(text, "1 0.15 0.275 0.15 0.28333333 0 0 0\n");
    assert!(text_of(&out.join("data.yaml")).contains("kpt_shape: [1, 3]"));
    let (text, said, _) = of("obb");
    assert_eq!(text.split(' ').count(), 9);
    assert!(said.contains("became the smallest rectangles"), "{said}");
    let strict: &[&dyn AsRef<std::ffi::OsStr>] = &[
        &"pack",
        &root,
        &folder.path().join("s"),
        &"--labels",
        &labels,
        &"--format",
        &"folder",
        &"--annotations",
        &"yolo",
        &"--strict",
    ];
    assert!(fails(strict).contains("allows no loss"), "{}", fails(strict));
    assert!(!folder.path().join("s").exists());
}

#[test]
fn voc_counts_pixels_from_one_and_lists_images() {
    let folder = tempfile::tempdir().unwrap();
    let (root, labels) = source(folder.path());
    let out = folder.path().join("voc");
    let said = written(&root, &labels, &out, &["--annotations", "voc"]);
    assert!(said.contains("2 crowds are marked as difficult"), "{said}");
    let xml = text_of(&out.join("Annotations/b/2.xml"));
    let box_of = "<xmin>2.5</xmin>\n\t\t\t<ymin>3</ymin>\n\t\t\t<xmax>4.5</xmax>\n\t\t\t<ymax>6.25";
    assert!(xml.contains(box_of), "{xml}");
    assert_eq!(text_of(&out.join("ImageSets/Main/trainval.txt")), "b/2\n1\nb/3\n");
    let back = folder.path().join("back.beton");
    ok(&[&"pack", &out, &back, &"--labels", &out]);
    let values = last_fields(&back);
    let of_two = values.iter().find(|(key, _)| key.ends_with("b/2.png")).unwrap();
    let objects: Json = serde_json::from_str(&of_two.1).unwrap();
    assert_eq!(objects["bbox"], json!([[1.5, 2, 3, 4.25], [0.125, 0, 1, 1]]));
    assert_eq!(objects["difficult"], json!([0, 1]));
}

#[test]
fn names_that_xml_cannot_hold_are_errors_of_their_samples() {
    let folder = tempfile::tempdir().unwrap();
    let (_, labels) = source(folder.path());
    let mut document = coco();
    document["categories"][0]["name"] = json!("a\u{1}b");
    fs::write(&labels, document.to_string()).unwrap();
    let command = [
        "pack",
        "photos",
        "voc",
        "--labels",
        "instances.json",
        "--format",
        "folder",
        "--annotations",
        "voc",
        "--on-error",
        "skip",
    ];
    let ran = fdconvert().args(command).current_dir(&folder).output().unwrap();
    let said = text(&ran.stdout) + &text(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{said}");
    assert!(said.contains("b/2.png") && said.contains("control character"), "{said}");
}

#[test]
fn ids_that_occur_twice_are_replaced_and_refused_by_strict() {
    let folder = tempfile::tempdir().unwrap();
    let (root, labels) = source(folder.path());
    let mut document = coco();
    let first = document["annotations"][0]["id"].clone();
    document["annotations"][1]["id"] = first;
    fs::write(&labels, document.to_string()).unwrap();
    let out = folder.path().join("coco");
    let said = written(&root, &labels, &out, &["--annotations", "coco"]);
    assert!(said.contains("1 id that occurs twice is replaced by a new one"), "{said}");
    let strict = folder.path().join("strict");
    let said = fails(&[
        &"pack",
        &root,
        &strict,
        &"--labels",
        &labels,
        &"--format",
        &"folder",
        &"--annotations",
        &"coco",
        &"--strict",
    ]);
    assert!(said.contains("`strict` allows no loss") && said.contains("twice"), "{said}");
}

#[test]
fn tables_have_a_row_for_each_box_and_metadata_a_line_for_each_image() {
    let folder = tempfile::tempdir().unwrap();
    let (root, labels) = source(folder.path());
    let out = folder.path().join("csv");
    written(&root, &labels, &out, &["--annotations", "csv"]);
    let expected = "file_name,width,height,class,xmin,ymin,xmax,ymax\n\
                    images/b/2.png,20,15,dog,1.5,2,4.5,6.25\n\
                    images/b/2.png,20,15,person,0.125,0,1.125,1\n\
                    images/1.png,20,15,person,0,0,20,15\n\
                    images/b/3.png,20,15,,,,,\n";
    assert_eq!(text_of(&out.join("labels.csv")), expected);
    let back = folder.path().join("csv.beton");
    ok(&[&"pack", &out, &back, &"--labels", &out.join("labels.csv")]);
    assert!(last_fields(&back)[0].1.contains(r#""bbox":[[1.5,2,3,4.25],[0.125,0,1,1]]"#));

    let out = folder.path().join("jsonl");
    let said = written(&root, &labels, &out, &["--annotations", "jsonl"]);
    assert!(said.contains("the run lengths of 2 objects became polygons"), "{said}");
    let lines = text_of(&out.join("metadata.jsonl"));
    let first: Json = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!((&first["file_name"], &first["image_id"]), (&json!("b/2.png"), &json!(4)));
    assert_eq!(first["objects"]["category_name"], json!(["dog", "person"]));
    assert!(first["objects"]["segmentation"][1][0].is_array());
    let back = folder.path().join("jsonl.beton");
    ok(&[&"pack", &out, &back, &"--labels", &out]);
    assert_eq!(last_fields(&back).len(), 3);

    // Without objects the table has the labels by name.
    let classes = folder.path().join("classes");
    tree(&classes, &["cat/1.png", "dog/2.png"]);
    let out = folder.path().join("labels");
    ok(&[&"pack", &classes, &out, &"--format", &"folder", &"--annotations", &"csv"]);
    let expected = "file_name,label\nimages/cat/1.png,cat\nimages/dog/2.png,dog\n";
    assert_eq!(text_of(&out.join("labels.csv")), expected);
    let refused = fails(&[
        &"pack",
        &classes,
        &folder.path().join("no"),
        &"--format",
        &"folder",
        &"--annotations",
        &"yolo",
    ]);
    assert!(refused.contains("no field `objects`") && refused.contains("--annotations csv"));
}

#[test]
fn images_are_kept_linked_or_not_even_read() {
    let folder = tempfile::tempdir().unwrap();
    let (root, labels) = source(folder.path());
    let out = |name: &str| folder.path().join(name);
    written(&root, &labels, &out("link"), &["--annotations", "coco", "--images", "link"]);
    let link = out("link").join("images/b/2.png");
    assert_eq!(fs::read_link(&link).unwrap(), fs::canonicalize(root.join("b/2.png")).unwrap());
    let again: &[&str] = &["--annotations", "coco", "--images", "link"];
    assert!(written(&root, &labels, &out("link"), again).contains("already complete"));
    // The sizes are those of the file of annotations, but one image has none there.
    let empty = out("empty");
    fs::create_dir(&empty).unwrap();
    let said =
        written(&empty, &labels, &out("none"), &["--annotations", "yolo", "--images", "none"]);
    assert!(!out("none/images").exists() && said.contains("packed 3 of 3"), "{said}");
    assert_eq!(text_of(&out("none/labels/1.txt")), "");
    assert!(text_of(&out("none/labels/b/2.txt")).starts_with("1 0.15 0.275"));
    // Masks are further images, and never the image that a link stands for.
    let masks = out("masks");
    tree(&masks, &["b/2.png", "b/3.png"]);
    let mut masked = coco();
    masked["images"].as_array_mut().unwrap().retain(|it| it["id"] != 3);
    masked["annotations"].as_array_mut().unwrap().retain(|it| it["image_id"] != 3);
    let of_masked = out("masked.json");
    fs::write(&of_masked, masked.to_string()).unwrap();
    let pair = format!("mask={}", masks.display());
    let linked = ["--annotations", "voc", "--images", "link", "--pair", &pair];
    written(&root, &of_masked, &out("pairs"), &linked);
    assert!(out("pairs/JPEGImages/b/2.png").is_symlink());
    assert!(out("pairs/SegmentationClass/b/2.png").is_file());
    assert!(text_of(&out("pairs/Annotations/b/2.xml")).contains("<segmented>1<"));
    let packed = out("o.beton");
    ok(&[&"pack", &root, &packed, &"--labels", &labels]);
    let refused = fails(&[
        &"pack",
        &packed,
        &out("no"),
        &"--format",
        &"folder",
        &"--annotations",
        &"coco",
        &"--images",
        &"link",
    ]);
    assert!(refused.contains("in no folder that a link could lead to"), "{refused}");
    // Of a smaller image the coordinates are smaller, too.
    let half = ["--annotations", "coco", "--max-side", "10", "--encode", "png"];
    let said = written(&root, &labels, &out("half"), &half);
    let file = json_of(&out("half/annotations/instances.json"));
    let [images, annotations, _] = parts(&file);
    assert_eq!((&images[0]["width"], &images[0]["height"]), (&json!(10), &json!(7)));
    let bbox = &annotations[2]["bbox"];
    assert_eq!((bbox[0].as_f64(), bbox[2].as_f64()), (Some(0.75), Some(1.5)));
    assert!(said.contains("run lengths of 2 objects are of another size"), "{said}");
}

#[test]
fn categories_are_renamed_dropped_and_joined_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let (root, labels) = source(folder.path());
    let out = folder.path().join("mapped");
    let rules = ["--annotations", "coco", "--map-labels", "dog=animal; *=drop"];
    let said = written(&root, &labels, &out, &rules);
    assert!(said.contains("2 objects are left out: of a category that is dropped"), "{said}");
    let [_, annotations, categories] = parts(&json_of(&out.join("annotations/instances.json")));
    assert_eq!(categories, json!([{"id": 18, "name": "animal", "supercategory": "animal"}]));
    assert_eq!(annotations.as_array().unwrap().len(), 1);
    let out = folder.path().join("chosen");
    let said =
        written(&root, &labels, &out, &["--annotations", "coco", "--drop-crowd", "--min-box", "4"]);
    assert!(said.contains("2 objects are left out: a crowd"), "{said}");
    assert!(said.contains("1 object is left out: with a box that is too small"), "{said}");
    let unknown = fails(&[
        &"pack",
        &root,
        &folder.path().join("u.beton"),
        &"--labels",
        &labels,
        &"--map-labels",
        &"cow=dog",
    ]);
    assert!(unknown.contains("no category is called `cow`; there are 2: person, dog"), "{unknown}");

    // The whole list is known to expressions and statistics.
    let packed = folder.path().join("p.beton");
    let mut more = coco();
    more["categories"].as_array_mut().unwrap().push(json!({"id": 7, "name": "cow"}));
    let with_cow = folder.path().join("cow.json");
    fs::write(&with_cow, more.to_string()).unwrap();
    ok(&[&"pack", &root, &packed, &"--labels", &with_cow]);
    let misspelt = fails(&[
        &"pack",
        &packed,
        &folder.path().join("w.beton"),
        &"--where",
        &"any(category == \"caw\")",
    ]);
    assert!(misspelt.contains("person, cow, dog"), "{misspelt}");
    let counted: Json = serde_json::from_str(&ok(&[&"stats", &packed, &"--json"])).unwrap();
    let none = json!({"images": 0, "objects": 0});
    assert_eq!(counted["objects"]["categories"]["cow"], none, "{counted}");

    // Another dataset has another list: names decide, and ids that contradict each other are new.
    let mut other = coco();
    other["categories"] = json!([{"id": 1, "name": "cat"}, {"id": 18, "name": "dog"}]);
    let second = folder.path().join("second.json");
    fs::write(&second, other.to_string()).unwrap();
    let more = folder.path().join("more");
    tree(&more, &["1.png", "b/2.png", "b/3.png"]);
    let (one, two) = (folder.path().join("1.beton"), folder.path().join("2.beton"));
    ok(&[&"pack", &root, &one, &"--labels", &labels]);
    ok(&[&"pack", &more, &two, &"--labels", &second]);
    let joined = folder.path().join("joined");
    let said = ok(&[
        &"pack",
        &one,
        &two,
        &joined,
        &"--prefix",
        &"x,y",
        &"--format",
        &"folder",
        &"--annotations",
        &"coco",
    ]);
    let file = json_of(&joined.join("annotations/instances.json"));
    let [images, annotations, categories] = parts(&file);
    let names: BTreeMap<i64, &str> = categories
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["id"].as_i64().unwrap(), it["name"].as_str().unwrap()))
        .collect();
    assert_eq!(names.values().collect::<Vec<_>>(), [&"cat", &"dog", &"person"]);
    let count = |name: &str| {
        let of = |it: &&Json| names[&it["category_id"].as_i64().unwrap()] == name;
        annotations.as_array().unwrap().iter().filter(of).count()
    };
    assert_eq!(["cat", "dog", "person"].map(count), [2, 2, 2]);
    assert_eq!(images.as_array().unwrap().len(), 6);
    assert!(said.contains("6 ids that occur twice are replaced by new ones"), "{said}");
}

#[test]
fn splits_are_folders_and_files_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let yaml = "train: images/train\nval: images/val\nnames: [cat, dog]\n";
    let (root, data) = yolo(folder.path(), yaml);
    let out = |name: &str| folder.path().join(name);
    written(&root, &data, &out("coco"), &["--annotations", "coco"]);
    for (split, images) in [("train", 2), ("val", 1)] {
        let file = json_of(&out("coco").join(format!("annotations/instances_{split}.json")));
        assert_eq!(parts(&file)[0].as_array().unwrap().len(), images);
        let name = parts(&file)[0][0]["file_name"].as_str().unwrap().to_owned();
        assert!(out("coco").join(split).join(&name).is_file(), "{split}/{name}");
    }
    written(&root, &data, &out("yolo"), &["--annotations", "yolo"]);
    assert!(text_of(&out("yolo/data.yaml")).contains("val: \"images/val\"\n"));
    let halves = ["--annotations", "yolo", "--split", "a=0.5,val=0.5", "--no-split-folders"];
    let said = written(&root, &data, &out("halves"), &halves);
    assert!(
        said.contains("of the split `a`") && said.contains("in `train` of data.yaml"),
        "{said}"
    );
    written(&root, &data, &out("voc"), &["--annotations", "voc"]);
    assert_eq!(text_of(&out("voc/ImageSets/Main/val.txt")), "val/c\n");
    written(&root, &data, &out("jsonl"), &["--annotations", "jsonl"]);
    assert!(out("jsonl/train/metadata.jsonl").is_file());
    written(&root, &data, &out("csv"), &["--annotations", "csv"]);
    assert!(text_of(&out("csv/labels.csv")).contains("images/val/c.png,val,"));
    written(
        &root,
        &data,
        &out("drawn"),
        &["--annotations", "coco", "--split", "a=0.5,b=0.5", "--no-split-folders"],
    );
    assert!(out("drawn/annotations/instances_a.json").is_file());
    let (again, back) = (out("again.beton"), out("yolo"));
    ok(&[
        &"pack",
        &back,
        &again,
        &"--labels",
        &back.join("data.yaml"),
        &"--split",
        &"all=1",
        &"--no-split-folders",
    ]);
    assert_eq!(last_fields(&again).len(), 3);
}
