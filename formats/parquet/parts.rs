//! Matches the columns of several files by name, and compares them.
use super::{
    columns::{Column, How, columns as of_file},
    file::File,
    files::Found,
    layout::FORMAT,
    open::Part,
};
use fdconvert_core::{
    Encoded, Error, FieldSpec, Kind, Remark, Result, Value, objects::is_class_key, option,
};
use std::{collections::BTreeSet, path::Path};

/// The name of the null partition.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// The cure for classes with different numbers.
const BY_NAME: &str = "name the files one by one as sources: classes are numbered by name then";

/// The columns of each file in the order of the first file's columns, then those from folder names;
/// without the columns in `dropped`. Also returns the names that were left out. fdconvert's files
/// with equal schemas keep all columns, because their index blocks cover all of them.
///
/// # Errors
/// `Unsupported` if a file lacks a column of the first, or has an extra one.
pub(crate) fn columns(
    files: &[File],
    found: &[Found],
    dropped: &[String],
) -> Result<(Vec<Vec<Column>>, Vec<String>)> {
    let mut all: Vec<_> = files.iter().map(|file| of_file(file, file.note.as_ref())).collect();
    let are_ours = files.iter().all(|file| file.note.is_some()) && are_alike(&all);
    let dropped = if are_ours { &[] } else { dropped };
    let is_dropped = |column: &Column| dropped.contains(&column.field.name);
    let left_out = all.iter().flatten().filter(|column| is_dropped(column));
    let left_out: BTreeSet<String> = left_out.map(|column| column.field.name.clone()).collect();
    all.iter_mut().for_each(|columns| columns.retain(|column| !is_dropped(column)));
    let columns = together(files, found, all)?;
    if columns.iter().any(Vec::is_empty) && !left_out.is_empty() {
        return Err(Error::usage(option::DROP_FIELDS, "no other column is left"));
    }
    Ok((columns, left_out.into_iter().collect()))
}

fn are_alike(all: &[Vec<Column>]) -> bool {
    let fields = |columns: &[Column]| columns.iter().map(|it| it.field.clone()).collect::<Vec<_>>();
    all.windows(2).all(|pair| matches!(pair, [a, b] if fields(a) == fields(b)))
}

fn together(
    files: &[File],
    found: &[Found],
    mut all: Vec<Vec<Column>>,
) -> Result<Vec<Vec<Column>>> {
    let Some((first, others)) = all.split_first_mut() else { return Ok(all) };
    let Some(first_file) = files.first() else { return Ok(Vec::new()) };
    for (file, columns) in files.iter().skip(1).zip(others) {
        *columns = arranged(first, std::mem::take(columns))
            .map_err(|(name, what)| unlike(file, first_file, &what, &name))?;
    }
    for (field, values) in partitions(found)? {
        for (columns, value) in all.iter_mut().zip(values) {
            // Columns in the file take precedence: they have their own type.
            if columns.iter().all(|column| column.field.name != field.name) {
                columns.push(Column::constant(field.clone(), value));
            }
        }
    }
    Ok(all)
}

/// Arranges the columns in the order of the first file; the error is the name of a column that only
/// one of both has, and a description.
fn arranged(first: &[Column], mut columns: Vec<Column>) -> Result<Vec<Column>, (String, String)> {
    let mut arranged = Vec::with_capacity(first.len());
    for Column { field: FieldSpec { name, .. }, .. } in first {
        let at = columns.iter().position(|column| column.field.name == *name);
        let what = || format!("it has no column `{name}`, which {{}} has");
        let at = at.ok_or_else(|| (name.clone(), what()))?;
        arranged.push(columns.remove(at));
    }
    match columns.first() {
        Some(Column { field: FieldSpec { name, .. }, .. }) => {
            Err((name.clone(), format!("it has a column `{name}`, which {{}} does not have")))
        }
        None => Ok(arranged),
    }
}

/// Unifies the fields at each position across all files, and returns them.
///
/// # Errors
/// `Unsupported` if they differ.
pub(crate) fn unified(parts: &mut [Part]) -> Result<Vec<FieldSpec>> {
    let n_columns = parts.first().map_or(0, |part| part.columns.len());
    let mut fields = Vec::with_capacity(n_columns);
    for at in 0..n_columns {
        let is_told = |part: &&Part| {
            part.columns.get(at).is_some_and(|column| !matches!(column.how, How::Null))
        };
        let Some(model) = parts.iter().find(is_told).or(parts.first()) else { break };
        let Some(mine) = model.columns.get(at).cloned() else { break };
        let differs = parts
            .iter()
            .filter(is_told)
            .find_map(|part| Some((part, part.columns.get(at)?.difference(&mine)?)));
        if let Some((part, (theirs, first))) = differs {
            let what = format!(
                "its column `{}` has {theirs}, and that of {{}} has {first}",
                mine.field.name
            );
            let are_named = [&mine, part.columns.get(at).unwrap_or(&mine)]
                .iter()
                .all(|column| column.field.class_names.is_some());
            return Err(if are_named {
                refused(&part.file, &model.file, &what, BY_NAME)
            } else {
                unlike(&part.file, &model.file, &what, &mine.field.name)
            });
        }
        for part in &mut *parts {
            if let Some(column) = part.columns.get_mut(at) {
                column.field = mine.field.clone();
                column.inner = mine.inner.clone();
            }
        }
        fields.push(mine.field);
    }
    Ok(fields)
}

/// Returns true if the fields are in another order than the columns of the file.
pub(crate) fn is_reordered(columns: &[Column]) -> bool {
    !columns.iter().filter_map(Column::first_leaf).is_sorted()
}

/// The error for files with different columns of that name.
fn unlike(file: &File, first: &File, what: &str, name: &str) -> Error {
    let cure = "write the files again with the same columns, or pack them one by one";
    refused(file, first, what, cure).cure("to leave the column out", option::DROP_FIELDS.with(name))
}

/// `what` has `{}` for the name of the first file.
fn refused(file: &File, first: &File, what: &str, cure: &str) -> Error {
    let what = what.replace("{}", &first.path.display().to_string());
    unsupported(&file.path, format!("{what}; {cure}"))
}

/// The fields from folder names, with the value of each file: numbers; classes if the name is one
/// of a class column; otherwise texts.
fn partitions(found: &[Found]) -> Result<Vec<(FieldSpec, Vec<Value<Encoded>>)>> {
    let Some(first) = found.first() else { return Ok(Vec::new()) };
    let keys = |file: &Found| -> Vec<String> {
        file.partitions.iter().map(|(key, _)| format!("{key}=...")).collect()
    };
    if let Some(other) = found.iter().find(|file| keys(file) != keys(first)) {
        let folders = |file: &Found| match &keys(file)[..] {
            [] => "no folder `column=value`".to_owned(),
            keys => format!("`{}`", keys.join("/")),
        };
        let (mine, theirs, first) = (folders(other), folders(first), first.path.display());
        let what = format!("it is in {mine}, and {first} in {theirs}: they are two datasets");
        return Err(unsupported(&other.path, what));
    }
    let mut columns = Vec::new();
    for (at, (name, _)) in first.partitions.iter().enumerate() {
        let mut texts = Vec::with_capacity(found.len());
        for file in found {
            let (_, value) = file.partitions.get(at).cloned().unwrap_or_default();
            if value == NULL {
                let what =
                    format!("its folder says that `{name}` is null, and no value stands for it");
                return Err(unsupported(&file.path, what));
            }
            texts.push(value);
        }
        // `007` and `7` are different texts, for example of a place or a product.
        let number =
            |text: &String| text.parse().ok().filter(|number: &i64| number.to_string() == *text);
        let numbers: Option<Vec<i64>> = texts.iter().map(number).collect();
        columns.push(match numbers {
            Some(numbers) => {
                let values = numbers.into_iter().map(Value::Int).collect();
                (FieldSpec::new(name, Kind::Int), values)
            }
            None if is_class_key(name) => {
                let mut names = texts.clone();
                names.sort_unstable();
                names.dedup();
                let number = |text| Value::Int(names.partition_point(|name| name < text) as i64);
                let values = texts.iter().map(number).collect();
                (FieldSpec::label(name, names.into()), values)
            }
            None => {
                let values = texts.into_iter().map(Value::Text).collect();
                (FieldSpec::new(name, Kind::Text), values)
            }
        });
    }
    Ok(columns)
}

fn unsupported(path: &Path, what: impl Into<Remark>) -> Error {
    Error::Unsupported { format: FORMAT, path: path.into(), what: what.into() }
}
