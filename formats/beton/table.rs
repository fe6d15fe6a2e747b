//! The allocation table: the only place where FFCV keeps the length of an image.
use crate::beton::layout::{ENTRY_LEN, Entry};
use bytes::Bytes;
use fdconvert_storage::sigbus;
use std::sync::OnceLock;

#[derive(Debug)]
pub(crate) struct Table {
    bytes: Bytes,
    /// Pairs (pointer, length), sorted. Built if a file is not in sample order; 16 bytes per value.
    by_pointer: OnceLock<Vec<(u64, u64)>>,
}

impl Table {
    /// `bytes` extend from the start of the table to the end of the file.
    pub(crate) fn new(bytes: Bytes) -> Self {
        Self { bytes, by_pointer: OnceLock::new() }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn n_entries(&self) -> u64 {
        self.bytes.len() as u64 / ENTRY_LEN
    }

    /// Bytes after the last whole entry.
    pub(crate) fn n_trailing(&self) -> u64 {
        self.bytes.len() as u64 % ENTRY_LEN
    }

    pub(crate) fn entry(&self, number: u64) -> Option<Entry> {
        let at = usize::try_from(number.checked_mul(ENTRY_LEN)?).ok()?;
        Entry::parse(self.bytes.get(at..at.checked_add(ENTRY_LEN as usize)?)?)
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        self.bytes.chunks_exact(ENTRY_LEN as usize).filter_map(Entry::parse)
    }

    /// Length of the value at `pointer`. Several entries give the longest: the others belong to
    /// empty values, or to samples that share the bytes.
    pub(crate) fn len_at(&self, pointer: u64) -> Option<u64> {
        let made;
        let sorted = match self.by_pointer.get() {
            Some(sorted) => sorted,
            None => {
                let (pairs, is_sound) = sigbus::watched(|| self.sorted());
                made = pairs;
                if is_sound { self.by_pointer.get_or_init(|| made.clone()) } else { &made }
            }
        };
        let after = sorted.partition_point(|&(other, _)| other <= pointer);
        let &(found, len) = sorted.get(after.checked_sub(1)?)?;
        (found == pointer).then_some(len)
    }

    fn sorted(&self) -> Vec<(u64, u64)> {
        let mut pairs: Vec<_> = self.entries().map(|entry| (entry.pointer, entry.len)).collect();
        pairs.sort_unstable();
        pairs
    }
}
