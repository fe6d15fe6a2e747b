//! Interned texts of a field.
use std::{collections::BTreeMap, sync::Arc};

/// Limit of different texts. Beyond it they are names or captions, useless for filtering.
const MOST: usize = 10_000;

/// Limit of the length in bytes, for the same reason.
const LONGEST: usize = 256;

/// Value of a sample that cannot be read, or of a field that was given up.
pub(crate) const NO_TEXT: u32 = u32::MAX;

/// The different texts of a field, by number.
#[derive(Debug, Clone, Default)]
pub(crate) struct Texts {
    numbers: BTreeMap<Arc<str>, u32>,
    texts: Vec<Arc<str>>,
    is_given_up: bool,
}

impl Texts {
    pub(super) fn intern(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        if self.is_given_up || text.len() > LONGEST || self.texts.len() == MOST {
            *self = Self { is_given_up: true, ..Self::default() };
            return NO_TEXT;
        }
        let (number, text) = (self.texts.len() as u32, Arc::<str>::from(text));
        self.texts.push(text.clone());
        self.numbers.insert(text, number);
        number
    }

    /// Returns the texts in the order of their numbers.
    pub(crate) fn all(&self) -> &[Arc<str>] {
        &self.texts
    }

    /// Returns true if there are too many texts, or too long ones, so that numbers are invalid.
    pub(crate) fn is_given_up(&self) -> bool {
        self.is_given_up
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_numbered_until_they_are_too_many() {
        let mut texts = Texts::default();
        assert_eq!([texts.intern("a"), texts.intern("b"), texts.intern("a")], [0, 1, 0]);
        for number in 2..MOST {
            texts.intern(&number.to_string());
        }
        assert!(!texts.is_given_up());
        assert_eq!((texts.intern("one more"), texts.intern("a")), (NO_TEXT, NO_TEXT));
        assert!(texts.is_given_up() && texts.all().is_empty());
    }

    #[test]
    fn long_texts_are_not_kept() {
        let mut texts = Texts::default();
        assert_eq!(texts.intern(&"x".repeat(LONGEST)), 0);
        assert_eq!(texts.intern(&"x".repeat(LONGEST + 1)), NO_TEXT);
        assert!(texts.is_given_up());
    }
}
