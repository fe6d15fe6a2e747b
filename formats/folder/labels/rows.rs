//! Parses the rows of a table: CSV, JSON lines, and lists of names and numbers.
use super::{LABEL, heads};
use crate::folder::{
    layout::{key_of_path, promised},
    names,
};
use fdconvert_core::with_null_for;
use serde_json::{Map, Value as Json};
use std::{borrow::Cow, collections::BTreeMap};

/// A table by columns; paths are proven relative.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) paths: Vec<Box<[u8]>>,
    /// The line of each row, from 1.
    pub(super) lines: Vec<u64>,
    /// All other columns, with their names.
    pub(super) columns: Vec<(String, Cells)>,
    pub(super) remarks: Vec<String>,
}

#[derive(Debug)]
pub(super) enum Cells {
    Text(Vec<String>),
    /// `None` if a line lacks it.
    Json(Vec<Option<Json>>),
}

impl Cells {
    /// A cell as text, for columns that need only that.
    pub(super) fn text(&self, row: usize) -> Cow<'_, str> {
        match self {
            Self::Text(cells) => cells.get(row).map(|it| it.as_str().into()).unwrap_or_default(),
            Self::Json(cells) => match cells.get(row) {
                Some(Some(Json::String(text))) => text.trim().into(),
                Some(Some(Json::Null) | None) | None => Cow::default(),
                Some(Some(other)) => other.to_string().into(),
            },
        }
    }

    /// The same cells in another order.
    fn ordered(self, order: &[usize]) -> Self {
        fn pick<T: Default>(mut cells: Vec<T>, order: &[usize]) -> Vec<T> {
            let take = |at: &usize| cells.get_mut(*at).map(std::mem::take).unwrap_or_default();
            order.iter().map(take).collect()
        }
        match self {
            Self::Text(cells) => Self::Text(pick(cells, order)),
            Self::Json(cells) => Self::Json(pick(cells, order)),
        }
    }
}

impl Rows {
    /// Takes a column out.
    pub(super) fn take(&mut self, at: usize) -> Option<(String, Cells)> {
        (at < self.columns.len()).then(|| self.columns.remove(at))
    }

    /// Reorders the rows.
    pub(super) fn order(&mut self, order: &[usize]) {
        let path = |at: &usize| self.paths.get_mut(*at).map(std::mem::take).unwrap_or_default();
        self.paths = order.iter().map(path).collect();
        self.lines = order.iter().map(|at| self.lines.get(*at).copied().unwrap_or(0)).collect();
        let columns = std::mem::take(&mut self.columns).into_iter();
        self.columns = columns.map(|(name, cells)| (name, cells.ordered(order))).collect();
    }

    /// Appends the rows of another table.
    pub(super) fn join(mut self, other: Self) -> Result<Self, String> {
        let (n_before, n_after) = (self.paths.len(), other.paths.len());
        self.paths.extend(other.paths);
        self.lines.extend(other.lines);
        for remark in other.remarks {
            if !self.remarks.contains(&remark) {
                self.remarks.push(remark);
            }
        }
        let mut others: Vec<Option<(String, Cells)>> =
            other.columns.into_iter().map(Some).collect();
        for (name, cells) in &mut self.columns {
            let same = others.iter_mut().find(|it| it.as_ref().is_some_and(|(it, _)| it == name));
            match (cells, same.and_then(Option::take)) {
                (Cells::Text(cells), Some((_, Cells::Text(more)))) => cells.extend(more),
                (Cells::Json(cells), Some((_, Cells::Json(more)))) => cells.extend(more),
                (Cells::Json(cells), None) => cells.resize_with(n_before + n_after, || None),
                (_, None) => {
                    return Err(format!(
                        "it has no column `{name}`, which the table before it has"
                    ));
                }
                _ => return Err("it is of another kind than the table before it".to_owned()),
            }
        }
        for (name, cells) in others.into_iter().flatten() {
            let Cells::Json(more) = cells else {
                return Err(format!("the table before it has no column `{name}`"));
            };
            let mut cells: Vec<Option<Json>> = Vec::new();
            cells.resize_with(n_before, || None);
            cells.extend(more);
            self.columns.push((name, Cells::Json(cells)));
        }
        Ok(self)
    }

    /// An empty text would be an additional class and change the numbers after it.
    pub(super) fn check_labels(&self) -> Result<(), String> {
        let Some((_, cells)) = self.columns.iter().find(|(name, _)| name == LABEL) else {
            return Ok(());
        };
        let empty = (0..self.paths.len()).find(|row| cells.text(*row).trim().is_empty());
        match empty.and_then(|row| self.lines.get(row)) {
            None => Ok(()),
            Some(line) => Err(format!(
                "line {line}, column `{LABEL}`: the cell is empty; write a class or drop the row"
            )),
        }
    }

    /// A file listed twice would give two samples with one key.
    pub(super) fn check_unique(&self) -> Result<(), String> {
        let mut sorted: Vec<_> = self.paths.iter().zip(&self.lines).collect();
        sorted.sort_unstable();
        for pair in sorted.windows(2) {
            if let [(path, first), (same, second)] = pair
                && path == same
            {
                let path = key_of_path(path);
                return Err(format!(
                    "lines {first} and {second} both list `{path}`: a row for each box needs the \
                     columns `xmin`, `ymin`, `xmax`, `ymax` and `class`, and all else one row for \
                     each image"
                ));
            }
        }
        Ok(())
    }
}

pub(super) fn parse_csv(text: &[u8]) -> Result<Rows, String> {
    parse_separated(text, b',')
}

pub(super) fn parse_tsv(text: &[u8]) -> Result<Rows, String> {
    parse_separated(text, b'\t')
}

fn parse_separated(text: &[u8], separator: u8) -> Result<Rows, String> {
    // The reader counts lines itself: cells may contain line breaks.
    let mut reader =
        csv::ReaderBuilder::new().has_headers(true).delimiter(separator).from_reader(text);
    let headers = reader.headers().map_err(|error| csv_error(text, &error))?.clone();
    let mut rows = Rows::default();
    let mut n_trimmed = 0_u64;
    let mut trimmed = |cell: &str| {
        let bare = bare(cell);
        n_trimmed += u64::from(bare != cell);
        bare.into_owned()
    };
    let mut names: Vec<String> = headers.iter().map(&mut trimmed).collect();
    let mut cells = vec![Vec::new(); names.len()];
    for record in reader.records() {
        let record = record.map_err(|error| csv_error(text, &error))?;
        rows.lines.push(record.position().map_or(0, |position| line_of(text, position)));
        for (cell, column) in record.iter().zip(&mut cells) {
            column.push(trimmed(cell));
        }
    }
    // The index column that pandas writes by default, and the column that a trailing comma makes.
    let is_index = |(at, name): (usize, &String)| {
        let is_first = at == 0 && (name.is_empty() || name == "Unnamed: 0");
        let is_empty = || cells.get(at).is_some_and(|cells| cells.iter().all(String::is_empty));
        is_first || (name.is_empty() && is_empty())
    };
    let dropped: Vec<usize> =
        names.iter().enumerate().filter(|it| is_index(*it)).map(|(at, _)| at).collect();
    for at in dropped.into_iter().rev() {
        names.remove(at);
        cells.remove(at);
        rows.remarks.push(format!("column {} has no name, and is left out", at + 1));
    }
    let path_at = heads::check(&names)?;
    for (at, (name, cells)) in names.into_iter().zip(cells).enumerate() {
        if at == path_at {
            for (cell, line) in cells.iter().zip(&rows.lines) {
                rows.paths.push(relative(cell, *line, &name)?);
            }
            continue;
        }
        rows.columns.push((name, Cells::Text(cells)));
    }
    tell_trimmed(n_trimmed, &mut rows.remarks);
    Ok(rows)
}

/// A cell without surrounding blanks. CSV ignores a quote after a blank, so it is removed here.
fn bare(cell: &str) -> Cow<'_, str> {
    let trimmed = cell.trim();
    let inner = trimmed.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match inner.filter(|_| cell.starts_with([' ', '\t'])) {
        Some(inner) => inner.replace("\"\"", "\"").into(),
        None => trimmed.into(),
    }
}

fn tell_trimmed(n_trimmed: u64, remarks: &mut Vec<String>) {
    if n_trimmed > 0 {
        let cells = if n_trimmed == 1 { "cell" } else { "cells" };
        remarks.push(format!("blanks around the text of {n_trimmed} {cells} are left out"));
    }
}

fn csv_error(text: &[u8], error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths { pos: Some(position), expected_len, len } => {
            let line = line_of(text, position);
            let start = usize::try_from(position.byte()).unwrap_or(usize::MAX);
            let row = text.get(start..).unwrap_or_default();
            let end = row.iter().position(|byte| *byte == b'\n').unwrap_or(row.len());
            let row = row.get(..end).unwrap_or_default();
            let cure = if row.windows(3).any(|it| it == b", \"") {
                "; leave no blank between a comma and a quote"
            } else {
                ""
            };
            format!(
                "line {line} has {len} cells; the first line names {expected_len} columns{cure}"
            )
        }
        csv::ErrorKind::Utf8 { pos: Some(position), err } => {
            let (line, column) = (line_of(text, position), err.field() + 1);
            format!("line {line}, column {column} is not UTF-8")
        }
        _ => error.to_string(),
    }
}

/// The line where a record starts: its position is that of the empty lines before it.
fn line_of(text: &[u8], position: &csv::Position) -> u64 {
    let start = usize::try_from(position.byte()).unwrap_or(usize::MAX);
    let rest = text.get(start..).unwrap_or_default().iter();
    let n_empty = rest.take_while(|byte| matches!(byte, b'\r' | b'\n')).filter(|&&b| b == b'\n');
    position.line() + n_empty.count() as u64
}

/// Lines may have different keys: the columns are those of all lines.
pub(super) fn parse_jsonl(text: &[u8]) -> Result<Rows, String> {
    let mut rows = Rows::default();
    let mut n_nan = 0_u64;
    let mut positions: BTreeMap<String, usize> = BTreeMap::new();
    let (mut names, mut cells): (Vec<String>, Vec<Vec<Option<Json>>>) = Default::default();
    for (line, text) in (1..).zip(text.split(|&byte| byte == b'\n')) {
        if text.trim_ascii().is_empty() {
            continue;
        }
        let object: Map<String, Json> = match serde_json::from_slice(text) {
            Ok(object) => object,
            Err(error) => {
                // Python's spelling of an unknown number.
                let plain = str::from_utf8(text).ok().and_then(|it| with_null_for(&["NaN"], it));
                let read = plain.and_then(|(it, n)| Some((serde_json::from_str(&it).ok()?, n)));
                let (object, n) = read.ok_or_else(|| {
                    let column = error.column();
                    format!("line {line}, character {column}: not a JSON object: {error}")
                })?;
                n_nan += n;
                object
            }
        };
        let row = rows.lines.len();
        rows.lines.push(line);
        for (name, cell) in object {
            let at = *positions.entry(name).or_insert_with_key(|name| {
                names.push(name.clone());
                cells.push(Vec::new());
                names.len() - 1
            });
            if let Some(column) = cells.get_mut(at) {
                column.resize_with(row, || None);
                column.push(Some(cell));
            }
        }
    }
    if rows.lines.is_empty() {
        return Ok(rows);
    }
    if n_nan > 0 {
        let are = if n_nan == 1 { "number is" } else { "numbers are" };
        rows.remarks.push(format!("{n_nan} {are} NaN, which JSON has not, and taken as null"));
    }
    let path_at = heads::check(&names)?;
    let mut n_trimmed = 0;
    for (at, (name, mut cells)) in names.into_iter().zip(cells).enumerate() {
        cells.resize_with(rows.lines.len(), || None);
        for (cell, line) in cells.iter_mut().zip(&rows.lines) {
            match cell {
                Some(Json::String(path)) if at == path_at => {
                    rows.paths.push(relative(path, *line, &name)?);
                }
                // Tables of numbered images have numbers in this column.
                Some(Json::Number(number)) if at == path_at && heads::is_id(&name) => {
                    rows.paths.push(relative(&number.to_string(), *line, &name)?);
                }
                _ if at == path_at => {
                    return Err(format!("line {line} has no text under `{name}`"));
                }
                Some(Json::String(text)) if name == LABEL && text.trim() != text => {
                    *text = text.trim().to_owned();
                    n_trimmed += 1;
                }
                _ => {}
            }
        }
        if at != path_at {
            rows.columns.push((name, Cells::Json(cells)));
        }
    }
    tell_trimmed(n_trimmed, &mut rows.remarks);
    Ok(rows)
}

/// Lines such as `a/1.jpg 0`: a name, and its class after the last blank; or only names.
pub(super) fn parse_list(text: &[u8]) -> Result<Rows, String> {
    let mut rows = Rows::default();
    let mut labels = Vec::new();
    for (line, text) in (1..).zip(text.split(|&byte| byte == b'\n')) {
        let text = str::from_utf8(text).map_err(|_| format!("line {line} is not UTF-8"))?.trim();
        if text.is_empty() {
            continue;
        }
        let is_name = |word: &str| promised(word.as_bytes()).is_some();
        // Names and classes may contain blanks on either side of a tab.
        let parts = text.rsplit_once('\t').or_else(|| text.rsplit_once(char::is_whitespace));
        let (name, label) = match parts {
            // Only a name, with blanks.
            Some((_, last)) if is_name(last) => (text, None),
            Some((name, label)) => (name.trim_end(), Some(label.trim_start())),
            None => (text, None),
        };
        let has_more = |separator| name.split_once(separator).is_some_and(|(it, _)| is_name(it));
        if !is_name(name) && [',', ';', '\t', ' '].into_iter().any(has_more) {
            return Err(format!(
                "line {line} has more than `NAME CLASS`; call a table with separators .csv or .tsv, \
                 and name its columns in the first line, as in `path,label`"
            ));
        }
        rows.paths.push(relative(name, line, "path")?);
        rows.lines.push(line);
        labels.extend(label.map(str::to_owned));
        if labels.len() != rows.paths.len() && !labels.is_empty() {
            return Err(format!(
                "line {line}: some lines have a class behind the name, and others have none; write \
                 `NAME CLASS` on each, as in `a/1.jpg 0`"
            ));
        }
    }
    if !labels.is_empty() {
        rows.columns.push((LABEL.to_owned(), Cells::Text(labels)));
    }
    Ok(rows)
}

/// A path as written in tables; drops a leading `./`.
fn relative(path: &str, line: u64, column: &str) -> Result<Box<[u8]>, String> {
    names::listed(path.trim()).map_err(|why| {
        let path = key_of_path(path.as_bytes());
        format!("line {line}, column `{column}`: `{path}` {why}")
    })
}
