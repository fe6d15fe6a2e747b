//! Options of the stores that URLs lead to.
use fdconvert_core::Result;

/// Sets options of the stores that URLs lead to, for the process as a whole: `endpoint`, `region`,
/// `access_key_id`, `skip_signature`, `account_name` and so on, as the crate `object_store` calls
/// them. They come on top of what the environment says. Stores that were used already keep theirs,
/// so call this first.
///
/// # Errors
/// `Usage` for a name that no store has, and in builds without the feature `stores`.
pub fn set_store_options(options: impl IntoIterator<Item = (String, String)>) -> Result<()> {
    fdconvert_storage::place::set_store_options(options)
}
