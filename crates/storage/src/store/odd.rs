//! Lists with names that the client rejects: with an empty part (`//`), a part `.` or `..`, or a
//! control character.
//!
//! A page with such a name fails as a whole, and the error contains the first of them. Such a list
//! is resumed with pages that shrink by half each time, until all names before the bad one have
//! arrived and it is alone on a page. It is recorded, and the list continues after it and
//! everything below it, since those names are as bad.
use crate::store::{
    client::Client,
    count,
    error::is_broken_body,
    location::{Base, Location},
};
use fdconvert_core::Result;
use object_store::{
    Error as Cause, ListResult,
    list::{PaginatedListOptions, PaginatedListStore},
    path::{self, Path, PathPart},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path as FilePath,
    sync::{Arc, Mutex, PoisonError},
};

/// Names per page.
const PAGE: usize = 1000;
/// Number of tries of an interrupted page.
const TRIES: u32 = 4;
/// Each costs some twenty requests; a list with more of them fails.
const MAX_LEFT_OUT: usize = 1000;

/// Names omitted from lists, up to the part that the client rejects.
static LEFT_OUT: Mutex<BTreeMap<Base, BTreeSet<String>>> = Mutex::new(BTreeMap::new());

/// Describes the names omitted from lists at or below a URL; `None` if there were none.
#[must_use]
pub(crate) fn left_out(path: &FilePath) -> Option<String> {
    let Location { base, key, .. } = Location::parse(path).ok()?;
    let left_out = LEFT_OUT.lock().unwrap_or_else(PoisonError::into_inner);
    let mut names = left_out.get(&base)?.iter().filter(|name| is_below(name, &key));
    let first = names.next()?;
    let (shown, why) = (first.escape_debug(), why(first));
    Some(match names.count() {
        0 => format!("1 name in the store is left out, with all below it: {shown} has {why}"),
        n => format!(
            "{} names in the store are left out, with all below them: {shown} has {why}",
            n + 1
        ),
    })
}

/// Forgets omitted names below a folder that is listed again.
pub(crate) fn forget(location: &Location) {
    let mut left_out = LEFT_OUT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(names) = left_out.get_mut(&location.base) {
        names.retain(|name| !is_below(name, &location.key));
    }
}

/// Records a name; returns false if there are too many.
pub(crate) fn leave_out(base: &Base, name: &str) -> bool {
    let mut left_out = LEFT_OUT.lock().unwrap_or_else(PoisonError::into_inner);
    let names = left_out.entry(base.clone()).or_default();
    names.insert(name.to_owned());
    names.len() <= MAX_LEFT_OUT
}

fn is_below(name: &str, folder: &Path) -> bool {
    let folder = folder.as_ref();
    folder.is_empty() || name.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// The start of a name up to its first rejected part, with the following slash.
fn odd_part(name: &str) -> &str {
    let mut end = 0;
    for part in name.split_inclusive('/') {
        end += part.len();
        let part = part.strip_suffix('/').unwrap_or(part);
        if part.is_empty() || PathPart::parse(part).is_err() {
            break;
        }
    }
    name.get(..end).unwrap_or(name)
}

fn why(name: &str) -> &'static str {
    match name.strip_suffix('/').unwrap_or(name).rsplit('/').next() {
        None | Some("") => "an empty part",
        Some("." | "..") => "a part that is `.` or `..`",
        Some(_) => "a control character",
    }
}

/// A list that continues around such names.
pub(crate) struct Around {
    store: Arc<dyn PaginatedListStore>,
    base: Base,
    prefix: Option<String>,
    is_deep: bool,
    /// It continues after this name, and after the page of `token`.
    after: Option<String>,
    token: Option<String>,
    n_names: usize,
    is_done: bool,
}

impl Around {
    /// Continues the list of a folder, direct entries or all depths, after a name; returns the
    /// error if it is a different one, or if the store has no pages.
    pub(crate) fn of(
        client: &Client,
        base: &Base,
        folder: &Path,
        is_deep: bool,
        after: Option<&Path>,
        failed: Cause,
    ) -> Result<Self, Cause> {
        let Some(store) = client.pages.clone().filter(|_| odd_name(&failed).is_some()) else {
            return Err(failed);
        };
        let prefix = (!folder.as_ref().is_empty()).then(|| format!("{folder}/"));
        Ok(Self {
            store,
            base: base.clone(),
            prefix,
            is_deep,
            after: after.map(ToString::to_string),
            token: None,
            n_names: PAGE,
            is_done: false,
        })
    }

    /// The next page; `None` after the last.
    pub(crate) async fn next(&mut self) -> Result<Option<ListResult>, Cause> {
        let mut n_tries = 0;
        while !self.is_done {
            count::request();
            let options = PaginatedListOptions {
                offset: self.after.clone(),
                delimiter: (!self.is_deep).then_some("/".into()),
                max_keys: Some(self.n_names),
                page_token: self.token.clone(),
                ..PaginatedListOptions::default()
            };
            n_tries += 1;
            match self.store.list_paginated(self.prefix.as_deref(), options).await {
                Ok(page) => {
                    self.n_names = PAGE.min(self.n_names * 2);
                    self.is_done = page.page_token.is_none();
                    self.token = page.page_token;
                    return Ok(Some(page.result));
                }
                Err(cause) if n_tries < TRIES && is_broken_body(&cause) => continue,
                Err(cause) => match odd_name(&cause) {
                    Some(_) if self.n_names > 1 => self.n_names /= 2,
                    Some(name) if self.passes(name) => {}
                    _ => return Err(cause),
                },
            }
            n_tries = 0;
        }
        Ok(None)
    }

    /// Continues after a name; returns false if that makes no progress.
    fn passes(&mut self, name: &str) -> bool {
        let odd = odd_part(name);
        // No name with this start sorts after the last possible character.
        let end = if odd.ends_with('/') { "\u{10ffff}" } else { "" };
        let after = Some(format!("{odd}{end}"));
        self.token = None;
        let continues = after > self.after && leave_out(&self.base, odd);
        self.after = after;
        continues
    }
}

/// The name because of which a page has failed.
fn odd_name(cause: &Cause) -> Option<&str> {
    match cause {
        Cause::InvalidPath {
            source: path::Error::EmptySegment { path } | path::Error::BadSegment { path, .. },
        } => Some(path),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_behind_the_part_that_is_not_taken() {
        for (name, odd, reason) in [
            ("a/b//2.jpg", "a/b//", "an empty part"),
            ("/2.jpg", "/", "an empty part"),
            ("a/./b/2.jpg", "a/./", "a part that is `.` or `..`"),
            ("a/..", "a/..", "a part that is `.` or `..`"),
            ("a/b\n.jpg", "a/b\n.jpg", "a control character"),
            ("a\t/b//c", "a\t/", "a control character"),
        ] {
            assert_eq!((odd_part(name), why(odd)), (odd, reason), "{name}");
        }
    }
}
