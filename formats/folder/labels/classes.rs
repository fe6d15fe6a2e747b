//! Tables that only select files: classes and splits of the folders stay.
use crate::folder::{
    layout::key_of_path,
    levels::Levels,
    split_folders::folder,
    table::{Column, Table},
};
use fdconvert_core::{Error, FieldSpec, Result, Schema, option};
use std::collections::BTreeMap;

/// Adds the classes of the folders, with the numbers that they have when all files are read.
pub(crate) fn keep_classes(
    schema: &mut Schema,
    table: &mut Table,
    class_names: Vec<String>,
    levels: &Levels,
) -> Result<()> {
    if class_names.is_empty() {
        return Ok(());
    }
    let numbers: BTreeMap<&str, i64> = class_names.iter().map(String::as_str).zip(0..).collect();
    let label = |path: &[u8]| {
        let class = key_of_path(levels.class(folder(path)));
        numbers.get(class.as_str()).copied().ok_or_else(|| {
            let path = key_of_path(path);
            let what = format!("`{path}` is in none of the class folders; add a column `label`");
            Error::usage(option::LABELS, what)
        })
    };
    let labels = table.paths.iter().map(|path| label(path)).collect::<Result<Vec<i64>>>()?;
    table.columns.push(Column::Int(labels));
    let mut fields = std::mem::take(&mut schema.fields);
    fields.push(FieldSpec::label("label", class_names.into()));
    *schema = Schema::new(fields)?;
    Ok(())
}
