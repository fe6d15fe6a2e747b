//! Flags for reading tables, annotations and classes.
use clap::Args;
use fdconvert::{Boxes, LabelMap, PackOptions, SourceLayout};
use std::path::PathBuf;

#[derive(Debug, Clone, Args)]
pub(crate) struct LabelArgs {
    /// Layout of SOURCE: auto, folder (as it is: folders are classes), or coco, yolo, voc,
    /// imagefolder, labelme, cvat, openimages, cityscapes, ade20k, celeba, mnist, cifar, food101,
    /// oxford-pets
    ///
    /// auto recognises the layout by names in SOURCE, and the summary says which one it took; it is
    /// off with --labels. SOURCE may also be the file of annotations itself (instances.json,
    /// data.yaml, annotations.xml, metadata.jsonl): its images are looked for around it.
    #[arg(long, value_name = "NAME", default_value = "auto", hide_short_help = true)]
    pub(crate) layout: SourceLayout,
    /// With annotations: image that coordinates of annotations are of where EXIF turns it: upright or
    /// stored [default: what the size in the annotation tells]
    #[arg(long, value_name = "IMAGE", hide_short_help = true)]
    pub(crate) boxes: Option<Boxes>,
    /// With --labels: columns of 0 and 1 of the table that become one label, e.g. cat,dog: an array
    /// with a number for each
    #[arg(long, value_name = "NAMES", value_delimiter = ',', hide_short_help = true)]
    pub(crate) label_columns: Vec<String>,
    /// New names for the categories of objects, e.g. 'car,truck=vehicle; person=person; *=drop'
    ///
    /// Rules are separated by `;`: names of categories, `=`, and their new name, or drop to leave
    /// such objects out. `*` stands for all categories without a rule, which else stay. A name with a
    /// comma or another of these characters is in double quotes.
    #[arg(long, value_name = "RULES", hide_short_help = true)]
    pub(crate) map_labels: Option<LabelMap>,
    /// Leave out objects whose box is less than N pixels wide or high
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) min_box: Option<f64>,
    /// Leave out objects that stand for a crowd
    #[arg(long, hide_short_help = true)]
    pub(crate) drop_crowd: bool,
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
        options.layout = self.layout.clone();
        options.boxes = self.boxes;
        options.label_columns.clone_from(&self.label_columns);
        options.map_labels = self.map_labels.clone();
        options.min_box = self.min_box;
        options.drop_crowd = self.drop_crowd;
        options.classes = self.classes.clone().map(Into::into);
    }
}
