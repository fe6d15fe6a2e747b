//! MNIST, and datasets published as it is: files of images and of labels, called `idx`.
use super::{
    Opened, Recognised,
    files::refuse,
    gzip,
    names::Names,
    pixels::{Order, PixelReader, Records, Run, Shape},
};
use crate::folder::Folder;
use bytes::Bytes;
use fdconvert_core::{Error, FieldSpec, Kind, Result};
use std::path::{Path, PathBuf};

/// Splits, and the beginnings of the names of their files.
const SPLITS: [(&str, &str); 2] = [("train", "train"), ("test", "t10k")];
/// Folders that torchvision puts the files into.
const FOLDERS: [&str; 3] = ["", "raw/", "MNIST/raw/"];
/// A type byte of unsigned bytes, and the number of dimensions.
const IMAGES: [u8; 4] = [0, 0, 8, 3];
const LABELS: [u8; 4] = [0, 0, 8, 1];
/// Limit of the sides of an image.
const MAX_SIDE: u32 = 1 << 14;

pub(super) fn of_folder(names: &Names) -> Result<Option<Recognised>> {
    for folder in FOLDERS {
        let root = names.root().join(folder);
        for (_, beginning) in SPLITS {
            if let Some(file) = file_of(&root, beginning, "images-idx3") {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                return Ok(Some(Recognised::new(format!("{folder}{name}"), &root, Vec::new())));
            }
        }
    }
    Ok(None)
}

/// A file by the names that mirrors have given it; decompressed before compressed.
fn file_of(root: &Path, beginning: &str, kind: &str) -> Option<PathBuf> {
    let dotted = kind.replace("-idx", ".idx");
    let names = [kind, dotted.as_str()].map(|kind| format!("{beginning}-{kind}-ubyte"));
    let files = names.iter().flat_map(|name| [name.clone(), format!("{name}.gz")]);
    let mut files: Vec<PathBuf> = files.map(|name| root.join(name)).collect();
    files.sort_by_key(|file| file.extension().is_some_and(|it| it == "gz"));
    files.into_iter().find(|file| file.is_file())
}

pub(super) fn open(recognised: &Recognised, how: &Folder) -> Result<Opened> {
    let root = &recognised.root;
    let (mut runs, mut shape): (Vec<Run>, Option<Shape>) = (Vec::new(), None);
    for (split, beginning) in SPLITS {
        let Some(file) = file_of(root, beginning, "images-idx3") else { continue };
        let labels_file = file_of(root, beginning, "labels-idx1").ok_or_else(|| {
            refuse(&file, format!("its labels, {beginning}-labels-idx1-ubyte, are not next to it"))
        })?;
        let bytes = gzip::read(&file, how)?;
        let (own, n_samples, images) = images(&bytes).map_err(|what| refuse(&file, what))?;
        if shape.is_some_and(|shape| shape != own) {
            return Err(refuse(
                &file,
                "its images have another size than those of the other split",
            ));
        }
        shape = Some(own);
        let bytes = gzip::read(&labels_file, how)?;
        let labels = labels(&bytes, n_samples).map_err(|what| refuse(&labels_file, what))?;
        runs.push(Run { split, n_samples, images, labels: vec![labels] });
    }
    let shape = shape.ok_or_else(|| {
        Error::usage("source", "no file of images was found, such as train-images-idx3-ubyte")
    })?;
    let fields = vec![FieldSpec::new("label", Kind::Int)];
    Ok(Opened::Pixels(Box::new(PixelReader::new(shape, fields, runs, how)?)))
}

fn word(bytes: &[u8], at: usize) -> Result<u32, String> {
    let word = bytes.get(at..at + 4).and_then(|word| word.try_into().ok());
    word.map(u32::from_be_bytes).ok_or_else(|| "it ends inside its header".to_owned())
}

/// Size, number and records of the images of a file.
pub(super) fn images(bytes: &Bytes) -> Result<(Shape, usize, Records), String> {
    const HEADER: usize = 16;
    if !bytes.starts_with(&IMAGES) {
        return Err(
            "not a file of images: `idx` of bytes in three dimensions begins with 00 00 08 03"
                .to_owned(),
        );
    }
    let (n, height, width) = (word(bytes, 4)?, word(bytes, 8)?, word(bytes, 12)?);
    if [width, height].iter().any(|side| !(1..=MAX_SIDE).contains(side)) {
        return Err(format!(
            "its images are {width}x{height}, and may have sides from 1 to {MAX_SIDE}"
        ));
    }
    let shape = Shape { size: [width, height], order: Order::Gray };
    let (n, record_bytes) = (n as usize, shape.n_bytes());
    let expected = n.checked_mul(record_bytes).and_then(|it| it.checked_add(HEADER));
    if expected != Some(bytes.len()) {
        let len = bytes.len();
        return Err(format!(
            "it claims {n} images of {width}x{height}, and has {len} bytes: is it cut?"
        ));
    }
    Ok((shape, n, Records { bytes: bytes.clone(), start: HEADER, record_bytes }))
}

fn labels(bytes: &Bytes, n_images: usize) -> Result<Records, String> {
    const HEADER: usize = 8;
    if !bytes.starts_with(&LABELS) {
        return Err(
            "not a file of labels: `idx` of bytes in one dimension begins with 00 00 08 01"
                .to_owned(),
        );
    }
    let n = word(bytes, 4)? as usize;
    if n != n_images || n.checked_add(HEADER) != Some(bytes.len()) {
        let len = bytes.len();
        return Err(format!("it claims {n} labels and has {len} bytes, for {n_images} images"));
    }
    Ok(Records { bytes: bytes.clone(), start: HEADER, record_bytes: 1 })
}
