//! Images with masks in other folders: the samples of Cityscapes, ADE20K and the pets of Oxford.
use super::files::division;
use crate::folder::{
    Folder, FolderReader,
    annotations::Annotated,
    layout::join,
    table::{Column, Table},
};
use bytes::Bytes;
use fdconvert_core::{FieldSpec, Ignored, Kind, Result, Schema};
use std::{fs, path::Path};
use xxhash_rust::xxh3::Xxh3Default;

/// A sample: an image, its mask, and its class.
pub(super) struct Masked {
    pub(super) image: Box<[u8]>,
    pub(super) mask: Option<Box<[u8]>>,
    pub(super) label: Option<i64>,
}

/// Samples in splits: the fields that the first one has are those of all.
pub(super) struct MaskedImages {
    pub(super) samples: Vec<Masked>,
    /// The names of splits, each with its number of samples.
    pub(super) runs: Vec<(String, u64)>,
    /// The names of the classes, where samples have labels.
    pub(super) class_names: Vec<String>,
    pub(super) remarks: Vec<String>,
    pub(super) ignored: Ignored,
    /// Where the labels come from.
    pub(super) origin: String,
}

impl MaskedImages {
    /// Adds the samples of a split, unless not one of its masks is there.
    pub(super) fn add(&mut self, root: &Path, split: &str, samples: Vec<Masked>) {
        if samples.is_empty() {
            return;
        }
        let has_mask = |it: &Masked| it.mask.as_ref().is_none_or(|mask| join(root, mask).is_file());
        if !samples.iter().any(has_mask) {
            let n = samples.len();
            self.remarks.push(format!("{split} is left out: none of its {n} images has a mask"));
            return;
        }
        self.runs.push((split.to_owned(), samples.len() as u64));
        self.samples.extend(samples);
    }

    pub(super) fn open(self, root: &Path, how: &Folder) -> Result<FolderReader> {
        let mut hash = Xxh3Default::new();
        for name in &self.class_names {
            hash.update(name.as_bytes());
            hash.update(&[0]);
        }
        for (split, n_samples) in &self.runs {
            hash.update(split.as_bytes());
            hash.update(&n_samples.to_le_bytes());
        }
        for sample in &self.samples {
            hash.update(&sample.label.unwrap_or(-1).to_le_bytes());
            // The reader hashes the sizes of the first images.
            if let Some(mask) = &sample.mask {
                let bytes = fs::metadata(join(root, mask)).map_or(u64::MAX, |it| it.len());
                hash.update(mask);
                hash.update(&bytes.to_le_bytes());
            }
        }
        let first = self.samples.first();
        let (has_masks, has_labels) =
            (first.is_some_and(|it| it.mask.is_some()), first.is_some_and(|it| it.label.is_some()));
        let mut fields = vec![FieldSpec::new("image", Kind::Image)];
        let mut columns = vec![Column::FirstImage];
        if has_masks {
            fields.push(FieldSpec::new("mask", Kind::Image));
            let masks = self.samples.iter().map(|it| it.mask.clone().unwrap_or_default());
            columns.push(Column::Image(masks.collect()));
        }
        if has_labels {
            fields.push(FieldSpec::label("label", self.class_names.into()));
            let labels = self.samples.iter().map(|it| it.label.unwrap_or(-1));
            columns.push(Column::Int(labels.collect()));
        }
        let runs = self.runs.iter().map(|(split, n)| (split.as_str(), *n));
        let annotated = Annotated {
            schema: Schema::new(fields)?,
            division: Some(division(runs, how)),
            table: Table { paths: self.samples.into_iter().map(|it| it.image).collect(), columns },
            identity: Bytes::copy_from_slice(&hash.digest128().to_le_bytes()),
            remarks: self.remarks,
            ignored: self.ignored,
            lists: false,
        };
        let mut reader = FolderReader::open_annotated(root, annotated, how.clone())?;
        if has_masks {
            reader.facts = reader.facts.clone().keep_pixels(&[1]);
        }
        reader.facts.label_origin = Some(self.origin);
        Ok(reader)
    }
}
