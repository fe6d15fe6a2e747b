//! The command line as typed: flags and their help.
use crate::{
    bench::args::BenchArgs,
    choices::{ByArg, CheckArg, EngineArg, FilterArg, OnErrorArg, SubsamplingArg},
    clean::CleanArgs,
    diff::DiffArgs,
    duplicates::DuplicatesArgs,
    format_options,
    fractal::args::FractalArgs,
    gpu::GpuArgs,
    help::{
        BENCH_COLUMNS, BENCH_EXAMPLES, CLEAN_EXAMPLES, DIFF_EXAMPLES, DUPLICATES_EXAMPLES,
        EXIT_STATUS, INDEX_EXAMPLES, INSPECT_EXAMPLES, MAN_EXAMPLES, MORE, PACK_EXAMPLES,
        PLAN_EXAMPLES, PROFILE_COLUMNS, PROFILE_EXAMPLES, REPRODUCE_EXAMPLES, SAMPLE_EXAMPLES,
        SHEET_EXAMPLES, STATS_EXAMPLES, UNPACK_EXAMPLES, VERIFY_EXAMPLES, VIEW_EXAMPLES,
        examples_first,
    },
    index::IndexArgs,
    inspect::InspectArgs,
    labels::LabelArgs,
    metadata::MetadataArgs,
    profile::args::ProfileArgs,
    reproduce::args::ReproduceArgs,
    selection::SelectionArgs,
    sheet::SheetArgs,
    stats::StatsArgs,
    stores::{hide_where_idle, name_and_value},
    unpack::UnpackArgs,
    verify::VerifyArgs,
    view::ViewArgs,
};
use clap::{Args, CommandFactory, Parser, Subcommand};
use fdconvert::{
    Alpha, ByteCount, Encoding, JpegIndex, Pair, Ratio, Share, SplitShare, plumbing::PartOf,
};
use std::path::PathBuf;

/// Pack image datasets for fast training.
#[derive(Debug, Parser)]
#[command(name = "fdconvert", version, about, max_term_width = 100, infer_subcommands = true)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct Cli {
    /// Option of the stores that URLs lead to, e.g. endpoint=http://localhost:9000, region=eu-west-1,
    /// skip_signature=true; may be repeated
    #[arg(long, global = true, value_name = "NAME=VALUE", value_parser = name_and_value)]
    #[arg(hide_short_help = true, help_heading = "Stores")]
    pub(crate) store_option: Vec<(String, String)>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// Returns the command line with the formats' options.
    pub(crate) fn whole() -> clap::Command {
        let command = examples_first(hide_where_idle(format_options::add_to(Self::command())));
        command.mut_subcommands(|command| command.mut_args(negatives_are_values))
    }
}

/// Lets `--seed -1` be refused with a useful error: clap's own hint would be to make it a path.
fn negatives_are_values(arg: clap::Arg) -> clap::Arg {
    let takes_value = arg.get_action().takes_values() && arg.get_long().is_some();
    if takes_value { arg.allow_negative_numbers(true) } else { arg }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Pack a source into a dataset
    #[command(alias = "convert", before_long_help = PACK_EXAMPLES, after_help = MORE, after_long_help = "")]
    Pack(Box<PackArgs>),
    /// Plan a dataset that several machines will write
    #[command(before_long_help = PLAN_EXAMPLES, after_help = MORE, after_long_help = "")]
    Plan(Box<PlanArgs>),
    /// Complete a dataset whose parts are all packed
    Merge(MergeArgs),
    /// Write indexes and sidecars for existing tar shards
    #[command(before_help = INDEX_EXAMPLES)]
    Index(IndexArgs),
    /// Write a dataset's images back as files in class folders
    #[command(before_help = UNPACK_EXAMPLES)]
    Unpack(UnpackArgs),
    /// Show what is in a dataset and how it was made
    #[command(aliases = ["info", "ls"], before_help = INSPECT_EXAMPLES)]
    Inspect(InspectArgs),
    /// Show a dataset, or two side by side, in a browser on this machine
    #[command(before_help = VIEW_EXAMPLES)]
    View(ViewArgs),
    /// Check a dataset for damage
    #[command(before_help = VERIFY_EXAMPLES)]
    Verify(VerifyArgs),
    /// Compare two datasets by keys and contents
    #[command(before_help = DIFF_EXAMPLES)]
    Diff(DiffArgs),
    /// Count classes and sizes; mean and deviation of the channels
    #[command(before_help = STATS_EXAMPLES)]
    Stats(StatsArgs),
    /// Draw a contact sheet of a dataset
    #[command(before_help = SHEET_EXAMPLES)]
    Sheet(SheetArgs),
    /// Find samples with equal images, within and across datasets
    #[command(before_help = DUPLICATES_EXAMPLES)]
    FindDuplicates(DuplicatesArgs),
    /// Benchmark loading: images/s and the bottleneck
    #[command(before_help = BENCH_EXAMPLES, after_help = BENCH_COLUMNS)]
    Bench(BenchArgs),
    /// Find the fastest mix of PNG/JPEG and BMP for this machine
    #[command(before_help = PROFILE_EXAMPLES, after_help = PROFILE_COLUMNS)]
    Profile(Box<ProfileArgs>),
    /// List GPUs and the JPEG decoder each would use
    Gpu(GpuArgs),
    /// Find categories of fractals, draw images and sheets, measure fill rates
    Fractal(FractalArgs),
    /// Reproduce the experiment of a paper, and compare with other loaders
    #[command(before_help = REPRODUCE_EXAMPLES)]
    Reproduce(ReproduceArgs),
    /// Print a completion script for a shell
    #[command(
        before_help = "Example:\n  fdconvert completions bash > ~/.local/share/bash-completion/completions/fdconvert"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page of a command, or write all of them
    #[command(hide = true, before_help = MAN_EXAMPLES)]
    Man(ManArgs),
    /// Write twelve sample photos in class folders
    #[command(hide = true, before_help = SAMPLE_EXAMPLES)]
    Sample(SampleArgs),
    /// Remove unfinished S3 uploads of killed runs
    #[command(hide = true, before_help = CLEAN_EXAMPLES)]
    Clean(CleanArgs),
}

/// Options that every command understands.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Common {
    /// Print one JSON document on standard output instead of text (see docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,
    /// Print errors only
    #[arg(long, short, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print more: parameters, time by stage
    #[arg(long, short, overrides_with = "verbose")]
    pub(crate) verbose: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The command, e.g. `pack` or `fractal search` [default: the page about all of them]
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// Write the pages of all commands into this folder, e.g. ~/.local/share/man/man1
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub(crate) all: Option<PathBuf>,
    /// Overwrite existing pages
    #[arg(long, requires = "all")]
    pub(crate) overwrite: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SampleArgs {
    /// Folder to write; must not exist
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "fdconvert pack [OPTIONS] <SOURCE>... <OUT>\n       fdconvert pack --plan PLAN [--part I/N|auto] <OUT>"
)]
pub(crate) struct PackArgs {
    /// Sources, then the dataset to write; its extension determines the format
    ///
    /// A source is a folder of images (`root/class/**/*.jpg`, or flat), a zip of one, a packed
    /// dataset, or a recipe for fractals (`fractal:FAMILY?key=value&...`, see `fdconvert fractal
    /// recipes`). Several are packed one after the other; their fields must be the same.
    #[arg(required = true, value_name = "SOURCE... OUT")]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) options: OptionArgs,
    /// Execute this plan (see `fdconvert plan`); it fixes sources and every option that shapes
    /// the output
    #[arg(long, value_name = "FILE", help_heading = "Shards")]
    pub(crate) plan: Option<PathBuf>,
    /// With --plan: write only the shards of part I of N, counted from 1, or `auto`
    ///
    /// auto: I and N are those of the launcher of this process. The first of these counts that
    /// numbers more than one process: RANK and WORLD_SIZE (torchrun), OMPI_COMM_WORLD_RANK and
    /// OMPI_COMM_WORLD_SIZE (MPI), SLURM_PROCID and SLURM_NTASKS (srun; across the jobs of an
    /// array), SLURM_ARRAY_TASK_ID with _MIN, _STEP and _COUNT, JOB_COMPLETION_INDEX (Kubernetes)
    /// and AWS_BATCH_JOB_ARRAY_INDEX, the last two with --parts.
    #[arg(
        long,
        value_name = "I/N",
        requires = "plan",
        help_heading = "Shards",
        hide_short_help = true
    )]
    pub(crate) part: Option<PartOf>,
    /// With --part auto: the number of parts, where the launcher does not give it
    #[arg(
        long,
        value_name = "N",
        requires = "part",
        help_heading = "Shards",
        hide_short_help = true
    )]
    pub(crate) parts: Option<u64>,
    /// With --plan: pack on a cluster; needs Ray and the Python package
    #[arg(long, value_enum, value_name = "NAME", requires = "plan", conflicts_with_all = ["part", "overwrite", "dry_run"], help_heading = "Shards", hide_short_help = true)]
    pub(crate) engine: Option<EngineArg>,

    /// What to do with samples that cannot be read, decoded or stored
    #[arg(long, value_enum, default_value = "fail", value_name = "DO", help_heading = "Safety")]
    pub(crate) on_error: OnErrorArg,
    /// With --on-error skip: stop with an error when more than N samples were skipped [default: 100000, or half of all]
    #[arg(long, value_name = "N", help_heading = "Safety", hide_short_help = true)]
    pub(crate) max_failures: Option<u64>,
    /// Overwrite OUT if it exists
    #[arg(long, help_heading = "Safety")]
    pub(crate) overwrite: bool,
    /// Print what would be done; write nothing
    #[arg(long, help_heading = "Safety", hide_short_help = true)]
    pub(crate) dry_run: bool,
    /// Worker threads; the output does not depend on it [default: one per core]
    #[arg(long, value_name = "N", aliases = ["jobs", "num-workers"], short_alias = 'j')]
    pub(crate) threads: Option<usize>,
    /// Memory for images that wait to be written, and half as much for those read ahead from a store
    /// [default: 8MiB a thread, at most 64MiB; and 32MiB]
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    pub(crate) buffer: Option<ByteCount>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// Folders of images, zips of these, or packed datasets
    #[arg(required = true, value_name = "SOURCE")]
    pub(crate) sources: Vec<PathBuf>,
    /// Plan to write
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Overwrite the plan if it exists
    #[arg(long)]
    pub(crate) overwrite: bool,
    #[command(flatten)]
    pub(crate) options: OptionArgs,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Dataset with packed parts
    pub(crate) out: PathBuf,
    /// The plan of the parts [default: the copy in OUT]
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Everything that shapes the bytes of the output: the fields of `PackOptions` as flags.
#[derive(Debug, Clone, Args)]
pub(crate) struct OptionArgs {
    /// Format of OUT [default: by the extension of OUT]
    #[arg(long, value_name = "NAME")]
    pub(crate) format: Option<String>,
    /// Table that lists the samples (.csv, .tsv, .jsonl), or annotations of COCO, YOLO, Pascal VOC
    ///
    /// A table is .csv or .tsv with a header, .jsonl, .txt with lines such as `a/1.jpg 0`, or the
    /// metadata.csv or metadata.jsonl in a folder or in its folders of splits.
    /// The column `path` (or `file_name`, `image`, `id`, ...) is relative to SOURCE; `label` becomes
    /// the class (numbers stay numbers, names are numbered in sorted order), `split` the split; every
    /// further column becomes a field of integers, floats or text. Only the listed files are packed,
    /// in the order listed; a list of paths alone keeps the classes that the folders give. With the
    /// columns xmin, ymin, xmax, ymax and class each row is a box, and the field `objects` has them.
    ///
    /// Annotations are a .json file of COCO (instances, keypoints, captions), the data.yaml or
    /// obj.data of YOLO, a folder of .txt files (YOLO), or a folder of .xml files (Pascal VOC). They
    /// become the field `objects`: JSON lists of boxes, categories and other annotations, in pixels.
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) label: LabelArgs,
    /// One more image for every sample, e.g. mask=DIR: the file of the same name in DIR, whatever
    /// its extension; its pixels are never changed
    #[arg(long, value_name = "FIELD=DIR", hide_short_help = true)]
    pub(crate) pair: Vec<Pair>,
    /// Files next to the images that become fields, by extension, e.g. txt,json: a/1.txt and
    /// a/1.json for a/1.jpg
    ///
    /// txt becomes a text, json JSON, cls an integer, npy an array, and the extension of an image
    /// (mask.png) one more image, whose pixels are never changed. A sample that lacks such a file is
    /// an error, or is left out (--on-error skip).
    #[arg(long, value_name = "LIST", value_delimiter = ',', hide_short_help = true)]
    pub(crate) beside: Vec<String>,
    /// Fields to leave out, e.g. caption,embedding
    ///
    /// In tar shards samples may lack such a field, and in MDS or Parquet it may be of a type that
    /// is not read.
    #[arg(long, value_name = "LIST", value_delimiter = ',', hide_short_help = true)]
    pub(crate) drop_fields: Vec<String>,
    /// Follow links to wherever they lead; each folder is listed once
    ///
    /// Without it, links that lead out of SOURCE are counted and not followed.
    #[arg(long, hide_short_help = true)]
    pub(crate) follow_links: bool,
    /// Seed of every random choice
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,

    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// Only this share of the samples, e.g. 10% or 0.1, drawn by --seed and their names
    #[arg(long, value_name = "SHARE", help_heading = "Samples", hide_short_help = true)]
    pub(crate) sample: Option<Share>,
    /// Shuffle all samples by --seed
    #[arg(long, help_heading = "Samples")]
    pub(crate) shuffle: bool,
    /// Parts of the dataset, e.g. train=0.9,val=0.1, drawn by --seed and the samples' names
    ///
    /// The shares add up to 1, or `rest=drop` leaves the rest out. Without --split, a
    /// source keeps its own splits: those of a packed dataset, and the folders train, val (valid,
    /// validation) and test where no other folder holds images.
    #[arg(long, value_name = "NAME=SHARE", value_delimiter = ',', help_heading = "Samples")]
    pub(crate) split: Vec<SplitShare>,
    /// Mix the splits of packed datasets, and take all first-level folders as classes, whatever
    /// their names
    #[arg(long, help_heading = "Samples", hide_short_help = true)]
    pub(crate) no_split_folders: bool,

    /// At most N samples in a shard
    #[arg(
        long,
        value_name = "N",
        group = "sharding",
        help_heading = "Shards",
        hide_short_help = true
    )]
    pub(crate) shard_count: Option<u64>,
    /// At most SIZE in a shard, framing included [default: 256MiB]
    #[arg(long, value_name = "SIZE", group = "sharding", help_heading = "Shards")]
    pub(crate) shard_size: Option<ByteCount>,
    /// N shards (in each split), equal within one sample
    #[arg(
        long,
        value_name = "N",
        group = "sharding",
        help_heading = "Shards",
        hide_short_help = true
    )]
    pub(crate) shards: Option<u64>,
    /// Make the number of shards a multiple of W, equal within one sample: every rank gets the same
    /// number
    #[arg(
        long,
        value_name = "W",
        default_value_t = 1,
        help_heading = "Shards",
        hide_short_help = true
    )]
    pub(crate) shards_multiple_of: u64,

    /// How images are stored: keep, jpeg, png, bmp, webp, raw, smart, mix:P
    ///
    /// keep: the source's bytes, unless a resize is due or the format cannot hold them (then
    /// lossless). jpeg: re-encode everything. raw: 8-bit RGB pixels. smart: JPEG where that is at least
    /// --smart-ratio times smaller than raw, else raw. mix:P: JPEG with probability P, chosen by
    /// --seed and the sample's name, else raw. webp: lossless.
    /// [default: keep, or jpeg where --jpeg-quality is given]
    #[arg(long, value_name = "HOW", help_heading = "Images")]
    pub(crate) encode: Option<Encoding>,
    /// JPEG quality, 1 to 100; alone it implies `--encode jpeg` [default: 90]
    #[arg(long, value_name = "Q", alias = "quality", value_parser = clap::value_parser!(u8).range(1..=100), help_heading = "Images")]
    pub(crate) jpeg_quality: Option<u8>,
    /// JPEG chroma subsampling
    #[arg(
        long,
        value_enum,
        default_value = "420",
        value_name = "S",
        help_heading = "Images",
        hide_short_help = true
    )]
    pub(crate) subsampling: SubsamplingArg,
    /// Optimize the Huffman tables of each JPEG: 3 to 6 % smaller, encoding takes 2.7 times as long
    #[arg(long, help_heading = "Images", hide_short_help = true)]
    pub(crate) optimize_huffman: bool,
    /// Rewrite kept progressive JPEGs as baseline, without changing a coefficient:
    /// entry points and hardware decoders need that
    #[arg(long, help_heading = "Images", hide_short_help = true)]
    pub(crate) baseline: bool,
    /// JPEG restart marker every N rows of blocks; 0 for none
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        help_heading = "Images",
        hide_short_help = true
    )]
    pub(crate) restart_rows: u16,
    /// For smart: how many times smaller than raw a JPEG must be
    #[arg(
        long,
        value_name = "R",
        default_value_t = 4.0,
        help_heading = "Images",
        hide_short_help = true
    )]
    pub(crate) smart_ratio: f64,
    /// Store entry points of JPEGs: on (every 2048 bits), off, 512 to 4096
    ///
    /// Entry points let threads and GPUs decode parts of a JPEG at once, e.g. --jpeg-index 1024 for
    /// small images. They take 0.3 to 2 % of the images' bytes, in the index; the JPEGs stay as
    /// they are. Progressive JPEGs get none.
    #[arg(
        long,
        value_name = "BITS",
        default_value = "off",
        help_heading = "Images",
        hide_short_help = true
    )]
    pub(crate) jpeg_index: JpegIndex,
    /// For the format mixed: the share of BMP images, 0.3 or 3:7, auto, or a profile's path
    ///
    /// 0.3, 30% and 3:7 (BMP to others) are the same. auto profiles the source and the disk of OUT
    /// first, which takes seconds; PROFILE.json is what `fdconvert profile -o PROFILE.json` wrote.
    /// BMP takes more bytes and next to no decoding; images that it cannot hold without loss stay
    /// encoded, as --encode says.
    #[arg(long, value_name = "R", help_heading = "Images")]
    pub(crate) ratio: Option<Ratio>,
    /// With --ratio: random images become BMP, or those that save the most decoding for each byte
    #[arg(
        long,
        value_enum,
        default_value = "random",
        value_name = "HOW",
        help_heading = "Images",
        hide_short_help = true
    )]
    pub(crate) by: ByArg,
    /// With --ratio: images whose BMP is larger than this stay encoded
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "64MiB",
        help_heading = "Images",
        hide_short_help = true
    )]
    pub(crate) max_bmp_size: ByteCount,
    /// Scale down so that the longer side is at most N pixels; never up
    #[arg(long, value_name = "N", aliases = ["max-resolution", "image-size"], value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "short_side", help_heading = "Images")]
    pub(crate) max_side: Option<u32>,
    /// Scale down so that the shorter side is at most N pixels; never up
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Images")]
    pub(crate) short_side: Option<u32>,
    /// Resampling filter: area is bit-exact with OpenCV's INTER_AREA, which FFCV uses
    #[arg(
        long,
        value_enum,
        default_value = "area",
        value_name = "F",
        help_heading = "Images",
        hide_short_help = true
    )]
    pub(crate) filter: FilterArg,
    /// Where alpha cannot be stored: drop, white, black, RRGGBB (blend over it), refuse
    #[arg(
        long,
        value_name = "A",
        default_value = "drop",
        help_heading = "Images",
        hide_short_help = true
    )]
    pub(crate) alpha: Alpha,
    /// Store gray images as three equal channels when they are re-encoded
    #[arg(long, help_heading = "Images", hide_short_help = true)]
    pub(crate) gray_to_rgb: bool,
    /// Do not turn re-encoded images upright by their EXIF orientation
    #[arg(long, help_heading = "Images", hide_short_help = true)]
    pub(crate) no_exif_rotation: bool,
    #[command(flatten)]
    pub(crate) metadata: MetadataArgs,

    /// Also reject JPEGs without an end marker, progressive JPEGs with missing scans, images with
    /// further frames, pages or channels or more than 8 bits that would be lost, and kinds that
    /// fdconvert cannot decode
    #[arg(long, help_heading = "Safety", hide_short_help = true)]
    pub(crate) strict: bool,
    /// How to check images that keep their bytes
    #[arg(long, value_enum, default_value = "header", value_name = "HOW")]
    #[arg(help_heading = "Safety", hide_short_help = true)]
    pub(crate) check: CheckArg,
    /// Refuse images of more pixels than this
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100_000_000,
        help_heading = "Safety",
        hide_short_help = true
    )]
    pub(crate) max_pixels: u64,
    /// Refuse image files larger than this
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "1GiB",
        help_heading = "Safety",
        hide_short_help = true
    )]
    pub(crate) max_file_bytes: ByteCount,
    /// Limit on the decompressed size of compressed shards [default: 4GiB, and 100 times their size]
    #[arg(long, value_name = "SIZE", help_heading = "Safety", hide_short_help = true)]
    pub(crate) max_decompressed: Option<ByteCount>,
}
