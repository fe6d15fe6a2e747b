//! Opening what is to be packed.
use crate::{Session, args::RecipeArgs, fractal};
use fdconvert_core::{Error, Limits, Result, Source};
use fdconvert_folder::{Folder, FolderReader};
use fdconvert_fractal::Recipe;
use fdconvert_pipeline::{Concat, Paired, PlannedSource};
use std::path::{Path, PathBuf};

/// How sources are opened.
#[derive(Clone, Copy)]
pub(crate) struct Opening<'a> {
    pub(crate) args: &'a RecipeArgs,
    /// No progress, however long a search for categories takes.
    pub(crate) quiet: bool,
    pub(crate) session: &'a Session,
}

/// The recipe that a source is, if it is no path.
pub(crate) fn recipe(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| Recipe::is_recipe(text))
}

/// All sources of a run, joined.
pub(crate) fn open(paths: &[PathBuf], how: Opening<'_>) -> Result<Box<dyn Source>> {
    let sources: Result<Vec<_>> = paths.iter().map(|path| open_one(path, how)).collect();
    with_pairs(Concat::join(sources?)?, how.args)
}

/// Adds the images that `--pair` names.
fn with_pairs(source: Box<dyn Source>, args: &RecipeArgs) -> Result<Box<dyn Source>> {
    args.pair.iter().try_fold(source, |source, (name, path)| {
        let masks: Box<dyn Source> = match image_folder(path, args)? {
            Some(folder) => Box::new(folder),
            None => fdconvert_reader::open(path)?,
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
    std::fs::metadata(path).map_err(Error::io("open", path))?;
    if let Some(table) = &args.labels {
        return Ok(Box::new(folder(args).open_with_labels(path, table)?));
    }
    if let Some(folder) = image_folder(path, args)? {
        return Ok(Box::new(folder));
    }
    let reader: Box<dyn Source> = fdconvert_reader::open(path)?;
    Ok(reader)
}

/// The folder of images at `path`; `None` when a table lists them or it is something else.
fn image_folder(path: &Path, args: &RecipeArgs) -> Result<Option<FolderReader>> {
    let is_packed = fdconvert_reader::formats().iter().any(|format| {
        // Any folder is a folder of images, unless something in it says that it is more.
        format.name() != "folder" && format.detect(path)
    });
    if args.labels.is_some() || is_packed || !path.is_dir() {
        return Ok(None);
    }
    folder(args).open_folder(path).map(Some)
}

fn folder(args: &RecipeArgs) -> Folder {
    Folder::with_limits(Limits { max_pixels: args.max_pixels, max_file_bytes: args.max_file_bytes })
}

/// What a plan records of a source, so that other runs need not look again.
pub(crate) fn describe(path: &Path, how: Opening<'_>) -> Result<PlannedSource> {
    let text = path.to_str().ok_or_else(|| {
        let what = format!("{} is not UTF-8; plans name sources as text", path.display());
        Error::usage("source", what)
    })?;
    let (source, listing): (Box<dyn Source>, _) = match image_folder(path, how.args)? {
        Some(folder) => {
            let listing = folder.listing();
            (Box::new(folder), listing)
        }
        None => (open_one(path, how)?, None),
    };
    Ok(PlannedSource {
        path: text.to_owned(),
        fingerprint: source.fingerprint(),
        n_samples: source.len(),
        schema: source.schema().clone(),
        listing,
    })
}

/// The sources of a plan, as they were when it was made.
pub(crate) fn open_planned(planned: &[PlannedSource], how: Opening<'_>) -> Result<Box<dyn Source>> {
    let open = |source: &PlannedSource| -> Result<Box<dyn Source>> {
        let path = Path::new(&source.path);
        if let Some(listing) = &source.listing {
            let schema = source.schema.clone();
            let folder =
                folder(how.args).open_planned(path, schema, listing, source.fingerprint)?;
            return Ok(Box::new(folder));
        }
        let opened = open_one(path, how)?;
        if opened.fingerprint() != source.fingerprint || opened.len() != source.n_samples {
            let what = format!("{} has changed since the plan was made; plan again", source.path);
            return Err(Error::usage("--plan", what));
        }
        Ok(opened)
    };
    let sources: Result<Vec<_>> = planned.iter().map(open).collect();
    with_pairs(Concat::join(sources?)?, how.args)
}
