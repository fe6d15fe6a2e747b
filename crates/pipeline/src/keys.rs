//! Lists of keys that select samples.
use fdconvert_core::{Error, Result, Shown, Source, option};
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};
use xxhash_rust::xxh3::Xxh3Default;

/// Number of keys that an error shows.
const SHOWN: usize = 5;

/// A longer ending of a key is not an extension.
const MAX_EXTENSION: usize = 8;

/// Keys of selected samples, without duplicates.
///
/// ```
/// use fdconvert_pipeline::KeyList;
///
/// let list = KeyList::parse("cats/1.jpg\n\ncats/2.jpg\n".as_bytes(), "train.txt")?;
/// assert_eq!(list.len(), 2);
/// # Ok::<(), fdconvert_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyList {
    /// Name of the list in errors: its path.
    name: String,
    /// Keys in the order of the list.
    keys: Vec<String>,
    /// Positions in `keys`, sorted by key.
    by_key: Vec<usize>,
}

/// Result of a search for the keys of a list in a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundKeys {
    /// Samples with these keys, ascending; all of them if several have the same key.
    pub indices: Vec<u64>,
    /// Number of keys that match after the samples' extension is removed.
    pub without_extension: u64,
    /// Number of keys that look like those of samples, but are written with other characters.
    pub look_alikes: u64,
}

impl KeyList {
    /// Parses a list: one key per line, in UTF-8, exactly as in the source. Empty lines, a carriage
    /// return at the end of a line and a byte order mark are ignored. `name` is its path, for
    /// errors.
    ///
    /// # Errors
    /// `Usage` for text that is not UTF-8, a duplicate key, and a list without keys.
    pub fn parse(text: &[u8], name: &str) -> Result<Self> {
        let wrong = |what: String| Error::usage(option::KEYS, format!("{}: {what}", Shown(name)));
        let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        let text = str::from_utf8(text).map_err(|cause| {
            let before = text.get(..cause.valid_up_to()).unwrap_or_default();
            let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
            wrong(format!("line {line} is not UTF-8; write the list as UTF-8, one key a line"))
        })?;
        let numbered = (1_u64..).zip(text.lines()).filter(|(_, key)| !key.is_empty());
        let (lines, keys): (Vec<u64>, Vec<String>) =
            numbered.map(|(line, key)| (line, key.to_owned())).unzip();
        Self::numbered(keys, name, |at| format!("on line {}", lines.get(at).unwrap_or(&0)))
    }

    /// Creates a list of keys. `name` stands for it in errors.
    ///
    /// # Errors
    /// As for [`parse`](Self::parse).
    pub fn new(keys: Vec<String>, name: &str) -> Result<Self> {
        Self::numbered(keys, name, |at| format!("at position {at}"))
    }

    fn numbered(keys: Vec<String>, name: &str, place: impl Fn(usize) -> String) -> Result<Self> {
        let wrong = |what: String| Error::usage(option::KEYS, format!("{}: {what}", Shown(name)));
        if keys.is_empty() {
            return Err(wrong("it lists no key; write one a line".into()));
        }
        let mut by_key: Vec<usize> = (0..keys.len()).collect();
        // Stable: among equal keys the first line comes first.
        by_key.sort_by_key(|at| keys.get(*at));
        let twice = by_key.windows(2).find_map(|pair| {
            let [first, again] = pair else { return None };
            let key = keys.get(*first).filter(|key| keys.get(*again) == Some(key))?;
            Some((key, place(*first), place(*again)))
        });
        if let Some((key, first, again)) = twice {
            let key = Shown(key);
            let what = format!("`{key}` is {first} and again {again}; list each key once");
            return Err(wrong(what));
        }
        Ok(Self { name: name.to_owned(), keys, by_key })
    }

    /// Returns the number of keys.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.keys.len() as u64
    }

    /// Returns true if the list is empty, which never happens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns XXH3 (128 bits) of the sorted keys, each with a newline: independent of the order of
    /// the list.
    #[must_use]
    pub fn hash(&self) -> u128 {
        let mut hash = Xxh3Default::new();
        for key in self.by_key.iter().filter_map(|at| self.keys.get(*at)) {
            hash.update(key.as_bytes());
            hash.update(b"\n");
        }
        hash.digest128()
    }

    /// Searches the keys of all samples in the source. A missing key matches the samples of a
    /// single key that is equal in the form of `normal`.
    ///
    /// # Errors
    /// `Usage` for keys that the source does not have.
    pub fn find(
        &self,
        source: &dyn Source,
        normal: impl Fn(&str) -> Cow<'_, str>,
    ) -> Result<FoundKeys> {
        let mut is_found = vec![false; self.keys.len()];
        let mut take = |index: &u64| {
            let key = source.key(*index);
            let listed = |at: &usize| self.keys.get(*at).map(String::as_str).cmp(&Some(&*key));
            let found = self.by_key.binary_search_by(listed).ok();
            let Some(at) = found.and_then(|at| self.by_key.get(at)) else { return false };
            if let Some(is_found) = is_found.get_mut(*at) {
                *is_found = true;
            }
            true
        };
        let mut indices: Vec<u64> = (0..source.len()).filter(&mut take).collect();
        let missing = self.keys.iter().zip(&is_found).filter(|(_, is_found)| !**is_found);
        let mut missing: Vec<&String> = missing.map(|(key, _)| key).collect();
        let n_missing = missing.len();
        if n_missing > 0 {
            indices.extend(otherwise(source, &mut missing, |key| Cow::Borrowed(key)));
        }
        let without_extension = (n_missing - missing.len()) as u64;
        let n_missing = missing.len();
        if missing.iter().any(|key| !key.is_ascii()) {
            indices.extend(otherwise(source, &mut missing, normal));
        }
        let look_alikes = (n_missing - missing.len()) as u64;
        indices.sort_unstable();
        indices.dedup();
        match &missing[..] {
            [] => Ok(FoundKeys { indices, without_extension, look_alikes }),
            missing => Err(self.refuse(missing, source)),
        }
    }

    fn refuse(&self, missing: &[&String], source: &dyn Source) -> Error {
        let (name, all) = (Shown(&self.name), self.keys.len());
        let shown = missing.iter().take(SHOWN).map(|key| format!("`{}`", Shown(key)));
        let shown = shown.collect::<Vec<_>>().join(", ");
        let more = if missing.len() > SHOWN { ", ..." } else { "" };
        let like = match source.len() {
            0 => String::new(),
            _ => format!("keys are written as the source has them, such as `{}`: ", {
                Shown(source.key(0))
            }),
        };
        let n = missing.len();
        let is_of_class = |key: &&String| {
            let last = key.rsplit_once(char::is_whitespace).map(|(_, last)| last);
            matches!(last, Some("-1" | "0" | "1"))
        };
        if missing.iter().take(SHOWN).all(is_of_class) && n == all {
            let what = format!(
                "{name}: it has a number behind each name, as the lists of one class in Pascal VOC: \
                 write the names of the samples that you want alone, one a line"
            );
            return Error::usage(option::KEYS, what);
        }
        let (these, them) =
            if n == 1 { ("it".to_owned(), "it") } else { (format!("these {n}"), "them") };
        let what = format!(
            "{name}: {n} of its {all} keys are not in the source: {shown}{more}; {like}correct {these}, or \
             remove {them} from the list"
        );
        Error::usage(option::KEYS, what)
    }
}

/// Finds samples with keys that match the list in the form of `normal`, or without their extension,
/// if only one matches; the other keys remain missing.
fn otherwise(
    source: &dyn Source,
    missing: &mut Vec<&String>,
    normal: impl Fn(&str) -> Cow<'_, str>,
) -> Vec<u64> {
    let mut found: BTreeMap<String, Option<u64>> = BTreeMap::new();
    let wanted: BTreeSet<Cow<'_, str>> = missing.iter().map(|key| normal(key)).collect();
    for index in 0..source.len() {
        let key = source.key(index);
        let key = normal(&key);
        let stem = key.rsplit_once('.').filter(|(_, end)| end.len() <= MAX_EXTENSION);
        let is_wanted = |name: &&str| wanted.contains(*name);
        let name = Some(&*key).filter(is_wanted).or(stem.map(|(stem, _)| stem).filter(is_wanted));
        let Some(name) = name else { continue };
        found.entry(name.to_owned()).and_modify(|it| *it = None).or_insert(Some(index));
    }
    drop(wanted);
    missing.retain(|key| !found.get(&*normal(key)).is_some_and(Option::is_some));
    found.into_values().flatten().collect()
}
