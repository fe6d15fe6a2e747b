//! Any dataset into any other, and back to the original files.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use crate::common::{self, kodak_classes, ok};
use fdconvert_testkit::{
    compare::{assert_same_tree, tree},
    fixtures, needs_shared,
};
use std::path::Path;

/// folder -> wds -> beton -> mds -> wds -> folder
fn round_trip(root: &Path, source: &Path) {
    let path = |name: &str| root.join(name);
    ok(&[&"pack", &source, &path("a"), &"--format", &"wds", &"--shard-count", &"12"]);
    ok(&[&"pack", &path("a"), &path("b.beton")]);
    ok(&[&"pack", &path("b.beton"), &path("c"), &"--format", &"mds", &"--shard-count", &"9"]);
    ok(&[&"pack", &path("c"), &path("d"), &"--format", &"wds"]);
    ok(&[&"unpack", &path("d"), &path("e")]);
    assert_same_tree(source, &path("e"));
    for dataset in ["a", "b.beton", "c", "d"] {
        ok(&[&"verify", &path(dataset), &"--deep"]);
    }
}

#[test]
fn photos_survive_a_tour_through_all_formats() {
    let root = tempfile::tempdir().unwrap();
    round_trip(root.path(), &fixtures::photos());
}

needs_shared! {
    fn originals_survive_a_tour_through_all_formats() {
        let root = tempfile::tempdir().unwrap();
        round_trip(root.path(), &fixtures::shared().join("data/images"));
    }
}

#[test]
fn repacking_shards_gives_the_same_shards() {
    let root = tempfile::tempdir().unwrap();
    let source = kodak_classes(root.path());
    let (a, b) = (root.path().join("x/set"), root.path().join("y/set"));
    std::fs::create_dir(root.path().join("x")).unwrap();
    std::fs::create_dir(root.path().join("y")).unwrap();
    ok(&[&"pack", &source, &a, &"--format", &"wds", &"--shard-count", &"5"]);
    ok(&[&"pack", &a, &b, &"--format", &"wds", &"--shard-count", &"5"]);
    let tars = |path: &Path| {
        tree(path).into_iter().filter(|(name, _)| name.ends_with(b".tar")).collect::<Vec<_>>()
    };
    assert_eq!(tars(&a).len(), 3);
    assert!(tars(&a) == tars(&b));
}

#[test]
fn sources_can_be_joined_and_parted() {
    let root = tempfile::tempdir().unwrap();
    let source = kodak_classes(root.path());
    let path = |name: &str| root.path().join(name);
    ok(&[&"pack", &source, &path("all"), &"--format", &"wds", &"--split", &"train=0.75,val=0.25"]);
    let names = common::names(&path("all"));
    assert!(names.contains(&"train-000000.tar".into()) && names.contains(&"val-000000.tar".into()));
    ok(&[&"pack", &source, &path("even"), &"--format", &"wds", &"--where", &"label == 'even'"]);
    ok(&[&"pack", &source, &path("odd"), &"--format", &"wds", &"--where", &"label == 'odd'"]);
    ok(&[&"pack", &path("even"), &path("odd"), &path("joined"), &"--format", &"wds"]);
    ok(&[&"unpack", &path("joined"), &path("back")]);
    assert_same_tree(&source, &path("back"));
}

#[test]
fn masks_come_along_untouched_while_photos_are_re_encoded() {
    let root = tempfile::tempdir().unwrap();
    let source = kodak_classes(root.path());
    // The photos serve as their own masks.
    let masks = root.path().join("masks");
    for class in ["even", "odd"] {
        std::fs::create_dir_all(masks.join(class)).unwrap();
        for path in common::sorted(&source.join(class)) {
            std::fs::copy(&path, masks.join(class).join(path.file_name().unwrap())).unwrap();
        }
    }
    let out = root.path().join("out");
    let pair = format!("mask={}", masks.display());
    let options: [&dyn AsRef<std::ffi::OsStr>; 9] =
        [&"pack", &source, &out, &"--format", &"wds", &"--pair", &pair, &"--max-side", &"64"];
    let mut args = options.to_vec();
    args.extend([&"--encode" as &dyn AsRef<_>, &"jpeg"]);
    ok(&args);
    let reader = fdconvert_reader::open(&out).unwrap();
    for index in 0..reader.len() {
        let sample = reader.get(index).unwrap();
        let image = |field: &str| match &sample.values[reader.schema().position(field).unwrap()] {
            fdconvert_reader::Value::Image(image) => image.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(image("image").codec, fdconvert_reader::Codec::Jpeg);
        assert!(image("image").width.max(image("image").height) <= 64);
        let mask = std::fs::read(masks.join(&sample.key)).unwrap();
        assert!(image("mask").bytes == mask, "{}", sample.key);
    }
    std::fs::remove_file(masks.join("even/PhotoCD_PCD0992_01.png")).unwrap();
    let again = root.path().join("again");
    let mut args = options.to_vec();
    args[2] = &again;
    let message = common::fails(&args);
    assert!(message.contains("no mask of its name"), "{message}");
}

/// Shards of Python's tarfile, an independent writer, get an index, and then open with it.
#[test]
fn foreign_shards_are_indexed_and_stay_what_they_are() {
    let root = tempfile::tempdir().unwrap();
    let source = kodak_classes(root.path());
    let shards = root.path().join("shards");
    std::fs::create_dir(&shards).unwrap();
    let script = "import sys,tarfile,io,pathlib
files=sorted(pathlib.Path(sys.argv[1]).rglob('*.png'))
for n in range(2):
    with tarfile.open(f'{sys.argv[2]}/val-{n:04}.tar','w',format=tarfile.GNU_FORMAT) as t:
        for i,f in enumerate(files[n*6:n*6+6]):
            for ext,b in (('png',f.read_bytes()),('cls',str(i%2).encode())):
                info=tarfile.TarInfo(f'{f.stem}.{ext}'); info.size=len(b); t.addfile(info,io.BytesIO(b))
";
    let python = std::process::Command::new("python3")
        .args(["-c", script])
        .args([&source, &shards])
        .status();
    if !python.is_ok_and(|status| status.success()) {
        println!("skipped: python3 is needed to write foreign shards");
        return;
    }
    let before = tree(&shards);
    let read = || {
        let reader = fdconvert_reader::open(&shards).unwrap();
        (0..reader.len()).map(|i| reader.get(i).unwrap()).collect::<Vec<_>>()
    };
    let scanned = read();
    let text = ok(&[&"index", &shards, &"--sidecars", &"fdx,dali,wids,timm"]);
    assert!(text.contains("val-0001.fdx") && text.contains("val-0001.idx"), "{text}");
    for (name, bytes) in &before {
        assert!(tree(&shards)[name] == *bytes, "a shard was changed");
    }
    assert!(read() == scanned);
    ok(&[&"verify", &shards, &"--deep"]);
    assert!(ok(&[&"index", &shards, &"--sidecars", &"fdx"]).contains("already"));
    // Damage that only a checksum detects.
    let tar = shards.join("val-0000.tar");
    let mut bytes = std::fs::read(&tar).unwrap();
    bytes[100_000] ^= 1;
    std::fs::write(&tar, bytes).unwrap();
    common::expect(1, &[&"verify", &shards]);
}

/// Names in an archive are only keys: they must not become paths elsewhere.
#[test]
fn names_that_lead_out_of_the_folder_are_never_written() {
    let root = tempfile::tempdir().unwrap();
    let source = kodak_classes(root.path());
    let inner = root.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    let tar = inner.join("evil.tar");
    let script = "import sys,tarfile,io,pathlib
b=sorted(pathlib.Path(sys.argv[1]).rglob('*.png'))[0].read_bytes()
with tarfile.open(sys.argv[2],'w') as t:
    for name in ('good','../evil','/tmp/fdconvert-evil','a/../../evil2'):
        i=tarfile.TarInfo(name+'.png'); i.size=len(b); t.addfile(i,io.BytesIO(b))
";
    let python =
        std::process::Command::new("python3").args(["-c", script]).args([&source, &tar]).status();
    if !python.is_ok_and(|status| status.success()) {
        println!("skipped: python3 is needed to write the archive");
        return;
    }
    let out = inner.join("out");
    assert!(common::fails(&[&"unpack", &tar, &out]).contains(".."));
    assert_eq!(common::names(&inner), ["evil.tar"]);
    common::expect(1, &[&"unpack", &tar, &out, &"--on-error", &"skip"]);
    assert_eq!(common::names(&out), ["good.png"]);
    assert_eq!(common::names(&inner), ["evil.tar", "out"]);
    assert_eq!(common::names(root.path()), ["inner", "kodak"]);
    assert!(!Path::new("/tmp/fdconvert-evil.png").exists());
}

/// JPEGs and a PNG with extensions in different spellings, and the members of the shards in `out`,
/// from DALI's list of them.
fn write_mixed(folder: &Path) {
    for (name, bytes) in [
        ("a/x.JPEG", fixtures::JPEG_420),
        ("a/y.jpeg", fixtures::JPEG_420),
        ("jack-o'-lantern/ONE.JPG", fixtures::JPEG_420),
        ("a/k.png", fixtures::PNG_RGB),
    ] {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

fn members(out: &Path) -> Vec<String> {
    let list = std::fs::read_to_string(out.join("train-000000.idx")).unwrap();
    let words = list.lines().skip(1).flat_map(|line| line.split(' ').skip(3).step_by(4));
    words.filter(|name| !name.ends_with(".cls")).map(str::to_owned).collect()
}

#[test]
fn each_image_in_a_shard_has_the_extension_of_its_own_codec() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    write_mixed(&path("source"));
    let said = ok(&[&"pack", &path("source"), &path("set"), &"--format", &"wds"]);
    assert!(said.contains("--image-field jpg"), "{said}");
    let expected = ["a/k.png", "a/x.jpg", "a/y.jpg", "jack-o'-lantern/ONE.jpg"];
    assert_eq!(members(&path("set")), expected);
    let manifest = std::fs::read_to_string(path("set").join("fdconvert.json")).unwrap();
    assert!(manifest.contains("\"jpg;png\""), "{manifest}");
    ok(&[&"verify", &path("set"), &"--deep"]);
    ok(&[&"unpack", &path("set"), &path("back")]);
    assert_same_tree(&path("source"), &path("back"));

    // Without the index, which is reported, and with one made again.
    std::fs::remove_file(path("set").join("train-000000.fdx")).unwrap();
    common::expect(1, &[&"verify", &path("set"), &"--deep"]);
    ok(&[&"unpack", &path("set"), &path("names")]);
    assert_eq!(common::names(&path("names").join("a")), ["k.png", "x.jpg", "y.jpg"]);
    let index = |sidecars: &str, status| {
        common::expect(status, &[&"index", &path("set"), &"--sidecars", &sidecars]);
    };
    index("fdx,energon", 0);
    ok(&[&"verify", &path("set"), &"--deep"]);
    let energon = std::fs::read_to_string(path("set").join(".nv-meta/dataset.yaml")).unwrap();
    assert!(energon.contains("image: \"jpg,png\""), "{energon}");
    // Hugging Face datasets supports only one name per field.
    index("fdx,hf", 2);
    let said = ok(&[
        &"pack",
        &path("source"),
        &path("hf"),
        &"--format",
        &"wds",
        &"--sidecars",
        &"dali,hf",
    ]);
    assert!(said.contains(".img"), "{said}");
    assert_eq!(members(&path("hf"))[..2], ["a/k.img", "a/x.img"]);
}

#[test]
fn keys_that_differ_only_in_their_extension_keep_it() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    write_mixed(&path("source"));
    std::fs::copy(path("source/a/k.png"), path("source/a/x.png")).unwrap();
    let said = ok(&[&"pack", &path("source"), &path("set"), &"--format", &"wds"]);
    assert!(said.contains("%2E"), "{said}");
    assert_eq!(members(&path("set"))[1..3], ["a/x%2EJPEG.jpg", "a/x%2Epng.png"]);
    ok(&[&"unpack", &path("set"), &path("back")]);
    assert_same_tree(&path("source"), &path("back"));
}

#[test]
fn masks_are_not_called_by_the_codec_of_the_photos() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    for (folder, name, bytes) in
        [("photos", "1.jpg", fixtures::JPEG_420), ("masks", "1.png", fixtures::PNG_RGB)]
    {
        std::fs::create_dir_all(path(folder).join("c")).unwrap();
        std::fs::write(path(folder).join("c").join(name), bytes).unwrap();
    }
    let pair = format!("mask={}", path("masks").display());
    let out = path("set");
    ok(&[&"pack", &path("photos"), &out, &"--format", &"wds", &"--pair", &pair]);
    assert_eq!(members(&out), ["c/1.jpg", "c/1.mask.png"]);
    ok(&[&"verify", &out, &"--deep"]);
}

type Member = (&'static str, &'static [u8]);

/// Readers of foreign shards request their original names.
#[test]
fn members_of_foreign_shards_keep_their_names() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    let (jpeg, png) = (fixtures::JPEG_420, fixtures::PNG_RGB);
    let texts: [Member; 4] =
        [("txt", b"a cat"), ("json", b"{}"), ("id", b"7"), ("emb.pickle", b"...")];
    let cases: [(&str, &[Member]); 3] = [
        ("captions", &[("jpg", jpeg)]),
        ("pairs", &[("left.jpg", jpeg), ("right.jpg", jpeg)]),
        ("jpeg", &[("jpeg", jpeg), ("png", png)]),
    ];
    for (case, images) in cases {
        let fields: Vec<_> = images.iter().chain(&texts).collect();
        let names: Vec<String> = ["000", "001"]
            .iter()
            .flat_map(|key| fields.iter().map(move |(field, _)| format!("{key}.{field}")))
            .collect();
        let contents = fields.iter().chain(&fields).map(|(_, bytes)| *bytes);
        let files: Vec<_> = names.iter().map(String::as_str).zip(contents).collect();
        std::fs::create_dir(path(case)).unwrap();
        std::fs::write(path(case).join("0.tar"), common::tar(&files)).unwrap();
        let out = path(&format!("{case}.wds"));
        ok(&[&"pack", &path(case), &out]);
        assert_eq!(members(&out), names);
        ok(&[&"verify", &out, &"--deep"]);

        // Again with only the manifest, and by a plan.
        std::fs::remove_file(out.join("train-000000.fdx")).unwrap();
        let again = path(&format!("{case}-again.wds"));
        ok(&[&"pack", &out, &again]);
        assert_eq!(members(&again), names);
        let (plan, parts) = (path(&format!("{case}.fdplan")), path(&format!("{case}-parts")));
        ok(&[&"plan", &path(case), &"-o", &plan, &"--format", &"webdataset"]);
        ok(&[&"pack", &"--plan", &plan, &"--part", &"1/1", &parts]);
        ok(&[&"merge", &parts]);
        assert_eq!(members(&parts), names);
        // Only new images are named by their own codec.
        let png = path(&format!("{case}-png.wds"));
        ok(&[&"pack", &path(case), &png, &"--encode", &"png"]);
        ok(&[&"verify", &png, &"--deep"]);
        assert!(members(&png).iter().all(|name| !name.ends_with("jpg")), "{:?}", members(&png));
    }
}

#[test]
fn what_is_said_of_images_is_not_said_of_a_dataset_without_any() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    std::fs::write(path("x.tar"), common::tar(&[("1.txt", b"text")])).unwrap();
    let said = ok(&[&"verify", &path("x.tar"), &"--deep"]);
    assert!(said.contains("no image field: pixels not checked"), "{said}");
    let pack: [&dyn AsRef<std::ffi::OsStr>; 7] =
        [&"pack", &path("x.tar"), &path("set"), &"--format", &"wds", &"--max-side", &"64"];
    let message = common::fails(&pack);
    assert!(message.contains("--max-side") && message.contains("`txt` (text)"), "{message}");
}
