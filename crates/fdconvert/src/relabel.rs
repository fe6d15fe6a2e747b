//! `labels` for a packed dataset: a table by the keys of its samples.
use fdconvert_core::{Error, FieldSpec, Image, Result, Source, Value, option};
use fdconvert_formats::folder::{Folder, TableOfKeys, normal_name};
use fdconvert_pipeline::{KeyTable, Relabelled};
use std::{borrow::Cow, path::Path};

/// Joins the dataset and the table.
pub(crate) fn join(
    dataset: Box<dyn Source>,
    labels: &Path,
    folder: &Folder,
) -> Result<Box<dyn Source>> {
    Ok(Box::new(table(dataset, labels, folder)?))
}

/// Joins the dataset and the table, and keeps their type.
pub(crate) fn table(
    dataset: Box<dyn Source>,
    labels: &Path,
    folder: &Folder,
) -> Result<Relabelled> {
    let extension = labels.extension().unwrap_or_default().to_ascii_lowercase();
    if !matches!(extension.to_str(), Some("csv" | "tsv" | "jsonl" | "ndjson" | "txt")) {
        let what = format!(
            "{} is packed already, and takes a table (.csv, .tsv, .jsonl) whose names are the keys of \
             its samples; annotations are packed with the images that they are of",
            dataset.name()
        );
        return Err(Error::usage(option::LABELS, what));
    }
    Relabelled::join(dataset, Box::new(Table(folder.read_table(labels)?)))
}

struct Table(TableOfKeys);

impl KeyTable for Table {
    fn fields(&self) -> &[FieldSpec] {
        self.0.fields()
    }

    fn keys(&self) -> Vec<String> {
        self.0.keys()
    }

    fn normal<'a>(&self, key: &'a str) -> Cow<'a, str> {
        normal_name(key)
    }

    fn value(&self, row: usize, field: usize) -> Option<Value<Image>> {
        self.0.value(row, field)
    }

    fn identity(&self) -> Vec<u8> {
        self.0.bytes().to_vec()
    }

    fn remarks(&self) -> Vec<String> {
        self.0.remarks().to_vec()
    }
}
