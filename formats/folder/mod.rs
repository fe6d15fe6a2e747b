//! Folders of image files, read as datasets and written by unpacking them.
//!
//! [`Folder`] is the format; `open` finds the samples of `root/class/**/*.jpg`, of a flat folder,
//! or of a folder that fdconvert unpacked. [`Folder::open_with_labels`] opens exactly the samples
//! listed in a CSV or JSON-lines table, or in annotations of COCO, YOLO and Pascal VOC. All return
//! a [`FolderReader`], which counts skipped files in [`Ignored`](fdconvert_core::Ignored).
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let root = folder.path();
//! # let image = fdconvert_testkit::fixtures::png(4, 3, 1).bytes;
//! use fdconvert_core::{Source, Value};
//! use fdconvert_formats::folder::Folder;
//!
//! std::fs::create_dir_all(root.join("cat"))?;
//! std::fs::write(root.join("cat/tom.png"), image)?;
//! std::fs::write(root.join("cat/notes.txt"), "grey")?;
//!
//! let cats = Folder::default().open_folder(root)?;
//! assert_eq!((cats.len(), cats.key(0).as_str()), (1, "cat/tom.png"));
//! assert_eq!(cats.facts().ignored.others, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`spec`] is the layout. Deliberately absent: pixels. The header of a file tells its contents;
//! nothing here decodes it.

mod ahead;
mod annotations;
#[cfg(feature = "zip")]
mod archive;
#[cfg(not(feature = "zip"))]
#[path = "no_archive.rs"]
mod archive;
mod beside;
mod columns;
mod details;
mod entries;
mod format;
mod labels;
mod layout;
mod layouts;
mod levels;
mod links;
mod listing;
mod mask_files;
mod masks;
mod names;
mod objects;
mod opening;
#[cfg(feature = "write")]
mod output;
mod plain;
mod planned;
mod reader;
mod roles;
mod sidecar;
mod sizes;
mod split_classes;
mod split_folders;
mod table;
#[cfg(feature = "write")]
mod there;
mod walk;
mod walk_away;
mod words;
#[cfg(feature = "write")]
mod writer;
mod written_splits;

pub use annotations::AnnotationFile;
pub use format::{BoxFrame, Folder};
pub use labels::TableOfKeys;
pub use layout::is_image_name;
pub use layouts::{PixelFile, layout_names};
pub use names::normal_name;
pub use reader::FolderReader;
pub use split_classes::alike_classes;

#[doc = include_str!("SPEC.md")]
pub mod spec {}

#[cfg(test)]
mod tests;
