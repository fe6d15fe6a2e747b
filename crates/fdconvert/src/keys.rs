//! The option `keys`: a list in a file, which becomes samples of the source and a record of the list.
use crate::{Context, Event, MissingKeys, PackOptions, settings::Settings};
use fdconvert_core::{Error, Result, Source, message, named};
use fdconvert_formats::folder::normal_name;
use fdconvert_pipeline::KeyList;
use fdconvert_storage::place;
use serde::{Deserialize, Serialize};

/// Keys in the event that tells what is missing.
const TOLD: usize = 5;

/// Record of a list in outputs and plans: without its keys, which the dataset has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ListedKeys {
    /// Keys on the list.
    n_keys: u64,
    /// [`KeyList::hash`] in hexadecimal.
    xxh3: String,
    /// Keys of it that the source does not have.
    #[serde(default)]
    pub(crate) n_missing: u64,
}

/// The list that the options name, read.
pub(crate) fn read(options: &PackOptions) -> Result<Option<KeyList>> {
    let Some(file) = &options.keys else {
        return match options.missing_keys {
            MissingKeys::Fail => Ok(None),
            MissingKeys::Skip => {
                let what = message!("it goes with {}", named::KEYS);
                Err(Error::usage(named::MISSING_KEYS, what))
            }
        };
    };
    KeyList::parse(&place::whole(file)?, &file.display().to_string()).map(Some)
}

/// Lets the settings take the listed samples of the source, and gives what is recorded of the list.
pub(crate) fn settle(
    list: &KeyList,
    options: &PackOptions,
    source: &dyn Source,
    settings: &mut Settings,
    context: Context<'_>,
) -> Result<ListedKeys> {
    let found = list.find(source, &options.select_splits, normal_name)?;
    let missing = found.missing.len() as u64;
    if missing > 0 {
        if options.missing_keys == MissingKeys::Fail {
            return Err(list.refuse(&found.missing, source));
        }
        if let Some(list) = &options.keys {
            let first = found.missing.get(..TOLD).unwrap_or(&found.missing);
            context.progress.event(Event::KeysMissing { list, first, missing });
        }
    }
    settings.without_extension = found.without_extension;
    settings.look_alikes = found.look_alikes;
    settings.plan.selection.listed = Some(found.indices);
    let xxh3 = format!("{:032x}", list.hash());
    let listed = ListedKeys { n_keys: list.len(), xxh3, n_missing: missing };
    settings.record_keys(&listed);
    Ok(listed)
}

impl ListedKeys {
    /// Parameters to record, by name.
    pub(crate) fn params(&self) -> impl Iterator<Item = (String, String)> {
        let keys = ("keys", format!("{} keys, xxh3 {}", self.n_keys, self.xxh3));
        let missing = (self.n_missing > 0).then(|| ("missing-keys", self.n_missing.to_string()));
        [Some(keys), missing].into_iter().flatten().map(|(name, value)| (name.to_owned(), value))
    }
}
