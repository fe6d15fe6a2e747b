//! Options of stores, for the whole process.
//!
//! They are not per dataset: the endpoint and credentials of a bucket do not depend on its reader,
//! and readers open further objects (shards, indexes) by themselves.
use fdconvert_core::{Error, Result, option};
use std::sync::{PoisonError, RwLock};

static OPTIONS: RwLock<Vec<(String, String)>> = RwLock::new(Vec::new());

/// Hint for an unknown name.
const HELP: &str = "names are those of object_store, e.g. endpoint, region, access_key_id, \
                    secret_access_key, skip_signature, allow_http, account_name, \
                    service_account, timeout";

/// Sets options of stores, in addition to the environment: `endpoint` (of S3), `region`,
/// `access_key_id`, `account_name`, `allow_http` and so on, with the names of
/// [`object_store`](https://docs.rs/object_store). Each store uses those that concern it. Existing
/// clients keep theirs, so call it before opening anything.
///
/// # Errors
/// `Usage` for a name that no store supports, and in builds without the feature `stores`.
pub fn set_options(options: impl IntoIterator<Item = (String, String)>) -> Result<()> {
    let mut known = Vec::new();
    for (name, value) in options {
        let name = name.to_ascii_lowercase();
        if !is_known(&name) {
            return Err(Error::usage(option::STORE_OPTION, format!("`{name}` is unknown; {HELP}")));
        }
        known.push((name, value));
    }
    OPTIONS.write().unwrap_or_else(PoisonError::into_inner).extend(known);
    Ok(())
}

/// Options set so far, in order: later ones override earlier ones.
pub(crate) fn options() -> Vec<(String, String)> {
    OPTIONS.read().unwrap_or_else(PoisonError::into_inner).clone()
}

fn is_known(name: &str) -> bool {
    use object_store::{ClientConfigKey, aws, azure, gcp};
    name.parse::<aws::AmazonS3ConfigKey>().is_ok()
        || name.parse::<gcp::GoogleConfigKey>().is_ok()
        || name.parse::<azure::AzureConfigKey>().is_ok()
        || name.parse::<ClientConfigKey>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_are_refused() {
        let set = |name: &str| set_options([(name.to_owned(), "false".to_owned())]);
        assert!(set("virtual_hosted_style_request").is_ok());
        assert!(set("regoin").unwrap_err().chain().contains("`regoin` is unknown"));
    }
}
