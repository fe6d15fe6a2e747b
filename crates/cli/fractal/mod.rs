//! `fdconvert fractal`: categories, single images, sheets and fill rates.
pub(crate) mod args;
mod census;
mod recipes;
mod render;
mod search;
mod sheet;

use crate::{Outcome, Session, listen::Listener};
use args::{FractalArgs, FractalCommand};
use fdconvert_core::{Encoded, Error, Result};
use fdconvert_formats::formula::FormulaReader;
use fdconvert_fractal::{FractalSource, Recipe};
use fdconvert_storage::{create_new, place, replace};
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

/// Opens the dataset of a recipe or of a file.
fn open_any(source: &str, quiet: bool, session: &Session) -> Result<FractalSource> {
    if Recipe::is_recipe(source) {
        return fdconvert::plumbing::open_recipe(source, Listener::new(session, quiet).context());
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

/// Writes a picture atomically.
fn write_picture(out: &Path, picture: &Encoded, overwrite: bool) -> Result<()> {
    if !overwrite && out.exists() {
        // An equal command has drawn it before.
        let is_same = place::file_len(out)? == Some(picture.bytes.len() as u64)
            && place::whole(out)? == picture.bytes;
        return if is_same { Ok(()) } else { Err(Error::exists("output", out)) };
    }
    if !overwrite {
        return create_new(out, &picture.bytes);
    }
    if out.is_dir() {
        return Err(Error::usage("output", format!("{} is a folder", out.display())));
    }
    replace(out, &picture.bytes)
}
