use crate::{
    entries::{Entries, Entry},
    layout::{extensions, is_hidden, join, key_of_path, promised, split_extension},
    listing::Listing,
};
use fdconvert_core::{Error, Result};
use std::{
    collections::BTreeMap,
    fmt,
    fs::{self, DirEntry},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// Kinds of other files that are told apart in messages.
const MAX_EXTENSIONS: usize = 8;

/// What was seen in a folder and not taken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ignored {
    /// Files whose extension is not one of an image, and things that are no files.
    pub others: u64,
    /// Files and folders whose name starts with a dot.
    pub hidden: u64,
    /// Symbolic links that lead nowhere, out of the folder, in a circle, or from one linked
    /// folder to another.
    pub links: u64,
    /// First-level folders without any image: they are no classes.
    pub folders: Vec<String>,
    /// Some of the extensions among `others`, and how often each was seen.
    pub extensions: BTreeMap<String, u64>,
}

/// A walked folder.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) listing: Listing,
    /// Name of every class; empty for a flat folder.
    pub(crate) class_names: Vec<String>,
    pub(crate) ignored: Ignored,
}

/// Finds the images below `root` in the order of their paths, compared part by part and byte by
/// byte. Reads folders only: no file is opened, and none but links is looked at.
pub(crate) fn walk(root: &Path) -> Result<Found> {
    let real = fs::canonicalize(root).map_err(Error::io("open", root))?;
    let mut walker = Walker {
        root: root.to_path_buf(),
        real: real.clone(),
        listing: Listing::default(),
        ignored: Ignored::default(),
    };
    let mut class_names = Vec::new();
    let mut flat = Listing::default();
    let flat_folder = flat.add_folder(b"", 0).unwrap_or_default();
    let top = Place { path: Vec::new(), real, through_link: false };
    let mut names = walker.list(&top)?;
    for (name, entry) in names.sorted() {
        match entry {
            Entry::File => flat.add_file(flat_folder, name),
            Entry::Folder(target) => {
                let label = u32::try_from(class_names.len()).unwrap_or(u32::MAX);
                let before = walker.listing.len();
                walker.descend(&top.child(name, target), label)?;
                if walker.listing.len() > before {
                    class_names.push(key_of_path(name));
                } else {
                    walker.ignored.folders.push(key_of_path(name));
                }
            }
        }
    }
    let Walker { mut listing, ignored, .. } = walker;
    match (flat.get(0), class_names.first()) {
        (None, None) => {
            let (root, extensions) = (root.display(), extensions());
            let what = format!("{root} holds no image: {ignored}; looked for {extensions}");
            return Err(Error::usage("source", what));
        }
        (Some(_), Some(class_name)) => return Err(mixed(root, &flat, class_name)),
        (Some(_), None) => listing = flat,
        (None, Some(_)) => {}
    }
    listing.shrink();
    Ok(Found { listing, class_names, ignored })
}

struct Walker {
    root: PathBuf,
    /// Where the root really is; links must not leave it.
    real: PathBuf,
    listing: Listing,
    ignored: Ignored,
}

/// A folder during the walk.
struct Place {
    /// Relative to the root, as it was reached.
    path: Vec<u8>,
    /// Where it really is.
    real: PathBuf,
    /// A link was followed on the way. Then no further folder link is: links cannot make the
    /// walk longer than the number of links times the size of the tree.
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

impl Walker {
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
                    self.listing.add_file(id, name);
                }
                Entry::Folder(target) => {
                    self.descend(&place.child(name, target), label)?;
                }
            }
        }
        Ok(())
    }

    fn list(&mut self, place: &Place) -> Result<Entries> {
        let folder = join(&self.root, &place.path);
        let mut names = Entries::default();
        for entry in fs::read_dir(&folder).map_err(Error::io("list", &folder))? {
            let entry = entry.map_err(Error::io("list", &folder))?;
            let name = entry.file_name();
            let name = name.as_bytes();
            if is_hidden(name) {
                self.ignored.hidden += 1;
            } else {
                match self.judge(place, &entry, name)? {
                    Judged::Ignored => {}
                    Judged::File => names.add_file(name),
                    Judged::Folder => names.add_folder(name),
                    Judged::LinkTo(target) => names.add_link(name, target),
                }
            }
        }
        Ok(names)
    }

    /// What an entry is to us. What is passed over is counted.
    fn judge(&mut self, place: &Place, entry: &DirEntry, name: &[u8]) -> Result<Judged> {
        // Linux says the kind along with the name: no `stat` for anything but links.
        let kind = entry.file_type().map_err(Error::io("look at", entry.path()))?;
        if kind.is_dir() {
            return Ok(Judged::Folder);
        }
        if !kind.is_symlink() {
            return Ok(self.judge_file(name, kind.is_file()));
        }
        let target = fs::canonicalize(entry.path()).ok();
        let inside = target.filter(|target| target.starts_with(&self.real));
        let known = inside.and_then(|target| Some((fs::metadata(&target).ok()?, target)));
        match known {
            Some((metadata, _)) if !metadata.is_dir() => {
                Ok(self.judge_file(name, metadata.is_file()))
            }
            Some((_, target)) if !place.through_link && !place.real.starts_with(&target) => {
                Ok(Judged::LinkTo(target))
            }
            _ => {
                self.ignored.links += 1;
                Ok(Judged::Ignored)
            }
        }
    }

    fn judge_file(&mut self, name: &[u8], regular: bool) -> Judged {
        if regular && promised(name).is_some() {
            return Judged::File;
        }
        self.ignored.count_other(name);
        Judged::Ignored
    }
}

enum Judged {
    /// A file with the extension of an image.
    File,
    Folder,
    /// A link to that folder.
    LinkTo(PathBuf),
    Ignored,
}

impl Ignored {
    fn count_other(&mut self, name: &[u8]) {
        self.others += 1;
        let extension = split_extension(name).map_or_else(
            || "no extension".to_owned(),
            |(_, extension)| format!(".{}", key_of_path(&extension.to_ascii_lowercase())),
        );
        if self.extensions.len() < MAX_EXTENSIONS || self.extensions.contains_key(&extension) {
            *self.extensions.entry(extension).or_default() += 1;
        }
    }
}

/// For messages: `3 other files (.txt 2, .csv 1), 1 hidden`.
impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "saw {} other files", self.others)?;
        for (i, (extension, n_files)) in self.extensions.iter().enumerate() {
            write!(f, "{}{extension} {n_files}", if i == 0 { " (" } else { ", " })?;
        }
        let close = if self.extensions.is_empty() { "" } else { ")" };
        let (folders, hidden, links) = (self.folders.len(), self.hidden, self.links);
        write!(
            f,
            "{close}, {folders} folders without images, {hidden} hidden names, {links} links that \
             were not followed"
        )
    }
}

fn mixed(root: &Path, flat: &Listing, class_name: &str) -> Error {
    let files = (0..3).filter_map(|index| Some(key_of_path(flat.get(index)?.name)));
    let files: Vec<_> = files.collect();
    let what = format!(
        "{} has {} images beside its class folders, which have no class ({}{}; a folder is e.g. \
         `{class_name}`); move them into a folder, or list samples and labels in a file and give \
         it with --labels",
        root.display(),
        flat.len(),
        files.join(", "),
        if flat.len() > files.len() as u64 { ", ..." } else { "" },
    );
    Error::usage("source", what)
}

fn too_many_folders(root: &Path) -> Error {
    Error::usage("source", format!("{} has more than 2^32 folders", root.display()))
}
