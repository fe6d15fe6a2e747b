//! Columns of shards, and how they map to those of the dataset: merged datasets have shards of
//! several writers.
use crate::mds::{encoding::Encoding, layout::Entry};
use fdconvert_core::{Remark, option};
use std::ops::Range;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) encoding: Encoding,
    pub(crate) size: Option<u64>,
}

/// The columns of a shard that differ from those of the first.
#[derive(Debug)]
pub(crate) struct Own {
    pub(crate) columns: Vec<Column>,
    /// Index of the shard's column for each column of the dataset; `None` if it is left out.
    places: Vec<Option<usize>>,
}

impl Own {
    /// The shard's column for a column of the dataset.
    pub(crate) fn column(&self, of_dataset: usize) -> Option<&Column> {
        self.columns.get((*self.places.get(of_dataset)?)?)
    }

    /// Reorders the ranges of a sample's values to the dataset's columns.
    pub(crate) fn arranged(&self, ranges: &[Range<usize>]) -> Vec<Range<usize>> {
        let range = |place: &Option<usize>| ranges.get((*place)?).cloned();
        self.places.iter().map(|place| range(place).unwrap_or_default()).collect()
    }
}

/// Purpose of dropping a field, for error messages.
pub(crate) const LEAVE_OUT: &str = "to leave it out";

/// The columns of a shard; or what is wrong, and whether that is damage.
pub(crate) fn columns(entry: &Entry, dropped: &[String]) -> Result<Vec<Column>, (bool, Remark)> {
    let each = entry.column_names.iter().zip(&entry.column_encodings).zip(&entry.column_sizes);
    let mut columns: Vec<Column> = Vec::new();
    for ((name, stored), &size) in each {
        // Streaming reads 0 as a variable size.
        let size = size.filter(|&size| size > 0);
        let encoding = match Encoding::parse(stored) {
            Ok(encoding) => encoding,
            Err(_) if dropped.contains(name) => {
                let encoding = Encoding::Unread(stored.clone());
                columns.push(Column { name: name.clone(), size, encoding });
                continue;
            }
            Err(what) => {
                let what = format!("column `{name}`: {what}");
                return Err((
                    false,
                    Remark::from(what).cure(LEAVE_OUT, option::DROP_FIELDS.with(name)),
                ));
            }
        };
        if size != encoding.size() {
            let what = format!("column `{name}`: {size:?} is not a size of its type");
            return Err((true, what.into()));
        }
        columns.push(Column { name: name.clone(), size, encoding });
    }
    Ok(columns)
}

/// Maps the columns of a shard to those of the dataset, which `first` has. Columns with the same
/// contents in different types count as one.
///
/// The error completes a sentence such as "the shard ...".
pub(crate) fn own(
    all: &[Column],
    columns: Vec<Column>,
    first: &Entry,
    dropped: &[String],
) -> Result<Own, Remark> {
    let first = &first.raw_data.basename;
    let find = |all: &[Column], name: &str| all.iter().position(|column| column.name == name);
    let is_kept = |column: &&Column| !dropped.contains(&column.name);
    let refuse = |name: &str, what: String| {
        Remark::from(what).cure(LEAVE_OUT, option::DROP_FIELDS.with(name))
    };
    let missing = all.iter().filter(is_kept).find(|it| find(&columns, &it.name).is_none());
    if let Some(Column { name, .. }) = missing {
        return Err(refuse(name, format!("has no column `{name}`, which `{first}` has")));
    }
    for column in columns.iter().filter(is_kept) {
        let Column { name, encoding, .. } = column;
        let theirs = find(all, name).and_then(|at| all.get(at)).map(|column| &column.encoding);
        match theirs {
            Some(theirs) if encoding.is_like(theirs) => {}
            Some(theirs) => {
                let (own, theirs) = (encoding.name(), theirs.name());
                let what = format!("has the column `{name}` as {own}, and `{first}` as {theirs}");
                return Err(refuse(name, what));
            }
            None => {
                let what = format!("has a column `{name}`, which `{first}` does not have");
                return Err(refuse(name, what));
            }
        }
    }
    let places = all.iter().map(|column| find(&columns, &column.name)).collect();
    Ok(Own { columns, places })
}
