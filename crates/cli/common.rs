use clap::Args;

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
