use crate::folder::{
    Folder,
    beside::{self, Role, role},
    entries::{Entries, Entry},
    layout::{MACOSX, extensions, is_hidden, join, key_of_path},
    links::Target,
    listing::{Listing, ListingBuilder},
    split_folders::split_of,
};
use fdconvert_core::{Error, Ignored, Result, option};
use fdconvert_storage::{os, place};
use std::{
    collections::BTreeSet,
    fs::{self, DirEntry},
    path::{Path, PathBuf},
};

/// Tables of samples that other tools leave beside the images.
pub(crate) const TABLES: [&[u8]; 5] =
    [b"metadata.csv", b"metadata.jsonl", b"metadata.parquet", b"labels.csv", b"labels.tsv"];

/// Returns true if a file is a table of samples: directly in the source, or, since Hugging Face's
/// folders have one per split, in a folder of it or of its folder `data`.
pub(super) fn is_table(folder: &[u8], name: &[u8]) -> bool {
    let split = folder.strip_prefix(b"data/").unwrap_or(folder);
    let is_of_split = || !split.contains(&b'/') && name.starts_with(b"metadata.");
    TABLES.contains(&name) && (folder.is_empty() || is_of_split())
}

/// Suffix of the file with img2dataset's image count of the folder beside it.
const STATS: &[u8] = b"_stats.json";

/// Deeper folders are no classes.
pub(super) const MAX_CLASS_DEPTH: usize = 4;

#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) listing: Listing,
    /// Name of every class; empty for a flat folder.
    pub(crate) class_names: Vec<String>,
    pub(crate) ignored: Ignored,
    /// Folders without images below the first level, as deep as classes may be.
    pub(crate) empty: Vec<String>,
}

impl Found {
    /// Counts the empty folders in `above`, down to the depth of classes: paths of `class_depth`
    /// parts. Those in an empty folder with the name of a split would be its classes.
    pub(crate) fn keep_empty(&mut self, above: &str, class_depth: usize) {
        let first_level = &self.ignored.folders;
        let is_empty_split = |name: &str| {
            split_of(name.as_bytes()).is_some() && first_level.iter().any(|it| it == name)
        };
        let would_be = |folder: &&String| {
            let n_parts = folder.split('/').count();
            let first = folder.split('/').next().unwrap_or_default();
            (folder.starts_with(above) && n_parts <= class_depth)
                || (n_parts == 2 && is_empty_split(first))
        };
        let classes: Vec<String> = self.empty.iter().filter(would_be).cloned().collect();
        self.ignored.folders.extend(classes);
        self.ignored.folders.sort();
    }
}

/// Finds the images below `root`, sorted by path, compared part by part and byte by byte. Reads
/// folders only: opens no file, and calls `stat` only on links.
///
/// With `follow_links`, links may lead anywhere, and every folder is listed once.
pub(crate) fn walk(root: &Path, how: &Folder) -> Result<Found> {
    let Everywhere { flat, deep, class_names, ignored, empty } = everywhere(root, how)?;
    let found = found(root, (flat, deep), class_names, ignored, how.follow_links)?;
    Ok(Found { empty, ..found })
}

/// All images found by a walk, directly in the root or below.
pub(super) struct Everywhere {
    /// Images directly in the root.
    pub(super) flat: Listing,
    /// Images below it.
    pub(super) deep: Listing,
    /// The folders in the root that contain images.
    class_names: Vec<String>,
    pub(super) ignored: Ignored,
    /// Deeper folders without images.
    empty: Vec<String>,
}

/// Like [`walk`], but keeps both kinds of images.
pub(super) fn everywhere(root: &Path, how: &Folder) -> Result<Everywhere> {
    let follow_links = how.follow_links;
    let real = fs::canonicalize(root).map_err(Error::io("open", root))?;
    let mut walker = Walker {
        root: root.to_path_buf(),
        real: real.clone(),
        listing: ListingBuilder::default(),
        ignored: Ignored::default(),
        seen: follow_links.then(BTreeSet::new),
        beside: &how.beside,
        counted: BTreeSet::new(),
        empty: Vec::new(),
    };
    let mut class_names = Vec::new();
    let mut flat = ListingBuilder::default();
    let flat_folder = flat.add_folder(b"", 0).unwrap_or_default();
    let top = Place { path: Vec::new(), real, through_link: false };
    let mut names = walker.list(&top)?;
    for (name, entry) in names.sorted() {
        match entry {
            Entry::File => flat.add_file(flat_folder, name)?,
            Entry::Folder(target) => {
                let label = u32::try_from(class_names.len()).unwrap_or(u32::MAX);
                let before = (walker.listing.len(), walker.ignored.repeats);
                walker.descend(&top.child(name, target), label)?;
                if walker.listing.len() > before.0 {
                    class_names.push(key_of_path(name));
                } else if walker.ignored.repeats == before.1 {
                    walker.ignored.folders.push(key_of_path(name));
                }
            }
        }
    }
    walker.count_orphans(&names);
    let Walker { listing, ignored, counted, empty, .. } = walker;
    let class_names = without_parts(class_names, &counted);
    let (flat, deep) = (flat.finish()?, listing.finish()?);
    Ok(Everywhere { flat, deep, class_names, ignored, empty })
}

/// Chooses between the images directly in the folder and those of its class folders.
///
/// # Errors
/// `Usage` if there are neither, or both.
pub(super) fn found(
    root: &Path,
    (flat, classes): (Listing, Listing),
    class_names: Vec<String>,
    mut ignored: Ignored,
    follow_links: bool,
) -> Result<Found> {
    ignored.shorten();
    let listing = match (flat.get(0), classes.get(0)) {
        (None, None) => return Err(no_image(root, &ignored, follow_links)),
        (Some(_), Some(other)) => {
            let folder = first_part(other.folder);
            return Err(mixed(root, &flat, &key_of_path(folder)));
        }
        (Some(_), None) => flat,
        (None, Some(_)) => classes,
    };
    Ok(Found { listing, class_names, ignored, empty: Vec::new() })
}

fn first_part(path: &[u8]) -> &[u8] {
    path.split(|&byte| byte == b'/').next().unwrap_or_default()
}

/// The name of the folder that a file of img2dataset in the root counts.
pub(super) fn counted_folder(name: &[u8]) -> Option<Vec<u8>> {
    name.strip_suffix(STATS).map(<[u8]>::to_vec)
}

/// Removes folders that only divide the images: those counted by img2dataset.
pub(super) fn without_parts(class_names: Vec<String>, counted: &BTreeSet<Vec<u8>>) -> Vec<String> {
    let is_part = |class_name: &String| counted.contains(class_name.as_bytes());
    if class_names.iter().all(is_part) { Vec::new() } else { class_names }
}

struct Walker<'a> {
    root: PathBuf,
    /// Resolved path of the root; links must not leave it.
    real: PathBuf,
    listing: ListingBuilder,
    ignored: Ignored,
    /// Device and inode of every listed folder, if links may lead anywhere.
    seen: Option<BTreeSet<(u64, u64)>>,
    /// Extensions of files that belong to the image beside them.
    beside: &'a [String],
    /// Folders counted by img2dataset.
    counted: BTreeSet<Vec<u8>>,
    /// Folders without images below the first level.
    empty: Vec<String>,
}

/// A folder during the walk.
struct Place {
    /// Relative to the root, through any links.
    path: Vec<u8>,
    real: PathBuf,
    /// True after following a link. Then no further link to a folder is followed, so that links
    /// cannot make the walk longer than the number of links times the size of the tree.
    through_link: bool,
}

impl Place {
    fn child(&self, name: &[u8], target: Option<&Path>) -> Self {
        let path = if self.path.is_empty() {
            name.to_vec()
        } else {
            [&self.path, &b"/"[..], name].concat()
        };
        match target {
            Some(target) => Self { path, real: target.to_path_buf(), through_link: true },
            None => Self { path, real: join(&self.real, name), through_link: self.through_link },
        }
    }
}

impl Walker<'_> {
    /// Adds every image at and below `place`, depth first.
    fn descend(&mut self, place: &Place, label: u32) -> Result<()> {
        let mut names = self.list(place)?;
        let mut folder = None;
        for (name, entry) in names.sorted() {
            match entry {
                Entry::File => {
                    let id = match folder {
                        Some(id) => id,
                        None => self
                            .listing
                            .add_folder(&place.path, label)
                            .ok_or_else(|| too_many_folders(&self.root))?,
                    };
                    folder = Some(id);
                    self.listing.add_file(id, name)?;
                }
                Entry::Folder(target) => {
                    let child = place.child(name, target);
                    let before = (self.listing.len(), self.ignored.repeats);
                    self.descend(&child, label)?;
                    if before == (self.listing.len(), self.ignored.repeats)
                        && child.path.iter().filter(|&&byte| byte == b'/').count() < MAX_CLASS_DEPTH
                    {
                        self.empty.push(key_of_path(&child.path));
                    }
                }
            }
        }
        self.count_orphans(&names);
        Ok(())
    }

    fn count_orphans(&mut self, names: &Entries) {
        names.orphans(self.beside).for_each(|name| beside::count(name, &mut self.ignored));
    }

    fn list(&mut self, place: &Place) -> Result<Entries> {
        let folder = join(&self.root, &place.path);
        let mut names = Entries::default();
        if let Some(seen) = &mut self.seen {
            let identity = os::identity_behind(&folder).map_err(Error::io("access", &folder))?;
            if !seen.insert(identity) {
                // Linked twice, or in a cycle.
                self.ignored.repeats += 1;
                return Ok(names);
            }
        }
        for entry in fs::read_dir(&folder).map_err(Error::io("list", &folder))? {
            let entry = entry.map_err(Error::io("list", &folder))?;
            let name = entry.file_name();
            let name = name.as_encoded_bytes();
            if is_hidden(name) {
                self.ignored.hidden += 1;
            } else if name == MACOSX {
                self.ignored.macosx += 1;
            } else {
                if is_table(&place.path, name) {
                    self.ignored.tables.push(key_of_path(&place.child(name, None).path));
                }
                if place.path.is_empty() {
                    self.counted.extend(counted_folder(name));
                }
                match self.judge(place, &entry, name)? {
                    Judged::Ignored => {}
                    Judged::File => names.add_file(name),
                    Judged::Beside => names.add_beside(name),
                    Judged::Folder => names.add_folder(name),
                    Judged::LinkTo(target) => names.add_link(name, target),
                }
            }
        }
        Ok(names)
    }

    /// Classifies an entry. Skipped entries are counted.
    fn judge(&mut self, place: &Place, entry: &DirEntry, name: &[u8]) -> Result<Judged> {
        // Linux returns the kind along with the name: only links need a `stat`.
        let kind = entry.file_type().map_err(Error::io("access", entry.path()))?;
        if kind.is_dir() {
            return Ok(Judged::Folder);
        }
        if !kind.is_symlink() {
            return Ok(self.judge_file(name, kind.is_file()));
        }
        let within = self.seen.is_none().then_some(self.real.as_path());
        let target = Target::of(&entry.path(), within)?;
        match target {
            Target::File { is_regular, .. } => Ok(self.judge_file(name, is_regular)),
            Target::Folder(target) => {
                let target = os::path_of(&target).into_owned();
                // Folders that were already listed are counted on their turn.
                let is_new = !place.through_link && !place.real.starts_with(&target);
                if self.seen.is_some() || is_new {
                    return Ok(Judged::LinkTo(target));
                }
                let path = key_of_path(&place.child(name, None).path);
                self.ignored.count_link(&path, "a folder above it");
                Ok(Judged::Ignored)
            }
            Target::Nowhere => {
                self.ignored.count_link(
                    &key_of_path(&place.child(name, None).path),
                    kind_of(&entry.path()),
                );
                Ok(Judged::Ignored)
            }
        }
    }

    fn judge_file(&mut self, name: &[u8], regular: bool) -> Judged {
        match role(name, self.beside) {
            Role::Image if regular => Judged::File,
            Role::Beside(_) if regular => Judged::Beside,
            _ => {
                beside::count(name, &mut self.ignored);
                Judged::Ignored
            }
        }
    }
}

/// Describes the target of a link that is not followed.
fn kind_of(link: &Path) -> &'static str {
    match fs::metadata(link) {
        Ok(metadata) if metadata.is_dir() => "a folder elsewhere",
        Ok(_) => "a file elsewhere",
        Err(_) => "nothing",
    }
}

enum Judged {
    /// A file with the extension of an image.
    File,
    /// A file that belongs to the image beside it, if there is one.
    Beside,
    Folder,
    /// A link to that folder.
    LinkTo(PathBuf),
    Ignored,
}

pub(crate) fn no_image(path: &Path, ignored: &Ignored, follow_links: bool) -> Error {
    let (root, extensions) = (path.display(), extensions());
    let saw = ignored.to_string();
    let saw = if saw.is_empty() { "it is empty".to_owned() } else { saw };
    let leads_out = ignored.links > 0 && !follow_links;
    let cure = if leads_out {
        String::new()
    } else if let Some(cure) = packed(ignored) {
        format!("; {cure}")
    } else if let Some(kind) = ignored.foreign().first() {
        format!("; {} is not read here, convert the files first: {}", kind.name(), kind.cure())
    } else if has_unnamed_tables(path) {
        "; some are Parquet files, which are known by their name: call them `*.parquet`".to_owned()
    } else {
        String::new()
    };
    let what = format!("{root} holds no image: {saw}{cure}; looked for {extensions}");
    let error = Error::usage("source", what);
    if leads_out {
        error.cure("to follow links that lead out of it", option::FOLLOW_LINKS.on())
    } else {
        error
    }
}

/// Returns true if one of the first files of a folder is a Parquet file without an extension.
fn has_unnamed_tables(folder: &Path) -> bool {
    const LOOKED_AT: usize = 16;
    const MAGIC: &[u8] = b"PAR1";
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let files = entries.filter(|path| path.extension().is_none() && path.is_file());
    files
        .take(LOOKED_AT)
        .any(|file| place::read_start(&file, MAGIC.len()).is_ok_and(|start| &start[..] == MAGIC))
}

/// Advises on a folder of packed data that cannot be read directly.
fn packed(ignored: &Ignored) -> Option<&'static str> {
    let has = |extension: &str| ignored.extensions.contains_key(extension);
    if has(".mds") {
        Some("shards of MDS are read by their index.json, which is missing")
    } else if has(".xz") || has(".bz2") {
        Some("tars that xz or bzip2 compressed are not read, decompress them first")
    } else if has(".tar") || has(".tgz") {
        Some("the tars are in its folders: give theirs")
    } else if has(".parquet") {
        Some("Parquet files are a dataset by their folder: give that one")
    } else if has(".arrow") {
        Some(
            "files that Hugging Face `datasets` saved are not read as they are: open them in Python \
             with `datasets.load_from_disk` and give what that returns to `fdconvert.pack`, or write \
             them with `to_parquet`",
        )
    } else {
        None
    }
}

pub(crate) fn mixed(root: &Path, flat: &Listing, class_name: &str) -> Error {
    let files = (0..3).filter_map(|index| Some(key_of_path(flat.get(index)?.name)));
    let files: Vec<_> = files.collect();
    let what = format!(
        "{} has {} next to its class folders, without a class ({}{}; a folder is e.g. \
         `{class_name}`); move them into a folder, or list samples and labels in a file",
        root.display(),
        if flat.len() == 1 { "1 image".to_owned() } else { format!("{} images", flat.len()) },
        files.join(", "),
        if flat.len() > files.len() as u64 { ", ..." } else { "" }
    );
    Error::usage("source", what).cure("to give the file", option::LABELS)
}

pub(crate) fn too_many_folders(root: &Path) -> Error {
    Error::usage("source", format!("{} has more than 2^32 folders", root.display()))
}
