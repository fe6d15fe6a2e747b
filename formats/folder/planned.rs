//! A listing as bytes, so that runs which share a plan need not walk the folder again.
//!
//! ```text
//! 8 bytes  n_folders, then for each: 4 bytes label, 4 bytes length, its path without a final `/`
//! 8 bytes  n_files, then for each: 4 bytes folder number, 2 bytes length, its name
//! ```
//!
//! Integers are little endian. The plan file that carries it has the checksum.
use crate::folder::{layout::check_relative, listing::Listing};

impl Listing {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let folders: Vec<_> = self.folders().collect();
        bytes.extend((folders.len() as u64).to_le_bytes());
        for (path, label) in folders {
            let path = path.strip_suffix(b"/").unwrap_or(path);
            bytes.extend(label.to_le_bytes());
            bytes.extend((path.len() as u32).to_le_bytes());
            bytes.extend(path);
        }
        bytes.extend(self.len().to_le_bytes());
        for (folder, name) in self.files() {
            bytes.extend(folder.to_le_bytes());
            // The system allows 255 bytes.
            bytes.extend((name.len() as u16).to_le_bytes());
            bytes.extend(name);
        }
        bytes
    }

    /// `None` when the bytes are no listing, or name files outside of the folder.
    pub(crate) fn from_bytes(mut bytes: &[u8]) -> Option<Self> {
        let mut listing = Self::default();
        let rest = &mut bytes;
        let n_folders = u64::from_le_bytes(take(rest)?);
        for _ in 0..n_folders {
            let label = u32::from_le_bytes(take(rest)?);
            let len = u32::from_le_bytes(take(rest)?);
            let path = take_slice(rest, usize::try_from(len).ok()?)?;
            let is_safe = path.is_empty() || check_relative(path).is_ok();
            listing.add_folder(path, label).filter(|_| is_safe)?;
        }
        let n_files = u64::from_le_bytes(take(rest)?);
        for _ in 0..n_files {
            let folder = u32::from_le_bytes(take(rest)?);
            let len = u16::from_le_bytes(take(rest)?);
            let name = take_slice(rest, usize::from(len))?;
            let is_safe = check_relative(name).is_ok() && !name.contains(&b'/');
            if !is_safe || u64::from(folder) >= n_folders {
                return None;
            }
            listing.add_file(folder, name);
        }
        listing.shrink();
        rest.is_empty().then_some(listing)
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    take_slice(bytes, N)?.try_into().ok()
}

fn take_slice<'a>(bytes: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(len)?;
    *bytes = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_whole_or_not_at_all() {
        let mut listing = Listing::default();
        for (path, label) in [(&b"a"[..], 0), (b"b/\xff", 1), (b"", 2)] {
            let folder = listing.add_folder(path, label).unwrap();
            listing.add_file(folder, b"x.jpg");
            listing.add_file(folder, b"y y.png");
        }
        let bytes = listing.to_bytes();
        let back = Listing::from_bytes(&bytes).unwrap();
        assert_eq!(back.len(), 6);
        for index in 0..6 {
            assert_eq!(back.get(index), listing.get(index));
        }
        for len in 0..bytes.len() {
            assert!(Listing::from_bytes(&bytes[..len]).is_none(), "cut at {len}");
        }
    }

    #[test]
    fn names_that_lead_outside_are_refused() {
        for (folder, name) in
            [(&b".."[..], &b"x"[..]), (b"/etc", b"x"), (b"a", b".."), (b"a", b"b/c")]
        {
            let mut listing = Listing::default();
            let number = listing.add_folder(folder, 0).unwrap();
            listing.add_file(number, name);
            assert!(Listing::from_bytes(&listing.to_bytes()).is_none());
        }
    }
}
