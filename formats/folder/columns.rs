//! Column types, derived from all cells.
use crate::folder::table::Column;
use fdconvert_core::Kind;
use serde_json::Value as Json;

/// Integers up to this size survive as a float.
const EXACT_IN_FLOAT: u64 = 1 << 53;

/// A column without a type: the row of a cell that is empty while all others are numbers. It may be
/// an unknown number or a mistake, and a text column would hide which.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EmptyNumber(pub(crate) usize);

/// A column with its type.
#[derive(Debug, PartialEq)]
pub(crate) struct Typed {
    pub(crate) kind: Kind,
    pub(crate) column: Column,
    /// Explains the value used for missing cells.
    pub(crate) remark: Option<String>,
}

impl From<(Kind, Column)> for Typed {
    fn from((kind, column): (Kind, Column)) -> Self {
        Self { kind, column, remark: None }
    }
}

/// Integers if all cells are integers, else floats if all cells are numbers, else text.
///
/// A number counts as one only if it survives unchanged: `007` and numbers beyond 64 bits are
/// names.
pub(crate) fn text_column(cells: Vec<String>) -> Result<Typed, EmptyNumber> {
    let empty = cells.iter().position(|cell| cell.trim().is_empty());
    if let Some(row) = empty {
        let is_filled = |cell: &&String| !cell.trim().is_empty();
        let (kind, _) = typed(cells.iter().filter(is_filled).cloned().collect());
        let all_are_empty = !cells.iter().any(|cell| is_filled(&cell));
        if kind != Kind::Text && !all_are_empty {
            return Err(EmptyNumber(row));
        }
    }
    Ok(typed(cells).into())
}

fn typed(cells: Vec<String>) -> (Kind, Column) {
    if let Some(ints) = cells.iter().map(|cell| int(cell)).collect() {
        return (Kind::Int, Column::Int(ints));
    }
    // Without any digit, it is a column of words such as `nan` and `inf`.
    let any_digit = cells.iter().any(|cell| cell.bytes().any(|byte| byte.is_ascii_digit()));
    if any_digit && let Some(floats) = cells.iter().map(|cell| float(cell)).collect() {
        return (Kind::Float, Column::Float(floats));
    }
    (Kind::Text, Column::Text(cells))
}

/// Integers, floats, booleans (as 0 and 1) or text if all cells are of that type, else JSON
/// documents. A missing or null cell becomes NaN, an empty text or a null document.
pub(crate) fn json_column(cells: Vec<Option<Json>>) -> Result<Typed, EmptyNumber> {
    let is_missing = |cell: &Option<Json>| cell.as_ref().is_none_or(Json::is_null);
    let n_missing = cells.iter().filter(|cell| is_missing(cell)).count();
    let is_blank = |cell: &Json| cell.as_str().is_some_and(|it| it.trim().is_empty());
    if let Some(row) = cells.iter().position(|cell| cell.as_ref().is_some_and(is_blank)) {
        let filled = cells.iter().flatten().filter(|cell| !cell.is_null() && !is_blank(cell));
        let filled: Vec<Json> = filled.cloned().collect();
        if !filled.is_empty() && matches!(json_typed(filled).0, Kind::Int | Kind::Float) {
            return Err(EmptyNumber(row));
        }
    }
    if n_missing == 0 || n_missing == cells.len() {
        return Ok(json_typed(cells.into_iter().map(Option::unwrap_or_default).collect()).into());
    }
    let filled: Vec<Json> = cells.iter().filter(|it| !is_missing(it)).flatten().cloned().collect();
    let (kind, _) = json_typed(filled);
    let number = |cell: &Option<Json>| match cell {
        Some(Json::Bool(flag)) => Some(f64::from(u8::from(*flag))),
        Some(cell) if !cell.is_null() => json_float(cell),
        _ => Some(f64::NAN),
    };
    let floats = || cells.iter().map(number).collect::<Option<Vec<f64>>>();
    let (kind, column, stand_in) = match kind {
        Kind::Int | Kind::Float if floats().is_some() => {
            (Kind::Float, Column::Float(floats().unwrap_or_default()), "is nan")
        }
        Kind::Text => {
            let text = |cell: Option<Json>| cell.and_then(|it| it.as_str().map(str::to_owned));
            let texts = cells.into_iter().map(|cell| text(cell).unwrap_or_default()).collect();
            (Kind::Text, Column::Text(texts), "is empty")
        }
        _ => {
            let document = |cell: Option<Json>| cell.unwrap_or_default().to_string().into();
            (Kind::Json, Column::Json(cells.into_iter().map(document).collect()), "is null")
        }
    };
    let have = if n_missing == 1 { "line has" } else { "lines have" };
    let remark = Some(format!("{n_missing} {have} none, which {stand_in}"));
    Ok(Typed { kind, column, remark })
}

fn json_typed(cells: Vec<Json>) -> (Kind, Column) {
    if let Some(ints) = cells.iter().map(Json::as_i64).collect() {
        return (Kind::Int, Column::Int(ints));
    }
    if let Some(floats) = cells.iter().map(json_float).collect() {
        return (Kind::Float, Column::Float(floats));
    }
    if let Some(flags) = cells.iter().map(|cell| cell.as_bool().map(i64::from)).collect() {
        return (Kind::Int, Column::Int(flags));
    }
    if let Some(texts) = cells.iter().map(|cell| cell.as_str().map(str::to_owned)).collect() {
        return (Kind::Text, Column::Text(texts));
    }
    let documents = cells.iter().map(|cell| cell.to_string().into()).collect();
    (Kind::Json, Column::Json(documents))
}

fn int(cell: &str) -> Option<i64> {
    // Must print the same again: no plus, no leading zeros.
    cell.parse::<i64>().ok().filter(|int| int.to_string() == cell)
}

fn float(cell: &str) -> Option<f64> {
    if let Some(int) = int(cell) {
        return (int.unsigned_abs() <= EXACT_IN_FLOAT).then_some(int as f64);
    }
    let digits = cell.strip_prefix('-').unwrap_or(cell).as_bytes();
    let is_name = match digits {
        [b'0', second, ..] => second.is_ascii_digit(),
        digits => digits.len() > 1 && digits.iter().all(u8::is_ascii_digit),
    };
    if is_name { None } else { cell.parse().ok() }
}

fn json_float(cell: &Json) -> Option<f64> {
    match (cell.as_i64(), cell.as_u64()) {
        (Some(int), _) if int.unsigned_abs() > EXACT_IN_FLOAT => None,
        (None, Some(_)) => None,
        _ => cell.as_f64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(cells: &[&str]) -> &'static str {
        text_column(cells.iter().map(|&cell| cell.to_owned()).collect()).unwrap().kind.name()
    }

    #[test]
    fn nothing_is_lost_by_a_type() {
        assert_eq!(kind_of(&["1", "-3", "0"]), "int");
        assert_eq!(kind_of(&["1", "2.5", "nan", "-1e3"]), "float");
        assert_eq!(kind_of(&["a", "", "1"]), "text");
        assert_eq!(kind_of(&["", " "]), "text");
        assert_eq!(kind_of(&["007", "8"]), "text");
        assert_eq!(kind_of(&["00.5"]), "text");
        assert_eq!(kind_of(&["0.5", "9007199254740993"]), "text");
        assert_eq!(kind_of(&["18446744073709551615"]), "text");
        assert_eq!(kind_of(&["nan", "inf"]), "text");
    }

    #[test]
    fn json_columns_widen_to_what_fits_all() {
        let typed = |cells: Json| {
            json_column(cells.as_array().unwrap().iter().cloned().map(Some).collect()).unwrap()
        };
        let kind = |cells: Json| typed(cells).kind.name();
        assert_eq!(kind(serde_json::json!([1, 2])), "int");
        assert_eq!(kind(serde_json::json!([1, 2.5])), "float");
        assert_eq!(kind(serde_json::json!([true, false])), "int");
        assert_eq!(kind(serde_json::json!(["a", ""])), "text");
        let text = typed(serde_json::json!(["a", null]));
        assert_eq!(text.column, Column::Text(vec!["a".to_owned(), String::new()]));
        assert_eq!(text.remark.as_deref(), Some("1 line has none, which is empty"));
        let Column::Float(floats) = typed(serde_json::json!([1, null, 2.5])).column else {
            panic!()
        };
        assert!(floats[1].is_nan() && floats[2] == 2.5);
        assert_eq!(kind(serde_json::json!([[1], null])), "json");
        assert_eq!(kind(serde_json::json!([null, null])), "json");
        assert_eq!(kind(serde_json::json!([1.5, 9007199254740993_u64])), "json");
    }
}
