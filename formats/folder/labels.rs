//! `--labels FILE`: a table of samples made by people or other tools.
mod boxes;
mod classes;
#[cfg(feature = "write")]
mod csv_writer;
mod heads;
#[cfg(feature = "write")]
mod jsonl_writer;
mod rows;
mod splits;
mod tables;
mod unlisted;

pub(crate) use classes::keep_classes;
pub(crate) use tables::tables_in;
pub(crate) use unlisted::tell_unlisted;
#[cfg(feature = "write")]
pub(in crate::folder) use {csv_writer::CsvWriter, jsonl_writer::JsonlWriter};

use crate::folder::{
    Folder,
    columns::{Typed, json_column, text_column},
    table::{Column, Table},
};
use bytes::Bytes;
use fdconvert_core::{
    ArraySpec, DType, Error, FieldSpec, Image, Kind, OptionName, Result, Schema, Splits, Value,
    option,
};
use fdconvert_storage::read_file;
use rows::{Cells, Rows};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};
use tables::Tables;

const OPTION: OptionName = option::LABELS;
/// Field name of the file itself.
const IMAGE: &str = "image";
/// Field name of classes.
const LABEL: &str = "label";

#[derive(Debug)]
pub(crate) struct LabelTable {
    pub(crate) schema: Schema,
    pub(crate) table: Table,
    /// Identifies the table.
    pub(crate) bytes: Bytes,
    pub(crate) remarks: Vec<String>,
    pub(crate) splits: Splits,
    pub(crate) files: Vec<PathBuf>,
}

/// Reads a table by its file extension, or all tables of a folder. `inside` has the bytes of a
/// table in a zip.
pub(crate) fn read(file: &Path, how: &Folder, inside: Option<Bytes>) -> Result<LabelTable> {
    let refuse = |what: String| Error::usage(OPTION, format!("{}: {what}", file.display()));
    let tables = if inside.is_none() { tables_in(file)? } else { Tables::default() };
    let (rows, bytes) = if tables.files.is_empty() {
        let bytes = inside.map_or_else(|| read_file(file, how.limits.max_file_bytes), Ok)?;
        (parse(file, &bytes)?, bytes)
    } else {
        tables::read(&tables.files, how)?
    };
    let (schema, table, mut remarks, splits) = assemble(rows, how).map_err(refuse)?;
    remarks.extend(tables.remarks);
    let files = match tables.files.is_empty() {
        true => vec![file.to_path_buf()],
        false => tables.files.into_iter().map(|(file, _)| file).collect(),
    };
    Ok(LabelTable { schema, table, bytes, remarks, splits, files })
}

/// The rows of a table with keys of packed samples as names.
#[derive(Debug)]
pub struct TableOfKeys {
    table: LabelTable,
    fields: Vec<FieldSpec>,
}

impl TableOfKeys {
    pub(crate) fn read(file: &Path, how: &Folder) -> Result<Self> {
        // The dataset keeps its splits.
        let table = read(file, &how.clone().split_folders(false), None)?;
        if table.table.columns.iter().any(|column| matches!(column, Column::Made(_))) {
            let what = format!(
                "{}: rows of boxes belong to folders of images; a table for a packed dataset has a row \
                 for each sample",
                file.display()
            );
            return Err(Error::usage(OPTION, what));
        }
        let fields = table.schema.fields.iter().skip(1).cloned().collect();
        Ok(Self { table, fields })
    }

    /// Returns the fields, without the key column.
    #[must_use]
    pub fn fields(&self) -> &[FieldSpec] {
        &self.fields
    }

    /// Returns the key of each row.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        let keys = self.table.table.paths.iter();
        keys.map(|key| String::from_utf8_lossy(key).into_owned()).collect()
    }

    /// Returns the value of a field in a row; `None` beyond the last row.
    #[must_use]
    pub fn value(&self, row: usize, field: usize) -> Option<Value<Image>> {
        let cell = match self.table.table.columns.get(field + 1)? {
            Column::Int(ints) => Value::Int(*ints.get(row)?),
            Column::Float(floats) => Value::Float(*floats.get(row)?),
            Column::Text(texts) => Value::Text(texts.get(row)?.clone()),
            Column::Json(documents) => Value::Json(documents.get(row)?.clone()),
            Column::Array(arrays) => Value::Array(arrays.get(row)?.clone()),
            _ => return None,
        };
        Some(cell)
    }

    /// Returns the bytes of the table.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.table.bytes
    }

    /// Returns remarks for the user.
    #[must_use]
    pub fn remarks(&self) -> &[String] {
        &self.table.remarks
    }
}

fn parse(file: &Path, bytes: &[u8]) -> Result<Rows> {
    let extension = file.extension().unwrap_or_default().to_ascii_lowercase();
    let parse = match extension.to_str() {
        Some("csv") => rows::parse_csv,
        Some("tsv") => rows::parse_tsv,
        Some("jsonl" | "ndjson") => rows::parse_jsonl,
        Some("txt") => rows::parse_list,
        _ => {
            let what = format!(
                "{} is not one of: .csv, .tsv, .jsonl, .txt; annotations of COCO, YOLO and Pascal VOC \
                 are read from outside of archives: unpack the one that they, or the images, are in",
                file.display()
            );
            return Err(Error::usage(OPTION, what));
        }
    };
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    parse(text).map_err(|what| Error::usage(OPTION, format!("{}: {what}", file.display())))
}

type Assembled = (Schema, Table, Vec<String>, Splits);

fn assemble(mut rows: Rows, how: &Folder) -> Result<Assembled, String> {
    if rows.paths.is_empty() {
        return Err("lists no sample".to_owned());
    }
    let is_of_boxes = boxes::BoxColumns::find(&rows);
    let splits = if how.split_folders { splits::take(&mut rows)? } else { None };
    if let Some(columns) = is_of_boxes {
        let (schema, table, splits) = boxes::assemble(&mut rows, &columns, splits)?;
        return Ok((schema, table, rows.remarks, splits));
    }
    rows.check_unique()?;
    rows.check_labels()?;
    let splits = splits.map(|named| splits::sort(&mut rows, &named)).unwrap_or_default();
    let label = label_of_columns(&mut rows, &how.label_columns)?;
    let Rows { paths, lines, columns, mut remarks, .. } = rows;
    let mut fields = vec![FieldSpec::new(IMAGE, Kind::Image)];
    let mut values = vec![Column::FirstImage];
    for (name, cells) in columns {
        let typed = match cells {
            Cells::Text(cells) => text_column(cells),
            Cells::Json(cells) => json_column(cells),
        };
        let Typed { kind, column, remark } = typed.map_err(|empty| {
            let line = lines.get(empty.0).copied().unwrap_or(0);
            format!(
                "line {line}, column `{name}`: the cell is empty, and all others hold numbers; \
                 write a number (nan makes it a column of floats), or drop the row or the column"
            )
        })?;
        remarks.extend(remark.map(|what| format!("column `{name}`: {what}")));
        match column {
            Column::Text(texts) if name == LABEL => {
                let (class_names, labels) = number_classes(&texts);
                fields.push(FieldSpec::label(name, class_names.into()));
                values.push(Column::Int(labels));
            }
            column => {
                fields.push(FieldSpec::new(name, kind));
                values.push(column);
            }
        }
    }
    if let Some((field, column)) = label {
        fields.push(field);
        values.push(column);
    }
    let schema = Schema::new(fields).map_err(|error| error.to_string())?;
    Ok((schema, Table { paths, columns: values }, remarks, splits))
}

/// Combines 0/1 columns, one per class, into one array.
fn label_of_columns(
    rows: &mut Rows,
    names: &[String],
) -> Result<Option<(FieldSpec, Column)>, String> {
    if names.is_empty() {
        return Ok(None);
    }
    let is_named = |name: &str| names.iter().any(|it| it == name);
    if rows.columns.iter().any(|(name, _)| name == LABEL && !is_named(name)) {
        return Err(format!("it has a column `{LABEL}`, which is what such columns become"));
    }
    let seen: Vec<String> = rows.columns.iter().map(|(name, _)| name.clone()).collect();
    let mut labels = vec![Vec::with_capacity(names.len() * 4); rows.paths.len()];
    for name in names {
        let at = rows.columns.iter().position(|(column, _)| column == name);
        let (_, cells) = at
            .and_then(|at| rows.take(at))
            .ok_or_else(|| format!("it has no column `{name}`, only `{}`", seen.join("`, `")))?;
        for (row, label) in labels.iter_mut().enumerate() {
            let text = cells.text(row);
            let flag = match text.to_ascii_lowercase().as_str() {
                "0" | "0.0" | "false" => 0.0_f32,
                "1" | "1.0" | "true" => 1.0,
                _ => {
                    let line = rows.lines.get(row).copied().unwrap_or(0);
                    return Err(format!(
                        "line {line}, column `{name}`: `{text}` is neither 0 nor 1"
                    ));
                }
            };
            label.extend_from_slice(&flag.to_le_bytes());
        }
    }
    let shape = vec![names.len() as u64];
    let spec = ArraySpec { dtype: DType::F32, shape, torch: false };
    let column = Column::Array(labels.into_iter().map(Bytes::from).collect());
    Ok(Some((FieldSpec::new(LABEL, Kind::Array(spec)), column)))
}

/// Numbers the distinct names, sorted by bytes.
fn number_classes(texts: &[String]) -> (Vec<String>, Vec<i64>) {
    let distinct: BTreeSet<&String> = texts.iter().collect();
    let class_names: Vec<String> = distinct.into_iter().cloned().collect();
    let label = |text| class_names.binary_search(text).map_or(-1, |i| i as i64);
    let labels = texts.iter().map(label).collect();
    (class_names, labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assembled(rows: Result<Rows, String>) -> Result<(Schema, Table), String> {
        let (schema, table, ..) = assemble(rows?, &Folder::default().split_folders(true))?;
        Ok((schema, table))
    }

    fn csv(text: &str) -> Result<(Schema, Table), String> {
        assembled(rows::parse_csv(text.as_bytes()))
    }

    fn jsonl(text: &str) -> Result<(Schema, Table), String> {
        assembled(rows::parse_jsonl(text.as_bytes()))
    }

    /// The remarks on a table, and its splits.
    fn told(text: &str) -> (Vec<String>, Splits) {
        let rows = rows::parse_csv(text.as_bytes()).unwrap();
        let (_, _, remarks, splits) =
            assemble(rows, &Folder::default().split_folders(true)).unwrap();
        (remarks, splits)
    }

    #[test]
    fn names_become_classes_and_numbers_stay() {
        let (schema, table) = csv("path,label\nb.jpg,dog\n./a/a.jpg,cat\n").unwrap();
        assert_eq!(schema.fields[1].class_names.as_deref().unwrap(), ["cat", "dog"]);
        assert_eq!(table.columns[1], Column::Int(vec![1, 0]));
        assert_eq!(&*table.paths[1], b"a/a.jpg");

        let (schema, table) = csv("label,path\n7,b.jpg\n-1,a.jpg\n").unwrap();
        assert_eq!(schema.fields[1].class_names, None);
        assert_eq!(table.columns[1], Column::Int(vec![7, -1]));
    }

    #[test]
    fn columns_of_file_names_may_be_called_as_other_tools_do() {
        for name in
            ["filename", "file_name", "image", "image_name", "image_path", "Path", "ID", "id_code"]
        {
            let (_, table) = csv(&format!("label,{name}\n7,b.jpg\n")).unwrap();
            assert_eq!(&*table.paths[0], b"b.jpg", "{name}");
            assert_eq!(table.columns.len(), 2);
            let line = format!("{{\"text\": \"x\", \"{name}\": \"b.jpg\"}}\n");
            assert_eq!(&*jsonl(&line).unwrap().1.paths[0], b"b.jpg", "{name}");
        }
        let rows = rows::parse_tsv(b"path\tlabel\na, b.jpg\tdog\n").unwrap();
        assert_eq!(&*rows.paths[0], b"a, b.jpg");
    }

    #[test]
    fn json_types_decide() {
        let lines = r#"{"path": "a.jpg", "label": "x", "box": [1, 2], "score": 1, "n": 3}
            {"n": 4, "path": "b.jpg", "label": "w", "box": {}, "score": 0.5}"#;
        let (schema, table) = jsonl(lines).unwrap();
        let kinds: Vec<_> = schema.fields.iter().map(|f| (&*f.name, f.kind.name())).collect();
        let expected = [
            ("image", "image"),
            ("label", "int"),
            ("box", "json"),
            ("score", "float"),
            ("n", "int"),
        ];
        assert_eq!(kinds, expected);
        assert_eq!(table.columns[1], Column::Int(vec![1, 0]));
        assert_eq!(table.columns[2], Column::Json(vec!["[1,2]".into(), "{}".into()]));
    }

    #[test]
    fn errors_say_where() {
        let check = |result: Result<(Schema, Table), String>, parts: &[&str]| {
            let message = result.unwrap_err();
            assert!(parts.iter().all(|part| message.contains(part)), "{message}");
        };
        check(csv(""), &["path"]);
        check(csv("path\n"), &["no sample"]);
        check(csv("what,label\na,b\n"), &["`path`", "`what`, `label`"]);
        check(csv("path,\na,b\n"), &["column 2"]);
        check(csv("path,a,a\n"), &["`a`"]);
        check(csv("path;label\na;b\n"), &["commas"]);
        check(csv("path,image\na,b\n"), &["`image`"]);
        check(csv("path,label\na,x\nb,\n"), &["line 3", "`label`", "empty"]);
        check(jsonl("{\"path\": \"a\", \"label\": \"\"}\n"), &["line 1", "`label`", "empty"]);
        check(jsonl("{\"path\": \"a\", \"label\": null}\n"), &["line 1", "`label`", "empty"]);
        check(csv("path,label\na.jpg\n"), &["line 2", "1 cells"]);
        check(csv("path,n\na,1\n\nb,\nc,2\n"), &["line 4", "`n`", "empty", "numbers"]);
        check(csv("path,n,x\na,t,1.5\nb,u, \n"), &["line 3", "`x`"]);
        let blank = "{\"path\": \"a\", \"n\": 1.5}\n{\"path\": \"b\", \"n\": \"\"}\n";
        check(jsonl(blank), &["line 2", "`n`", "empty"]);
        check(csv("path,label\na.jpg,1\nb.jpg,2\n\n../c.jpg,3\n"), &["line 5", "`path`", ".."]);
        check(csv("path\n/etc/x.jpg\n"), &["line 2", "absolute"]);
        check(csv("path\na\nb\na\n"), &["lines 2 and 4", "`a`", "`xmin`"]);
        check(jsonl("{\"path\": \"a\"}\n{\"path\": 3}\n"), &["line 2", "`path`"]);
        check(
            jsonl("{\"path\": \"a\", \"label\": 1}\n\n{\"path\": \"b\"}\n"),
            &["line 3", "`label`"],
        );
        check(csv("path,label\na, \"x, y\"\n"), &["line 2", "3 cells", "no blank"]);
        check(csv("path,label\nhttps://h/0.jpg,1\n"), &["line 2", "address"]);
        check(jsonl("{\"path\": \"a\"}\n{\"path\": \"b\",}\n"), &["line 2", "character"]);
        check(jsonl("[]\n"), &["line 1"]);
    }

    #[test]
    fn csv_blanks_behind_commas_are_no_part_of_names_and_classes() {
        let text = "filename, label, n\na.jpg, \"cat\", 1\nb.jpg,cat ,2\n";
        let (schema, table) = csv(text).unwrap();
        let names: Vec<_> = schema.fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["image", "label", "n"]);
        assert_eq!(schema.fields[1].class_names.as_deref().unwrap(), ["cat"]);
        assert_eq!(table.columns[2], Column::Int(vec![1, 2]));
        assert_eq!(told(text).0, ["blanks around the text of 5 cells are left out"]);
    }

    #[test]
    fn csv_index_columns_of_pandas_are_left_out() {
        for first in ["", "Unnamed: 0"] {
            let text = format!("{first},path,label,\n0,a.jpg,x,\n1,b.jpg,y,\n");
            let (schema, _) = csv(&text).unwrap();
            assert_eq!(schema.fields.len(), 2);
            assert_eq!(told(&text).0.len(), 2);
        }
    }

    #[test]
    fn csv_column_split_makes_splits() {
        let (remarks, splits) =
            told("path,split\na,train\nb,Validation\nc,training\nd,validation\n");
        let expected = [("train".to_owned(), 0..2), ("validation".to_owned(), 2..4)];
        assert_eq!((splits.as_slice(), remarks.len()), (&expected[..], 0));
        let (_, table) = csv("path,split\na,train\nb,val\nc,train\n").unwrap();
        assert_eq!(table.paths.iter().map(|path| path[0]).collect::<Vec<_>>(), *b"acb");
        let (remarks, splits) = told("path,split\na,train\nb,left\n");
        assert!(splits.is_empty() && remarks[0].contains("line 3 has `left`"), "{remarks:?}");
    }

    #[test]
    fn jsonl_lines_may_have_other_keys() {
        let (schema, table) =
            jsonl("{\"path\": \"a\", \"t\": \"x\"}\n{\"path\": \"b\", \"s\": 1, \"t\": null}\n")
                .unwrap();
        let kinds: Vec<_> = schema.fields.iter().map(|f| (&*f.name, f.kind.name())).collect();
        assert_eq!(kinds, [("image", "image"), ("t", "text"), ("s", "float")]);
        assert_eq!(table.columns[1], Column::Text(vec!["x".to_owned(), String::new()]));
    }

    #[test]
    fn csv_rows_of_boxes_become_objects() {
        let header = "filename,width,height,class,xmin,ymin,xmax,ymax\n";
        let rows = "0.jpg,64,48,cat,1,2,11,12\n1.jpg,64,48,,,,,\n0.jpg,64,48,dog,5,5,20,20\n";
        let (_, table) = csv(&format!("{header}{rows}")).unwrap();
        let Column::Made(made) = &table.columns[1] else { panic!() };
        let document = |row| made.document(row, None).map(|(document, _)| document);
        let expected = r#"{"size":[64,48],"bbox":[[1,2,10,10],[5,5,15,15]],"category":[0,1],"category_name":["cat","dog"]}"#;
        assert_eq!((document(0).unwrap(), table.paths.len()), (expected.into(), 2));
        let empty = r#"{"size":[64,48],"bbox":[],"category":[],"category_name":[]}"#;
        assert_eq!(document(1).unwrap(), empty);
        let (_, table) =
            csv(&format!("{header}{rows}2.jpg,64,48,cat,9,2,1,2\n3.jpg,64,48,cat,a,2,1,2\n"))
                .unwrap();
        let Column::Made(made) = &table.columns[1] else { panic!() };
        assert!(made.document(2, None).unwrap_err().text.contains("backwards"));
        assert!(made.document(3, None).unwrap_err().text.contains("line 6: its `xmin`"));
        let said = csv("path,xmin,ymin,xmax,ymax\na,1,1,2,2\n").unwrap_err();
        assert!(said.contains("`class`"), "{said}");
        let shares = told("ImageID,LabelName,XMin,XMax,YMin,YMax\n0,/m/1,0.25,0.5,0,1\n").0;
        assert!(shares[0].contains("shares"), "{shares:?}");
    }

    #[test]
    fn columns_of_0_and_1_become_one_label() {
        let how = Folder::default().label_columns(vec!["dog".to_owned(), "cat".to_owned()]);
        let rows = || rows::parse_csv(b"path,cat,n,dog\na,1,7,0\nb,0,8,1\n").unwrap();
        let (schema, table, ..) = assemble(rows(), &how).unwrap();
        let names: Vec<_> = schema.fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["image", "n", "label"]);
        let bytes = |flags: [f32; 2]| Bytes::from(flags.map(f32::to_le_bytes).concat());
        assert_eq!(table.columns[2], Column::Array(vec![bytes([0.0, 1.0]), bytes([1.0, 0.0])]));
        let said = assemble(rows(), &how.clone().label_columns(vec!["n".to_owned()])).unwrap_err();
        assert!(said.contains("line 2, column `n`: `7`"), "{said}");
        let said = assemble(rows(), &how.label_columns(vec!["x".to_owned()])).unwrap_err();
        assert!(said.contains("no column `x`"), "{said}");
    }

    #[test]
    fn lists_of_names_and_numbers_are_tables() {
        let list = |text: &str| assembled(rows::parse_list(text.as_bytes()));
        let (schema, table) = list("a b/1.jpg 0\nc/2.jpg\t12\n\n").unwrap();
        assert_eq!((schema.fields.len(), &*table.paths[0]), (2, &b"a b/1.jpg"[..]));
        assert_eq!(table.columns[1], Column::Int(vec![0, 12]));
        assert_eq!(list("a/1.jpg\nb/my 2.jpg\n").unwrap().0.fields.len(), 1);
        assert!(list("a/1.jpg 0\nb/2.jpg\n").unwrap_err().contains("line 2"));
        let (schema, _) = list("a.jpg\tgolden retriever\n").unwrap();
        assert_eq!(schema.fields[1].class_names.as_deref().unwrap(), ["golden retriever"]);
        for text in ["a.jpg,0\n", "a.jpg 0 3\n", "a.jpg;dog\n", "a.jpg\tb c\t0\n"] {
            let said = list(text).unwrap_err();
            assert!(said.contains("line 1") && said.contains(".csv"), "{said}");
        }
    }
}
