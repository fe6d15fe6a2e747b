//! `--labels FILE`: a table of samples that people or other tools wrote.
mod classes;

pub(crate) use classes::keep_classes;

use crate::folder::{
    columns::{EmptyNumber, json_column, text_column},
    layout::{check_relative, key_of_path},
    table::{Column, Table},
};
use bytes::Bytes;
use fdconvert_core::{Error, FieldSpec, Kind, Limits, Named, Result, Schema, named};
use fdconvert_storage::read_file;
use serde_json::{Map, Value as Json};
use std::{collections::BTreeSet, path::Path};

const OPTION: Named = named::LABELS;
/// Possible names of the column that names the file; the first one that there is counts.
const PATHS: [&str; 4] = ["path", "file_name", "filename", "image"];
/// The field that the file itself becomes.
const IMAGE: &str = "image";

/// Reads a table by the extension of its name; with it come its bytes, to tell tables apart. They are
/// `inside` where it lies in a zip.
pub(crate) fn read(
    file: &Path,
    limits: &Limits,
    inside: Option<Bytes>,
) -> Result<(Schema, Table, Bytes)> {
    let extension = file.extension().unwrap_or_default().to_ascii_lowercase();
    let parse = match extension.to_str() {
        Some("csv") => parse_csv,
        Some("tsv") => parse_tsv,
        Some("jsonl" | "ndjson") => parse_jsonl,
        _ => {
            let what = format!("{} is none of: .csv, .tsv, .jsonl", file.display());
            return Err(Error::usage(OPTION, what));
        }
    };
    let bytes = inside.map_or_else(|| read_file(file, limits.max_file_bytes), Ok)?;
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let refuse = |what: String| Error::usage(OPTION, format!("{}: {what}", file.display()));
    let rows = parse(text).map_err(refuse)?;
    let (schema, table) = assemble(rows).map_err(refuse)?;
    Ok((schema, table, bytes))
}

/// A table whose columns have got their types; paths are proven relative.
struct Rows {
    paths: Vec<Box<[u8]>>,
    /// The line of each row, from 1.
    lines: Vec<u64>,
    columns: Vec<(String, Kind, Column)>,
}

fn parse_csv(text: &[u8]) -> Result<Rows, String> {
    parse_separated(text, b',')
}

fn parse_tsv(text: &[u8]) -> Result<Rows, String> {
    parse_separated(text, b'\t')
}

fn parse_separated(text: &[u8], separator: u8) -> Result<Rows, String> {
    // The reader counts lines itself: cells may hold line breaks.
    let mut reader =
        csv::ReaderBuilder::new().has_headers(true).delimiter(separator).from_reader(text);
    let headers = reader.headers().map_err(|error| csv_error(text, &error))?.clone();
    let names: Vec<String> = headers.iter().map(str::to_owned).collect();
    let path_column = check_names(&names)?;
    let (mut paths, mut lines) = (Vec::new(), Vec::new());
    let mut cells = vec![Vec::new(); names.len()];
    for record in reader.records() {
        let record = record.map_err(|error| csv_error(text, &error))?;
        let line = record.position().map_or(0, |position| line_of(text, position));
        for ((name, cell), column) in names.iter().zip(record.iter()).zip(&mut cells) {
            if *name == path_column {
                paths.push(relative(cell, line, &path_column)?);
                lines.push(line);
            } else {
                check_label(name, cell, line)?;
                column.push(cell.to_owned());
            }
        }
    }
    let columns = names.into_iter().zip(cells).filter(|(name, _)| *name != path_column);
    let columns = columns.map(|(name, cells)| typed(name, text_column(cells), &lines));
    let columns = columns.collect::<Result<_, _>>()?;
    Ok(Rows { paths, lines, columns })
}

fn csv_error(text: &[u8], error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths { pos: Some(position), expected_len, len } => {
            let line = line_of(text, position);
            format!("line {line} has {len} cells; the first line names {expected_len} columns")
        }
        csv::ErrorKind::Utf8 { pos: Some(position), err } => {
            let (line, column) = (line_of(text, position), err.field() + 1);
            format!("line {line}, column {column} is not UTF-8")
        }
        _ => error.to_string(),
    }
}

/// The line a record starts on: its position is that of the empty lines before it.
fn line_of(text: &[u8], position: &csv::Position) -> u64 {
    let start = usize::try_from(position.byte()).unwrap_or(usize::MAX);
    let rest = text.get(start..).unwrap_or_default().iter();
    let n_empty = rest.take_while(|byte| matches!(byte, b'\r' | b'\n')).filter(|&&b| b == b'\n');
    position.line() + n_empty.count() as u64
}

fn parse_jsonl(text: &[u8]) -> Result<Rows, String> {
    let (mut paths, mut lines) = (Vec::new(), Vec::new());
    let (mut names, mut path_column): (Vec<String>, String) = Default::default();
    let mut cells: Vec<Vec<Json>> = Vec::new();
    for (line, text) in (1..).zip(text.split(|&byte| byte == b'\n')) {
        if text.trim_ascii().is_empty() {
            continue;
        }
        let mut object: Map<String, Json> = serde_json::from_slice(text).map_err(|error| {
            let column = error.column();
            format!("line {line}, character {column}: not a JSON object: {error}")
        })?;
        if names.is_empty() {
            names = object.keys().cloned().collect();
            cells = vec![Vec::new(); names.len()];
            path_column = check_names(&names)?;
        }
        let Some(Json::String(path)) = object.get(&path_column) else {
            return Err(format!("line {line} has no text under `{path_column}`"));
        };
        paths.push(relative(path, line, &path_column)?);
        lines.push(line);
        for (name, column) in names.iter().zip(&mut cells) {
            let cell = object.remove(name);
            match &cell {
                Some(Json::String(text)) => check_label(name, text, line)?,
                Some(Json::Null) => check_label(name, "", line)?,
                _ => {}
            }
            column.push(
                cell.ok_or_else(|| {
                    format!("line {line} has no `{name}`, which earlier lines have")
                })?,
            );
        }
        if let Some(name) = object.keys().next() {
            return Err(format!("line {line} has `{name}`, which earlier lines do not have"));
        }
    }
    let columns = names.into_iter().zip(cells).filter(|(name, _)| *name != path_column);
    let columns = columns.map(|(name, cells)| typed(name, json_column(cells), &lines));
    let columns = columns.collect::<Result<_, _>>()?;
    Ok(Rows { paths, lines, columns })
}

/// Checks the names of the columns and gives the one that names the file.
fn check_names(names: &[String]) -> Result<String, String> {
    let path = PATHS.into_iter().find(|path| names.iter().any(|name| name == path));
    for (i, name) in names.iter().enumerate() {
        if name.is_empty() {
            return Err(format!("column {} has no name", i + 1));
        }
        if names.iter().take(i).any(|earlier| earlier == name) {
            return Err(format!("two columns are called `{name}`"));
        }
        if name == IMAGE && path != Some(IMAGE) {
            return Err(format!(
                "a column is called `{IMAGE}`, which is the field of the file itself; call it \
                 something else"
            ));
        }
    }
    path.map(str::to_owned).ok_or_else(|| {
        let (paths, seen) = (PATHS.join("`, `"), names.join("`, `"));
        let cure = match names {
            [only] if only.contains(';') => "; separate cells by commas",
            [only] if only.contains('\t') => "; call a file whose cells tabs separate .tsv",
            _ => "",
        };
        format!("the first line has to name a column `{paths}`; it names `{seen}`{cure}")
    })
}

/// A column with its type, or where it has none.
fn typed(
    name: String,
    column: Result<(Kind, Column), EmptyNumber>,
    lines: &[u64],
) -> Result<(String, Kind, Column), String> {
    match column {
        Ok((kind, column)) => Ok((name, kind, column)),
        Err(EmptyNumber(row)) => {
            let line = lines.get(row).copied().unwrap_or(0);
            Err(format!(
                "line {line}, column `{name}`: the cell is empty, and all others hold numbers; \
                 write a number (nan makes it a column of floats), or drop the row or the column"
            ))
        }
    }
}

/// An empty text would be one more class, and all numbers behind it would be others.
fn check_label(column: &str, cell: &str, line: u64) -> Result<(), String> {
    if column != "label" || !cell.trim().is_empty() {
        return Ok(());
    }
    Err(format!("line {line}, column `{column}`: the cell is empty; write a class or drop the row"))
}

/// A path as tables write them; `./` in front is dropped.
fn relative(path: &str, line: u64, column: &str) -> Result<Box<[u8]>, String> {
    let path = path.trim_start_matches("./").as_bytes();
    match check_relative(path) {
        Ok(()) => Ok(path.into()),
        Err(why) => Err(format!("line {line}, column `{column}`: `{}` {why}", key_of_path(path))),
    }
}

fn assemble(rows: Rows) -> Result<(Schema, Table), String> {
    let Rows { paths, lines, columns } = rows;
    if paths.is_empty() {
        return Err("lists no sample".to_owned());
    }
    check_unique(&paths, &lines)?;
    let mut fields = vec![FieldSpec::new(IMAGE, Kind::Image)];
    let mut values = vec![Column::FirstImage];
    for (name, kind, column) in columns {
        match column {
            Column::Text(texts) if name == "label" => {
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
    let schema = Schema::new(fields).map_err(|error| error.to_string())?;
    Ok((schema, Table { paths, columns: values }))
}

/// A file that is listed twice would be two samples of one key.
fn check_unique(paths: &[Box<[u8]>], lines: &[u64]) -> Result<(), String> {
    let mut sorted: Vec<_> = paths.iter().zip(lines).collect();
    sorted.sort_unstable();
    for pair in sorted.windows(2) {
        if let [(path, first), (same, second)] = pair
            && path == same
        {
            let path = key_of_path(path);
            return Err(format!("lines {first} and {second} both list `{path}`"));
        }
    }
    Ok(())
}

/// Classes are the distinct names in the order of their bytes.
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

    fn csv(text: &str) -> Result<(Schema, Table), String> {
        parse_csv(text.as_bytes()).and_then(assemble)
    }

    fn jsonl(text: &str) -> Result<(Schema, Table), String> {
        parse_jsonl(text.as_bytes()).and_then(assemble)
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
        for name in ["filename", "file_name", "image"] {
            let (_, table) = csv(&format!("label,{name}\n7,b.jpg\n")).unwrap();
            assert_eq!(&*table.paths[0], b"b.jpg", "{name}");
            assert_eq!(table.columns.len(), 2);
            let line = format!("{{\"text\": \"x\", \"{name}\": \"b.jpg\"}}\n");
            assert_eq!(&*jsonl(&line).unwrap().1.paths[0], b"b.jpg", "{name}");
        }
        let rows = parse_tsv(b"path\tlabel\na, b.jpg\tdog\n").unwrap();
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
        check(csv("file,label\na,b\n"), &["`path`", "`file`, `label`"]);
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
        let null = "{\"path\": \"a\", \"n\": 1.5}\n{\"path\": \"b\", \"n\": null}\n";
        check(jsonl(null), &["line 2", "`n`", "empty"]);
        check(csv("path,label\na.jpg,1\nb.jpg,2\n\n../c.jpg,3\n"), &["line 5", "`path`", ".."]);
        check(csv("path\n/etc/x.jpg\n"), &["line 2", "absolute"]);
        check(csv("path\na\nb\na\n"), &["lines 2 and 4", "`a`"]);
        check(jsonl("{\"path\": \"a\"}\n{\"path\": 3}\n"), &["line 2", "`path`"]);
        check(jsonl("{\"path\": \"a\"}\n{\"path\": \"b\", \"x\": 1}\n"), &["line 2", "`x`"]);
        check(jsonl("{\"path\": \"a\", \"x\": 1}\n\n{\"path\": \"b\"}\n"), &["line 3", "`x`"]);
        check(jsonl("{\"path\": \"a\"}\n{\"path\": \"b\",}\n"), &["line 2", "character"]);
        check(jsonl("[]\n"), &["line 1"]);
    }
}
