//! The list of all objects below a folder of a store.
use crate::folder::words::{Words, WordsBuilder};
use bytes::Bytes;
use fdconvert_core::{Result, bytes::u32_at};
use fdconvert_storage::{
    Spool,
    place::{Below, list_below},
};
use std::{cmp::Ordering, collections::BTreeMap, mem, path::Path};

/// The objects below a folder, in the order of a walk: part by part. Many millions of names are
/// kept in unnamed files; if a store lists them in another order, sorting takes eight bytes each in
/// memory.
pub(crate) struct Objects {
    paths: Bytes,
    ends: Words,
    lens: Words,
    tags: Words,
    /// The object at each position; `None` if they were listed in order.
    order: Option<Vec<u64>>,
}

/// A folder in the root.
struct Folder {
    name: Vec<u8>,
    n_objects: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Object<'a> {
    pub(crate) path: &'a [u8],
    /// Bytes.
    pub(crate) len: u64,
    /// Changes when the object is written again.
    pub(crate) tag: u64,
}

/// [`Objects`] under construction; accepts them in any order.
#[derive(Default)]
pub(crate) struct ObjectsBuilder {
    paths: Spool,
    ends: WordsBuilder,
    lens: WordsBuilder,
    tags: WordsBuilder,
    folder_of: Spool,
    folders: BTreeMap<u32, Folder>,
    /// True if an object is in no numbered folder of the root.
    has_other: bool,
    last: Vec<u8>,
    is_unsorted: bool,
}

impl ObjectsBuilder {
    /// # Errors
    /// `Io` if there are many and a temporary file cannot be written.
    pub(crate) fn push(&mut self, found: Below) -> Result<()> {
        self.is_unsorted |= compare(&self.last, &found.path) == Ordering::Greater;
        self.paths.push(&found.path)?;
        self.ends.push(self.paths.len())?;
        self.lens.push(found.len)?;
        self.tags.push(found.tag)?;
        self.folder_of.push(&found.within.unwrap_or_default().to_le_bytes())?;
        match found.within {
            Some(number) => {
                let empty = || Folder { name: first(&found.path).to_vec(), n_objects: 0 };
                self.folders.entry(number).or_insert_with(empty).n_objects += 1;
            }
            None => self.has_other = true,
        }
        self.last = found.path;
        Ok(())
    }

    /// # Errors
    /// `Io`, as for [`push`](Self::push).
    pub(crate) fn finish(self) -> Result<Objects> {
        let mut objects = Objects {
            paths: self.paths.finish()?,
            ends: self.ends.finish()?,
            lens: self.lens.finish()?,
            tags: self.tags.finish()?,
            order: None,
        };
        if self.is_unsorted {
            objects.order = Some(if self.has_other {
                objects.sorted((0..objects.ends.len()).collect())
            } else {
                objects.by_folders(&self.folders, &self.folder_of.finish()?)
            });
        }
        Ok(objects)
    }
}

impl Objects {
    /// Lists the objects of a folder in a store.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn list(root: &Path) -> Result<Self> {
        let mut objects = ObjectsBuilder::default();
        list_below(root, &mut |found| objects.push(found))?;
        objects.finish()
    }

    /// The order of objects if none is directly in the root: folder by folder, because the objects
    /// of a folder are nearly always in order, so that hundreds of millions need not be sorted.
    /// `folder_of` has four bytes for each object.
    fn by_folders(&self, folders: &BTreeMap<u32, Folder>, folder_of: &[u8]) -> Vec<u64> {
        let mut by_name: Vec<(&u32, &Folder)> = folders.iter().collect();
        by_name.sort_unstable_by(|(_, a), (_, b)| a.name.cmp(&b.name));
        let (mut next, mut start) = (BTreeMap::new(), 0);
        for (number, folder) in &by_name {
            next.insert(**number, start);
            start += folder.n_objects;
        }
        let mut order = vec![0; start];
        for (index, number) in (0_u64..).zip(folder_of.chunks_exact(4)) {
            let number = u32_at(number, 0).unwrap_or_default();
            let place = next.get_mut(&number).and_then(|at| {
                *at += 1;
                order.get_mut(*at - 1)
            });
            if let Some(place) = place {
                *place = index;
            }
        }
        let mut rest = &mut order[..];
        for (_, folder) in by_name {
            let (run, others) = mem::take(&mut rest).split_at_mut(folder.n_objects);
            let path = |index: &u64| self.path(*index).unwrap_or_default();
            if !run.is_sorted_by(|a, b| compare(path(a), path(b)) != Ordering::Greater) {
                run.sort_unstable_by(|a, b| compare(path(a), path(b)));
            }
            rest = others;
        }
        order
    }

    fn sorted(&self, mut order: Vec<u64>) -> Vec<u64> {
        let path = |index: &u64| self.path(*index).unwrap_or_default();
        order.sort_unstable_by(|a, b| compare(path(a), path(b)));
        order
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Object<'_>> {
        (0..self.ends.len()).filter_map(|at| self.get(at))
    }

    pub(crate) fn find(&self, path: &[u8]) -> Option<Object<'_>> {
        let found = self.get(self.first_where(|other| compare(other, path) != Ordering::Less))?;
        (found.path == path).then_some(found)
    }

    /// Returns true if a path is also a folder.
    pub(crate) fn has_below(&self, path: &[u8]) -> bool {
        let after = self.first_where(|other| compare(other, path) == Ordering::Greater);
        let rest = self.get(after).and_then(|next| next.path.strip_prefix(path));
        rest.is_some_and(|rest| rest.starts_with(b"/"))
    }

    /// A duplicate path.
    pub(crate) fn first_twice(&self) -> Option<&[u8]> {
        let path = |at| self.get(at).map(|object| object.path);
        (1..self.ends.len()).find(|&at| path(at - 1) == path(at)).and_then(path)
    }

    /// Names of the objects that start with `stem` and a dot, without these.
    pub(crate) fn beside<'a>(&'a self, stem: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let start = [stem, b"."].concat();
        let from = self.first_where(|other| compare(other, &start) != Ordering::Less);
        let rests = (from..self.ends.len())
            .map_while(move |at| self.get(at)?.path.strip_prefix(stem)?.strip_prefix(b"."));
        rests.filter(|rest| !rest.contains(&b'/'))
    }

    /// Position of the first path for which `is_past` is true.
    fn first_where(&self, is_past: impl Fn(&[u8]) -> bool) -> u64 {
        let (mut start, mut end) = (0, self.ends.len());
        while start < end {
            let middle = start + (end - start) / 2;
            if self.get(middle).is_some_and(|object| is_past(object.path)) {
                end = middle;
            } else {
                start = middle + 1;
            }
        }
        start
    }

    fn get(&self, at: u64) -> Option<Object<'_>> {
        let index = match &self.order {
            Some(order) => *order.get(usize::try_from(at).ok()?)?,
            None => at,
        };
        let (len, tag) = (self.lens.get(index)?, self.tags.get(index)?);
        Some(Object { path: self.path(index)?, len, tag })
    }

    fn path(&self, index: u64) -> Option<&[u8]> {
        let start = match index.checked_sub(1) {
            Some(before) => self.ends.get(before)?,
            None => 0,
        };
        self.paths.get(usize::try_from(start).ok()?..usize::try_from(self.ends.get(index)?).ok()?)
    }
}

/// The parts of a path.
pub(crate) fn parts(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|&byte| byte == b'/')
}

fn first(path: &[u8]) -> &[u8] {
    parts(path).next().unwrap_or_default()
}

fn compare(a: &[u8], b: &[u8]) -> Ordering {
    parts(a).cmp(parts(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(paths: &[&str]) -> Objects {
        let words = |words: Vec<u64>| Words::collect(words.into_iter().map(Ok)).unwrap();
        let ends = paths.iter().scan(0, |end, path| {
            *end += path.len() as u64;
            Some(*end)
        });
        Objects {
            paths: paths.concat().into_bytes().into(),
            ends: words(ends.collect()),
            lens: words((0..paths.len() as u64).collect()),
            tags: words(vec![7; paths.len()]),
            order: None,
        }
    }

    #[test]
    fn order_is_that_of_a_walk() {
        let mut objects = objects(&["a/x", "a-b/x", "a", "b", "a/y"]);
        objects.order = Some(objects.sorted((0..5).collect()));
        let paths: Vec<_> = objects.iter().map(|object| object.path).collect();
        assert_eq!(paths, [&b"a"[..], b"a/x", b"a/y", b"a-b/x", b"b"]);
        for object in objects.iter() {
            assert_eq!(objects.find(object.path), Some(object));
        }
        assert_eq!(objects.find(b"a/xx"), None);
        assert_eq!(objects.find(b"c"), None);
        assert!(objects.has_below(b"a"));
        assert!(objects.has_below(b"a-b"));
        assert!(!objects.has_below(b"b"));
        assert!(!objects.has_below(b"a/x"));
    }

    /// Listed in parallel: each folder in byte order, several at the same time.
    #[test]
    fn folders_of_mixed_lists_come_in_the_same_order() {
        let listed = ["a-b/x", "a/s-t/1", "a-b/y", "a/s/1", "a/s/2", "c/z"];
        let numbers = [0_u32, 1, 0, 1, 1, 7];
        let mut folders = BTreeMap::new();
        for (path, number) in listed.iter().zip(numbers) {
            let name = first(path.as_bytes()).to_vec();
            folders.entry(number).or_insert(Folder { name, n_objects: 0 }).n_objects += 1;
        }
        let objects = objects(&listed);
        let folder_of: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let order = objects.by_folders(&folders, &folder_of);
        assert_eq!(order, objects.sorted((0..6).collect()));
        assert_eq!(order, [3, 4, 1, 0, 2, 5]);
    }
}
