//! CIFAR-10 and CIFAR-100 in their binary version: records of labels and pixels.
use super::{
    Opened, Recognised,
    files::{lines, refuse, text_of},
    gzip,
    names::Names,
    pixels::{Order, PixelReader, Records, Run, Shape},
};
use crate::folder::Folder;
use bytes::Bytes;
use fdconvert_core::{Error, FieldSpec, Result};
use std::path::Path;

pub(super) const SHAPE: Shape = Shape { size: [32, 32], order: Order::Planes };
const TEN: &str = "batches.meta.txt";
const FINE: &str = "fine_label_names.txt";
const COARSE: &str = "coarse_label_names.txt";
/// Files of CIFAR-10, and of CIFAR-100, with their splits.
const FILES_OF_TEN: [(&str, &str); 6] = [
    ("train", "data_batch_1.bin"),
    ("train", "data_batch_2.bin"),
    ("train", "data_batch_3.bin"),
    ("train", "data_batch_4.bin"),
    ("train", "data_batch_5.bin"),
    ("test", "test_batch.bin"),
];
const FILES_OF_HUNDRED: [(&str, &str); 2] = [("train", "train.bin"), ("test", "test.bin")];
/// Files of the version for Python.
const PICKLED: [&str; 2] = ["data_batch_1", "batches.meta"];
/// Those of CIFAR-100 have names that other folders have, too.
const PICKLED_HUNDRED: [&str; 3] = ["meta", "train", "test"];

/// Files, each with its split or its field.
type Named = [(&'static str, &'static str)];

pub(super) fn of_folder(names: &Names) -> Result<Option<Recognised>> {
    let found = |by: &str| Ok(Some(Recognised::new(by, names.root(), Vec::new())));
    if names.has_file(TEN) && names.first_file(&FILES_OF_TEN.map(|(_, file)| file)).is_some() {
        return found(TEN);
    }
    if names.has_file(FINE) && names.first_file(&FILES_OF_HUNDRED.map(|(_, file)| file)).is_some() {
        return found(FINE);
    }
    // The version for Python, which is refused by its name.
    let is_of_ten = PICKLED.iter().all(|file| names.has_file(file));
    let is_of_hundred = PICKLED_HUNDRED.iter().all(|file| names.has_file(file));
    match (is_of_ten, is_of_hundred) {
        (true, _) => found("data_batch_1"),
        (_, true) if names.root().ends_with("cifar-100-python") => found("meta"),
        _ => Ok(None),
    }
}

pub(super) fn open(recognised: &Recognised, how: &Folder) -> Result<Opened> {
    let root = &recognised.root;
    if !root.join(TEN).is_file() && !root.join(FINE).is_file() {
        let what = format!(
            "{} is the version of CIFAR for Python: its pickles can run programs, and are not read; pack \
             torchvision's dataset in Python (`fdconvert.pack(torchvision.datasets.CIFAR10(...), OUT)`), \
             or download the binary version",
            root.display()
        );
        return Err(Error::usage("source", what));
    }
    let is_ten = root.join(TEN).is_file();
    let (files, names): (&Named, &Named) = match is_ten {
        true => (&FILES_OF_TEN, &[("label", TEN)]),
        // As in the records: the coarse label comes first there.
        false => (&FILES_OF_HUNDRED, &[("label", FINE), ("coarse_label", COARSE)]),
    };
    let mut fields = Vec::new();
    for (field, file) in names {
        fields.push(FieldSpec::label(*field, class_names(&root.join(file), how)?.into()));
    }
    let mut runs = Vec::new();
    for (split, name) in files {
        let file = root.join(name);
        if !file.is_file() {
            continue;
        }
        let bytes = gzip::read(&file, how)?;
        let read = records(bytes, names.len()).map_err(|what| refuse(&file, what))?;
        let (n_samples, mut labels, images) = read;
        // The field `label` is the fine one.
        labels.reverse();
        runs.push(Run { split, n_samples, images, labels });
    }
    Ok(Opened::Pixels(Box::new(PixelReader::new(SHAPE, fields, runs, how)?)))
}

fn class_names(file: &Path, how: &Folder) -> Result<Vec<String>> {
    let names: Vec<String> = lines(&text_of(file, how)?).map(|(_, name)| name.to_owned()).collect();
    if names.is_empty() || names.len() > 256 {
        return Err(refuse(
            file,
            format!("it names {} classes, and a label is a byte", names.len()),
        ));
    }
    Ok(names)
}

/// Number of records of a file, its labels in their order, and its images.
pub(super) fn records(
    bytes: Bytes,
    n_labels: usize,
) -> Result<(usize, Vec<Records>, Records), String> {
    let record_bytes = SHAPE.n_bytes() + n_labels;
    let n_samples = bytes.len() / record_bytes;
    if n_samples == 0 || !bytes.len().is_multiple_of(record_bytes) {
        let len = bytes.len();
        return Err(format!(
            "it has {len} bytes, no multiple of the {record_bytes} of an image: is it cut?"
        ));
    }
    let records = |start: usize| Records { bytes: bytes.clone(), start, record_bytes };
    Ok((n_samples, (0..n_labels).map(records).collect(), records(n_labels)))
}
