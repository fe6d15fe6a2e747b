//! Grouping of entries into samples, as other readers of shards do.
use super::{Entry, TarError, entries};

/// Command by which GNU tar puts the files of a sample next to each other.
pub(crate) const SORT: &str = "`tar --sort=name`";

/// Consecutive entries with the same key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Group<'a> {
    pub(crate) key: Vec<u8>,
    /// In order.
    pub(crate) entries: Vec<Entry<'a>>,
}

/// Returns the key and the field of an entry: the parts before and after the first dot in the last
/// part of its path. `None` for a name without a dot there, or with one at its front: such an entry
/// belongs to no sample.
///
/// Other readers match `^((?:.*/|)[^.]+)[.]([^/]*)$`, which is the same except for hidden files in
/// a folder: they read `a/.b` as field `b` of a sample `a/`, which is never intended.
pub(crate) fn split_key(name: &[u8]) -> Option<(&[u8], &[u8])> {
    let last_part = name.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    let dot = name.get(last_part..)?.iter().position(|&byte| byte == b'.')?;
    let (key, field) = name.split_at_checked(last_part + dot)?;
    (dot > 0).then_some((key, field.strip_prefix(b".")?))
}

/// Yields the samples of an archive, in order; entries outside samples are skipped and separate
/// nothing. Ends after the first error.
pub(crate) fn groups(archive: &[u8]) -> impl Iterator<Item = Result<Group<'_>, TarError>> {
    groups_and_rest(archive, |_| {})
}

/// As [`groups`], and calls a function with the names of skipped entries.
pub(crate) fn groups_and_rest<'a>(
    archive: &'a [u8],
    mut rest: impl FnMut(&[u8]),
) -> impl Iterator<Item = Result<Group<'a>, TarError>> {
    let mut entries = entries(archive).filter(move |entry| match entry {
        Ok(entry) => {
            let is_member = split_key(&entry.name).is_some();
            if !is_member {
                rest(&entry.name);
            }
            is_member
        }
        Err(_) => true,
    });
    let mut ahead: Option<Entry<'_>> = None;
    std::iter::from_fn(move || {
        let mut group: Option<Group<'_>> = None;
        loop {
            let entry = match ahead.take().map(Ok).or_else(|| entries.next()) {
                Some(Ok(entry)) => entry,
                Some(Err(error)) => return Some(Err(error)),
                None => return group.take().map(Ok),
            };
            let key = split_key(&entry.name).map(|(key, _)| key).unwrap_or_default();
            match &mut group {
                Some(group) if group.key == key => group.entries.push(entry),
                Some(_) => {
                    ahead = Some(entry);
                    return group.take().map(Ok);
                }
                None => group = Some(Group { key: key.to_vec(), entries: vec![entry] }),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_end_at_the_first_dot_of_the_last_part() {
        let check = |name: &str, expected: Option<(&str, &str)>| {
            let expected = expected.map(|(key, field)| (key.as_bytes(), field.as_bytes()));
            assert_eq!(split_key(name.as_bytes()), expected, "{name}");
        };
        check("0001.jpg", Some(("0001", "jpg")));
        check("0001.seg.png", Some(("0001", "seg.png")));
        check("a.b/0001.jpg", Some(("a.b/0001", "jpg")));
        check("./0001.jpg", Some(("./0001", "jpg")));
        check("../0001.jpg", Some(("../0001", "jpg")));
        check("/0001.jpg", Some(("/0001", "jpg")));
        check("0001.", Some(("0001", "")));
        check("0001", None);
        check("a.b/0001", None);
        check(".jpg", None);
        check("a/.jpg", None);
        check("a/..jpg", None);
        check("", None);
    }
}
