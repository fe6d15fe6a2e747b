use crate::probe::Foreign;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt};

/// Number of extensions to count separately.
const MAX_EXTENSIONS: usize = 8;
/// Longer extensions are unlikely to be real.
const MAX_EXTENSION_BYTES: usize = 16;
/// Number of names to list in a text.
const MAX_NAMES: usize = 3;
/// Files with extensions that are not counted separately.
const REST: &str = "others";

/// Contents of a source that are not samples.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ignored {
    /// Files without an image extension, and entries that are not files.
    pub others: u64,
    /// Files and folders with names that start with a dot.
    pub hidden: u64,
    /// Symbolic links that were not followed: broken, cyclic, or leading out of the folder.
    pub links: u64,
    /// Some of these links, with their targets.
    pub link_names: Vec<String>,
    /// Folders reached a second time, through a link; their images are read once, under the name
    /// that comes first.
    pub repeats: u64,
    /// Folders called `__MACOSX`, which macOS adds to archives.
    pub macosx: u64,
    /// Folders without images among classes or splits.
    pub folders: Vec<String>,
    /// The most frequent extensions among `others`, with their counts.
    pub extensions: BTreeMap<String, u64>,
    /// Tables of samples beside the images, such as `metadata.csv`, that were not read.
    pub tables: Vec<String>,
}

impl Ignored {
    /// Counts a file; `extension` is in lower case and starts with a dot, or is `no extension`.
    pub fn count_file(&mut self, extension: String) {
        self.others += 1;
        let known = if extension.len() > MAX_EXTENSION_BYTES { REST.to_owned() } else { extension };
        *self.extensions.entry(known).or_default() += 1;
    }

    /// Counts a link that is not followed, with its target.
    pub fn count_link(&mut self, path: &str, target: &str) {
        self.links += 1;
        self.link_names.push(format!("{path} to {target}"));
        self.shorten_links();
    }

    /// Keeps the first names, independent of the order of the links.
    fn shorten_links(&mut self) {
        self.link_names.sort();
        self.link_names.truncate(MAX_NAMES);
    }

    /// Subtracts `n_files` files of an extension that were counted as ignored but have been read.
    pub fn uncount(&mut self, extension: &str, n_files: u64) {
        let n_files = n_files.min(self.others);
        self.others -= n_files;
        // Extensions without an entry are counted together.
        let known = if self.extensions.contains_key(extension) { extension } else { REST };
        if let Some(n) = self.extensions.get_mut(known) {
            *n = n.saturating_sub(n_files);
        }
        self.extensions.retain(|_, n| *n > 0);
    }

    /// Keeps the most frequent extensions, independent of the order of the files.
    pub fn shorten(&mut self) {
        if self.extensions.len() <= MAX_EXTENSIONS {
            return;
        }
        let mut ranked: Vec<_> = std::mem::take(&mut self.extensions).into_iter().collect();
        ranked.sort_by(|(a, n_a), (b, n_b)| {
            (a == REST).cmp(&(b == REST)).then(n_b.cmp(n_a)).then(a.cmp(b))
        });
        let rest: u64 = ranked.iter().skip(MAX_EXTENSIONS).map(|(_, n)| n).sum();
        ranked.truncate(MAX_EXTENSIONS);
        self.extensions = ranked.into_iter().collect();
        *self.extensions.entry(REST.to_owned()).or_default() += rest;
    }

    /// Adds the counts of another source.
    pub fn add(&mut self, other: Self) {
        self.others += other.others;
        self.hidden += other.hidden;
        self.links += other.links;
        self.link_names.extend(other.link_names);
        self.shorten_links();
        self.repeats += other.repeats;
        self.macosx += other.macosx;
        self.folders.extend(other.folders);
        self.tables.extend(other.tables);
        for (extension, n) in other.extensions {
            *self.extensions.entry(extension).or_default() += n;
        }
        self.shorten();
    }

    /// Returns the unsupported kinds of images among the files, if their extensions are counted.
    #[must_use]
    pub fn foreign(&self) -> Vec<Foreign> {
        let mut kinds = Vec::new();
        for extension in self.extensions.keys() {
            let kind = Foreign::from_extension(extension.trim_start_matches('.'));
            kinds.extend(kind.filter(|kind| !kinds.contains(kind)));
        }
        kinds
    }

    /// Returns true if nothing was ignored.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        (self.others, self.hidden, self.links) == (0, 0, 0)
            && (self.repeats, self.macosx) == (0, 0)
            && self.folders.is_empty()
    }
}

/// `5 files ignored (.avif 1, .txt 4), 1 hidden name, 1 link not followed (dog to a folder elsewhere)`;
/// empty for nothing.
impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        let mut part = |f: &mut fmt::Formatter<'_>, n: u64, one: &str, many: &str| {
            if n == 0 {
                return Ok(false);
            }
            write!(f, "{separator}{n} {}", if n == 1 { one } else { many })?;
            separator = ", ";
            Ok(true)
        };
        if part(f, self.others, "file ignored", "files ignored")? {
            for (i, (extension, n)) in self.extensions.iter().enumerate() {
                write!(f, "{}{extension} {n}", if i == 0 { " (" } else { ", " })?;
            }
            f.write_str(if self.extensions.is_empty() { "" } else { ")" })?;
        }
        part(f, self.hidden, "hidden name", "hidden names")?;
        let n_folders = self.folders.len() as u64;
        if part(f, n_folders, "folder without images", "folders without images")? {
            names(f, &self.folders)?;
        }
        part(f, self.macosx, "__MACOSX folder", "__MACOSX folders")?;
        if part(f, self.links, "link not followed", "links not followed")?
            && !self.link_names.is_empty()
        {
            let more = if self.links > self.link_names.len() as u64 { ", ..." } else { "" };
            write!(f, " ({}{more})", self.link_names.join(", "))?;
        }
        let (one, many) = (
            "folder reached twice and taken under its first name",
            "folders reached twice and taken under their first names",
        );
        part(f, self.repeats, one, many)?;
        Ok(())
    }
}

/// Lists the first of these names, in brackets.
fn names(f: &mut fmt::Formatter<'_>, names: &[String]) -> fmt::Result {
    let more = if names.len() > MAX_NAMES { ", ..." } else { "" };
    let shown: Vec<&str> = names.iter().take(MAX_NAMES).map(String::as_str).collect();
    write!(f, " ({}{more})", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_extensions_stay_in_whatever_order_they_came() {
        let count = |order: &[usize]| {
            let mut ignored = Ignored::default();
            for &i in order {
                (0..=i % 5).for_each(|_| ignored.count_file(format!(".x{i}")));
            }
            ignored.shorten();
            ignored
        };
        let forward: Vec<usize> = (0..30).collect();
        let backward: Vec<usize> = (0..30).rev().collect();
        let ignored = count(&forward);
        assert_eq!(ignored, count(&backward));
        assert_eq!(ignored.extensions.values().sum::<u64>(), ignored.others);
        assert_eq!(ignored.extensions.len(), MAX_EXTENSIONS + 1);
    }

    #[test]
    fn text_names_only_what_there_is() {
        let mut ignored = Ignored::default();
        assert_eq!(ignored.to_string(), "");
        ignored.count_file(".txt".into());
        ignored.links = 3;
        assert_eq!(ignored.to_string(), "1 file ignored (.txt 1), 3 links not followed");
        ignored.add(ignored.clone());
        assert_eq!(ignored.to_string(), "2 files ignored (.txt 2), 6 links not followed");
        let repeated = Ignored { repeats: 1, ..Ignored::default() };
        assert!(!repeated.is_empty() && repeated.to_string().contains("reached twice"));
    }
}
