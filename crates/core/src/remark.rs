use crate::OptionRef;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt::{self, Display, Formatter, Write};

/// A text for people, and the options that cure what it says.
///
/// The text names no option in the words of the command or of Python; the cures are values, which
/// who prints the remark spells. It is stored as the library's own text.
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
    /// What is to be said, on one line.
    pub text: String,
    /// What may be done about it, behind the text.
    pub cures: Vec<Cure>,
}

/// An option that helps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cure {
    /// What it is for, e.g. "to replace it".
    pub purpose: &'static str,
    /// Option, with its value where there is one to advise.
    pub option: OptionRef,
}

impl Remark {
    /// With one more cure.
    #[must_use]
    pub fn cure(mut self, purpose: &'static str, option: impl Into<OptionRef>) -> Self {
        self.cures.push(Cure { purpose, option: option.into() });
        self
    }

    /// With another text, made of its own.
    #[must_use]
    pub fn reworded(self, text: impl FnOnce(&str) -> String) -> Self {
        Self { text: text(&self.text), cures: self.cures }
    }

    /// The text and the cures, options as they are spelled where it is printed.
    pub fn spelled(&self, spell: impl Fn(&OptionRef) -> String) -> String {
        let mut said = self.text.clone();
        for Cure { purpose, option } in &self.cures {
            // Writing to a string cannot fail.
            let _ = write!(said, "; {purpose}: {}", spell(option));
        }
        said
    }
}

/// The library's own text.
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

/// By what they say: one that is read from a file has its cures in its text.
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
