//! The options of `fdconvert.Loader` by the names that its callers know.
//!
//! Most are fields of a group there, `Cache(bytes=...)`, and flat here and in the library.
use crate::error::keyword;
use fdconvert_core::{OptionRef, Setting};

/// Options, and the field of a group that each one is.
const GROUPED: &[(&str, &str)] = &[
    ("access", "Storage.access"),
    ("ahead_bytes", "Storage.ahead_bytes"),
    ("cache_bytes", "Cache.bytes"),
    ("cache_folder", "Cache.folder"),
    ("cache_policy", "Cache.policy"),
    ("decoder", "Cuda.decoder"),
    ("device_cache_bytes", "Cuda.cache_bytes"),
    ("exchange", "Ranks.exchange"),
    ("fetch_threads", "Storage.fetch_threads"),
    ("keypoint_flip", "Objects.keypoint_flip"),
    ("last", "Ranks.last"),
    ("locality", "Ranks.locality"),
    ("min_box", "Objects.min_box"),
    ("on_error", "errors"),
    ("prefetch", "Prefetch.batches"),
    ("prefetch_bytes", "Prefetch.bytes"),
    ("rank", "Ranks.rank"),
    ("ranks_per_cache", "Cache.ranks_per_cache"),
    ("retries", "Storage.retries"),
    ("segmentations", "Objects.segmentations"),
    ("verify", "Storage.verify"),
    ("world", "ranks"),
    ("world_size", "Ranks.world_size"),
];

/// Returns an option by the name that callers know.
pub(super) fn grouped(name: &str) -> &str {
    GROUPED.iter().find(|(flat, _)| *flat == name).map_or(name, |(_, field)| field)
}

/// Formats an option of the library for callers of the loader, with its required value.
pub(super) fn spelled(option: &OptionRef) -> String {
    match &option.setting {
        Setting::Argument | Setting::Any => {
            let name = keyword(option);
            grouped(&name).to_owned()
        }
        Setting::To(split) if option.name == "split" => {
            format!("fdconvert.Dataset(path).split({split:?})")
        }
        Setting::To(_) | Setting::On => keyword(option),
    }
}
