//! Ids of images, annotations and categories.
use serde::{
    Deserialize, Deserializer,
    de::{Error, Visitor},
};
use std::fmt;

/// An id. `7.0` and `"7"`, which some programs write, equal the number; other texts stay texts, and
/// are sorted after all numbers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Id {
    Number(i64),
    Text(Box<str>),
}

impl Id {
    /// Its number, if it has one.
    pub(super) fn number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(_) => None,
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => write!(f, "`{text}`"),
        }
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Written)
    }
}

struct Written;

impl Visitor<'_> for Written {
    type Value = Id;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("an id: a whole number or a text")
    }

    fn visit_i64<E>(self, number: i64) -> Result<Id, E> {
        Ok(Id::Number(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Id, E> {
        Ok(i64::try_from(number).map_or_else(|_| Id::Text(number.to_string().into()), Id::Number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Id, E> {
        let is_whole = number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0;
        if is_whole {
            Ok(Id::Number(number as i64))
        } else {
            Err(E::custom("an id is no whole number"))
        }
    }

    fn visit_str<E>(self, text: &str) -> Result<Id, E> {
        let number = text.parse::<i64>().ok().filter(|number| number.to_string() == text);
        Ok(number.map_or_else(|| Id::Text(text.into()), Id::Number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_all_programs_are_the_same_number() {
        let id = |text: &str| serde_json::from_str::<Id>(text).unwrap();
        for text in ["7", "7.0", "\"7\""] {
            assert_eq!(id(text), Id::Number(7), "{text}");
        }
        assert_eq!(id("\"007\""), Id::Text("007".into()));
        assert_eq!(id("18446744073709551615").number(), None);
        assert!(serde_json::from_str::<Id>("7.5").is_err());
        assert!(serde_json::from_str::<Id>("[7]").is_err());
    }
}
