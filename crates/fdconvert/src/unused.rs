//! Options that have no effect in combination with others.
use crate::{PackOptions, SourceLayout, options::Encoding};
use fdconvert_codec::Policy;
use fdconvert_core::{Error, Result, Source, option};
use fdconvert_storage::place;
use std::path::PathBuf;

/// Refuses options with another value than their default that have no effect in combination with
/// the others.
///
/// # Errors
/// `Usage`, with the name and the purpose of the option.
pub(crate) fn refuse(options: &PackOptions, policy: &Policy) -> Result<()> {
    let default = PackOptions::default();
    let draws = options.shuffle
        || options.sample.is_some()
        || !options.split.is_empty()
        || options.ratio.is_some()
        || matches!(options.encode, Some(Encoding::Mix(_)));
    let of_draws = "what is drawn at random, as by `shuffle`, `sample` or `split`";
    let of_sizes = "smaller images (`max_side`, `short_side`)";
    let of_jpegs = "JPEGs that are encoded (`encode=jpeg`, or a size)";
    let of_ratios = "mixed sets (`ratio`)";
    let of_smart = "`encode=smart`";
    let (writes_jpeg, resizes, mixes) =
        (policy.writes_jpeg(), policy.size.is_some(), options.ratio.is_some());
    let is_smart = options.encode == Some(Encoding::Smart);
    let changed: [(_, bool, bool, &str); 9] = [
        (option::SEED, options.seed != default.seed, draws, of_draws),
        (option::FILTER, options.filter != default.filter, resizes, of_sizes),
        (option::JPEG_QUALITY, options.jpeg_quality.is_some(), writes_jpeg, of_jpegs),
        (option::SUBSAMPLING, options.subsampling != default.subsampling, writes_jpeg, of_jpegs),
        (option::OPTIMIZE_HUFFMAN, options.optimize_huffman, writes_jpeg, of_jpegs),
        (option::RESTART_ROWS, options.restart_rows != 0, writes_jpeg, of_jpegs),
        (option::SMART_RATIO, options.smart_ratio != default.smart_ratio, is_smart, of_smart),
        (option::BY, options.by != default.by, mixes, of_ratios),
        (option::MAX_BMP_SIZE, options.max_bmp_size != default.max_bmp_size, mixes, of_ratios),
    ];
    match changed.into_iter().find(|(_, is_changed, is_used, _)| *is_changed && !is_used) {
        Some((option, .., used_with)) => {
            let what = format!("it is for {used_with}, and has no effect here; leave it out");
            Err(Error::usage(option, what))
        }
        None => Ok(()),
    }
}

/// Refuses options for reading folders if no source is one.
///
/// # Errors
/// `Usage`; the errors of checking the sources.
pub(crate) fn refuse_of_folders(
    options: &PackOptions,
    sources: &[Box<dyn Source>],
    paths: &[PathBuf],
) -> Result<()> {
    // A file of annotations stands for the folder of its images.
    let is_of_folder =
        |path: &&PathBuf| path.is_file() && fdconvert_reader::recognise(path).is_none();
    let has_files =
        options.layout != SourceLayout::Folder && paths.iter().any(|path| is_of_folder(&path));
    let has_more = options.labels.is_some() || !options.pair.is_empty() || has_files;
    let has_splits = || sources.iter().any(|source| !source.splits().is_empty());
    let given = if options.follow_links {
        option::FOLLOW_LINKS
    } else if options.no_split_folders && !has_splits() {
        option::NO_SPLIT_FOLDERS
    } else {
        return Ok(());
    };
    if has_more || paths.iter().any(|path| place::is_folder(path)) {
        return Ok(());
    }
    for path in paths {
        if fdconvert_reader::is_image_folder(path)? && given == option::NO_SPLIT_FOLDERS {
            return Ok(());
        }
    }
    Err(Error::usage(given, "it is about folders, and no source is one; leave it out"))
}
