use crate::OptionRef;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt::{self, Display, Formatter, Write};

/// A text for people, with options as cures.
///
/// The text contains no option in the spelling of the command or of Python; cures are values, and
/// the front end that prints the remark spells them. It is stored in the library's own spelling.
///
/// ```
/// use fdconvert_core::{Remark, option};
///
/// let remark = Remark::from("x.beton exists").cure("to replace it", option::OVERWRITE.on());
/// assert_eq!(remark.to_string(), "x.beton exists; to replace it: overwrite=true");
/// let flag = |option: &fdconvert_core::OptionRef| format!("--{}", option.name);
/// assert_eq!(remark.spelled(flag), "x.beton exists; to replace it: --overwrite");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Remark {
    /// The text, on one line.
    pub text: String,
    /// Possible cures, shown after the text.
    pub cures: Vec<Cure>,
}

/// An option that helps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cure {
    /// Purpose, e.g. "to replace it".
    pub purpose: &'static str,
    /// Option, with a value if a specific one is advised.
    pub option: OptionRef,
}

impl Remark {
    /// Adds a cure.
    #[must_use]
    pub fn cure(mut self, purpose: &'static str, option: impl Into<OptionRef>) -> Self {
        self.cures.push(Cure { purpose, option: option.into() });
        self
    }

    /// Replaces the text by one derived from it.
    #[must_use]
    pub fn reworded(self, text: impl FnOnce(&str) -> String) -> Self {
        Self { text: text(&self.text), cures: self.cures }
    }

    /// Returns text and cures, with options spelled by `spell`.
    pub fn spelled(&self, spell: impl Fn(&OptionRef) -> String) -> String {
        let mut said = self.text.clone();
        for Cure { purpose, option } in &self.cures {
            // Writing to a string cannot fail.
            let _ = write!(said, "; {purpose}: {}", spell(option));
        }
        said
    }
}

/// The library's spelling.
impl Display for Remark {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.spelled(OptionRef::to_string))
    }
}

impl<T: Into<String>> From<T> for Remark {
    fn from(text: T) -> Self {
        Self { text: text.into(), cures: Vec::new() }
    }
}

/// Compares the printed form, because a remark read from a file has its cures in its text.
impl PartialEq for Remark {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for Remark {}

impl Serialize for Remark {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Remark {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::option;

    #[test]
    fn stored_text_is_that_of_the_library() {
        let remark = Remark::from("it is wide").cure("to make it small", option::MAX_SIDE.with(8));
        let stored = serde_json::to_string(&remark).unwrap();
        assert_eq!(stored, "\"it is wide; to make it small: max_side=8\"");
        let read: Remark = serde_json::from_str(&stored).unwrap();
        assert_eq!(read, remark);
        assert!(read.cures.is_empty());
    }
}
