//! Folders in the layouts of well-known datasets: the packed result, and the messages.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{run, text, tree};
use std::{fs, path::Path};

/// An unpacked dataset: its images, its other files, and `pack`'s messages about it.
struct Layout {
    name: &'static str,
    images: &'static [&'static str],
    others: &'static [&'static str],
    /// Path below the dataset.
    source: &'static str,
    args: &'static [&'static str],
    status: i32,
    says: &'static [&'static str],
}

const PACKED: i32 = 0;
const REFUSED: i32 = 2;

const TINY_IMAGENET: [&str; 4] = [
    "train/n01443537/images/n01443537_0.png",
    "train/n01629819/images/n01629819_0.png",
    "val/images/val_0.png",
    "test/images/test_0.png",
];
const CITYSCAPES: [&str; 4] = [
    "leftImg8bit/train/aachen/aachen_0_leftImg8bit.png",
    "leftImg8bit/val/lindau/lindau_0_leftImg8bit.png",
    "gtFine/train/aachen/aachen_0_gtFine_labelIds.png",
    "gtFine/val/lindau/lindau_0_gtFine_labelIds.png",
];
const ADE20K: [&str; 4] = [
    "images/training/ADE_train_1.png",
    "images/validation/ADE_val_1.png",
    "annotations/training/ADE_train_1.png",
    "annotations/validation/ADE_val_1.png",
];
const PETS: [&str; 4] = [
    "images/Abyssinian_1.png",
    "images/beagle_1.png",
    "annotations/trimaps/Abyssinian_1.png",
    "annotations/trimaps/beagle_1.png",
];
const FRUITS: [&str; 4] =
    ["Training/Apple/0.png", "Training/Pear/1.png", "Test/Apple/2.png", "Test/Pear/3.png"];

const TUMOR: &str = "Testing/brain/none/3.png";

const LAYOUTS: &[Layout] = &[
    Layout {
        name: "tiny-imagenet-200",
        images: &TINY_IMAGENET,
        others: &["val/val_annotations.txt", "train/n01443537/n01443537_boxes.txt", "wnids.txt"],
        source: "",
        args: &[],
        status: REFUSED,
        says: &[
            "images are directly in the split folders `test`, `val` and have no class",
            "to pack those with classes: --where 'split in [\"train\"]'; ",
        ],
    },
    Layout {
        name: "tiny-imagenet-200",
        images: &TINY_IMAGENET,
        others: &[],
        source: "",
        args: &["--where", "split in [\"train\"]"],
        status: PACKED,
        says: &[
            "  train     2 samples in 1 shard",
            "  labels    2 classes from the folders in the splits: n01443537, n01629819\n",
        ],
    },
    Layout {
        name: "coco",
        images: &["train2017/000000000009.png", "val2017/000000000139.png"],
        others: &["annotations/instances_train2017.json"],
        source: "",
        args: &["--layout", "folder"],
        status: PACKED,
        says: &[
            "  train2017 1 sample in 1 shard",
            "  labels    none: the images are directly in the splits\n",
            "the splits train2017, val2017 of the source are kept",
        ],
    },
    Layout {
        name: "cityscapes",
        images: &CITYSCAPES,
        others: &[],
        source: "",
        args: &["--layout", "folder"],
        status: REFUSED,
        says: &[
            "cityscapes/gtFine holds images next to those of",
            "these are masks or labels of them",
            "cityscapes/leftImg8bit as the source",
        ],
    },
    Layout {
        name: "cityscapes",
        images: &CITYSCAPES,
        others: &[],
        source: "leftImg8bit",
        args: &[],
        status: PACKED,
        says: &[
            "  labels    2 classes from the folders in the splits: aachen, lindau\n",
            "the splits train, val of the source are kept",
        ],
    },
    Layout {
        name: "ADEChallengeData2016",
        images: &ADE20K,
        others: &["objectInfo150.txt"],
        source: "",
        args: &["--layout", "folder"],
        status: REFUSED,
        says: &[
            "ADEChallengeData2016/images as the source; ",
            ": --pair mask=",
            "--no-split-folders",
        ],
    },
    Layout {
        name: "ADEChallengeData2016",
        images: &ADE20K,
        others: &[],
        source: "images",
        args: &["--pair", "mask=ADEChallengeData2016/annotations"],
        status: PACKED,
        says: &[
            "packed 2 of 2 samples",
            "  labels    none: the images are directly in the splits\n",
            "the splits training, validation of the source are kept",
        ],
    },
    Layout {
        name: "oxford-iiit-pet",
        images: &PETS,
        others: &["annotations/list.txt", "annotations/xmls/Abyssinian_1.xml"],
        source: "",
        args: &[],
        status: REFUSED,
        says: &["oxford-iiit-pet/images as the source; ", "oxford-iiit-pet/annotations/trimaps; "],
    },
    Layout {
        name: "oxford-iiit-pet",
        images: &PETS,
        others: &[],
        source: "images",
        args: &["--pair", "mask=oxford-iiit-pet/annotations/trimaps"],
        status: PACKED,
        says: &["packed 2 of 2 samples", "  labels    none: the images are in one folder\n"],
    },
    Layout {
        name: "LEVIR-CD",
        images: &["train/A/1.png", "train/B/1.png", "train/label/1.png", "val/A/2.png"],
        others: &[],
        source: "",
        args: &[],
        status: REFUSED,
        says: &["LEVIR-CD/train/A as the source; ", "LEVIR-CD/train/label; "],
    },
    Layout {
        name: "face-masks",
        images: &["mask/face.jpg", "mask/other.jpg", "clean/1.jpg", "gloves/2.png"],
        others: &[],
        source: "",
        args: &[],
        status: PACKED,
        says: &["  labels    3 classes from folders: clean, gloves, mask\n"],
    },
    Layout {
        name: "brain-tumor",
        images: &["Training/brain/glioma/1.png", "Training/brain/none/2.png", TUMOR],
        others: &[],
        source: "",
        args: &[],
        status: PACKED,
        says: &[
            "  labels    2 classes from the folders in the splits: glioma, none\n",
            "all images of the splits are in brain, so the folders in it are the classes",
            "1 of 2 classes is in some of the splits only: glioma in Training only",
        ],
    },
    Layout {
        name: "chest-xray14",
        images: &["images_001/images/1.png", "images_002/images/2.png"],
        others: &["Data_Entry_2017.csv"],
        source: "",
        args: &[],
        status: PACKED,
        says: &["  labels    none: the folders are no classes\n", "only part the images"],
    },
    Layout {
        name: "div2k",
        images: &["DIV2K_train_HR/0001.png", "DIV2K_train_LR_bicubic/X2/0001x2.png"],
        others: &[],
        source: "",
        args: &[],
        status: PACKED,
        says: &["are all called by words for splits", "such as "],
    },
    Layout {
        name: "pets",
        images: &["train/Cat/1.png", "train/dog/2.png", "val/cat/3.png", "val/dog/4.png"],
        others: &[],
        source: "",
        args: &[],
        status: PACKED,
        says: &["the classes `Cat` and `cat` differ in nothing but case", "2 of 3 classes are"],
    },
    Layout {
        name: "CUB_200_2011",
        images: &["images/001.Albatross/a_1.png", "images/002.Auklet/b_1.png"],
        others: &["images.txt", "parts/parts.txt", "attributes/certainties.txt"],
        source: "",
        args: &[],
        status: PACKED,
        says: &[
            "  labels    2 classes from the folders in images: 001.Albatross, 002.Auklet\n",
            "all images are in images, so the folders in it are the classes",
            "2 folders without images (attributes, parts)",
        ],
    },
    Layout {
        name: "eurosat",
        images: &["2750/Forest/Forest_1.png", "2750/River/River_1.png"],
        others: &[],
        source: "",
        args: &[],
        status: PACKED,
        says: &["  labels    2 classes from the folders in 2750: Forest, River\n"],
    },
    Layout {
        name: "fruits-360",
        images: &FRUITS,
        others: &["LICENSE", "papers/thesis.pdf"],
        source: "",
        args: &[],
        status: PACKED,
        says: &[
            "  training  2 samples in 1 shard",
            "  labels    2 classes from the folders in the splits: Apple, Pear\n",
            "the folder Training is the split training",
        ],
    },
    Layout {
        name: "fruits-360",
        images: &[FRUITS[0], FRUITS[3], "test-multiple_fruits/apples1.png"],
        others: &[],
        source: "",
        args: &[],
        status: REFUSED,
        says: &[
            "Test, Training, test-multiple_fruits have names of splits or similar ones",
            "move all else out of their folder",
        ],
    },
];

#[test]
fn what_is_made_of_well_known_datasets_is_what_their_folders_mean() {
    for layout in LAYOUTS {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(layout.name);
        tree(&folder, layout.images);
        for file in layout.others {
            fs::create_dir_all(folder.join(file).parent().unwrap()).unwrap();
            fs::write(folder.join(file), "x").unwrap();
        }
        let (source, out) = (folder.join(layout.source), root.path().join("o.wds"));
        // Paths in arguments are relative to the folder of the test.
        let args = layout.args.iter().map(|arg| match arg.split_once('=') {
            Some((field, path)) => format!("{field}={}", root.path().join(path).display()),
            None => (*arg).to_owned(),
        });
        let args: Vec<String> = args.collect();
        let mut all: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"pack", &source, &out];
        all.extend(args.iter().map(|arg| arg as &dyn AsRef<std::ffi::OsStr>));
        let output = run(&all);
        let said = text(&output.stdout) + &text(&output.stderr);
        println!("== {} {} {:?}\n{said}", layout.name, layout.source, layout.args);
        assert_eq!(output.status.code(), Some(layout.status), "{}: {said}", layout.name);
        for part in layout.says {
            assert!(said.contains(part), "{}: `{part}` is missing: {said}", layout.name);
        }
        if layout.status == PACKED {
            same_for_readers(&source, &out, layout);
        }
    }
}

/// Checks that readers of the folder itself find the packed classes and splits.
fn same_for_readers(source: &Path, out: &Path, layout: &Layout) {
    if !layout.args.is_empty() {
        return;
    }
    let [folder, packed] = [source, out].map(|path| fdconvert_reader::open(path).unwrap());
    let classes = |reader: &dyn fdconvert_reader::Reader| {
        let schema = reader.schema();
        schema.label().map(|label| schema.fields[label].class_names.clone())
    };
    assert_eq!(classes(&*folder), classes(&*packed), "{}", layout.name);
    let names = |reader: &dyn fdconvert_reader::Reader| {
        let splits =
            reader.splits().iter().cloned().map(|(name, range)| (name, range.end - range.start));
        splits.collect::<Vec<_>>()
    };
    assert_eq!(names(&*folder), names(&*packed), "{}", layout.name);
}

#[test]
fn folders_that_links_or_emptiness_leave_out_are_named() {
    let root = tempfile::tempdir().unwrap();
    let (folder, elsewhere) = (root.path().join("im"), root.path().join("elsewhere"));
    tree(&folder, &["train/a/1.png", "train/b/2.png", "val/a/3.png"]);
    tree(&elsewhere, &["dog/4.png", "5.png"]);
    for empty in ["val/b", "val/c", "train/c", "train/c/x"] {
        fs::create_dir_all(folder.join(empty)).unwrap();
    }
    std::os::unix::fs::symlink(elsewhere.join("dog"), folder.join("train/dog")).unwrap();
    std::os::unix::fs::symlink(elsewhere.join("gone"), folder.join("train/gone")).unwrap();
    let said = text(&run(&[&"pack", &folder, &root.path().join("o.wds")]).stdout);
    for part in [
        "3 folders without images (train/c, val/b, val/c)",
        "2 links not followed (train/dog to a folder elsewhere, train/gone to nothing)",
        "--follow-links follows links that lead out of the source",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let args: [&dyn AsRef<std::ffi::OsStr>; 5] =
        [&"pack", &folder, &root.path().join("p.wds"), &"--follow-links", &"--dry-run"];
    let said = text(&run(&args).stdout);
    assert!(said.contains("3 classes from the folders in the splits: a, b, dog"), "{said}");
}
