//! The images of a split: those of a folder, or of a list of files.
use crate::folder::{Folder, annotations::files::by_letters, layout::key_of_path, names::normal};
use fdconvert_core::Error;
use fdconvert_storage::read_if_there;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// Resolves split entries, such as `images/train` or `train.txt`, to images of the source.
pub(super) struct Entries<'a> {
    root: &'a Path,
    images: &'a [Box<[u8]>],
    how: &'a Folder,
    known: BTreeSet<&'a [u8]>,
    /// By name with normalised accented letters.
    by_letters: BTreeMap<Vec<u8>, Option<&'a [u8]>>,
    /// Lists read so far, relative to the source.
    pub(super) lists: BTreeSet<Vec<u8>>,
    /// Missing entries, such as `train: images/train`.
    absent: Vec<String>,
    pub(super) remarks: Vec<String>,
}

pub(super) enum Failure {
    /// Problem with an entry of the file.
    Entry(String),
    Other(Error),
}

impl<'a> Entries<'a> {
    pub(super) fn new(root: &'a Path, images: &'a [Box<[u8]>], how: &'a Folder) -> Self {
        Self {
            root,
            images,
            how,
            known: images.iter().map(|it| &**it).collect(),
            by_letters: by_letters(images.iter().map(|it| (&**it, &**it))),
            lists: BTreeSet::new(),
            absent: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// The images of an entry; none if it does not exist.
    pub(super) fn images_of(
        &mut self,
        split: &str,
        entry: &str,
    ) -> Result<Vec<Box<[u8]>>, Failure> {
        let slashed = entry.replace('\\', "/");
        let found = if slashed.ends_with(".txt") {
            self.of_list(split, entry, &slashed)?
        } else {
            self.of_folder(split, entry, &slashed)
        };
        Ok(found.unwrap_or_else(|| {
            let missing = format!("{split}: {entry}");
            self.remarks.push(format!("`{missing}` is not there, and is left out"));
            self.absent.push(missing);
            Vec::new()
        }))
    }

    /// Why there is no image at all.
    pub(super) fn nothing(&self) -> String {
        if self.absent.is_empty() {
            return "it names no folder with an image".to_owned();
        }
        format!(
            "`{}` is not in {}, or holds no image; give as the source the folder that such entries \
             are relative to (what `path` names)",
            self.absent.join("`, `"),
            self.root.display()
        )
    }

    fn of_folder(&mut self, split: &str, entry: &str, slashed: &str) -> Option<Vec<Box<[u8]>>> {
        for (number, relative) in ends(slashed).enumerate() {
            let folder = match relative {
                "" | "." => Vec::new(),
                relative => [relative.as_bytes(), b"/"].concat(),
            };
            let own = self.images.iter().filter(|image| image.starts_with(&folder));
            let own: Vec<_> = own.cloned().collect();
            if !own.is_empty() {
                self.tell_end(number, split, entry, relative);
                return Some(own);
            }
        }
        None
    }

    fn of_list(
        &mut self,
        split: &str,
        entry: &str,
        slashed: &str,
    ) -> Result<Option<Vec<Box<[u8]>>>, Failure> {
        for (number, relative) in ends(slashed).enumerate() {
            if relative.is_empty() {
                continue;
            }
            let file: PathBuf = self.root.join(relative);
            let text =
                read_if_there(&file, self.how.limits.max_file_bytes).map_err(Failure::Other)?;
            let Some(text) = text else { continue };
            self.tell_end(number, split, entry, relative);
            self.lists.insert(relative.as_bytes().to_vec());
            let text = std::str::from_utf8(&text)
                .map_err(|_| Failure::Entry(format!("`{split}: {entry}` is not UTF-8")))?;
            return self.of_lines(relative, text).map(Some);
        }
        Ok(None)
    }

    /// Reports that only the end of an entry was used: the rest belongs to the machine that wrote
    /// it.
    fn tell_end(&mut self, number: usize, split: &str, entry: &str, relative: &str) {
        if number > 0 {
            self.remarks.push(format!("`{split}: {entry}` is taken as `{relative}` of the source"));
        }
    }

    /// The images in a list. All of its lines may share leading folders that the source lacks.
    fn of_lines(&mut self, list: &str, text: &str) -> Result<Vec<Box<[u8]>>, Failure> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let beside = list.rsplit_once('/').map_or("", |(folder, _)| folder);
        let path = |line: &str| {
            let line = line.trim().replace('\\', "/");
            // `./` is the folder of the list, everything else is relative to the source.
            match line.strip_prefix("./") {
                Some(rest) if !beside.is_empty() => format!("{beside}/{rest}"),
                Some(rest) => rest.to_owned(),
                None => line,
            }
        };
        let lines: Vec<String> = text.lines().map(path).filter(|line| !line.is_empty()).collect();
        let Some(first) = lines.first() else { return Ok(Vec::new()) };
        // Test every line, since some files may be missing.
        let is_there = |line: &str| self.find(line.as_bytes()).is_some();
        let front = lines.iter().find_map(|line| {
            let rest = ends_of_lines(line).find(|rest| is_there(rest))?;
            line.get(..line.len() - rest.len())
        });
        let Some(front) = front else {
            return Err(Failure::Entry(format!(
                "not one image of its list `{list}` is in {}: expected `{first}`, and images there \
                 have names such as `{}`; give as the source the folder that such lines are \
                 relative to",
                self.root.display(),
                self.images.first().map(|image| key_of_path(image)).unwrap_or_default()
            )));
        };
        if !front.is_empty() {
            let front = format!(
                "the folder `{front}` in front of the lines of {list} is left out: the source has no \
                 such folder"
            );
            self.remarks.push(front);
        }
        let own = lines.iter().map(|line| {
            let rest = line.strip_prefix(front).unwrap_or(line).as_bytes();
            self.find(rest).unwrap_or(rest).into()
        });
        let own: Vec<Box<[u8]>> = own.collect();
        // A missing file with a valid name is an error of its sample.
        match own
            .iter()
            .find_map(|path| Some((path, crate::folder::layout::check_relative(path).err()?)))
        {
            Some((path, why)) => {
                let path = key_of_path(path);
                Err(Failure::Entry(format!("its list `{list}` names `{path}`, which {why}")))
            }
            None => Ok(own),
        }
    }

    /// The image of that name, possibly with other forms of accented letters.
    fn find(&self, path: &[u8]) -> Option<&'a [u8]> {
        let exact = self.known.get(path).copied();
        exact.or_else(|| self.by_letters.get(&*normal(path)).copied().flatten())
    }
}

/// Possible names of an entry in the source: without `./`, and without the leading `../` of exports
/// with the file beside the folders (Ultralytics drops it, too); then without more and more leading
/// folders.
fn ends(entry: &str) -> impl Iterator<Item = &str> {
    let entry = entry.trim_end_matches('/');
    let entry = entry.strip_prefix("../").unwrap_or(entry);
    let first = entry.trim_start_matches("./");
    // Never try an entry as a whole if it leads out of the source.
    let is_inside = !first.starts_with('/') && !first.split('/').any(|part| part == "..");
    is_inside.then_some(first).into_iter().chain(after_slashes(first))
}

fn ends_of_lines(line: &str) -> impl Iterator<Item = &str> {
    std::iter::once(line).chain(after_slashes(line))
}

fn after_slashes(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices('/').filter_map(|(at, _)| path.get(at + 1..));
    ends.filter(|end| !end.is_empty() && !end.starts_with('/'))
        .filter(|end| !end.split('/').any(|part| part == ".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_looked_for_without_what_only_their_writer_had() {
        let shown = |entry| ends(entry).collect::<Vec<_>>();
        assert_eq!(shown("../train/images/"), ["train/images", "images"]);
        assert_eq!(shown("./val"), ["val"]);
        assert_eq!(shown("/content/d/images"), ["content/d/images", "d/images", "images"]);
        assert_eq!(shown("../../x/val"), ["x/val", "val"]);
        assert_eq!(shown("."), ["."]);
        assert_eq!(shown(""), [""]);
    }
}
