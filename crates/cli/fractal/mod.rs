//! `fdconvert fractal`: categories, single images, sheets and fill rates.
pub(crate) mod args;
mod census;
mod recipes;
mod render;
mod search;
mod sheet;

use crate::{Outcome, Session, progress::bar};
use args::{FractalArgs, FractalCommand};
use fdconvert_core::{Encoded, Error, Result};
use fdconvert_formula::FormulaReader;
use fdconvert_fractal::{Formula, FractalSource, Recipe};
use fdconvert_storage::{create_new, replace};
use std::path::Path;

pub(crate) fn run(args: &FractalArgs, session: &Session) -> Result<Outcome> {
    match &args.command {
        FractalCommand::Search(args) => search::run(args, session),
        FractalCommand::Render(args) => render::run(args, session),
        FractalCommand::Sheet(args) => sheet::run(args, session),
        FractalCommand::Census(args) => census::run(args, session),
        FractalCommand::Recipes => recipes::run(session),
    }
}

/// Carries out a recipe, with a bar on standard error while categories are searched.
pub(crate) fn resolve(recipe: &Recipe, quiet: bool, session: &Session) -> Result<Formula> {
    let bar = bar("searching", quiet, session);
    bar.set_length(recipe.classes() as u64);
    let found = recipe.resolve(&mut |n_found| {
        bar.set_position(n_found as u64);
        !session.cancel().is_cancelled()
    });
    bar.finish_and_clear();
    found
}

/// The dataset of a recipe. Its name is the recipe, but for paths, which shape no bytes.
pub(crate) fn open(text: &str, quiet: bool, session: &Session) -> Result<FractalSource> {
    let recipe = Recipe::parse(text)?;
    FractalSource::new(resolve(&recipe, quiet, session)?, recipe.name())
}

/// The dataset of a recipe or of a file.
fn open_any(source: &str, quiet: bool, session: &Session) -> Result<FractalSource> {
    if Recipe::is_recipe(source) {
        return open(source, quiet, session);
    }
    if Path::new(source).is_dir() {
        let what = format!(
            "{source} is a folder, and this command is about fractals; give a recipe (see \
             `fdconvert fractal recipes`) or a .formula file"
        );
        return Err(Error::usage("SOURCE", what));
    }
    FormulaReader::open(Path::new(source)).map(FormulaReader::into_fractals)
}

/// Writes a picture, all or nothing.
fn write_picture(out: &Path, picture: &Encoded, overwrite: bool) -> Result<()> {
    if !overwrite && out.exists() {
        let what = format!("{} exists; replace it with --overwrite", out.display());
        return Err(Error::usage("OUT", what));
    }
    if !overwrite {
        return create_new(out, &picture.bytes);
    }
    if out.is_dir() {
        return Err(Error::usage("OUT", format!("{} is a folder", out.display())));
    }
    replace(out, &picture.bytes)
}
