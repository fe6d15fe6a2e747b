//! Boxes of ISO base media files (ISO/IEC 14496-12, section 4.2), which AVIF, HEIC and JPEG XL use.
use crate::bytes::{array_at, u32_be_at};

/// A box of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block<'a> {
    pub(super) kind: [u8; 4],
    /// Offset of its content in the file.
    pub(super) at: usize,
    /// Its content, up to the end of the file if that comes first.
    pub(super) content: &'a [u8],
    /// True if its content is longer than the file.
    pub(super) is_cut: bool,
    /// True if it has no length: it ends where the file ends.
    pub(super) is_open: bool,
}

impl<'a> Block<'a> {
    /// Returns the boxes in it, from that offset in its content on.
    pub(super) fn boxes(&self, from: usize) -> Boxes<'a> {
        Boxes { rest: self.content.get(from..).unwrap_or_default(), at: self.at + from }
    }

    /// Returns version and flags of a full box.
    pub(super) fn version(&self) -> Result<(u8, u32), String> {
        let word = u32_be_at(self.content, 0).ok_or_else(|| self.ends_early())?;
        Ok(((word >> 24) as u8, word & 0xff_ffff))
    }

    pub(super) fn ends_early(&self) -> String {
        format!("its box `{}` at byte {} ends too early", self.kind.escape_ascii(), self.at)
    }
}

/// The boxes of a file, or of a box, one after another. Ends at what is no box.
#[derive(Debug, Clone)]
pub(super) struct Boxes<'a> {
    rest: &'a [u8],
    at: usize,
}

impl<'a> Boxes<'a> {
    pub(super) fn of_file(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, at: 0 }
    }

    /// Returns the next box of that kind.
    pub(super) fn first(mut self, kind: &[u8; 4]) -> Option<Block<'a>> {
        self.find(|block| block.kind == *kind)
    }
}

impl<'a> Iterator for Boxes<'a> {
    type Item = Block<'a>;

    fn next(&mut self) -> Option<Block<'a>> {
        let kind = array_at(self.rest, 4)?;
        let (head, len) = match u32_be_at(self.rest, 0)? {
            0 => (8, None),
            1 => (16, Some(array_at(self.rest, 8).map(u64::from_be_bytes)?)),
            len => (8, Some(len.into())),
        };
        let is_open = len.is_none();
        let len = len.map_or(Some(self.rest.len()), |len| usize::try_from(len).ok())?;
        if len < head {
            return None;
        }
        let content = self.rest.get(head..len.min(self.rest.len())).unwrap_or_default();
        let is_cut = len > self.rest.len();
        let block = Block { kind, at: self.at + head, content, is_cut, is_open };
        self.rest = self.rest.get(len..).unwrap_or_default();
        self.at = self.at.saturating_add(len);
        Some(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_of_32_bits_of_64_or_missing() {
        let file = b"\0\0\0\x0aabcd12\0\0\0\x01long\0\0\0\0\0\0\0\x11x\0\0\0\0lastrest";
        let all: Vec<_> = Boxes::of_file(file).map(|it| (it.kind, it.at, it.content)).collect();
        assert_eq!(all, [(*b"abcd", 8, &b"12"[..]), (*b"long", 26, b"x"), (*b"last", 35, b"rest")]);
        assert!(Boxes::of_file(file).last().is_some_and(|last| last.is_open && !last.is_cut));
        let cut = Boxes::of_file(&file[..9]).next().unwrap();
        assert!(cut.is_cut && cut.content == b"1");
        // Shorter than its own head.
        assert!(Boxes::of_file(b"\0\0\0\x07abcd").next().is_none());
    }
}
