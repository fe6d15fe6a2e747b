use crate::folder::beside::{Role, completes_image, role};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// The entries of one folder in an arena, since one folder may hold millions.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    names: Vec<u8>,
    spans: Vec<Span>,
    /// Targets of links to folders, by the start of the link's name.
    targets: BTreeMap<usize, PathBuf>,
}

#[derive(Debug, Clone, Copy)]
struct Span {
    start: usize,
    len: u16,
    kind: SpanKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SpanKind {
    Image,
    Folder,
    Beside,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry<'a> {
    File,
    /// A folder, with its target if it is reached through a link.
    Folder(Option<&'a Path>),
}

impl Entries {
    pub(crate) fn add_file(&mut self, name: &[u8]) {
        self.add(name, SpanKind::Image);
    }

    /// Adds a file that belongs to an image beside it.
    pub(crate) fn add_beside(&mut self, name: &[u8]) {
        self.add(name, SpanKind::Beside);
    }

    pub(crate) fn add_folder(&mut self, name: &[u8]) {
        self.add(name, SpanKind::Folder);
    }

    pub(crate) fn add_link(&mut self, name: &[u8], target: PathBuf) {
        self.targets.insert(self.names.len(), target);
        self.add(name, SpanKind::Folder);
    }

    fn add(&mut self, name: &[u8], kind: SpanKind) {
        // File systems limit names to 255 bytes.
        let len = u16::try_from(name.len()).unwrap_or(u16::MAX);
        self.spans.push(Span { start: self.names.len(), len, kind });
        self.names.extend_from_slice(name);
    }

    /// The images and folders, sorted by name bytes.
    pub(crate) fn sorted(&mut self) -> impl Iterator<Item = (&[u8], Entry<'_>)> {
        let Self { names, spans, targets } = self;
        let (names, targets) = (&*names, &*targets);
        spans.sort_unstable_by(|a, b| a.name(names).cmp(b.name(names)));
        spans.iter().filter_map(move |span| {
            let target = targets.get(&span.start).map(PathBuf::as_path);
            let entry = match span.kind {
                SpanKind::Image => Entry::File,
                SpanKind::Folder => Entry::Folder(target),
                SpanKind::Beside => return None,
            };
            Some((span.name(names), entry))
        })
    }

    /// Files beside no image of their name, although they should belong to one. The entries must be
    /// [sorted](Self::sorted).
    pub(crate) fn orphans<'a>(&'a self, beside: &'a [String]) -> impl Iterator<Item = &'a [u8]> {
        let names = self.spans.iter().filter(|span| span.kind == SpanKind::Beside);
        names.map(|span| span.name(&self.names)).filter(move |name| {
            let Role::Beside(stem) = role(name, beside) else { return true };
            let start = [stem, b"."].concat();
            let from = self.spans.partition_point(|span| span.name(&self.names) < &start[..]);
            let after = self.spans.get(from..).unwrap_or_default();
            let mut rests = after.iter().map_while(|span| {
                Some((span.kind, span.name(&self.names).strip_prefix(&start[..])?))
            });
            !rests
                .any(|(kind, rest)| kind == SpanKind::Image && completes_image(stem, rest, beside))
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
