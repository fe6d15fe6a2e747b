//! Annotations in memory.
use super::{
    BoxRows, Shape, ShapedImage, Shapes, coco, cvat, labelme, voc,
    yolo::{Lines, data},
};
use crate::folder::table::Cell;
use bytes::Bytes;
use fdconvert_core::{Error, Result, option};
use std::collections::BTreeSet;

/// Format of a file of annotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnnotationFile {
    /// COCO: JSON, for many images.
    Coco,
    /// The YOLO lines for one image of that width and height. Classes have no names.
    YoloText([u32; 2]),
    /// The YAML file of a YOLO dataset: it gives no documents, only errors.
    YoloData,
    /// Pascal VOC: XML, for one image.
    Voc,
    /// LabelMe: JSON, for one image.
    LabelMe,
    /// CVAT for images: XML, for many images.
    Cvat,
    /// A table of boxes of OpenImages: all of them as those of one image.
    OpenImages,
}

impl AnnotationFile {
    /// Makes the JSON documents, one per image, that packing would make from a file of these bytes.
    ///
    /// # Errors
    /// `Usage` when it is not such a file, or breaks its rules.
    pub fn documents(self, bytes: &[u8]) -> Result<Vec<Bytes>> {
        self.made_of(bytes).map_err(|what| Error::usage(option::LABELS, what))
    }

    fn made_of(self, bytes: &[u8]) -> Result<Vec<Bytes>, String> {
        match self {
            Self::Coco => {
                let table = coco::parse(&Bytes::copy_from_slice(bytes).into())?.table;
                let documents =
                    (0..table.len()).filter_map(|index| match table.row(index)?.pop()? {
                        Cell::Made(made, row) => Some(
                            made.document(row, None)
                                .map(|(document, _)| document)
                                .map_err(|what| what.to_string()),
                        ),
                        _ => None,
                    });
                documents.collect()
            }
            Self::YoloText(size) => {
                let lines = Lines { names: None, keypoints: None };
                Ok(vec![lines.document(bytes, size.map(u64::from), None)?.text])
            }
            Self::YoloData => data::parse(bytes).map(|_| Vec::new()),
            Self::Voc => {
                let voc = voc::Voc::new(vec![Ok(voc::parse(bytes, &mut BTreeSet::new())?)], false);
                Ok(vec![voc.document(0, None).map_err(|what| what.to_string())?.0])
            }
            Self::LabelMe => {
                let read = labelme::parse(bytes)?;
                let names = read.labels.clone();
                let number =
                    |name: &str| names.iter().position(|it| it == name).unwrap_or(0) as u32;
                documents_of(vec![Ok(read.numbered(number))], names.clone())
            }
            Self::Cvat => {
                let cvat::Cvat { images, names, .. } = cvat::parse(bytes)?;
                documents_of(images.into_iter().map(|image| image.annotations).collect(), names)
            }
            Self::OpenImages => {
                let (mut image, mut fault) = (ShapedImage::default(), None);
                BoxRows::new(bytes)?.read(|_, _, shape: Result<Shape, String>| match shape {
                    Ok(shape) => image.shapes.push(shape),
                    Err(what) => fault = Some(what),
                })?;
                documents_of(vec![fault.map_or(Ok(image), Err)], vec![String::new()])
            }
        }
    }
}

fn documents_of(
    images: Vec<Result<ShapedImage, String>>,
    names: Vec<String>,
) -> Result<Vec<Bytes>, String> {
    let n_images = images.len();
    let shapes = Shapes::new(images, names);
    let document = |row| shapes.document(row, None).map_err(|what| what.to_string());
    (0..n_images).map(|row| Ok(document(row)?.0)).collect()
}
