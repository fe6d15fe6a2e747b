//! The input of a run: paths that it opens, or a source from the program.
use crate::{
    Pack, PackOptions,
    check::{Checked, check, format},
    drop_fields, out,
    outcome::Outcome,
    provenance,
    sources::Opening,
};
use fdconvert_codec::Encode;
use fdconvert_core::{Codec, Error, Layout, Result, Source, option};
use fdconvert_pipeline::{TOOL, recorded_params};
use fdconvert_storage::place;
use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Origin of the samples.
#[derive(Clone)]
pub(crate) enum Inputs {
    /// Folders of images, packed datasets, recipes.
    Paths(Vec<PathBuf>),
    /// A source from the program.
    Source(Arc<dyn Source>),
}

impl fmt::Debug for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Paths(paths) => f.debug_tuple("Paths").field(paths).finish(),
            Self::Source(source) => f.debug_tuple("Source").field(&source.name()).finish(),
        }
    }
}

impl Inputs {
    /// Returns the paths to read; a program's source has none.
    pub(crate) fn paths(&self) -> &[PathBuf] {
        match self {
            Self::Paths(paths) => paths,
            Self::Source(_) => &[],
        }
    }

    /// Opens all of them, joined.
    pub(crate) fn open(&self, opening: Opening<'_>) -> Result<Arc<dyn Source>> {
        match self {
            Self::Paths(paths) => opening.open(paths).map(Arc::from),
            Self::Source(source) => {
                refuse_options_of_folders(opening.options)?;
                drop_fields::leave_out_of_one(&opening.options.drop_fields, Arc::clone(source))
            }
        }
    }
}

/// Refuses options for reading folders: they would be ignored.
fn refuse_options_of_folders(options: &PackOptions) -> Result<()> {
    let given = [
        (option::LABELS, options.labels.is_some()),
        (option::CLASSES, options.classes.is_some()),
        (option::PAIR, !options.pair.is_empty()),
        (option::FOLLOW_LINKS, options.follow_links),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => {
            let what = "it is about folders of images, and the samples come from the program; \
                        leave it out, and give what it says as fields of the samples";
            Err(Error::usage(option, what))
        }
    }
}

impl Pack {
    /// Checks options and output before there is a source, for programs that take hours to make
    /// their samples: the checks of [`run`](Self::run) that do not depend on the samples. An
    /// existing output of one file is refused without `overwrite`, and so is a complete dataset of
    /// shards, unless it was made with the same options: then it may have the same samples, which
    /// [`run`](Self::run) checks.
    ///
    /// # Errors
    /// `Usage`, as for [`run`](Self::run); `Io`.
    pub fn check(&self) -> Result<()> {
        let (inputs, out, overwrite) =
            (self.inputs.paths(), self.out.as_path(), self.run.overwrite);
        out::check_place("output", out, inputs.iter(), overwrite)?;
        let checked = check(&self.options, Some(out))?;
        let format = &*checked.format;
        checked.policy.check_format(format)?;
        self.run.check()?;
        if format.capabilities().formulas_only {
            return Err(no_recipe(out));
        }
        if overwrite || self.may_have_made(out, &checked)? {
            return Ok(());
        }
        let is_file = format.capabilities().layout == Layout::File;
        if is_file && place::exists(out)? {
            return Err(Error::exists("output", out));
        }
        // No run has this fingerprint: a manifest belongs to another one.
        if format.is_sharded() {
            format.completed(out, [0; 16])?;
        }
        Ok(())
    }

    /// Returns true if this version has made the dataset at `out` with the same options.
    fn may_have_made(&self, out: &Path, checked: &Checked) -> Result<bool> {
        let Checked { format, policy } = checked;
        if !format.detect(out) {
            return Ok(false);
        }
        let Ok(reader) = format.open(out) else { return Ok(false) };
        let jpeg_index = self.options.jpeg_index.bits_in(&**format);
        let params = provenance::params(&self.options, &Outcome::default(), &**format)?;
        let params = recorded_params(policy, &**format, jpeg_index, &params);
        Ok(reader.provenance().is_some_and(|made| {
            // The selection of samples is recorded as well, but not known yet.
            let has = |(name, value)| made.params.get(name) == Some(value);
            made.tool == TOOL && params.iter().all(has)
        }))
    }

    /// Returns true if samples of an [open](fdconvert_core::SourceFacts::is_open) source can be
    /// packed as they arrive.
    /// This requires a format that writes the number of samples last, no selection, shuffle or
    /// split, and no `overwrite`. Otherwise they wait in a
    /// [`TemporaryDataset`](crate::TemporaryDataset).
    #[must_use]
    pub fn takes_any_number(&self) -> bool {
        let options = &self.options;
        let chooses = options.keys.is_some()
            || options.r#where.is_some()
            || options.dedup.is_some()
            || options.sample.is_some();
        let divides = options.shards.is_some() || options.shards_multiple_of > 1;
        // A ratio is drawn among all samples, or measured.
        let arranges = options.shuffle || !options.split.is_empty() || options.ratio.is_some();
        let format = format(options, Some(&self.out));
        let counts_last = format.is_ok_and(|format| format.capabilities().counts_last);
        counts_last && !chooses && !divides && !arranges && !self.dry && !self.run.overwrite
    }

    /// Returns the output codec of an image that the source has `stored` in a codec, or that is
    /// made of pixels: for sources that have to name their samples. If the image decides, returns
    /// the likely one. Raw pixels count as PNG, because they are unpacked as PNG.
    ///
    /// # Errors
    /// `Usage` for invalid options.
    pub fn likely_codec(&self, stored: Option<Codec>) -> Result<Codec> {
        let Checked { format, policy } = check(&self.options, Some(&self.out))?;
        let codec = match policy.encode {
            Encode::Jpeg | Encode::Smart { .. } | Encode::Mix { .. } => Codec::Jpeg,
            Encode::Png => Codec::Png,
            Encode::Bmp => Codec::Bmp,
            Encode::Webp => Codec::Webp,
            Encode::Raw => Codec::Raw,
            Encode::Keep => stored.unwrap_or_else(|| format.fallback()),
        };
        Ok(if codec == Codec::Raw { Codec::Png } else { codec })
    }
}

/// Returns the error for samples in a format that keeps recipes.
pub(crate) fn no_recipe(out: &Path) -> Error {
    let what = format!(
        "{} would keep a recipe and no samples; give a recipe, or choose another format",
        out.display()
    );
    Error::usage(option::FORMAT.with("formula"), what)
}
