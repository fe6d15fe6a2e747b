//! Values of options on annotations and classes.
use serde::{Deserialize, Serialize};
use std::{fmt, path::PathBuf, str::FromStr};

/// Which image the coordinates of annotations are of, where an EXIF orientation turns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Boxes {
    /// The upright one, as viewers show it.
    Upright,
    /// The one that is stored.
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

/// Names of the classes of an output, in the order of their numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Classes {
    /// A file with a name on each line, or a dataset that has names of classes.
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
