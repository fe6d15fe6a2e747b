//! `fdconvert fractal search`.
use super::args::{LayoutArg, SearchArgs, SearchFamily};
use crate::{Outcome, Session, output, progress::bar};
use fdconvert_core::{Error, Result};
use fdconvert_fractal::{Category, Search, Shape, SpaceSearch};
use fdconvert_storage::ScratchDir;
use serde_json::{Map, json};
use std::{fs, time::Instant};

/// Number of categories in each folder of the published layout.
const PER_FOLDER: usize = 25;

pub(crate) fn run(args: &SearchArgs, session: &Session) -> Result<Outcome> {
    let began = Instant::now();
    let mut search = AnySearch::new(args)?;
    // Checked before minutes of searching, not after.
    if args.out.exists() {
        return Err(Error::usage("output", format!("{} exists", args.out.display())));
    }
    let folder = ScratchDir::open(&args.out, [0; 16], false)?;
    let bar = bar("searching", args.common.quiet || args.common.json, session);
    bar.set_length(args.classes as u64);
    let mut progress = |n_found: usize| {
        bar.set_position(n_found as u64);
        bar.set_message(String::new());
        !session.cancel().is_cancelled()
    };
    let found = search.run(args, &mut progress);
    bar.finish_and_clear();
    let categories = found?;
    for (number, category) in categories.iter().enumerate() {
        let below = match args.layout {
            LayoutArg::Flat => folder.path().to_owned(),
            LayoutArg::Folders => folder.path().join(format!("csv{}", number / PER_FOLDER)),
        };
        fs::create_dir_all(&below).map_err(Error::io("create the folder", &below))?;
        let path = below.join(format!("{}.csv", category.name));
        fs::write(&path, category.to_csv()).map_err(Error::io("write", &path))?;
    }
    folder.commit(&args.out)?;

    let (n_found, seconds) = (categories.len(), began.elapsed().as_secs_f64());
    if args.common.json {
        let mut fields = Map::new();
        fields.insert("out".into(), json!(args.out.display().to_string()));
        fields.insert("categories".into(), json!(n_found));
        fields.insert("candidates".into(), json!(search.tried()));
        fields.insert("seconds".into(), json!(seconds));
        session.print_json("fractal-search", fields)?;
    } else if !args.common.quiet {
        session.print(&format!(
            "found {} categories among {} candidates in {seconds:.2} s: {}\n",
            output::count(n_found as u64),
            output::count(search.tried()),
            output::path(&args.out)
        ))?;
    }
    Ok(Outcome::Complete)
}

enum AnySearch {
    Plane(Search),
    Space(SpaceSearch),
}

impl AnySearch {
    fn new(args: &SearchArgs) -> Result<Self> {
        match args.family {
            SearchFamily::Fractaldb if args.variance.is_some() => {
                Err(Error::usage("--variance", "it is of the search --family mv-fractaldb"))
            }
            SearchFamily::Fractaldb => {
                let rate = args.rate.unwrap_or(Search::PUBLISHED_RATE);
                Search::new(args.seed, rate).map(Self::Plane)
            }
            SearchFamily::MvFractaldb if args.rate.is_some() || args.full => {
                Err(Error::usage("--family", "--rate and --full are of the search of fractaldb"))
            }
            SearchFamily::MvFractaldb => {
                let variance = args.variance.unwrap_or(SpaceSearch::PUBLISHED_VARIANCE);
                SpaceSearch::new(args.seed, variance).map(Self::Space)
            }
        }
    }

    fn run(
        &mut self,
        args: &SearchArgs,
        progress: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Vec<Category>> {
        match self {
            Self::Plane(search) => {
                if args.full {
                    search.run_in_full(args.classes, progress)?;
                } else {
                    search.run(args.classes, progress)?;
                }
                let category = |(number, system)| Category {
                    name: format!("{number:05}"),
                    shape: Shape::Ifs(system),
                };
                Ok(search.found().iter().cloned().enumerate().map(category).collect())
            }
            Self::Space(search) => {
                search.run(args.classes, progress)?;
                Ok(search.categories())
            }
        }
    }

    fn tried(&self) -> u64 {
        match self {
            Self::Plane(search) => search.tried(),
            Self::Space(search) => search.tried(),
        }
    }
}
