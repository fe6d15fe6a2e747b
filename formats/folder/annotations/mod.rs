//! Annotations of other tools beside images: COCO JSON, YOLO, Pascal VOC, LabelMe, CVAT and
//! OpenImages.
//!
//! All become the field `objects`, a JSON document of lists of equal length, one entry per object:
//! `docs/guide/annotations.md` specifies it, and lists what each kind supports and refuses.
//! Documents are made when the image is read, because its header, which is read anyway, determines
//! the frame of the coordinates; and faulty annotations of one image are an error of its sample
//! alone.

mod coco;
mod cvat;
pub(crate) mod files;
mod frame;
mod labelme;
mod lists;
mod memory;
mod openimages;
mod shapes;
mod voc;
#[cfg(feature = "write")]
pub(in crate::folder) mod writing;
mod xml;
mod yolo;

pub(crate) use coco::read as coco;
pub(crate) use cvat::{Cvat, CvatImage, parse as parse_cvat};
pub(crate) use frame::{Notice, Notices, Photo, side};
pub(crate) use labelme::{LabelMe, parse as parse_labelme};
pub(crate) use openimages::{BoxRows, class_names as openimages_classes};
pub(crate) use shapes::{LeftOut, Shape, ShapedImage, Shapes};
pub(crate) use voc::{Annotation as Boxes, Object, Voc};

pub use memory::AnnotationFile;

use crate::folder::{Folder, labels::tables_in, split_folders::Division, table::Table};
use bytes::Bytes;
use fdconvert_core::{Error, Ignored, Remark, Result, Schema, option};
use fdconvert_storage::place::{self, Kind, is_url};
use std::path::Path;

/// Annotations of the images below a folder.
pub(crate) struct Annotated {
    pub(crate) schema: Schema,
    pub(crate) table: Table,
    /// Identity of the annotations: their bytes, or a hash of them.
    pub(crate) identity: Bytes,
    /// Splits named in the annotations; `None` if the folders define them.
    pub(crate) division: Option<Division>,
    pub(crate) remarks: Vec<String>,
    pub(crate) ignored: Ignored,
    /// True if the annotations list the images by name.
    pub(crate) lists: bool,
}

/// Documents that are made when their samples are read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Made {
    Coco(coco::Objects),
    Captions(coco::Captions),
    Yolo(yolo::Yolo),
    Voc(Voc),
    Shapes(Shapes),
}

impl Made {
    /// Returns true if they contain places in the image.
    pub(crate) fn has_places(&self) -> bool {
        !matches!(self, Self::Captions(_))
    }

    /// Returns true if the size of the row's image is known without the image.
    pub(crate) fn states_size(&self, row: usize) -> bool {
        match self {
            Self::Coco(coco) => coco.states_size(row),
            Self::Captions(_) => true,
            Self::Yolo(_) => false,
            Self::Voc(voc) => voc.states_size(row),
            Self::Shapes(shapes) => shapes.states_size(row),
        }
    }

    /// Makes the document of a row; `photo` is its image, if any. The error is a text for
    /// `Error::sample`.
    pub(crate) fn document(
        &self,
        row: usize,
        photo: Option<Photo>,
    ) -> Result<(Bytes, Vec<Notice>), Remark> {
        match self {
            Self::Coco(coco) => coco.document(row, photo),
            Self::Captions(captions) => Ok((captions.document(row)?, Vec::new())),
            Self::Yolo(yolo) => yolo.document(row, photo),
            Self::Voc(voc) => voc.document(row, photo),
            Self::Shapes(shapes) => shapes.document(row, photo),
        }
    }

    /// What is wrong with a row whatever its image is: that says more than a missing image.
    pub(crate) fn fault(&self, row: usize) -> Option<&str> {
        match self {
            Self::Shapes(shapes) => shapes.fault(row),
            _ => None,
        }
    }
}

/// Reads a folder of Pascal VOC for all images below `root`.
///
/// # Errors
/// As for [`read`].
pub(crate) fn voc(root: &Path, folder: &Path, how: &Folder) -> Result<Annotated> {
    voc::read(root, folder, &files::LabelFiles::list(folder)?.xml, how)
}

/// Coordinates are shares of an image that is not there.
const NO_SIZE: &str = "its boxes are shares of the image, which is missing, so that their places are \
                       not known";

/// Reads the annotations at `labels` of the images below `root`; `None` when the name is that of a
/// table.
///
/// # Errors
/// `Usage`, with file and entry, when they are damaged or do not fit each other; `Io`.
pub(crate) fn read(root: &Path, labels: &Path, how: &Folder) -> Result<Option<Annotated>> {
    let extension = labels.extension().unwrap_or_default().to_ascii_lowercase();
    match extension.to_str() {
        Some("json") => coco::read(labels, how).map(Some),
        Some("yaml" | "yml" | "data") => yolo::read_data(root, labels, how).map(Some),
        Some("csv" | "tsv" | "jsonl" | "ndjson" | "txt") => Ok(None),
        _ if is_url(labels) => {
            let what = format!(
                "{} is not one of: .csv, .tsv, .jsonl, .json (COCO); folders of annotations are read \
                 from this machine, so copy it here first",
                labels.display()
            );
            Err(Error::usage(option::LABELS, what))
        }
        _ if !tables_in(labels)?.files.is_empty() => Ok(None),
        _ if place::is_folder(labels) => of_folder(root, labels, how).map(Some),
        // A name without extension means a folder: report it as missing rather than list the
        // supported names.
        _ if extension.is_empty() && place::look_at(labels)? == Kind::Folder => Ok(None),
        _ => {
            let what = format!(
                "{} is not one of: .csv, .tsv, .jsonl, .txt (names and classes), .json (COCO), .yaml or \
                 .data (YOLO), a folder of .txt files (YOLO), of .xml files (Pascal VOC) or with \
                 metadata.csv or metadata.jsonl",
                labels.display()
            );
            Err(Error::usage(option::LABELS, what))
        }
    }
}

/// A folder of files, one for each image.
fn of_folder(root: &Path, folder: &Path, how: &Folder) -> Result<Annotated> {
    let found = files::LabelFiles::list(folder)?;
    let refuse = |what: &str| {
        Err(Error::usage(option::LABELS, format!("{} holds {what}", folder.display())))
    };
    let (has_text, has_xml) = (!found.text.is_empty(), !found.xml.is_empty());
    let are_of_images = |files| -> Result<bool> {
        let (images, _) = files::images(root, how)?;
        // If two images share a file, it is a folder of images.
        Ok(files::pair(&images, files).map_or(true, |pairs| pairs.n_read() > 0))
    };
    // A dataset with one kind of annotations may contain lists and texts of the other kind.
    let (is_yolo, is_voc) = match (has_text, has_xml) {
        (true, true) => (are_of_images(&found.text)?, are_of_images(&found.xml)?),
        kinds => kinds,
    };
    let mut annotated = match (is_yolo, is_voc) {
        (true, false) => yolo::read_folder(root, folder, &found, how),
        (false, true) => voc::read(root, folder, &found.xml, how),
        (true, true) => refuse(
            "both .txt files (YOLO) and .xml files (Pascal VOC) of images; move those of one kind \
             into a separate folder",
        ),
        (false, false) if has_text => refuse(
            "both .txt files (YOLO) and .xml files (Pascal VOC), and none has the name of an image \
             of the source",
        ),
        (false, false) => {
            refuse("no .txt file (YOLO), no .xml file (Pascal VOC) and no metadata.csv")
        }
    }?;
    let (n_others, kind) =
        if is_yolo { (found.xml.len(), ".xml") } else { (found.text.len(), ".txt") };
    if n_others > 0 {
        let (files, are) = if n_others == 1 { ("file", "is") } else { ("files", "are") };
        annotated.remarks.push(format!("{n_others} {kind} {files} of no image {are} not read"));
    }
    Ok(annotated)
}
