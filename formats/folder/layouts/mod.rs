//! Layouts of datasets that other people and tools publish, read as they are.
//!
//! A folder is recognised by the names in it: no image is opened for that, and at most the first
//! bytes of a file of annotations. [`LAYOUTS`] is the one list: a layout is a file here and an
//! entry there. Everything becomes a [`FolderReader`], or a [`PixelReader`] where images are not
//! files.

mod ade20k;
mod celeba;
mod cifar;
mod cityscapes;
mod coco;
mod cvat;
mod files;
mod food101;
mod gzip;
mod imagefolder;
mod labelme;
mod masks;
mod mnist;
mod names;
mod openimages;
mod pets;
mod pixels;
mod recognise;
mod voc;
mod yolo;

pub use pixels::PixelFile;

use crate::folder::{Folder, FolderReader};
use fdconvert_core::Result;
use names::Names;
use pixels::PixelReader;
use std::path::{Path, PathBuf};

/// A layout that people have.
struct KnownLayout {
    name: &'static str,
    /// What recognises it, for messages.
    signs: &'static str,
    /// Recognises a folder.
    of_folder: fn(&Names) -> Result<Option<Recognised>>,
    /// Recognises a file that describes a dataset, and finds its folder.
    of_file: fn(&Path) -> Result<Option<Recognised>>,
    open: fn(&Recognised, &Folder) -> Result<Opened>,
}

/// All layouts, in the order in which they are tried: those with names that nothing else has come
/// first.
const LAYOUTS: [KnownLayout; 14] = [
    KnownLayout {
        name: "mnist",
        signs: "train-images-idx3-ubyte or t10k-images-idx3-ubyte, also .gz, also in raw",
        of_folder: mnist::of_folder,
        of_file: no_file,
        open: mnist::open,
    },
    KnownLayout {
        name: "cifar",
        signs: "data_batch_1.bin and batches.meta.txt, or train.bin and fine_label_names.txt",
        of_folder: cifar::of_folder,
        of_file: no_file,
        open: cifar::open,
    },
    KnownLayout {
        name: "cityscapes",
        signs: "the folders leftImg8bit and gtFine",
        of_folder: cityscapes::of_folder,
        of_file: no_file,
        open: cityscapes::open,
    },
    KnownLayout {
        name: "ade20k",
        signs: "the folders images and annotations, each with training or validation",
        of_folder: ade20k::of_folder,
        of_file: no_file,
        open: ade20k::open,
    },
    KnownLayout {
        name: "celeba",
        signs: "list_attr_celeba.txt or .csv, and the folder img_align_celeba",
        of_folder: celeba::of_folder,
        of_file: no_file,
        open: celeba::open,
    },
    KnownLayout {
        name: "food101",
        signs: "meta/train.txt and meta/test.txt, and the folder images",
        of_folder: food101::of_folder,
        of_file: no_file,
        open: food101::open,
    },
    KnownLayout {
        name: "oxford-pets",
        signs: "annotations/trainval.txt or annotations/test.txt, and the folder images",
        of_folder: pets::of_folder,
        of_file: no_file,
        open: pets::open,
    },
    KnownLayout {
        name: "coco",
        signs: "instances*.json (also in annotations), _annotations.coco.json, or labels.json of COCO",
        of_folder: coco::of_folder,
        of_file: coco::of_file,
        open: coco::open,
    },
    KnownLayout {
        name: "yolo",
        signs: "data.yaml, dataset.yaml, another .yaml with `names` and `train`, or obj.data",
        of_folder: yolo::of_folder,
        of_file: yolo::of_file,
        open: yolo::open,
    },
    KnownLayout {
        name: "voc",
        signs: "the folders Annotations and JPEGImages",
        of_folder: voc::of_folder,
        of_file: no_file,
        open: voc::open,
    },
    KnownLayout {
        name: "openimages",
        signs: "*annotations-bbox.csv",
        of_folder: openimages::of_folder,
        of_file: openimages::of_file,
        open: openimages::open,
    },
    KnownLayout {
        name: "cvat",
        signs: "annotations.xml of `CVAT for images 1.1`",
        of_folder: cvat::of_folder,
        of_file: cvat::of_file,
        open: cvat::open,
    },
    KnownLayout {
        name: "labelme",
        signs: "NAME.json with `shapes` next to images",
        of_folder: labelme::of_folder,
        of_file: no_file,
        open: labelme::open,
    },
    KnownLayout {
        name: "imagefolder",
        signs: "metadata.csv or metadata.jsonl with `file_name`, in it or in its folders of splits",
        of_folder: imagefolder::of_folder,
        of_file: imagefolder::of_file,
        open: imagefolder::open,
    },
];

/// A dataset in a known layout, not opened yet.
pub(super) struct Recognised {
    /// The file or folder that told it, for messages.
    by: String,
    /// The dataset's folder.
    root: PathBuf,
    /// The files that describe it.
    files: Vec<PathBuf>,
    /// Other descriptions, which are not read.
    unread: Vec<String>,
}

impl Recognised {
    fn new(by: impl Into<String>, root: &Path, files: Vec<PathBuf>) -> Self {
        Self { by: by.into(), root: root.to_path_buf(), files, unread: Vec::new() }
    }
}

/// An open dataset of a known layout.
enum Opened {
    /// One for each list of images.
    Folders(Vec<FolderReader>),
    Pixels(Box<PixelReader>),
}

/// The names of all layouts that [`Folder::open_layout`] knows.
pub fn layout_names() -> impl Iterator<Item = &'static str> {
    LAYOUTS.iter().map(|layout| layout.name)
}

fn no_file(_: &Path) -> Result<Option<Recognised>> {
    Ok(None)
}
