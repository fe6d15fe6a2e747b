//! Serialised listings, so that runs with a common plan need not walk the folder again.
//!
//! ```text
//! 8 bytes  n_folders, then for each: 4 bytes label, 4 bytes length, its path without a final `/`
//! 8 bytes  n_files, then for each: 4 bytes folder number, 2 bytes length, its name
//! ```
//!
//! Integers are little endian. The plan file that contains it has the checksum.
use crate::folder::{
    layout::check_relative,
    listing::{Listing, ListingBuilder},
};
use bytes::Bytes;
use fdconvert_core::Result;
use fdconvert_storage::Spool;

impl Listing {
    /// # Errors
    /// `Io` if the listing is large and a temporary file cannot be written.
    pub(crate) fn to_bytes(&self) -> Result<Bytes> {
        let mut bytes = Spool::default();
        let folders: Vec<_> = self.folders().collect();
        bytes.push(&(folders.len() as u64).to_le_bytes())?;
        for (path, label) in folders {
            let path = path.strip_suffix(b"/").unwrap_or(path);
            bytes.push(&label.to_le_bytes())?;
            bytes.push(&(path.len() as u32).to_le_bytes())?;
            bytes.push(path)?;
        }
        bytes.push(&self.len().to_le_bytes())?;
        for (folder, name) in self.files() {
            bytes.push(&folder.to_le_bytes())?;
            // The system's limit is 255 bytes.
            bytes.push(&(name.len() as u16).to_le_bytes())?;
            bytes.push(name)?;
        }
        bytes.finish()
    }

    /// `None` if the bytes are no listing, or name files outside the folder.
    ///
    /// # Errors
    /// `Io` if there are many files and a temporary file cannot be written.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Option<Self>> {
        let mut listing = ListingBuilder::default();
        let mut rest = bytes;
        let Some(n_folders) = folders(&mut rest, &mut listing) else { return Ok(None) };
        let Some(n_files) = take(&mut rest).map(u64::from_le_bytes) else { return Ok(None) };
        for _ in 0..n_files {
            match file(&mut rest).filter(|(folder, _)| u64::from(*folder) < n_folders) {
                Some((folder, name)) => listing.add_file(folder, name)?,
                None => return Ok(None),
            }
        }
        Ok(if rest.is_empty() { Some(listing.finish()?) } else { None })
    }
}

/// Adds the folders of a listing; returns their number.
fn folders(rest: &mut &[u8], listing: &mut ListingBuilder) -> Option<u64> {
    let n_folders = u64::from_le_bytes(take(rest)?);
    for _ in 0..n_folders {
        let label = u32::from_le_bytes(take(rest)?);
        let len = u32::from_le_bytes(take(rest)?);
        let path = take_slice(rest, usize::try_from(len).ok()?)?;
        let is_safe = path.is_empty() || check_relative(path).is_ok();
        listing.add_folder(path, label).filter(|_| is_safe)?;
    }
    Some(n_folders)
}

/// The next file: number of its folder, name.
fn file<'a>(rest: &mut &'a [u8]) -> Option<(u32, &'a [u8])> {
    let folder = u32::from_le_bytes(take(rest)?);
    let len = u16::from_le_bytes(take(rest)?);
    let name = take_slice(rest, usize::from(len))?;
    let is_safe = check_relative(name).is_ok() && !name.contains(&b'/');
    is_safe.then_some((folder, name))
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
        let mut listing = ListingBuilder::default();
        for (path, label) in [(&b"a"[..], 0), (b"b/\xff", 1), (b"", 2)] {
            let folder = listing.add_folder(path, label).unwrap();
            listing.add_file(folder, b"x.jpg").unwrap();
            listing.add_file(folder, b"y y.png").unwrap();
        }
        let listing = listing.finish().unwrap();
        let bytes = listing.to_bytes().unwrap();
        let back = Listing::from_bytes(&bytes).unwrap().unwrap();
        assert_eq!(back.len(), 6);
        for index in 0..6 {
            assert_eq!(back.get(index), listing.get(index));
        }
        for len in 0..bytes.len() {
            let cut = Listing::from_bytes(&bytes[..len]).unwrap();
            assert!(cut.is_none(), "cut at {len}");
        }
    }

    #[test]
    fn names_that_lead_outside_are_refused() {
        for (folder, name) in
            [(&b".."[..], &b"x"[..]), (b"/etc", b"x"), (b"a", b".."), (b"a", b"b/c")]
        {
            let mut listing = ListingBuilder::default();
            let number = listing.add_folder(folder, 0).unwrap();
            listing.add_file(number, name).unwrap();
            let bytes = listing.finish().unwrap().to_bytes().unwrap();
            assert!(Listing::from_bytes(&bytes).unwrap().is_none());
        }
    }
}
