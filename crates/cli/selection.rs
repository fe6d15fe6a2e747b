//! Flags that select samples by their properties, and distinguish those of several sources.
use clap::Args;
use fdconvert::{Dedup, Per, Prefix};
use std::path::PathBuf;

#[derive(Debug, Clone, Args)]
pub(crate) struct SelectionArgs {
    /// Only the samples whose keys FILE lists, one key a line
    ///
    /// A key is the name of a sample as `fdconvert inspect` lists it: of a folder, the path below
    /// SOURCE. FILE is text in UTF-8, whose empty lines are ignored; a key that occurs twice, or that
    /// no sample has, is an error. The order stays that of the source, and other options choose among
    /// the listed samples.
    #[arg(long, value_name = "FILE", help_heading = "Samples", hide_short_help = true)]
    pub(crate) keys: Option<PathBuf>,
    /// With --sample: stratify by class: class
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
    /// Only samples for which an expression holds, e.g. 'width >= 256 && label == "cat"'
    ///
    /// Names: width, height (of the first image in the source), bytes, codec, label (a class by its
    /// name), key, split, index (from 0, over all sources), and the fields of integers, floats and
    /// text; of annotated images n_objects, any(...) and count(...), e.g. 'any(category == "car" &&
    /// height > 32)', with the names category, left, top, width, height (of the box), area, iscrowd,
    /// difficult, truncated and occluded inside. Values: numbers, and texts in double or single quotes. Operators, those that bind most
    /// first: ! and - in front of a value; * /; + -; == != < <= > >=; in ["a", "b"], contains,
    /// starts_with, ends_with; && (and); || (or); parentheses. width and height take the header of
    /// every image, so the source is read again; codec goes by names, and bytes by sizes of files.
    #[arg(long = "where", value_name = "EXPR", help_heading = "Samples", hide_short_help = true)]
    pub(crate) r#where: Option<String>,
    /// Keep only the first of samples whose images have the same bytes: exact
    ///
    /// Every image that other options leave is read again, to be hashed; a share is drawn of
    /// what stays. What is left out is counted, and so are labels that disagree.
    #[arg(long, value_name = "HOW", help_heading = "Samples", hide_short_help = true)]
    pub(crate) dedup: Option<Dedup>,
    /// Prefix the keys of every source with a name and a slash, so that keys of several sources
    /// differ: auto (the names of their folders), or NAME,NAME,...
    #[arg(long, value_name = "NAMES", help_heading = "Samples", hide_short_help = true)]
    pub(crate) prefix: Option<Prefix>,
}
