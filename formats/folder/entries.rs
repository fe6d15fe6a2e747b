use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// The entries of one folder in an arena, since one folder may hold millions.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    names: Vec<u8>,
    spans: Vec<Span>,
    /// Targets of links to folders, by where the link's name starts.
    targets: BTreeMap<usize, PathBuf>,
}

#[derive(Debug, Clone, Copy)]
struct Span {
    start: usize,
    len: u16,
    is_folder: bool,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry<'a> {
    File,
    /// A folder, with its target when it is reached through a link.
    Folder(Option<&'a Path>),
}

impl Entries {
    pub(crate) fn add_file(&mut self, name: &[u8]) {
        self.add(name, false);
    }

    pub(crate) fn add_folder(&mut self, name: &[u8]) {
        self.add(name, true);
    }

    pub(crate) fn add_link(&mut self, name: &[u8], target: PathBuf) {
        self.targets.insert(self.names.len(), target);
        self.add(name, true);
    }

    fn add(&mut self, name: &[u8], is_folder: bool) {
        // File systems give names of 255 bytes at most.
        let len = u16::try_from(name.len()).unwrap_or(u16::MAX);
        self.spans.push(Span { start: self.names.len(), len, is_folder });
        self.names.extend_from_slice(name);
    }

    /// The entries in the order of their names' bytes.
    pub(crate) fn sorted(&mut self) -> impl Iterator<Item = (&[u8], Entry<'_>)> {
        let Self { names, spans, targets } = self;
        let (names, targets) = (&*names, &*targets);
        spans.sort_unstable_by(|a, b| a.name(names).cmp(b.name(names)));
        spans.iter().map(move |span| {
            let target = targets.get(&span.start).map(PathBuf::as_path);
            let entry = if span.is_folder { Entry::Folder(target) } else { Entry::File };
            (span.name(names), entry)
        })
    }
}

impl Span {
    fn name<'a>(&self, names: &'a [u8]) -> &'a [u8] {
        names.get(self.start..self.start + usize::from(self.len)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_that_of_the_bytes() {
        let mut entries = Entries::default();
        entries.add_file(b"b");
        entries.add_link(b"a", PathBuf::from("/x"));
        entries.add_folder(b"B");
        entries.add_file(b"a.b");
        let sorted: Vec<_> = entries.sorted().collect();
        let expected: [(&[u8], _); 4] = [
            (b"B", Entry::Folder(None)),
            (b"a", Entry::Folder(Some(Path::new("/x")))),
            (b"a.b", Entry::File),
            (b"b", Entry::File),
        ];
        assert_eq!(sorted, expected);
    }
}
