//! Serializes the values of options as the text that a person would type.
use serde::{Deserialize, Deserializer, Serializer, de};
use std::{
    fmt::{self, Display},
    marker::PhantomData,
    str::FromStr,
};

/// Serializes a value as its text.
pub(crate) fn serialize<T: Display, S: Serializer>(
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// Accepts numbers as text, so that `0.5` and `"0.5"` are equal.
pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: FromStr,
    T::Err: Display,
    D: Deserializer<'de>,
{
    deserializer.deserialize_any(Text(PhantomData))
}

struct Text<T>(PhantomData<T>);

impl<T> de::Visitor<'_> for Text<T>
where
    T: FromStr,
    T::Err: Display,
{
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a number")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}

/// A value as its text, for containers.
struct ByText<T>(T);

impl<'de, T> Deserialize<'de> for ByText<T>
where
    T: FromStr,
    T::Err: Display,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize(deserializer).map(Self)
    }
}

/// An optional value.
pub(crate) mod option {
    use super::{ByText, Deserialize, Deserializer, Display, FromStr, Serializer};

    pub(crate) fn serialize<T: Display, S: Serializer>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => serializer.collect_str(value),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
    where
        T: FromStr,
        T::Err: Display,
        D: Deserializer<'de>,
    {
        let value = Option::<ByText<T>>::deserialize(deserializer)?;
        Ok(value.map(|ByText(value)| value))
    }
}

/// A list of values, or one text with commas between them.
pub(crate) mod list {
    use super::{ByText, Deserialize, Deserializer, Display, FromStr, Serializer, de};

    pub(crate) fn serialize<T: Display, S: Serializer>(
        values: &[T],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(ToString::to_string))
    }

    /// `"a=1,b=2"`, `["a=1", "b=2"]` and `{"a": 1, "b": 2}` are the same.
    #[derive(Deserialize)]
    #[serde(untagged, bound = "T: FromStr, T::Err: Display")]
    enum OneOrMany<T> {
        One(String),
        Many(Vec<ByText<T>>),
        Named(serde_json::Map<String, serde_json::Value>),
    }

    pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
    where
        T: FromStr,
        T::Err: Display,
        D: Deserializer<'de>,
    {
        match OneOrMany::deserialize(deserializer)? {
            OneOrMany::One(text) => {
                text.split(',').map(|one| one.parse().map_err(de::Error::custom)).collect()
            }
            OneOrMany::Named(named) => {
                let one = |(name, value): (String, serde_json::Value)| {
                    let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    format!("{name}={value}").parse().map_err(de::Error::custom)
                };
                named.into_iter().map(one).collect()
            }
            OneOrMany::Many(values) => Ok(values.into_iter().map(|ByText(value)| value).collect()),
        }
    }
}
