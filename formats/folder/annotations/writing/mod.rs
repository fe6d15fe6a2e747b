//! Writing annotations of other tools, and the images that belong to them, into a folder.
//!
//! [`AnnotationWriter`] names the images, brings the documents of objects to the sizes of their
//! images, and passes each sample to the [`Layout`], which writes files below the same folder.
mod categories;
mod losses;
mod options;
mod outline;
mod sample;
mod writer;

pub(crate) use losses::{Loss, Losses};
pub(crate) use options::{Images, OPTIONS, Written};
pub(crate) use sample::Labelled;
pub(crate) use writer::AnnotationWriter;

pub(in crate::folder) use categories::Categories;
pub(in crate::folder) use options::{CAPTIONS, Task};
pub(in crate::folder) use outline::{cut, joined, of_mask, rounded, smallest_rectangle, within};
pub(in crate::folder) use sample::Shape;

use crate::folder::output::Output;
use fdconvert_core::{Result, Schema};

/// A layout of annotations.
pub(in crate::folder) trait Layout: Send {
    /// Folder of the images of a split, which their names are relative to, with a slash at its end;
    /// without a split it may be empty.
    fn image_folder(&self, split: Option<&str>) -> String {
        split.map_or_else(|| "images/".to_owned(), |split| format!("images/{split}/"))
    }

    /// Returns true if the folder of the images of a split has its name, so that their own names
    /// need not repeat it.
    fn has_split_folders(&self) -> bool {
        true
    }

    /// Returns true if a field has a place in the layout; `objects` and images always have one.
    fn holds(&self, _schema: &Schema, _field: usize) -> bool {
        false
    }

    /// Adds a sample, or nothing in case of an error. `check` refuses losses before anything is
    /// written.
    ///
    /// # Errors
    /// `Sample` for a document that is damaged, and those of `check`; `Io`.
    fn write(
        &mut self,
        sample: &Labelled<'_>,
        losses: &mut Losses,
        output: &mut Output,
        check: &mut dyn FnMut(&Losses) -> Result<()>,
    ) -> Result<()>;

    /// Writes what is about all samples.
    ///
    /// # Errors
    /// `Io`.
    fn finish(&mut self, output: &mut Output) -> Result<()>;
}
