//! The option `keys`: a list in a file selects samples of the source, and is recorded.
use crate::PackOptions;
use fdconvert_core::{Remark, Result, Source};
use fdconvert_formats::folder::normal_name;
use fdconvert_pipeline::{FoundKeys, KeyList};
use fdconvert_storage::place;
use serde::{Deserialize, Serialize};

/// Record of a list in outputs and plans, without its keys, because the dataset has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ListedKeys {
    n_keys: u64,
    /// [`KeyList::hash`] in hexadecimal.
    xxh3: String,
}

/// Reads the list in the options.
pub(crate) fn read(options: &PackOptions) -> Result<Option<KeyList>> {
    let Some(file) = &options.keys else { return Ok(None) };
    KeyList::parse(&place::whole(file)?, &file.display().to_string()).map(Some)
}

/// Searches the keys of a list in the source.
pub(crate) fn find(list: &KeyList, source: &dyn Source) -> Result<FoundKeys> {
    list.find(source, normal_name)
}

/// Returns notes on keys that are written differently in the source.
pub(crate) fn notes(found: &FoundKeys) -> Vec<Remark> {
    let n = found.without_extension;
    let without = (n > 0).then(|| {
        let (keys, name) =
            if n == 1 { ("key", "names a sample") } else { ("keys", "name samples") };
        format!("{n} {keys} of `keys` {name} without the extension").into()
    });
    let n = found.look_alikes;
    let look_alike = (n > 0).then(|| {
        let (keys, are) = if n == 1 { ("key", "is") } else { ("keys", "are") };
        format!(
            "{n} {keys} of `keys` {are} written with other forms of accented letters than the \
             source has (NFC and NFD)"
        )
        .into()
    });
    without.into_iter().chain(look_alike).collect()
}

impl ListedKeys {
    pub(crate) fn new(list: &KeyList) -> Self {
        Self { n_keys: list.len(), xxh3: format!("{:032x}", list.hash()) }
    }

    /// Returns the parameter to record, by name.
    pub(crate) fn param(&self) -> (String, String) {
        ("keys".to_owned(), format!("{} keys, xxh3 {}", self.n_keys, self.xxh3))
    }
}
