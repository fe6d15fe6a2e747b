//! Options of the stores behind URLs.
use fdconvert_core::Result;

/// Sets options of the stores behind URLs, for the whole process: `endpoint`, `region`,
/// `access_key_id`, `skip_signature`, `account_name` and so on, with the names of the crate
/// `object_store`. They take precedence over the environment. Stores that were used already keep
/// their options, so that this call must come first.
///
/// # Errors
/// `Usage` for a name that no store has, and in builds without the feature `stores`.
pub fn set_store_options(options: impl IntoIterator<Item = (String, String)>) -> Result<()> {
    fdconvert_storage::place::set_store_options(options)
}
