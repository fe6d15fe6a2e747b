//! Values of options on annotations and classes.
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
    fn frames_are_written_as_they_are_read() {
        for text in ["upright", "stored"] {
            assert_eq!(text.parse::<Boxes>().unwrap().to_string(), text);
        }
        assert!("lying".parse::<Boxes>().is_err());
    }
}
