//! Values of options on annotations and classes.
use fdconvert_formats::folder::layout_names;
use serde::{Deserialize, Serialize};
use std::{fmt, path::PathBuf, str::FromStr};

/// Image that the coordinates of annotations refer to if an EXIF orientation turns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Boxes {
    /// Upright image, as in viewers.
    Upright,
    /// Stored image.
    Stored,
}

impl FromStr for Boxes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "upright" => Ok(Self::Upright),
            "stored" => Ok(Self::Stored),
            _ => Err(format!("`{text}` is neither upright nor stored")),
        }
    }
}

impl fmt::Display for Boxes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Upright => "upright",
            Self::Stored => "stored",
        })
    }
}

/// Layout of the files of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceLayout {
    /// The one that the names in the source show; else a folder of images.
    Auto,
    /// A folder of images, whatever is next to them.
    Folder,
    /// One that [`layout_names`] lists.
    Named(String),
}

impl FromStr for SourceLayout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "folder" => Ok(Self::Folder),
            name if layout_names().any(|known| known == name) => Ok(Self::Named(name.to_owned())),
            _ => {
                let names = layout_names().collect::<Vec<_>>().join(", ");
                Err(format!("`{text}` is unknown; expected one of: auto, folder, {names}"))
            }
        }
    }
}

impl fmt::Display for SourceLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Folder => "folder",
            Self::Named(name) => name,
        })
    }
}

/// Class names of an output, in the order of their numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Classes {
    /// File with a name on each line, or dataset with class names.
    Of(PathBuf),
    /// The names.
    Names(Vec<String>),
}

impl From<PathBuf> for Classes {
    fn from(path: PathBuf) -> Self {
        Self::Of(path)
    }
}

impl From<Vec<String>> for Classes {
    fn from(names: Vec<String>) -> Self {
        Self::Names(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_and_layouts_are_written_as_they_are_read() {
        for text in ["upright", "stored"] {
            assert_eq!(text.parse::<Boxes>().unwrap().to_string(), text);
        }
        assert!("lying".parse::<Boxes>().is_err());
        for text in ["auto", "folder", "yolo", "oxford-pets"] {
            assert_eq!(text.parse::<SourceLayout>().unwrap().to_string(), text);
        }
        assert!("yulo".parse::<SourceLayout>().unwrap_err().contains("coco"));
    }
}
