//! The commands there are, and the help that clap does not derive.
use crate::{
    bench::args::BenchArgs,
    clean::CleanArgs,
    diff::DiffArgs,
    duplicates::DuplicatesArgs,
    edit::{AppendArgs, LogArgs, RemoveArgs, UpdateArgs},
    format_options,
    fractal::args::FractalArgs,
    gpu::GpuArgs,
    help::{
        APPEND_EXAMPLES, BENCH_COLUMNS, BENCH_EXAMPLES, CLEAN_EXAMPLES, DIFF_EXAMPLES,
        DUPLICATES_EXAMPLES, EXIT_STATUS, INDEX_EXAMPLES, INSPECT_EXAMPLES, LOG_EXAMPLES,
        MAN_EXAMPLES, MORE, PACK_EXAMPLES, PLAN_EXAMPLES, PROFILE_COLUMNS, PROFILE_EXAMPLES,
        REMOVE_EXAMPLES, REPRODUCE_EXAMPLES, SAMPLE_EXAMPLES, SHEET_EXAMPLES, STATS_EXAMPLES,
        UNPACK_EXAMPLES, UPDATE_EXAMPLES, VERIFY_EXAMPLES, VIEW_EXAMPLES, examples_first,
    },
    index::IndexArgs,
    inspect::InspectArgs,
    man::ManArgs,
    pack_args::PackArgs,
    plan::{MergeArgs, PlanArgs},
    profile::args::ProfileArgs,
    reproduce::args::ReproduceArgs,
    sample::SampleArgs,
    sheet::SheetArgs,
    stats::StatsArgs,
    stores::{hide_where_idle, name_and_value},
    unpack::UnpackArgs,
    verify::VerifyArgs,
    view::ViewArgs,
};
use clap::{CommandFactory, Parser, Subcommand};

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
    /// Add samples to a dataset of shards
    #[command(before_long_help = APPEND_EXAMPLES, after_help = MORE, after_long_help = "")]
    Append(Box<AppendArgs>),
    /// Remove samples from a dataset of shards
    #[command(before_help = REMOVE_EXAMPLES)]
    Remove(RemoveArgs),
    /// Change labels and other values in a dataset of shards
    #[command(before_help = UPDATE_EXAMPLES)]
    Update(UpdateArgs),
    /// List the versions of a dataset: what made each, and when
    #[command(before_help = LOG_EXAMPLES)]
    Log(LogArgs),
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
    /// Remove what killed runs have left: of edits, and uploads to S3
    #[command(hide = true, before_help = CLEAN_EXAMPLES)]
    Clean(CleanArgs),
}
