//! The option `keys`: a list in a file, which becomes samples of the source and a record of the list.
use crate::{PackOptions, settings::Settings};
use fdconvert_core::{Result, Source};
use fdconvert_formats::folder::normal_name;
use fdconvert_pipeline::KeyList;
use fdconvert_storage::place;
use serde::{Deserialize, Serialize};

/// Record of a list in outputs and plans: without its keys, which the dataset has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ListedKeys {
    /// Keys on the list.
    n_keys: u64,
    /// [`KeyList::hash`] in hexadecimal.
    xxh3: String,
}

/// The list that the options name, read.
pub(crate) fn read(options: &PackOptions) -> Result<Option<KeyList>> {
    let Some(file) = &options.keys else { return Ok(None) };
    KeyList::parse(&place::whole(file)?, &file.display().to_string()).map(Some)
}

/// Lets the settings take the listed samples of the source, and gives what is recorded of the list.
pub(crate) fn settle(
    list: &KeyList,
    source: &dyn Source,
    settings: &mut Settings,
) -> Result<ListedKeys> {
    let found = list.find(source, normal_name)?;
    settings.without_extension = found.without_extension;
    settings.look_alikes = found.look_alikes;
    settings.plan.selection.listed = Some(found.indices);
    let listed = ListedKeys { n_keys: list.len(), xxh3: format!("{:032x}", list.hash()) };
    settings.record_keys(&listed);
    Ok(listed)
}

impl ListedKeys {
    /// The parameter to record, by name.
    pub(crate) fn param(&self) -> (String, String) {
        ("keys".to_owned(), format!("{} keys, xxh3 {}", self.n_keys, self.xxh3))
    }
}
