//! Annotations that lie in memory.
use super::{
    coco, voc,
    yolo::{Lines, data},
};
use crate::folder::table::Cell;
use bytes::Bytes;
use fdconvert_core::{Error, Result, option};
use std::collections::BTreeSet;

/// Format that annotations are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnnotationFile {
    /// COCO: JSON, of many images.
    Coco,
    /// The lines of YOLO for one image of that width and height. Classes have no names then.
    YoloText([u32; 2]),
    /// The file in YAML that comes with YOLO: it has no documents, and only its errors are of use.
    YoloData,
    /// Pascal VOC: XML, of one image.
    Voc,
}

impl AnnotationFile {
    /// Makes the JSON documents, one for each image, that packing makes of a file of these bytes.
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
