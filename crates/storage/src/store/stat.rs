use crate::store::{client::Client, count, error, find, location::Location};
use fdconvert_core::Result;
use object_store::{Attribute, GetOptions};
use std::path::Path;

/// Attribute of an object that holds its mark.
pub(crate) const MARK: &str = "fdconvert";

/// Size and mark of an object, according to the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stat {
    /// Bytes.
    pub(crate) len: u64,
    /// Mark set when it was written.
    pub(crate) mark: Option<String>,
}

/// Requests size and mark of an object, even if remembered from a moment ago; `None` if it does not
/// exist.
///
/// # Errors
/// `Usage` for an invalid URL; `Io`.
pub(crate) fn stat(path: &Path) -> Result<Option<Stat>> {
    let location = Location::parse(path)?;
    let client = Client::of(&location)?;
    count::request();
    let options = GetOptions { head: true, ..GetOptions::default() };
    let found = client.write(client.store.get_opts(&location.key, options));
    match found.map_err(|cause| error::of("access", &location, cause)) {
        Ok(found) => {
            let mark = found.attributes.get(&Attribute::Metadata(MARK.into()));
            Ok(Some(Stat { len: found.meta.size, mark: mark.map(|mark| mark.to_string()) }))
        }
        Err(error) if find::is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}
