//! Flags that choose samples by their keys and classes.
use clap::Args;
use fdconvert::{MissingKeys, Per};
use std::path::PathBuf;

#[derive(Debug, Clone, Args)]
pub(crate) struct SelectionArgs {
    /// Only the samples whose keys FILE lists, one key a line
    ///
    /// A key is the name of a sample as `fdconvert inspect` lists it: of a folder, the path below
    /// SOURCE. FILE is text in UTF-8, whose empty lines are ignored; a key that is there twice is an
    /// error. The order stays that of the source, and other choices of samples take their part of
    /// what is listed.
    #[arg(long, value_name = "FILE", help_heading = "Samples", hide_short_help = true)]
    pub(crate) keys: Option<PathBuf>,
    /// With --keys: what to do when the source lacks a listed key, fail or skip
    #[arg(
        long,
        value_name = "DO",
        default_value = "fail",
        help_heading = "Samples",
        hide_short_help = true
    )]
    pub(crate) missing_keys: MissingKeys,
    /// With --sample: take the share of every class by itself: class
    ///
    /// Each class keeps its share of the samples within one: numbers are rounded half up, and of a
    /// class that has samples one is taken at least.
    #[arg(
        long,
        value_name = "WHAT",
        requires = "sample",
        help_heading = "Samples",
        hide_short_help = true
    )]
    pub(crate) per: Option<Per>,
}
