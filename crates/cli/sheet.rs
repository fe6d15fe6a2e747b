//! `fdconvert sheet`.
use crate::{
    Outcome, Session,
    common::Common,
    listen::Listener,
    output,
    reading::{ReadingArgs, splits},
};
use clap::{Args, value_parser};
use fdconvert::{SheetOptions, sheet};
use fdconvert_core::{Result, Shown};
use std::path::PathBuf;

/// Number of listed samples without a picture; `--json` has them all.
const SHOWN: usize = 20;

#[derive(Debug, Args)]
pub(crate) struct SheetArgs {
    /// Folder of images, packed dataset or recipe
    pub(crate) dataset: PathBuf,
    /// The PNG to write
    #[arg(value_name = "OUT.png")]
    pub(crate) out: PathBuf,
    /// Maximum number of images
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = value_parser!(u64).range(1..=100_000))]
    pub(crate) count: u64,
    /// Maximum pixels of the longer side of each image
    #[arg(long, value_name = "PIXELS", default_value_t = 128, value_parser = value_parser!(u32).range(8..=1024))]
    pub(crate) side: u32,
    /// Images in a row [default: about as many as there are rows]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub(crate) columns: Option<u32>,
    /// Choose the images at random by this seed, instead of the first ones
    #[arg(long, value_name = "S")]
    pub(crate) seed: Option<u64>,
    /// Only samples for which the expression holds, e.g. 'label == "cat" && width > 500' (see pack)
    #[arg(long, value_name = "EXPRESSION")]
    pub(crate) r#where: Option<String>,
    /// Overwrite OUT.png if it exists
    #[arg(long)]
    pub(crate) overwrite: bool,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    #[command(flatten)]
    pub(crate) common: Common,
}

pub(crate) fn run(args: &SheetArgs, session: &Session) -> Result<Outcome> {
    let listener = Listener::new(session, args.common.quiet || args.common.json);
    let options = SheetOptions::default()
        .count(args.count)
        .side(args.side)
        .columns(args.columns)
        .seed(args.seed)
        .r#where(args.r#where.clone())
        .overwrite(args.overwrite)
        .max_pixels(args.reading.max_pixels)
        .threads(args.reading.threads)
        .max_decompressed(args.reading.max_decompressed)
        .split(splits(&args.reading.split));
    let made = sheet(&args.dataset, &args.out, &options, listener.context())?;
    if args.common.json {
        session.print_document(&made.document(&args.dataset, &args.out))?;
    } else {
        let mut text = String::new();
        for (index, key, why) in made.unreadable.iter().take(SHOWN) {
            let why = output::without_key(why, key);
            text.push_str(&format!("unreadable: sample {index} (`{}`): {why}\n", Shown(key)));
        }
        if made.unreadable.len() > SHOWN {
            let more = made.unreadable.len() - SHOWN;
            text.push_str(&format!("... and {more} more; --json lists all\n"));
        }
        if !args.common.quiet {
            let n_images = output::counted(made.samples.len() as u64, "image");
            let (rows, columns) = (made.rows, made.columns);
            let out = output::path(&args.out);
            text.push_str(&format!(
                "{}: {n_images} in {}, {columns} in each: {}\n",
                if made.is_new {
                    format!("wrote {out}")
                } else {
                    format!("{out} was already complete")
                },
                output::counted(rows, "row"),
                output::size(made.bytes)
            ));
        }
        session.print(&text)?;
    }
    Ok(if made.unreadable.is_empty() { Outcome::Complete } else { Outcome::DataProblems })
}
