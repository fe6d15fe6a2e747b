//! Options that others would leave without effect.
use crate::{PackOptions, options::Encoding};
use fdconvert_codec::Policy;
use fdconvert_core::{Error, Message, Result, Source, message, named};
use fdconvert_storage::place;
use std::path::PathBuf;

/// Refuses options that have another value than their default, and no use with the others.
///
/// # Errors
/// `Usage`, naming the option and what it is for.
pub(crate) fn refuse(options: &PackOptions, policy: &Policy) -> Result<()> {
    let default = PackOptions::default();
    let draws = options.shuffle
        || options.sample.is_some()
        || !options.split.is_empty()
        || options.ratio.is_some()
        || matches!(options.encode, Some(Encoding::Mix(_)));
    let of_draws = || {
        let (shuffle, sample, split) = (named::SHUFFLE, named::SAMPLE, named::SPLIT);
        message!("what is drawn at random, as by {shuffle}, {sample} or {split}")
    };
    let of_sizes = || message!("smaller images: {} or {}", named::MAX_SIDE, named::SHORT_SIDE);
    let of_jpegs = || message!("JPEGs that are encoded: {}, or a size", named::ENCODE.with("jpeg"));
    let of_ratios = || message!("{}", named::RATIO);
    let of_smart = || message!("{}", named::ENCODE.with("smart"));
    let (writes_jpeg, resizes, mixes) =
        (policy.writes_jpeg(), policy.size.is_some(), options.ratio.is_some());
    let is_smart = options.encode == Some(Encoding::Smart);
    let changed: [(_, bool, bool, &dyn Fn() -> Message); 9] = [
        (named::SEED, options.seed != default.seed, draws, &of_draws),
        (named::FILTER, options.filter != default.filter, resizes, &of_sizes),
        (named::JPEG_QUALITY, options.jpeg_quality.is_some(), writes_jpeg, &of_jpegs),
        (named::SUBSAMPLING, options.subsampling != default.subsampling, writes_jpeg, &of_jpegs),
        (named::OPTIMIZE_HUFFMAN, options.optimize_huffman, writes_jpeg, &of_jpegs),
        (named::RESTART_ROWS, options.restart_rows != 0, writes_jpeg, &of_jpegs),
        (named::SMART_RATIO, options.smart_ratio != default.smart_ratio, is_smart, &of_smart),
        (named::BY, options.by != default.by, mixes, &of_ratios),
        (named::MAX_BMP_SIZE, options.max_bmp_size != default.max_bmp_size, mixes, &of_ratios),
    ];
    match changed.into_iter().find(|(_, is_changed, is_used, _)| *is_changed && !is_used) {
        Some((option, .., used_with)) => {
            let what = message!("it is for {}, and has no effect here; leave it out", used_with());
            Err(Error::usage(option, what))
        }
        None => Ok(()),
    }
}

/// Refuses what says how folders are read, where no source is one.
///
/// # Errors
/// `Usage`; those of looking at the sources.
pub(crate) fn refuse_of_folders(
    options: &PackOptions,
    sources: &[Box<dyn Source>],
    paths: &[PathBuf],
) -> Result<()> {
    let has_more = options.labels.is_some() || !options.pair.is_empty();
    let has_splits = || sources.iter().any(|source| !source.splits().is_empty());
    let given = if options.follow_links {
        named::FOLLOW_LINKS
    } else if options.no_split_folders && !has_splits() {
        named::NO_SPLIT_FOLDERS
    } else {
        return Ok(());
    };
    if has_more || paths.iter().any(|path| place::is_folder(path)) {
        return Ok(());
    }
    for path in paths {
        if fdconvert_reader::is_image_folder(path)? && given == named::NO_SPLIT_FOLDERS {
            return Ok(());
        }
    }
    Err(Error::usage(given, "it is about folders, and no source is one; leave it out"))
}
