use crate::{
    choices::{EngineArg, OnErrorArg},
    common::Common,
    option_args::OptionArgs,
};
use clap::Args;
use fdconvert::{ByteCount, plumbing::PartOf};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(
    override_usage = "fdconvert pack [OPTIONS] <SOURCE>... <OUT>\n       fdconvert pack --plan PLAN [--part I/N|auto] <OUT>"
)]
pub(crate) struct PackArgs {
    /// Sources, then the dataset to write; its extension determines the format
    ///
    /// A source is a folder of images (`root/class/**/*.jpg`, or flat), a zip of one, a packed
    /// dataset, or a recipe for fractals (`fractal:FAMILY?key=value&...`, see `fdconvert fractal
    /// recipes`). Several are packed one after the other; their fields must be the same. A folder
    /// in a layout that --layout lists is read with its labels, also by its file of annotations.
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
