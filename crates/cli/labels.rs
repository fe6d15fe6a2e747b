//! Flags for reading tables, annotations and classes.
use clap::Args;
use fdconvert::{Boxes, PackOptions};
use std::path::PathBuf;

#[derive(Debug, Clone, Args)]
pub(crate) struct LabelArgs {
    /// With --labels: image that coordinates of annotations are of where EXIF turns it: upright or
    /// stored [default: what the size in the annotation tells]
    #[arg(long, value_name = "IMAGE", hide_short_help = true)]
    pub(crate) boxes: Option<Boxes>,
    /// With --labels: columns of 0 and 1 of the table that become one label, e.g. cat,dog: an array
    /// with a number for each
    #[arg(long, value_name = "NAMES", value_delimiter = ',', hide_short_help = true)]
    pub(crate) label_columns: Vec<String>,
    /// Number the classes by this list: a text file with a name on each line, or a dataset
    ///
    /// Labels, and the categories of the field `objects`, get the numbers of their names on the list,
    /// which the output has as a whole, also names that no sample has: so several datasets agree. A
    /// class that is not on it is an error. Labels that are numbers without names get the names.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) classes: Option<PathBuf>,
}

impl LabelArgs {
    /// Sets the options of the flags.
    pub(crate) fn set(&self, options: &mut PackOptions) {
        options.boxes = self.boxes;
        options.label_columns.clone_from(&self.label_columns);
        options.classes = self.classes.clone().map(Into::into);
    }
}
