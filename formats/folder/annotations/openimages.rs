//! OpenImages: tables with a row for each box, and one of the names of classes.
use super::{Shape, lists::check_name};
use std::collections::BTreeMap;

/// Columns that every table has.
const NEEDED: [&str; 6] = ["ImageID", "LabelName", "XMin", "XMax", "YMin", "YMax"];
/// Columns that become lists where a table has them.
const FLAGS: [&str; 3] = ["IsGroupOf", "IsTruncated", "IsOccluded"];

/// The columns of a table, and its rows.
pub(crate) struct BoxRows<'a> {
    reader: csv::Reader<&'a [u8]>,
    needed: [usize; 6],
    flags: [Option<usize>; 3],
    /// Columns that are not packed.
    pub(crate) unpacked: Vec<String>,
}

impl<'a> BoxRows<'a> {
    /// Reads the first line; the error is a text that follows the file's name.
    pub(crate) fn new(text: &'a [u8]) -> Result<Self, String> {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let mut reader = csv::ReaderBuilder::new().has_headers(true).from_reader(text);
        let headers = reader.headers().map_err(|error| error.to_string())?.clone();
        let find = |name: &str| headers.iter().position(|header| header.trim() == name);
        let mut needed = [0; 6];
        for (at, name) in needed.iter_mut().zip(NEEDED) {
            *at = find(name).ok_or_else(|| format!("it has no column `{name}`"))?;
        }
        let flags = FLAGS.map(find);
        let is_packed = |name: &&str| NEEDED.contains(name) || FLAGS.contains(name);
        let unpacked = headers.iter().map(str::trim).filter(|name| !is_packed(name));
        let unpacked = unpacked.map(str::to_owned).collect();
        Ok(Self { reader, needed, flags, unpacked })
    }

    /// Hands each box to `add`: the id of its image, the code of its class, and the box, or what is
    /// wrong with it. The category is not set.
    pub(crate) fn read(
        mut self,
        mut add: impl FnMut(&str, &str, Result<Shape, String>),
    ) -> Result<(), String> {
        let mut record = csv::StringRecord::new();
        loop {
            let more = self.reader.read_record(&mut record).map_err(|error| error.to_string())?;
            if !more {
                return Ok(());
            }
            let line = record.position().map_or(0, csv::Position::line);
            let cell = |at: usize| record.get(at).unwrap_or_default().trim();
            let [image, class, numbers @ ..] = self.needed;
            let shape = shape(numbers.map(cell), self.flags.map(|at| at.map(cell)));
            add(cell(image), cell(class), shape.map_err(|what| format!("line {line}: {what}")));
        }
    }
}

fn shape(corners: [&str; 4], flags: [Option<&str>; 3]) -> Result<Shape, String> {
    let mut numbers = [0.0; 4];
    for ((number, text), name) in numbers.iter_mut().zip(corners).zip(&NEEDED[2..]) {
        let parsed = text.parse::<f64>().ok().filter(|number| number.is_finite());
        *number = parsed.ok_or_else(|| {
            let shown: String = text.chars().take(20).collect();
            format!("its `{name}` is not a number: `{shown}`")
        })?;
    }
    let [left, right, top, bottom] = numbers;
    let bbox = [left, top, right - left, bottom - top];
    if right < left || bottom < top || bbox.iter().any(|it| !it.is_finite()) {
        return Err(format!(
            "its box goes from {left},{top} to {right},{bottom}, which is backwards"
        ));
    }
    // -1 stands for what was not annotated.
    let [iscrowd, truncated, occluded] = flags.map(|flag| flag.map(|text| text == "1"));
    Ok(Shape { bbox, iscrowd, truncated, occluded, ..Shape::default() })
}

/// The names of classes in the order of their table, by their codes.
pub(crate) fn class_names(text: &[u8]) -> Result<(Vec<String>, BTreeMap<String, u32>), String> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text);
    let (mut names, mut numbers) = (Vec::new(), BTreeMap::new());
    for (at, record) in reader.records().enumerate() {
        let record = record.map_err(|error| error.to_string())?;
        let code = record.get(0).unwrap_or_default().trim();
        // Later versions name the columns.
        if code.is_empty() || (at == 0 && code == "LabelName") {
            continue;
        }
        let name = record.get(1).map(str::trim).filter(|name| !name.is_empty());
        let name =
            name.ok_or_else(|| format!("line {}: the class `{code}` has no name", at + 1))?;
        check_name(name)?;
        let number = u32::try_from(names.len()).map_err(|_| "it has 2^32 classes".to_owned())?;
        if numbers.insert(code.to_owned(), number).is_some() {
            return Err(format!("line {}: the class `{code}` is there twice", at + 1));
        }
        names.push(name.to_owned());
    }
    Ok((names, numbers))
}
