//! Folders with the annotations of other tools: options that are about the source, too.
use crate::{PackOptions, check::Checked, check::format_values, out::Destination};
use fdconvert_core::{Error, Format as _, Result, Shard, Source, Splits, option};
use fdconvert_formats::folder::Folder;
use fdconvert_pipeline::{Plan, PlanRequest};

/// Returns true if the annotations of another tool are written.
pub(crate) fn is_asked(options: &PackOptions) -> bool {
    options.format_options.contains_key(option::ANNOTATIONS.as_str())
}

/// Leaves the images of a folder unread if they are not written.
pub(crate) fn opening(folder: Folder, options: &PackOptions) -> Folder {
    let images = options.format_options.get(option::IMAGES.as_str()).map(String::as_str);
    match images {
        Some("link") => folder.without_images(true),
        Some("none") => folder.without_images(false),
        _ => folder,
    }
}

/// Puts all splits of a plan into one folder, whose format knows them and the files of the source.
///
/// # Errors
/// `Usage` for links to files of a source that has none, and for a plan that other runs carry out.
pub(crate) fn settle(
    options: &PackOptions,
    source: &dyn Source,
    request: &PlanRequest,
    mut plan: Plan,
    checked: Checked,
    to: Option<Destination<'_>>,
) -> Result<(Plan, Checked)> {
    if !is_asked(options) {
        return Ok((plan, checked));
    }
    if to.is_none() {
        let what = "a folder is written in one piece, by one run; pack it without a plan";
        return Err(Error::usage(option::ANNOTATIONS, what));
    }
    let has_splits = !source.splits().is_empty() && !request.mix_splits;
    let splits: Splits = match has_splits || !request.splits.is_empty() {
        true => plan.shards.iter().map(|it| (it.split.clone(), it.samples.clone())).collect(),
        false => Vec::new(),
    };
    plan.shards = vec![Shard::whole(plan.len())];
    Ok((plan, Checked { format: Box::new(folder(options, source, splits)?), ..checked }))
}

/// The folder to write.
///
/// # Errors
/// `Usage`.
pub(crate) fn folder(options: &PackOptions, source: &dyn Source, splits: Splits) -> Result<Folder> {
    let folder = Folder::default().record_splits(splits);
    let values = format_values(options, folder.options())?;
    values.check(folder.name(), folder.options())?;
    folder.annotated(&values, options.strict, source.facts())
}
