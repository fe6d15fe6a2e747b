//! The command line as typed: flags and their help. `request.rs` turns it into validated input.
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Packs image datasets once so that training reads them fast.
#[derive(Debug, Parser)]
#[command(version, about, max_term_width = 100, infer_subcommands = true)]
#[command(after_help = "Exit status: 0 complete, 1 finished with data problems (samples skipped, \
                        damage found), 2 not done, 130 interrupted.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Pack a source into a dataset that training reads fast
    #[command(after_help = PACK_EXAMPLES)]
    Pack(Box<PackArgs>),
    /// Write a dataset's images back as files in class folders
    #[command(after_help = UNPACK_EXAMPLES)]
    Unpack(UnpackArgs),
    /// Show what is in a dataset and how it was made
    Inspect(InspectArgs),
    /// Check a dataset for damage
    #[command(after_help = VERIFY_EXAMPLES)]
    Verify(VerifyArgs),
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  fdconvert completions bash > ~/.local/share/bash-completion/completions/fdconvert"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    #[command(after_help = "Example:\n  fdconvert man | man -l -")]
    Man,
}

const PACK_EXAMPLES: &str = "\
Examples:
  Store every image as it is; class folders become labels:
      fdconvert pack imagenet/train train.beton

  At most 500 pixels on the longer side, JPEG quality 90, what FFCV users write:
      fdconvert pack imagenet/train train.beton --jpeg-quality 90 --max-side 500

  Leave broken images out, list them, and go on:
      fdconvert pack photos photos.beton --on-error skip

  Labels and other columns from a table instead of folder names:
      fdconvert pack photos photos.beton --labels labels.csv";

const UNPACK_EXAMPLES: &str = "\
Examples:
  fdconvert unpack train.beton train/

The images are written byte for byte as stored, under their recorded names; raw pixels become PNG.";

const VERIFY_EXAMPLES: &str = "\
Examples:
  fdconvert verify train.beton           structure, sizes and checksums
  fdconvert verify train.beton --deep    and decode every image";

/// Options that every command understands.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Common {
    /// Print one JSON document on standard output instead of text (see docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,
    /// Say nothing but errors
    #[arg(long, short, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say more: parameters, time by stage
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PackArgs {
    /// Folder of images (`root/class/**/*.jpg`, or flat), or a packed dataset
    pub(crate) source: PathBuf,
    /// Dataset to write; its extension tells the format
    pub(crate) out: PathBuf,
    /// Format of OUT [default: by the extension of OUT]
    #[arg(long, value_name = "NAME")]
    pub(crate) format: Option<String>,
    /// Table that lists the samples: CSV with a header or JSON lines
    ///
    /// The column `path` is relative to SOURCE; `label` becomes the class (numbers stay numbers,
    /// names are numbered in sorted order); every further column becomes a field of integers,
    /// floats or text. Only the listed files are packed, in the order listed.
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,

    /// How images are stored: keep, jpeg, png, bmp, raw, smart, mix:P
    ///
    /// keep: the source's bytes, unless a resize is due or the format cannot hold them (then
    /// lossless). jpeg: re-encode everything. raw: 8-bit RGB pixels. smart: JPEG where that is at least
    /// --smart-ratio times smaller than raw, else raw. mix:P: JPEG with probability P, chosen by
    /// --seed and the sample's name, else raw. [default: keep; jpeg if --jpeg-quality is given]
    #[arg(long, value_name = "HOW", help_heading = "Images")]
    pub(crate) encode: Option<String>,
    /// JPEG quality, 1 to 100; alone it implies `--encode jpeg` [default: 90]
    #[arg(long, value_name = "Q", value_parser = clap::value_parser!(u8).range(1..=100), help_heading = "Images")]
    pub(crate) jpeg_quality: Option<u8>,
    /// JPEG chroma subsampling
    #[arg(long, value_enum, default_value = "420", value_name = "S", help_heading = "Images")]
    pub(crate) subsampling: SubsamplingArg,
    /// Huffman tables fitted to each JPEG: 3 to 6 % smaller, encoding takes 2.7 times as long
    #[arg(long, help_heading = "Images")]
    pub(crate) optimize_huffman: bool,
    /// JPEG restart marker every N rows of blocks; 0 for none
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Images")]
    pub(crate) restart_rows: u16,
    /// For smart: how many times smaller than raw a JPEG must be
    #[arg(long, value_name = "R", default_value_t = 4.0, help_heading = "Images")]
    pub(crate) smart_ratio: f64,
    /// Scale down so that the longer side is at most N pixels; never up
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "short_side", help_heading = "Images")]
    pub(crate) max_side: Option<u32>,
    /// Scale down so that the shorter side is at most N pixels; never up
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Images")]
    pub(crate) short_side: Option<u32>,
    /// Resampling: area is bit-exact with OpenCV's INTER_AREA, which FFCV uses
    #[arg(long, value_enum, default_value = "area", value_name = "F", help_heading = "Images")]
    pub(crate) filter: FilterArg,
    /// Where alpha cannot be stored: drop, white, black, RRGGBB (blend over it), refuse
    #[arg(long, value_name = "A", default_value = "drop", help_heading = "Images")]
    pub(crate) alpha: String,
    /// Store gray images as three equal channels when they are re-encoded
    #[arg(long, help_heading = "Images")]
    pub(crate) gray_to_rgb: bool,
    /// Do not turn re-encoded images upright by their EXIF orientation
    #[arg(long, help_heading = "Images")]
    pub(crate) no_exif_rotation: bool,

    /// What to do with samples that cannot be read, decoded or stored
    #[arg(long, value_enum, default_value = "fail", value_name = "DO", help_heading = "Safety")]
    pub(crate) on_error: OnErrorArg,
    /// Treat a JPEG without its end marker as broken even if all its pixels are there
    #[arg(long, help_heading = "Safety")]
    pub(crate) strict: bool,
    /// Refuse images of more pixels than this
    #[arg(long, value_name = "N", default_value_t = 100_000_000, help_heading = "Safety")]
    pub(crate) max_pixels: u64,
    /// Refuse image files larger than this
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = bytes, help_heading = "Safety")]
    pub(crate) max_file_bytes: u64,
    /// Replace OUT if it exists
    #[arg(long, help_heading = "Safety")]
    pub(crate) overwrite: bool,
    /// Show what would be done, write nothing
    #[arg(long, help_heading = "Safety")]
    pub(crate) dry_run: bool,

    /// Seed of every random choice
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Worker threads; the output does not depend on it [default: one per core]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Memory for images that wait to be written
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = bytes)]
    pub(crate) buffer: u64,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct UnpackArgs {
    /// Dataset to unpack
    pub(crate) dataset: PathBuf,
    /// Folder to write; must not exist or be empty
    pub(crate) out: PathBuf,
    /// What to do with samples that cannot be read
    #[arg(long, value_enum, default_value = "fail", value_name = "DO")]
    pub(crate) on_error: OnErrorArg,
    /// Worker threads [default: one per core]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// Dataset to look at
    pub(crate) dataset: PathBuf,
    /// Also list the first N samples
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) samples: u64,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Dataset to check
    pub(crate) dataset: PathBuf,
    /// Decode every image too
    #[arg(long)]
    pub(crate) deep: bool,
    /// Refuse images of more pixels than this when decoding
    #[arg(long, value_name = "N", default_value_t = 100_000_000)]
    pub(crate) max_pixels: u64,
    /// Worker threads [default: one per core]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum SubsamplingArg {
    /// Half the columns and rows of colour
    #[value(name = "420")]
    S420,
    /// Half the columns
    #[value(name = "422")]
    S422,
    /// All of it
    #[value(name = "444")]
    S444,
    /// The source's, 4:2:0 where it has none
    Keep,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum FilterArg {
    /// Mean over the covered area
    Area,
    /// Sharpest
    Lanczos3,
    /// Fast, with antialiasing
    Bilinear,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum OnErrorArg {
    /// Stop and leave nothing behind
    Fail,
    /// Leave the sample out, list it, exit with status 1
    Skip,
}

/// A size in bytes with an optional unit: `8MiB`, `500kB`, `1048576`.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    text.parse::<bytesize::ByteSize>().map(|size| size.as_u64()).map_err(|_| {
        format!("`{text}` is not a size; write a number with an optional unit, e.g. 8MiB")
    })
}
