use super::{Layout, losses::Told};
use crate::folder::{
    annotations::{coco::CocoWriter, voc::VocWriter, yolo::YoloWriter},
    labels::{CsvWriter, JsonlWriter},
};
use fdconvert_core::{
    Error, FormatOption, Kind, OptionKind, OptionValues, Result, Schema, objects::FIELD, option,
};
use std::path::PathBuf;

/// The options of a folder that is written.
pub(crate) const OPTIONS: &[FormatOption] = &[
    FormatOption {
        name: option::ANNOTATIONS.as_str(),
        kind: OptionKind::Choice(&["coco", "yolo", "voc", "csv", "jsonl"]),
        help: "Write the annotations of another tool beside the images: coco, yolo, voc (Pascal), csv \
               (a table, of boxes a row for each), jsonl (Hugging Face imagefolder)",
    },
    FormatOption {
        name: option::IMAGES.as_str(),
        kind: OptionKind::Choice(&["keep", "link", "none"]),
        help: "For annotations: images are written, linked to those of the source, or left out \
               and not even read [default: keep]",
    },
    FormatOption {
        name: option::TASK.as_str(),
        kind: OptionKind::Choice(&["detect", "segment", "pose", "obb"]),
        help: "For annotations of yolo: boxes, polygons, boxes with keypoints, or oriented boxes \
               [default: detect]",
    },
];

/// How annotations are written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Written {
    layout: Option<Name>,
    pub(crate) images: Images,
    task: Task,
    /// True to refuse samples that would lose something.
    pub(crate) strict: bool,
    /// Folders that links lead to: the sources.
    pub(crate) roots: Vec<PathBuf>,
    /// True if the first image of the samples is not in the schema, because it is not read.
    pub(crate) lacks_image: bool,
    pub(crate) told: Told,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    Coco,
    Yolo,
    Voc,
    Csv,
    Jsonl,
}

/// What happens to the images.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Images {
    #[default]
    Keep,
    Link,
    None,
}

/// What a line of YOLO holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::folder) enum Task {
    #[default]
    Detect,
    Segment,
    Pose,
    Obb,
}

impl Written {
    /// Reads the options of the format.
    ///
    /// # Errors
    /// `Usage` for unknown words, and for options without a layout.
    pub(crate) fn of(values: &OptionValues) -> Result<Self> {
        let word = |name: option::OptionName| values.choice(name.as_str());
        let unknown = |name: option::OptionName, word: &str| {
            Err(Error::usage(name, format!("`{word}` is unknown; see the help of the option")))
        };
        let layout = match word(option::ANNOTATIONS) {
            None => None,
            Some("coco") => Some(Name::Coco),
            Some("yolo") => Some(Name::Yolo),
            Some("voc") => Some(Name::Voc),
            Some("csv") => Some(Name::Csv),
            Some("jsonl") => Some(Name::Jsonl),
            Some(other) => return unknown(option::ANNOTATIONS, other),
        };
        let images = match word(option::IMAGES) {
            None | Some("keep") => Images::Keep,
            Some("link") => Images::Link,
            Some("none") => Images::None,
            Some(other) => return unknown(option::IMAGES, other),
        };
        let task = match word(option::TASK) {
            None | Some("detect") => Task::Detect,
            Some("segment") => Task::Segment,
            Some("pose") => Task::Pose,
            Some("obb") => Task::Obb,
            Some(other) => return unknown(option::TASK, other),
        };
        let refuse = |name, what: &str, cure| {
            Err(Error::usage(name, what.to_owned()).cure("to choose one", cure))
        };
        if layout.is_none() && word(option::IMAGES).is_some() {
            let what = "it is about a layout of annotations";
            return refuse(option::IMAGES, what, option::ANNOTATIONS.into());
        }
        if layout != Some(Name::Yolo) && word(option::TASK).is_some() {
            let what = "it is about the annotations of YOLO";
            return refuse(option::TASK, what, option::ANNOTATIONS.with("yolo"));
        }
        Ok(Self { layout, images, task, ..Self::default() })
    }

    /// Returns true if images are written.
    pub(crate) fn keeps_images(&self) -> bool {
        self.images == Images::Keep
    }

    /// Returns true if annotations are written.
    pub(crate) fn is_some(&self) -> bool {
        self.layout.is_some()
    }

    /// The name of the layout.
    pub(super) fn name(&self) -> &'static str {
        match self.layout {
            Some(Name::Coco) => "coco",
            Some(Name::Yolo) => "yolo",
            Some(Name::Voc) => "voc",
            Some(Name::Csv) => "csv",
            Some(Name::Jsonl) => "jsonl",
            None => "a folder",
        }
    }

    /// The writer of the layout for samples of a schema, of a dataset `with_splits` or without.
    ///
    /// # Errors
    /// `Usage` for a schema without anything that the layout can say.
    pub(super) fn writer(&self, schema: &Schema, with_splits: bool) -> Result<Box<dyn Layout>> {
        let has = |name: &str| {
            let fields = &schema.fields;
            fields.iter().any(|field| field.name == name && field.kind == Kind::Json)
        };
        let n_images = schema.fields.iter().filter(|field| field.kind == Kind::Image).count();
        let n_images = n_images + usize::from(self.lacks_image);
        let is_fit = match self.layout {
            Some(Name::Coco) => has(FIELD) || has(CAPTIONS),
            Some(Name::Yolo) => has(FIELD),
            Some(Name::Voc) => has(FIELD) || n_images > 1,
            _ => true,
        };
        if !is_fit {
            let fields: Vec<_> =
                schema.fields.iter().map(|field| format!("`{}`", field.name)).collect();
            let what = format!(
                "{} holds the objects of images, and the samples have no field `{FIELD}`, only {}",
                self.name(),
                fields.join(", ")
            );
            return Err(Error::usage(option::ANNOTATIONS, what)
                .cure("to write a table of labels", option::ANNOTATIONS.with("csv")));
        }
        Ok(match self.layout {
            Some(Name::Coco) => Box::new(CocoWriter::new(schema)),
            Some(Name::Yolo) => Box::new(YoloWriter::new(schema, self.task)),
            Some(Name::Voc) => Box::new(VocWriter::new(schema)),
            Some(Name::Csv) => Box::new(CsvWriter::new(schema, with_splits)),
            Some(Name::Jsonl) | None => Box::new(JsonlWriter::default()),
        })
    }
}

/// The field of captions.
pub(in crate::folder) const CAPTIONS: &str = "captions";
