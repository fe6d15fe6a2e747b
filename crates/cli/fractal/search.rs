//! `fdconvert fractal search`.
use super::args::{LayoutArg, SearchArgs};
use crate::{Outcome, Session, output, progress::bar};
use fdconvert_core::{Error, Result};
use fdconvert_fractal::{Category, Search, Shape};
use fdconvert_storage::ScratchDir;
use serde_json::{Map, json};
use std::{fs, time::Instant};

/// Categories in each folder of the published layout.
const PER_FOLDER: usize = 25;

pub(crate) fn run(args: &SearchArgs, session: &Session) -> Result<Outcome> {
    let began = Instant::now();
    let mut search = Search::new(args.seed, args.rate)?;
    // Before minutes of searching, not after.
    if args.out.exists() {
        return Err(Error::usage("OUT", format!("{} exists", args.out.display())));
    }
    let folder = ScratchDir::open(&args.out, [0; 16], false)?;
    let bar = bar("searching", args.common.quiet || args.common.json, session);
    bar.set_length(args.classes as u64);
    let mut progress = |n_found: usize| {
        bar.set_position(n_found as u64);
        bar.set_message(String::new());
        !session.cancel().is_cancelled()
    };
    let found = if args.full {
        search.run_in_full(args.classes, &mut progress)
    } else {
        search.run(args.classes, &mut progress)
    };
    bar.finish_and_clear();
    found?;
    for (number, system) in search.found().iter().enumerate() {
        let category = Category { name: format!("{number:05}"), shape: Shape::Ifs(system.clone()) };
        let below = match args.layout {
            LayoutArg::Flat => folder.path().to_owned(),
            LayoutArg::Folders => folder.path().join(format!("csv{}", number / PER_FOLDER)),
        };
        fs::create_dir_all(&below).map_err(Error::io("create the folder", &below))?;
        let path = below.join(format!("{}.csv", category.name));
        fs::write(&path, category.to_csv()).map_err(Error::io("write", &path))?;
    }
    folder.commit(&args.out)?;

    let (n_found, seconds) = (search.found().len(), began.elapsed().as_secs_f64());
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
