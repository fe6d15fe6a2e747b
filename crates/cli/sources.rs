//! Opening what is to be packed.
use crate::{Session, args::RecipeArgs, fractal, out, output, progress};
use fdconvert_core::{Error, Limits, MaxDecompressed, Result, Source};
use fdconvert_folder::{Folder, FolderReader};
use fdconvert_fractal::Recipe;
use fdconvert_pipeline::{Concat, Paired, PlannedSource};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// How sources are opened.
#[derive(Clone, Copy)]
pub(crate) struct Opening<'a> {
    pub(crate) args: &'a RecipeArgs,
    /// No progress, however long a search for categories takes.
    pub(crate) quiet: bool,
    pub(crate) session: &'a Session,
    /// Where the listing of the source is kept.
    pub(crate) cache: Option<&'a Path>,
}

/// The recipe that a source is, if it is no path.
pub(crate) fn recipe(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| Recipe::is_recipe(text))
}

/// All sources of a run, joined.
pub(crate) fn open(paths: &[PathBuf], how: Opening<'_>) -> Result<Box<dyn Source>> {
    check_cache(paths, how)?;
    let sources: Result<Vec<_>> = paths.iter().map(|path| open_one(path, how)).collect();
    join(sources?, how)
}

/// Opened sources as one.
pub(crate) fn join(sources: Vec<Box<dyn Source>>, how: Opening<'_>) -> Result<Box<dyn Source>> {
    with_pairs(Concat::join(sources)?, how.args)
}

/// Adds the images that `--pair` names.
fn with_pairs(source: Box<dyn Source>, args: &RecipeArgs) -> Result<Box<dyn Source>> {
    // Only the names of masks matter, not which folder is a class or a split.
    let args = &RecipeArgs { no_split_folders: true, ..args.clone() };
    args.pair.iter().try_fold(source, |source, (name, path)| {
        let masks: Box<dyn Source> = match image_folder(path, args)? {
            Some(folder) => Box::new(folder),
            None => reader(path, args)?,
        };
        Paired::join(source, name, masks)
    })
}

fn open_one(path: &Path, how: Opening<'_>) -> Result<Box<dyn Source>> {
    let args = how.args;
    if let Some(recipe) = recipe(path) {
        if args.labels.is_some() {
            let what = "the classes of fractals are their categories; leave --labels out";
            return Err(Error::usage("--labels", what));
        }
        return Ok(Box::new(fractal::open(recipe, how.quiet, how.session)?));
    }
    let metadata = fs::metadata(path).map_err(Error::io("open", path))?;
    // A million files take a while to list.
    let opening = progress::bar("opening", how.quiet, how.session);
    opening.set_message(path.display().to_string());
    if let Some(table) = &args.labels {
        return Ok(Box::new(folder(args).open_with_labels(path, table)?));
    }
    if let Some(folder) = cached_folder(path, how)? {
        return Ok(Box::new(folder));
    }
    if metadata.is_file() && fdconvert_folder::is_image_name(path) {
        let what = format!("{} is one image; give the folder that it lies in", path.display());
        return Err(Error::usage("source", what));
    }
    reader(path, args)
}

fn reader(path: &Path, args: &RecipeArgs) -> Result<Box<dyn Source>> {
    let limit = MaxDecompressed(args.max_decompressed);
    Ok(fdconvert_reader::open_within(path, limit)?)
}

/// A cache keeps the listing of one folder, and lies outside of it.
pub(crate) fn check_cache(paths: &[PathBuf], how: Opening<'_>) -> Result<()> {
    let Some(cache) = how.cache else { return Ok(()) };
    if let [path] = paths
        && recipe(path).is_none()
        && how.args.labels.is_none()
    {
        return out::check_place("--listing-cache", cache, paths.iter(), false);
    }
    let what = "it keeps the listing of one folder of images; leave it out";
    Err(Error::usage("--listing-cache", what))
}

/// The folder of images at `path`, by its cached listing if there is one.
fn cached_folder(path: &Path, how: Opening<'_>) -> Result<Option<FolderReader>> {
    let Some(cache) = how.cache else { return image_folder(path, how.args) };
    if !is_image_folder(path, how.args)? {
        let what = format!("{} is no folder of images; leave it out", path.display());
        return Err(Error::usage("--listing-cache", what));
    }
    let (reader, why) = folder(how.args).open_cached(path, cache)?;
    if let Some(why) = why.filter(|_| !how.quiet) {
        how.session.say(&format!(
            "note: {} was walked, not read from {}: {why}",
            output::path(path),
            output::path(cache)
        ));
    }
    Ok(Some(reader))
}

/// The folder of images at `path`; `None` when a table lists them or it is something else.
fn image_folder(path: &Path, args: &RecipeArgs) -> Result<Option<FolderReader>> {
    let is_one = is_image_folder(path, args)?;
    is_one.then(|| folder(args).open_folder(path)).transpose()
}

fn is_image_folder(path: &Path, args: &RecipeArgs) -> Result<bool> {
    Ok(args.labels.is_none() && is_plain_folder(path)?)
}

/// Whether nothing in a folder says that it is more than a folder of images.
pub(crate) fn is_plain_folder(path: &Path) -> Result<bool> {
    let formats = fdconvert_reader::formats();
    let is_packed = formats.iter().any(|format| format.name() != "folder" && format.detect(path));
    let is_folder = fs::metadata(path).map_err(Error::io("open", path))?.is_dir();
    Ok(!is_packed && is_folder)
}

fn folder(args: &RecipeArgs) -> Folder {
    Folder::with_limits(Limits { max_pixels: args.max_pixels, max_file_bytes: args.max_file_bytes })
        .follow_links(args.follow_links)
        .split_folders(!args.no_split_folders)
}

/// What a plan records of a source, so that other runs need not look again; and the source.
pub(crate) fn describe(path: &Path, how: Opening<'_>) -> Result<(PlannedSource, Box<dyn Source>)> {
    let text = path.to_str().ok_or_else(|| {
        let what = format!("{} is not UTF-8; plans name sources as text", path.display());
        Error::usage("source", what)
    })?;
    let packed = recipe(path).is_some();
    let folder = if packed { None } else { cached_folder(path, how)? };
    let (source, listing): (Box<dyn Source>, _) = match folder {
        Some(folder) => {
            let listing = folder.listing();
            (Box::new(folder), listing)
        }
        None => (open_one(path, how)?, None),
    };
    let planned = PlannedSource {
        path: text.to_owned(),
        fingerprint: source.checked_fingerprint(true)?,
        n_samples: source.len(),
        schema: source.schema().clone(),
        listing,
        left_out: source.left_out(),
    };
    Ok((planned, source))
}

/// The sources of a plan, as they were when it was made.
pub(crate) fn open_planned(planned: &[PlannedSource], how: Opening<'_>) -> Result<Box<dyn Source>> {
    let open = |source: &PlannedSource| -> Result<Box<dyn Source>> {
        let path = Path::new(&source.path);
        if let Some(listing) = &source.listing {
            let schema = source.schema.clone();
            let folder =
                folder(how.args).open_planned(path, schema, listing, source.fingerprint)?;
            return Ok(Box::new(folder.with_ignored(source.left_out.clone())));
        }
        let opened = open_one(path, how)?;
        let is_same = opened.checked_fingerprint(true)? == source.fingerprint
            && opened.len() == source.n_samples
            && *opened.schema() == source.schema;
        if !is_same {
            let what = format!("{} has changed since the plan was made; plan again", source.path);
            return Err(Error::usage("--plan", what));
        }
        Ok(opened)
    };
    let sources: Result<Vec<_>> = planned.iter().map(open).collect();
    with_pairs(Concat::join(sources?)?, how.args)
}
