//! Details that `inspect` shows of a folder of images.
use crate::folder::{FolderReader, reader::Samples};

/// Layout, and skipped files.
pub(crate) fn details(reader: &FolderReader) -> serde_json::Map<String, serde_json::Value> {
    let mut details = serde_json::Map::new();
    let mut add = |name: &str, value: serde_json::Value| details.insert(name.to_owned(), value);
    let layout = match &reader.samples {
        Samples::Walked(_) if reader.has_classes() => "class folders",
        Samples::Walked(listing) if listing.parts_images() => "folders that only part the images",
        Samples::Walked(_) => "flat folder",
        Samples::Listed { origin, .. } => origin,
    };
    add("layout", layout.into());
    if let Some(archive) = &reader.archive {
        add("container", archive.container().into());
    }
    if let Samples::Walked(_) = reader.samples {
        let ignored = &reader.facts.ignored;
        add("ignored files", ignored.others.into());
        add("ignored extensions", serde_json::json!(ignored.extensions));
        add("hidden names", ignored.hidden.into());
        add("links not followed", ignored.links.into());
        if ignored.macosx > 0 {
            add("__MACOSX folders", ignored.macosx.into());
        }
        if ignored.repeats > 0 {
            add("folders reached twice", ignored.repeats.into());
        }
        add("folders without images", serde_json::json!(ignored.folders));
    }
    details
}
