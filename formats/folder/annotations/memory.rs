//! Annotations in memory.
use super::{
    coco, voc,
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
                let table = coco::parse(&Bytes::copy_from_slice(bytes))?.table;
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
        }
    }
}
