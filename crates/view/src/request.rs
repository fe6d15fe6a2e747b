//! A request: the parts of its path, and its parameters.
use crate::answer::Failure;
use axum::http::{HeaderMap, Uri, header};
use percent_encoding::percent_decode_str;
use std::str::FromStr;

/// A request with the token removed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    parts: Vec<String>,
    parameters: Vec<(String, String)>,
    /// Tags of bodies that the browser has.
    pub(crate) has: Option<String>,
}

impl Asked {
    pub(crate) fn new(uri: &Uri, headers: &HeaderMap) -> Self {
        let decoded = |part: &str| percent_decode_str(part).decode_utf8_lossy().into_owned();
        // First come an empty part and the token, and mostly `api`.
        let parts = uri.path().split('/').skip(2).skip_while(|part| *part == "api");
        let parts = parts.map(decoded).collect();
        let query = uri.query().unwrap_or_default();
        let parameters = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let has = headers.get(header::IF_NONE_MATCH).and_then(|it| it.to_str().ok());
        Self { parts, parameters, has: has.map(str::to_owned) }
    }

    /// Returns a part of the path after the name of the resource.
    pub(crate) fn part(&self, at: usize) -> Option<&str> {
        self.parts.get(at).map(String::as_str)
    }

    /// Yields the parameters with a value, in order.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        all.filter(|(_, value)| !value.is_empty())
    }

    /// Returns the value of a parameter that may occur once.
    pub(crate) fn one(&self, name: &str) -> Result<Option<&str>, Failure> {
        let mut values = self.parameters().filter(|(other, _)| *other == name);
        let value = values.next().map(|(_, value)| value);
        if values.next().is_some() {
            return Err(Failure::asked_wrong(format!("`{name}` is given twice")));
        }
        Ok(value)
    }

    /// Returns the numeric value of a parameter.
    pub(crate) fn number<T: FromStr>(&self, name: &str) -> Result<Option<T>, Failure> {
        let Some(value) = self.one(name)? else { return Ok(None) };
        let number = value.parse().ok();
        let wrong = || Failure::asked_wrong(format!("`{name}={value}` is not a number that fits"));
        number.map(Some).ok_or_else(wrong)
    }

    /// Returns a number within bounds, or its default.
    pub(crate) fn number_within(
        &self,
        name: &str,
        bounds: std::ops::RangeInclusive<u32>,
        default: u32,
    ) -> Result<u32, Failure> {
        let Some(number) = self.number(name)? else { return Ok(default) };
        if bounds.contains(&number) {
            return Ok(number);
        }
        let (least, most) = (bounds.start(), bounds.end());
        Err(Failure::asked_wrong(format!("`{name}={number}` is not within {least} to {most}")))
    }

    /// Returns true if the second of two datasets is requested.
    pub(crate) fn is_second(&self) -> Result<bool, Failure> {
        match self.one("set")? {
            None | Some("a") => Ok(false),
            Some("b") => Ok(true),
            Some(other) => Err(Failure::asked_wrong(format!("`set={other}` is neither a nor b"))),
        }
    }
}
