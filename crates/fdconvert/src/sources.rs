//! Opens the sources to pack.
use crate::{
    Boxes, ByteCount, Context, PackOptions, SourceLayout, Stage, annotated, check, classes,
    drop_fields, prefix, relabel, unused,
};
use fdconvert_core::{Error, Look, MaxDecompressed, Result, Source, SplitChoice, option};
use fdconvert_formats::folder::{BoxFrame, Folder, FolderReader};
use fdconvert_fractal::{Formula, FractalSource, Recipe};
use fdconvert_pipeline::{ChosenObjects, Concat, ObjectChoice, Paired, PlannedSource, splits_of};
use fdconvert_reader::OpenOptions;
use fdconvert_storage::place;
use std::path::{Path, PathBuf};

/// Options for opening sources.
#[derive(Clone, Copy)]
pub(crate) struct Opening<'a> {
    pub(crate) options: &'a PackOptions,
    pub(crate) context: Context<'a>,
}

/// Evaluates a recipe, which may search for categories.
///
/// # Errors
/// `Usage` for an invalid recipe, `Cancelled`.
pub(crate) fn formula_of(recipe: &Recipe, context: Context<'_>) -> Result<Formula> {
    let steps = context.progress.stage(Stage::Searching);
    steps.total(recipe.classes() as u64);
    recipe.resolve(&mut |n_found| {
        steps.done(n_found as u64);
        !context.cancel.is_cancelled()
    })
}

/// Opens the fractals of a recipe as a source. Its name is the recipe without paths, which do not
/// affect bytes.
///
/// # Errors
/// `Usage` for an invalid recipe, `Cancelled`.
pub fn open_recipe(text: &str, context: Context<'_>) -> Result<FractalSource> {
    let recipe = Recipe::parse(text)?;
    FractalSource::new(formula_of(&recipe, context)?, recipe.name())
}

/// Opens sources like [`Pack`](crate::Pack): joined, with the tables, pairs and limits of
/// `options`.
///
/// # Errors
/// The errors of the sources; `Usage` if they have different fields.
pub fn source<P: AsRef<Path>>(
    paths: impl IntoIterator<Item = P>,
    options: &PackOptions,
) -> Result<Box<dyn Source>> {
    let paths: Vec<_> = paths.into_iter().map(|path| path.as_ref().to_owned()).collect();
    let context = Context::default();
    let options = classes::resolved(options, context)?;
    Opening { options: &options, context }.open(&paths)
}

impl Opening<'_> {
    /// Opens all sources of a run, joined.
    pub(crate) fn open(self, paths: &[PathBuf]) -> Result<Box<dyn Source>> {
        let sources: Result<Vec<_>> = paths.iter().map(|path| self.open_one(path)).collect();
        self.join(sources?, paths)
    }

    /// Joins open sources, with the key prefixes and images in the options.
    pub(crate) fn join(
        self,
        sources: Vec<Box<dyn Source>>,
        paths: &[PathBuf],
    ) -> Result<Box<dyn Source>> {
        unused::refuse_of_folders(self.options, &sources, paths)?;
        let sources = drop_fields::leave_out(&self.options.drop_fields, sources)?;
        let sources = prefix::put(self.options, sources, paths)?;
        // Only the names of masks matter, not folders as classes or splits.
        let mut options = self.options.clone();
        options.no_split_folders = true;
        options.r#where = None;
        options.beside.clear();
        options.drop_fields.clear();
        let masks = Opening { options: &options, ..self };
        let mixes = self.options.no_split_folders;
        let joined = match classes::list(self.options)? {
            Some(classes) => Concat::with_classes(sources, classes, mixes),
            None if mixes => Concat::mix(sources),
            None => Concat::join(sources),
        };
        let choice = ObjectChoice {
            map: self.options.map_labels.clone(),
            min_box: self.options.min_box,
            drop_crowd: self.options.drop_crowd,
        };
        let joined = match choice.is_all() {
            true => joined?,
            false => Box::new(ChosenObjects::new(joined?, choice)?),
        };
        options.pair.iter().try_fold(joined, |source, pair| {
            let images: Box<dyn Source> = match masks.image_folder(&pair.path)? {
                Some(folder) => Box::new(folder),
                None => masks.reader(&pair.path)?,
            };
            Paired::join(source, &pair.field, images)
        })
    }

    fn open_one(self, path: &Path) -> Result<Box<dyn Source>> {
        let labels = self.options.labels.as_deref();
        if let Some(recipe) = Recipe::in_place_of(path) {
            if labels.is_some() {
                let what = "the classes of fractals are their categories; leave it out";
                return Err(Error::usage(option::LABELS, what));
            }
            self.refuse_beside(path)?;
            return Ok(Box::new(open_recipe(recipe, self.context)?));
        }
        place::look_at(&fdconvert_reader::without_version(path))?;
        // A million files take a while to list.
        let opening = self.context.progress.stage(Stage::Opening);
        opening.on(&path.display().to_string());
        if let Some(table) = labels {
            return match self.folder()?.open_with_labels(path, table) {
                Ok(folder) => Ok(Box::new(folder)),
                // A source that is not a folder of images may be packed already, and is then
                // relabelled.
                Err(error) if fdconvert_reader::is_image_folder(path)? => Err(error),
                Err(_) => relabel::join(self.reader(path)?, table, &self.folder()?),
            };
        }
        if let Some(source) = self.known_layout(path)? {
            return Ok(source);
        }
        if let Some(folder) = self.image_folder(path)? {
            return Ok(Box::new(folder));
        }
        self.reader(path)
    }

    /// Opens a source in the layout that was named, or that its names show; `None` if it is packed,
    /// or nothing but a folder of images.
    fn known_layout(self, path: &Path) -> Result<Option<Box<dyn Source>>> {
        let options = self.options;
        let name = match &options.layout {
            _ if options.labels.is_some() => return Ok(None),
            SourceLayout::Folder => return Ok(None),
            SourceLayout::Auto => None,
            SourceLayout::Named(name) => Some(name.as_str()),
        };
        // Stores are listed as folders of images alone; a file that no format knows may be one of
        // annotations.
        let may_be_one = if place::is_url(path) {
            false
        } else if path.is_dir() {
            fdconvert_reader::is_image_folder(path)?
        } else {
            fdconvert_reader::recognise(path).is_none()
        };
        let sources = match may_be_one {
            true => self.folder()?.open_layout(path, name)?,
            false => None,
        };
        match sources {
            Some(sources) if options.no_split_folders => Concat::mix(sources).map(Some),
            Some(sources) => Concat::join(sources).map(Some),
            None if name.is_some() => {
                let what = format!(
                    "{} is no folder on this machine, or packed already; leave it out",
                    path.display()
                );
                Err(Error::usage(option::LAYOUT, what))
            }
            None if options.boxes.is_some() => Err(check::without_labels(option::BOXES)),
            None if !options.label_columns.is_empty() => {
                Err(check::without_labels(option::LABEL_COLUMNS))
            }
            None => Ok(None),
        }
    }

    fn reader(self, path: &Path) -> Result<Box<dyn Source>> {
        self.refuse_beside(path)?;
        let how = opening(self.options.max_decompressed, &SplitChoice::All)
            .drop_fields(self.options.drop_fields.clone());
        Ok(fdconvert_reader::open_with(path, &how)?)
    }

    /// Refuses files next to images for sources other than folders: their samples have all their
    /// fields.
    fn refuse_beside(self, path: &Path) -> Result<()> {
        if self.options.beside.is_empty() {
            return Ok(());
        }
        let what = format!("{} is not a folder of images; leave it out", path.display());
        Err(Error::usage(option::BESIDE, what))
    }

    /// Opens the folder of images at `path`, or the zip of one; `None` if a table lists them or it
    /// is something else.
    fn image_folder(self, path: &Path) -> Result<Option<FolderReader>> {
        let is_one = self.is_image_folder(path)?;
        is_one.then(|| self.folder()?.open_folder(path)).transpose()
    }

    fn is_image_folder(self, path: &Path) -> Result<bool> {
        Ok(self.options.labels.is_none() && fdconvert_reader::is_image_folder(path)?)
    }

    fn folder(self) -> Result<Folder> {
        let splits = self.options.r#where.as_deref().map(splits_of).transpose()?;
        let is_ffcv = self.options.format_options.get("compat").is_some_and(|it| it == "ffcv");
        let leaves_rotation = self.options.no_exif_rotation || is_ffcv;
        let folder = Folder::with_limits(self.options.limits())
            .follow_links(self.options.follow_links)
            .split_folders(!self.options.no_split_folders)
            .select_splits(splits.unwrap_or_default())
            .beside(self.options.beside.clone())
            .boxes(self.options.boxes.map(|boxes| match boxes {
                Boxes::Upright => BoxFrame::Upright,
                Boxes::Stored => BoxFrame::Stored,
            }))
            .leaves_rotation(leaves_rotation)
            .label_columns(self.options.label_columns.clone())
            .max_decompressed(MaxDecompressed(self.options.max_decompressed.map(|bytes| bytes.0)));
        Ok(annotated::opening(folder, self.options))
    }

    /// Returns a plan's record of a source, so that other runs need not list it again; and the
    /// source.
    pub(crate) fn describe(self, path: &Path) -> Result<(PlannedSource, Box<dyn Source>)> {
        let text = path.to_str().ok_or_else(|| {
            let what = format!("{} is not UTF-8; plans name sources as text", path.display());
            Error::usage("source", what)
        })?;
        let drawn = Recipe::in_place_of(path).is_some();
        let known = if drawn { None } else { self.known_layout(path)? };
        let folder = if drawn || known.is_some() { None } else { self.image_folder(path)? };
        let (source, listing): (Box<dyn Source>, _) = match (known, folder) {
            (Some(source), _) => (source, None),
            (None, Some(folder)) => {
                let listing = folder.listing()?;
                (Box::new(folder), listing)
            }
            (None, None) => (self.open_one(path)?, None),
        };
        let planned = PlannedSource {
            path: text.to_owned(),
            fingerprint: source.fingerprint(Look::SizesSparing)?,
            n_samples: source.len(),
            schema: source.schema().clone(),
            listing,
            left_out: source.facts().ignored.clone(),
        };
        Ok((planned, source))
    }

    /// Opens the sources of a plan in their recorded state.
    pub(crate) fn open_planned(self, planned: &[PlannedSource]) -> Result<Box<dyn Source>> {
        let open = |source: &PlannedSource| -> Result<Box<dyn Source>> {
            let path = Path::new(&source.path);
            if let Some(listing) = &source.listing {
                let (schema, ignored) = (source.schema.clone(), source.left_out.clone());
                let (folder, fingerprint) = (self.folder()?, source.fingerprint);
                let folder = folder.open_planned(path, schema, listing, fingerprint, ignored)?;
                return Ok(Box::new(folder));
            }
            let opened = self.open_one(path)?;
            let is_same = opened.fingerprint(Look::SizesSparing)? == source.fingerprint
                && opened.len() == source.n_samples
                && *opened.schema() == source.schema;
            if !is_same {
                let what =
                    format!("{} has changed since the plan was made; plan again", source.path);
                return Err(Error::usage(option::PLAN, what));
            }
            Ok(opened)
        };
        let sources: Result<Vec<_>> = planned.iter().map(open).collect();
        let paths: Vec<_> = planned.iter().map(|source| source.path.clone().into()).collect();
        self.join(sources?, &paths)
    }
}

/// Returns the options for opening a dataset as a whole.
pub(crate) fn opening(max_decompressed: Option<ByteCount>, split: &SplitChoice) -> OpenOptions {
    let bytes = max_decompressed.map(|bytes| bytes.0);
    OpenOptions::default().max_decompressed(bytes).splits(split.clone())
}
