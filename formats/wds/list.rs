//! Lists of images: numbered members, read and written as one.
//!
//! `KEY.images.0.jpg`, `KEY.images.1.png`, ... are the list `images`; its place in the shard reaches
//! from the header of its first member to the end of its last, with what is in between. So it has
//! one region and one checksum, as any other value.
use crate::{
    tar::{entries, split_key},
    wds::{layout::BLOCK, names::Column, scan::Member},
};
use bytes::Bytes;
use fdconvert_core::{Codec, Encoded, Kind, Schema, image_list};
use std::collections::{BTreeMap, BTreeSet};

/// Ends the name of all members of a list together.
pub(crate) const ALL: u8 = b'*';

/// The member names, up to the number, that are lists.
#[derive(Debug, Clone)]
pub(crate) enum Lists {
    /// All that are numbered without gaps, but for these.
    AllBut(BTreeSet<Vec<u8>>),
    Only(BTreeSet<Vec<u8>>),
}

impl Lists {
    /// Numbered members are no lists.
    pub(crate) fn none() -> Self {
        Self::Only(BTreeSet::new())
    }

    /// Those among the members of these columns.
    pub(crate) fn of_columns(columns: &[Column]) -> Self {
        let names = columns.iter().map(Column::first).filter(|name| is_list(name));
        Self::Only(names.filter_map(|name| Some(name.split_last()?.1.to_vec())).collect())
    }

    /// Those of a dataset with these fields, whatever their members are called.
    pub(crate) fn of_schema(schema: &Schema) -> Self {
        let has_lists = schema.fields.iter().any(|field| field.kind == Kind::Images);
        if has_lists { Self::AllBut(BTreeSet::new()) } else { Self::none() }
    }

    fn has(&self, stem: &[u8]) -> bool {
        match self {
            Self::AllBut(others) => !others.contains(stem),
            Self::Only(lists) => lists.contains(stem),
        }
    }
}

/// Splits the name of an image in a list, `images.12.jpg`, into `images.` and 12.
pub(crate) fn numbered(name: &[u8]) -> Option<(&[u8], u32)> {
    let dot = name.iter().rposition(|&byte| byte == b'.')?;
    let (before, extension) = (name.get(..dot)?, name.get(dot + 1..)?);
    Codec::from_extension(std::str::from_utf8(extension).ok()?)?;
    let at = before.iter().rposition(|&byte| byte == b'.').map_or(0, |dot| dot + 1);
    let (stem, digits) = before.split_at_checked(at)?;
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let number = std::str::from_utf8(digits).ok().filter(|_| is_number)?;
    Some((stem, number.parse().ok()?))
}

/// The name that stands for all members of the list of that name.
pub(crate) fn all_of(plain_name: &str) -> Vec<u8> {
    [plain_name.as_bytes(), &[b'.', ALL]].concat()
}

/// Returns true if the name stands for all members of a list.
pub(crate) fn is_list(name: &[u8]) -> bool {
    matches!(name, [ALL] | [.., b'.', ALL])
}

/// Makes one member of the members of each list in a sample, in the place of the first. Numbers
/// with gaps, or that begin neither at 0 nor at 1, are no list.
pub(crate) fn fold(members: Vec<Member>, lists: &Lists) -> Vec<Member> {
    let mut found: BTreeMap<Vec<u8>, Found> = BTreeMap::new();
    for member in &members {
        if let Some((stem, number)) = numbered(&member.name).filter(|(stem, _)| lists.has(stem)) {
            found.entry(stem.to_vec()).or_default().add(member, number);
        }
    }
    found.retain(|_, list| list.is_gapless());
    if found.is_empty() {
        return members;
    }
    let folded = members.into_iter().filter_map(|member| {
        let stem = numbered(&member.name).map(|(stem, _)| stem.to_vec());
        let Some(list) = stem.as_ref().and_then(|stem| found.get_mut(stem)) else {
            return Some(member);
        };
        let is_first = member.header == list.start;
        let name = [stem.as_deref().unwrap_or_default(), &[ALL]].concat();
        let (start, end) = (list.start, list.end);
        is_first.then_some(Member { name, header: start, data: start, len: end - start })
    });
    folded.collect()
}

/// The numbered members of one stem in a sample.
#[derive(Default)]
struct Found {
    numbers: BTreeSet<u32>,
    n_members: usize,
    start: u64,
    end: u64,
}

impl Found {
    /// Adds the next member in the order of the archive.
    fn add(&mut self, member: &Member, number: u32) {
        if self.n_members == 0 {
            self.start = member.header;
        }
        self.n_members += 1;
        self.numbers.insert(number);
        self.end = member.data + member.len.next_multiple_of(BLOCK);
    }

    fn is_gapless(&self) -> bool {
        let (first, last) = (self.numbers.first(), self.numbers.last());
        let (Some(&first), Some(&last)) = (first, last) else { return false };
        let n_numbers = self.numbers.len();
        first <= 1 && n_numbers == self.n_members && (last - first) as usize + 1 == n_numbers
    }
}

/// The images of a list whose members these bytes of a shard hold, in the order of their numbers;
/// they are slices of it. Members of other names in between are not looked at.
///
/// # Errors
/// What is wrong, as the end of a sentence such as "field `images`".
pub(crate) fn decode(bytes: &Bytes) -> Result<Vec<Encoded>, String> {
    let (mut images, mut stem) = (BTreeMap::new(), None);
    let members = if bytes.is_empty() { None } else { Some(entries(bytes)) };
    for entry in members.into_iter().flatten() {
        let entry =
            entry.map_err(|error| format!("has members that are damaged: {}", error.what))?;
        let field = split_key(&entry.name).map(|(_, field)| field).unwrap_or_default();
        let Some((of, number)) = numbered(field) else { continue };
        if stem.get_or_insert_with(|| of.to_vec()) == of {
            // Entries are within the archive, which is in memory.
            let place = entry.data as usize..(entry.data + entry.len) as usize;
            images.insert(number, bytes.slice(place));
        }
    }
    let images = images.into_values().enumerate();
    images.map(|(number, image)| image_list::read(image, number)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(names: &[&str], lists: &Lists) -> String {
        let place = |at: usize| (at as u64 * 1024, at as u64 * 1024 + 512);
        let member = |(at, name): (usize, &&str)| {
            let (header, data) = place(at);
            Member { name: name.as_bytes().to_vec(), header, data, len: 300 }
        };
        let members = fold(names.iter().enumerate().map(member).collect(), lists);
        let text = |member: &Member| {
            let blocks = (member.header / 512, (member.data + member.len).div_ceil(512));
            format!("{}@{}-{}", String::from_utf8_lossy(&member.name), blocks.0, blocks.1)
        };
        members.iter().map(text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn numbered_images_are_a_list() {
        let all = Lists::AllBut(BTreeSet::new());
        let check = |names: &[&str], expected: &str| assert_eq!(folded(names, &all), expected);
        check(&["0.jpg", "1.PNG", "txt"], "*@0-4 txt@4-6");
        check(&["txt", "a.1.jpg", "a.2.webp"], "txt@0-2 a.*@2-6");
        // By name, as GNU tar sorts, and among members of other fields.
        check(&["0.jpg", "0.json", "1.jpg", "10.jpg"], "0.jpg@0-2 0.json@2-4 1.jpg@4-6 10.jpg@6-8");
        check(&["1.jpg", "1.json", "0.jpg"], "*@0-6 1.json@2-4");
        check(&["000.jpg", "001.jpg"], "*@0-4");
        check(&["2.jpg", "3.jpg"], "2.jpg@0-2 3.jpg@2-4");
        check(&["0.jpg", "0.png"], "0.jpg@0-2 0.png@2-4");
        check(&["0.txt", "1.txt", "x.jpg"], "0.txt@0-2 1.txt@2-4 x.jpg@4-6");
        let only = Lists::Only([b"a.".to_vec()].into());
        assert_eq!(folded(&["0.jpg", "a.0.jpg"], &only), "0.jpg@0-2 a.*@2-4");
    }
}
