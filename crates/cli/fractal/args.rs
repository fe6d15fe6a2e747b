//! `fdconvert fractal` as typed.
use crate::common::Common;
use clap::{Args, Subcommand, ValueEnum};
use fdconvert_core::{Error, Result};
use fdconvert_fractal::{Draw, Sampler};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(
    before_help = "To pack fractals, give `fdconvert pack` a recipe in place of a folder:\n  \
    fdconvert pack 'fractal:fractaldb?classes=1000&instances=1000' train.beton\n\
    `fdconvert fractal recipes` lists families and keys."
)]
pub(crate) struct FractalArgs {
    #[command(subcommand)]
    pub(crate) command: FractalCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FractalCommand {
    /// Find categories by the search of FractalDB (the same as the published ones) or MV-FractalDB,
    /// and write them as CSV
    #[command(before_help = SEARCH_EXAMPLES)]
    Search(SearchArgs),
    /// Draw one image of a category
    #[command(before_help = RENDER_EXAMPLES)]
    Render(RenderArgs),
    /// Draw a contact sheet of a dataset of fractals
    #[command(
        before_help = "Example:\n  fdconvert fractal sheet 'fractal:fractaldb?classes=8&size=128' sheet.png"
    )]
    Sheet(SheetArgs),
    /// Measure how full the images of categories are, for every row of weights
    #[command(
        before_help = "Example:\n  fdconvert fractal census 'fractal:fractaldb?size=256&points=100000' --csv fills.csv"
    )]
    Census(CensusArgs),
    /// List the keys of recipes (`fractal:FAMILY?key=value&...`)
    Recipes,
}

const SEARCH_EXAMPLES: &str = "\
Examples:
  fdconvert fractal search --seed 1 --classes 1000 --rate 0.2 categories/
  fdconvert fractal search --family mv-fractaldb --classes 1000 categories/";

const RENDER_EXAMPLES: &str = "\
Examples:
  fdconvert fractal render 00004.csv fern.png
  fdconvert fractal render 00004.csv row0.png --weight 0.4 --weight-row 0 --draw point_gray
  fdconvert fractal render 00004.csv fast.png --sampler lanes64-v1 --seed 3";

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// Folder to write; it must not exist
    #[arg(value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// Search algorithm: fractaldb, or mv-fractaldb for systems of space (3D)
    #[arg(long, value_enum, default_value = "fractaldb")]
    pub(crate) family: SearchFamily,
    /// Seed of numpy's generator; FractalDB's published categories have 1, MV-FractalDB's none
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u32,
    /// Categories to find
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) classes: usize,
    /// fractaldb: share of 512 x 512 pixels that a category fills at least [default: 0.2]
    #[arg(long)]
    pub(crate) rate: Option<f64>,
    /// mv-fractaldb: least variance of a category along each axis [default: 0.05]
    #[arg(long, conflicts_with = "rate")]
    pub(crate) variance: Option<f64>,
    /// fractaldb: try every candidate, even where the categories are known
    #[arg(long)]
    pub(crate) full: bool,
    /// Files in OUT, or 25 each in OUT/csv0, OUT/csv1, ... as they are published
    #[arg(long, value_enum, default_value = "flat")]
    pub(crate) layout: LayoutArg,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SearchFamily {
    /// Systems of the plane (2D), seven columns
    Fractaldb,
    /// Systems of space (3D), thirteen columns
    MvFractaldb,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LayoutArg {
    /// OUT/00000.csv
    Flat,
    /// OUT/csv0/00000.csv
    Folders,
}

#[derive(Debug, Args)]
pub(crate) struct RenderArgs {
    /// The category: a CSV of 7 columns a,b,c,d,e,f,p, one line for each map
    #[arg(value_name = "CATEGORY.csv")]
    pub(crate) category: PathBuf,
    /// The PNG to write: 8-bit gray or RGB, the sampler's own values, turned as the original's flip0
    #[arg(value_name = "OUT.png")]
    pub(crate) out: PathBuf,
    /// fractaldb-v1 (the original's bits) or lanes64-v1 (fast)
    #[arg(long, value_name = "NAME", default_value = "fractaldb-v1", value_parser = sampler)]
    pub(crate) sampler: Sampler,
    /// Step of the table of 25 weights, e.g. 0.4; needs --weight-row
    #[arg(long, value_name = "STEP", requires = "weight_row", allow_negative_numbers = true)]
    pub(crate) weight: Option<f64>,
    /// Row of that table, 0 to 24
    #[arg(long, value_name = "ROW", requires = "weight", value_parser = clap::value_parser!(u8).range(0..25))]
    pub(crate) weight_row: Option<u8>,
    /// Points of the orbit
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub(crate) points: u32,
    /// Pixels of a side
    #[arg(long, value_name = "PIXELS", default_value_t = 512)]
    pub(crate) size: u32,
    /// Free pixels on every side
    #[arg(long, value_name = "PIXELS", default_value_t = 6)]
    pub(crate) pad: u32,
    /// point_gray, point_color, patch_gray or patch_color
    #[arg(long, value_name = "HOW", default_value = "patch_gray", value_parser = draw)]
    pub(crate) draw: Draw,
    /// fractaldb-v1: the seed of Python's `random`, which draws the patches; lanes64-v1: the seed
    /// of everything
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u32,
    /// Overwrite OUT.png if it exists
    #[arg(long)]
    pub(crate) overwrite: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct SheetArgs {
    /// A recipe `fractal:...`, or a .formula dataset
    #[arg(value_name = "SOURCE")]
    pub(crate) source: String,
    /// The PNG to write
    #[arg(value_name = "OUT.png")]
    pub(crate) out: PathBuf,
    /// Rows: classes, from all over the dataset
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) rows: u32,
    /// Columns: images of a class, from all over the class
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) columns: u32,
    /// Pixels of a side that images are reduced to
    #[arg(long, value_name = "PIXELS", default_value_t = 128, value_parser = clap::value_parser!(u32).range(8..=1024))]
    pub(crate) tile: u32,
    /// Overwrite OUT.png if it exists
    #[arg(long)]
    pub(crate) overwrite: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct CensusArgs {
    /// A recipe `fractal:...`, or a .formula dataset
    #[arg(value_name = "SOURCE")]
    pub(crate) source: String,
    /// Also write a line `category,weight_row,fill` for each
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: Common,
}

fn sampler(name: &str) -> Result<Sampler> {
    let names = || Sampler::ALL.map(Sampler::name).join(", ");
    Sampler::from_name(name)
        .ok_or_else(|| Error::usage("--sampler", format!("one of: {}", names())))
}

fn draw(name: &str) -> Result<Draw> {
    let names = || Draw::ALL.map(Draw::name).join(", ");
    Draw::from_name(name).ok_or_else(|| Error::usage("--draw", format!("one of: {}", names())))
}
