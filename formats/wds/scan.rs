//! Samples of a shard found by walking its headers, where there is no index.
use crate::wds::{
    names::{Column, places},
    tar::{Entry, Group, TarError, groups, split_key},
};
use std::{collections::BTreeMap, ops::Range};

/// A member of one sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    /// Without key and dot.
    pub(crate) name: Vec<u8>,
    pub(crate) header: u64,
    pub(crate) data: u64,
    pub(crate) len: u64,
}

impl Member {
    /// Its bytes in the archive.
    pub(crate) fn range(&self) -> Range<usize> {
        // Entries lie within an archive that is in memory.
        self.data as usize..(self.data + self.len) as usize
    }
}

/// One sample: its key as stored, and its members.
pub(crate) type Stored = (Vec<u8>, Vec<Member>);

/// The samples of an archive, in order, without those that are about the archive itself.
pub(crate) fn samples(archive: &[u8]) -> impl Iterator<Item = Result<Stored, TarError>> {
    groups(archive).filter_map(|group| match group {
        Ok(group) if is_meta(&group.key) => None,
        Ok(group) => Some(members(&group).map(|members| (group.key, members))),
        Err(error) => Some(Err(error)),
    })
}

/// WebDataset passes over `__name__`; here also over what lies in a folder called so.
fn is_meta(key: &[u8]) -> bool {
    let first_part = key.split(|&byte| byte == b'/').next().unwrap_or_default();
    first_part.starts_with(b"__") && first_part.ends_with(b"__")
}

/// The members of a sample, none of them twice.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn members(group: &Group<'_>) -> Result<Vec<Member>, TarError> {
    let mut members: Vec<Member> = Vec::with_capacity(group.entries.len());
    for Entry { name, header, data, len } in &group.entries {
        let (header, data, len) = (*header, *data, *len);
        let (_, field) = split_key(name).unwrap_or_default();
        if members.iter().any(|member| member.name == field) {
            let what = format!(
                "`{}` is there twice in one sample, and readers take different ones",
                String::from_utf8_lossy(name)
            );
            return Err(TarError { offset: header, what, unsupported: false });
        }
        members.push(Member { name: field.to_vec(), header, data, len });
    }
    Ok(members)
}

/// Marks a member that a sample lacks.
const MISSING: (u64, u64) = (u64::MAX, 0);

/// Places of every member of every sample, 16 bytes each, and the keys.
#[derive(Debug, Default)]
pub(crate) struct Scanned {
    keys: Vec<u8>,
    key_ends: Vec<usize>,
    places: Vec<(u64, u64)>,
    n_columns: usize,
    /// Names of the first images, and which of these names each sample has; empty where all have
    /// the same.
    image_names: Vec<Vec<u8>>,
    image_name: Vec<u16>,
    /// Members that are no field of the schema, with their number.
    pub(crate) extra: BTreeMap<Vec<u8>, u64>,
}

impl Scanned {
    /// Walks an archive whose samples have members of these fields, of which `image` is the first
    /// one of images.
    pub(crate) fn new(
        archive: &[u8],
        columns: &[Column],
        image: Option<usize>,
    ) -> Result<Self, TarError> {
        let image = image.filter(|&image| columns.get(image).is_some_and(Column::is_open));
        let mut scanned = Self { n_columns: columns.len(), ..Self::default() };
        for sample in samples(archive) {
            let (key, members) = sample?;
            scanned.keys.extend_from_slice(&key);
            scanned.key_ends.push(scanned.keys.len());
            let found = places(&members, columns);
            for &at in &found {
                let member = at.and_then(|at| members.get(at));
                scanned.places.push(member.map_or(MISSING, |member| (member.data, member.len)));
            }
            if let Some(image) = image {
                let at = found.get(image).copied().flatten();
                scanned.note_image(at.and_then(|at| members.get(at)));
            }
            for (at, member) in members.into_iter().enumerate() {
                if !found.contains(&Some(at)) {
                    *scanned.extra.entry(member.name).or_default() += 1;
                }
            }
        }
        Ok(scanned)
    }

    fn note_image(&mut self, member: Option<&Member>) {
        let name = member.map(|member| member.name.as_slice()).unwrap_or_default();
        let known = self.image_names.iter().position(|known| known == name);
        let number = known.unwrap_or_else(|| {
            self.image_names.push(name.to_vec());
            self.image_names.len() - 1
        });
        // Extensions of images are few, in capital letters or not.
        self.image_name.push(u16::try_from(number).unwrap_or(u16::MAX));
    }

    /// Returns what the first image of a sample is called, where that may differ; empty where it
    /// has none.
    pub(crate) fn image_name(&self, sample: u64) -> Option<&[u8]> {
        let number = *self.image_name.get(usize::try_from(sample).ok()?)?;
        self.image_names.get(usize::from(number)).map(Vec::as_slice)
    }

    pub(crate) fn len(&self) -> u64 {
        self.key_ends.len() as u64
    }

    pub(crate) fn key(&self, sample: u64) -> Option<&[u8]> {
        let i = usize::try_from(sample).ok()?;
        let start = i.checked_sub(1).map_or(Some(0), |i| self.key_ends.get(i).copied())?;
        self.keys.get(start..*self.key_ends.get(i)?)
    }

    /// The bytes of a member in the archive; `None` when the sample lacks it.
    pub(crate) fn place(&self, sample: u64, column: usize) -> Option<Range<usize>> {
        let first = usize::try_from(sample).ok()?.checked_mul(self.n_columns)?;
        let &(data, len) = self.places.get(first.checked_add(column)?)?;
        ((data, len) != MISSING).then_some(data as usize..(data + len) as usize)
    }

    /// Keys and places, to tell shards apart.
    pub(crate) fn update(&self, mut update: impl FnMut(&[u8])) {
        update(&self.keys);
        for &(data, len) in &self.places {
            update(&data.to_le_bytes());
            update(&len.to_le_bytes());
        }
    }
}
