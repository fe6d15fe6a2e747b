//! Finds the samples of a shard without an index by walking its headers.
use crate::tar::{Entry, Group, SORT, TarError, groups, groups_and_rest, split_key};
use crate::wds::{
    layout,
    list::{self, Lists},
    names::{Column, places},
};
use fdconvert_core::{Ignored, Remark, Schema, option};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

/// Maximum members of a sample; a larger group is no sample.
pub(crate) const MAX_MEMBERS: usize = 1000;

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
        // The archive is in memory, so entries fit.
        self.data as usize..(self.data + self.len) as usize
    }
}

/// A sample: its key as stored, and its members.
pub(crate) type Stored = (Vec<u8>, Vec<Member>);

/// The samples of an archive, in order, without archive metadata.
pub(crate) fn samples<'a>(
    archive: &'a [u8],
    lists: &'a Lists,
) -> impl Iterator<Item = Result<Stored, TarError>> + 'a {
    groups(archive).filter_map(|group| match group {
        Ok(group) if is_meta(&group.key) => None,
        Ok(group) => Some(members(&group, lists).map(|members| (group.key, members))),
        Err(error) => Some(Err(error)),
    })
}

/// WebDataset skips `__name__`; this also skips files in such a folder.
fn is_meta(key: &[u8]) -> bool {
    let first_part = key.split(|&byte| byte == b'/').next().unwrap_or_default();
    first_part.starts_with(b"__") && first_part.ends_with(b"__")
}

/// The members of a sample, all distinct, and those of a list as one.
///
/// # Errors
/// What is wrong with the sample.
pub(crate) fn members(group: &Group<'_>, lists: &Lists) -> Result<Vec<Member>, TarError> {
    if group.entries.len() > MAX_MEMBERS {
        return Err(too_many(group));
    }
    let mut members: Vec<Member> = Vec::with_capacity(group.entries.len());
    for Entry { name, header, data, len } in &group.entries {
        let (header, data, len) = (*header, *data, *len);
        let (_, field) = split_key(name).unwrap_or_default();
        if members.iter().any(|member| member.name == field) {
            let what = format!(
                "duplicate member `{}`: readers disagree on which one counts",
                String::from_utf8_lossy(name)
            );
            return Err(TarError { offset: header, what, unsupported: false });
        }
        members.push(Member { name: field.to_vec(), header, data, len });
    }
    Ok(list::fold(members, lists))
}

/// The member names of a sample, in order. Most samples of a shard share one shape.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) names: Vec<Vec<u8>>,
    pub(crate) n_samples: u64,
    /// The member of each field, if any.
    members: Vec<Option<usize>>,
}

/// Places of every member of every sample, 16 bytes each, and the keys.
#[derive(Debug, Default)]
pub(crate) struct Scanned {
    keys: Vec<u8>,
    key_ends: Vec<usize>,
    places: Vec<(u64, u64)>,
    starts: Vec<usize>,
    /// Index of each sample's shape.
    shape: Vec<u32>,
    shapes: Vec<Shape>,
    pub(crate) ignored: Ignored,
    /// For each field, what is wrong with samples that lack it.
    missing: Vec<Remark>,
    image: Option<usize>,
}

impl Scanned {
    /// Walks an archive. Members become fields only with [`assign`](Self::assign).
    pub(crate) fn new(archive: &[u8], lists: &Lists) -> Result<Self, TarError> {
        let mut scanned = Self::default();
        let mut ignored = Ignored::default();
        let mut known: BTreeMap<Vec<Vec<u8>>, u32> = BTreeMap::new();
        for group in groups_and_rest(archive, |name| layout::count(name, &mut ignored)) {
            let group = group?;
            if is_meta(&group.key) {
                group.entries.iter().for_each(|it| layout::count(&it.name, &mut scanned.ignored));
                continue;
            }
            scanned.keys.extend_from_slice(&group.key);
            scanned.key_ends.push(scanned.keys.len());
            scanned.starts.push(scanned.places.len());
            let number = match scanned.shape.last() {
                Some(&last) if scanned.has_shape(last, &group) => {
                    let places = group.entries.iter().map(|entry| (entry.data, entry.len));
                    scanned.places.extend(places);
                    last
                }
                _ => {
                    let members = members(&group, lists)?;
                    scanned.places.extend(members.iter().map(|it| (it.data, it.len)));
                    let names: Vec<_> = members.into_iter().map(|it| it.name).collect();
                    // No file system holds a tar of 2^32 samples.
                    let next = u32::try_from(scanned.shapes.len()).unwrap_or(u32::MAX);
                    *known.entry(names).or_insert_with_key(|names| {
                        let (names, members) = (names.clone(), Vec::new());
                        scanned.shapes.push(Shape { names, n_samples: 0, members });
                        next
                    })
                }
            };
            scanned.shape.push(number);
            if let Some(shape) = scanned.shapes.get_mut(number as usize) {
                shape.n_samples += 1;
            }
        }
        scanned.ignored.add(ignored);
        Ok(scanned)
    }

    /// Returns true if a sample has these members. A shape never has duplicates, and one with a list
    /// is that of no sample's members.
    fn has_shape(&self, number: u32, group: &Group<'_>) -> bool {
        self.shapes.get(number as usize).is_some_and(|shape| {
            shape.names.len() == group.entries.len()
                && shape.names.iter().zip(&group.entries).all(|(name, entry)| {
                    split_key(&entry.name).is_some_and(|(_, field)| field == *name)
                })
        })
    }

    /// The shapes of the samples, in order of first appearance.
    pub(crate) fn shapes(&self) -> &[Shape] {
        &self.shapes
    }

    /// Drops the samples of these shapes and counts their files, if there are at most `at_most`,
    /// fewer than the others, and none shares the key of another sample.
    pub(crate) fn leave_out(&mut self, shapes: &[bool], at_most: usize) {
        let is_of = |shape: &u32| shapes.get(*shape as usize) == Some(&true);
        let n_strange = self.shape.iter().filter(|shape| is_of(shape)).count();
        if n_strange > at_most || 2 * n_strange > self.shape.len() {
            return;
        }
        let keys = || (0..self.len()).filter_map(|sample| self.key(sample)).zip(&self.shape);
        let strange: BTreeSet<&[u8]> =
            keys().filter(|(_, shape)| is_of(shape)).map(|(key, _)| key).collect();
        if keys().any(|(key, shape)| !is_of(shape) && strange.contains(key)) {
            return;
        }
        let mut kept = Self { ignored: self.ignored.clone(), ..Self::default() };
        for (sample, shape) in (0..self.len()).zip(&self.shape) {
            let (Some(key), Some(of_sample)) = (self.key(sample), self.shapes.get(*shape as usize))
            else {
                continue;
            };
            if is_of(shape) {
                let name = |name: &Vec<u8>| [key, b".", name].concat();
                of_sample.names.iter().for_each(|it| layout::count(&name(it), &mut kept.ignored));
                continue;
            }
            let start = usize::try_from(sample).ok().and_then(|sample| self.starts.get(sample));
            let start = start.copied().unwrap_or_default();
            let places = self.places.get(start..start + of_sample.names.len());
            kept.keys.extend_from_slice(key);
            kept.key_ends.push(kept.keys.len());
            kept.starts.push(kept.places.len());
            kept.places.extend_from_slice(places.unwrap_or_default());
            kept.shape.push(*shape);
        }
        kept.shapes = std::mem::take(&mut self.shapes);
        for (shape, is_strange) in kept.shapes.iter_mut().zip(shapes) {
            if *is_strange {
                (shape.n_samples, shape.names) = (0, Vec::new());
            }
        }
        *self = kept;
    }

    /// Assigns members to the fields of these columns.
    pub(crate) fn assign(&mut self, schema: &Schema, columns: &[Column]) {
        for shape in &mut self.shapes {
            shape.members = places(&shape.names, columns);
        }
        self.image = schema.first_image();
    }

    /// Number of samples that lack a field.
    pub(crate) fn n_without(&self, field: usize) -> u64 {
        let without = |shape: &&Shape| shape.member_of(field).is_none();
        self.shapes.iter().filter(without).map(|shape| shape.n_samples).sum()
    }

    /// Counts of members that are no field, by name.
    pub(crate) fn extra(&self) -> BTreeMap<&[u8], u64> {
        let mut extra: BTreeMap<&[u8], u64> = BTreeMap::new();
        for shape in &self.shapes {
            for (at, name) in shape.names.iter().enumerate() {
                if !shape.members.contains(&Some(at)) {
                    *extra.entry(name).or_default() += shape.n_samples;
                }
            }
        }
        extra
    }

    /// Notes for each field what is wrong with samples that lack it: `n_without` of `n_samples` in
    /// the dataset do.
    pub(crate) fn note_missing(
        &mut self,
        schema: &Schema,
        columns: &[Column],
        n_without: &[u64],
        n_samples: u64,
    ) {
        let is_missing = |field: &usize| self.n_without(*field) > 0;
        if !(0..columns.len()).any(|field| is_missing(&field)) {
            return;
        }
        let apart = self.apart().map(|key| String::from_utf8_lossy(key).into_owned());
        let fields = schema.fields.iter().zip(columns).zip(n_without);
        let missing = fields.map(|((field, column), n_without)| match &apart {
            Some(key) => Remark::from(format!(
                "is missing from the sample: files of one sample, such as those of `{key}`, are \
                 not side by side; make the tar again with its names in order, e.g. by {SORT}"
            )),
            None => {
                let (dots, folders) = (of_dots(column.first()), self.of_folders());
                let what = Remark::from(format!(
                    "is missing from the sample, as from {n_without} of {n_samples} in \
                     all{dots}{folders}"
                ));
                let what = match self.image.and_then(|image| schema.fields.get(image)) {
                    // A dataset needs its images.
                    Some(image) if image.name == field.name => what,
                    _ => what
                        .cure("to pack without the field", option::DROP_FIELDS.with(&field.name)),
                };
                what.cure("to pack without such samples", option::ON_ERROR.with("skip"))
            }
        });
        self.missing = missing.collect();
    }

    /// Suggests what else a tar may be if its keys have folders.
    fn of_folders(&self) -> &'static str {
        let key = self.key(0).unwrap_or_default();
        match key.strip_prefix(b"./").unwrap_or(key).contains(&b'/') {
            true => "; if its folders are classes of images, unpack the tar and give the folder",
            false => "",
        }
    }

    /// Finds a key that several samples with different members share.
    fn apart(&self) -> Option<&[u8]> {
        let mut shapes = BTreeMap::new();
        let mut keys = (0..self.len()).filter_map(|sample| self.key(sample)).zip(&self.shape);
        keys.find(|(key, shape)| *shapes.entry(*key).or_insert(*shape) != *shape).map(|it| it.0)
    }

    /// Returns what is wrong with a sample that lacks the field.
    pub(crate) fn missing(&self, field: usize) -> Remark {
        self.missing.get(field).cloned().unwrap_or_default()
    }

    /// Member name of the first image of a sample; empty if it has none.
    pub(crate) fn image_name(&self, sample: u64) -> Option<&[u8]> {
        let shape = self.shape_of(usize::try_from(sample).ok()?)?;
        let member = shape.member_of(self.image?);
        Some(member.and_then(|at| shape.names.get(at)).map(Vec::as_slice).unwrap_or_default())
    }

    fn shape_of(&self, sample: usize) -> Option<&Shape> {
        self.shapes.get(*self.shape.get(sample)? as usize)
    }

    pub(crate) fn len(&self) -> u64 {
        self.key_ends.len() as u64
    }

    pub(crate) fn key(&self, sample: u64) -> Option<&[u8]> {
        let i = usize::try_from(sample).ok()?;
        let start = i.checked_sub(1).map_or(Some(0), |i| self.key_ends.get(i).copied())?;
        self.keys.get(start..*self.key_ends.get(i)?)
    }

    /// The bytes of a field in the archive; `None` when the sample lacks it.
    pub(crate) fn place(&self, sample: u64, field: usize) -> Option<Range<usize>> {
        let sample = usize::try_from(sample).ok()?;
        let member = self.shape_of(sample)?.member_of(field)?;
        let &(data, len) = self.places.get(self.starts.get(sample)?.checked_add(member)?)?;
        Some(data as usize..(data + len) as usize)
    }

    /// Places in the archive of the members of that name, in order.
    pub(crate) fn places_of<'a>(
        &'a self,
        name: &'a [u8],
    ) -> impl Iterator<Item = Range<usize>> + 'a {
        let samples = self.starts.iter().zip(&self.shape);
        samples.filter_map(move |(start, &shape)| {
            let names = &self.shapes.get(shape as usize)?.names;
            let at = names.iter().position(|known| known == name)?;
            let &(data, len) = self.places.get(start.checked_add(at)?)?;
            Some(data as usize..(data + len) as usize)
        })
    }

    /// Feeds keys and places to a hash that identifies the shard.
    pub(crate) fn update(&self, mut update: impl FnMut(&[u8])) {
        update(&self.keys);
        for &(data, len) in &self.places {
            update(&data.to_le_bytes());
            update(&len.to_le_bytes());
        }
    }
}

impl Shape {
    fn member_of(&self, field: usize) -> Option<usize> {
        self.members.get(field).copied().flatten()
    }
}

/// Explains the rule about dots in keys, if the member name looks like a violation of it.
fn of_dots(member: &[u8]) -> String {
    let is_of_key = member.first().is_some_and(u8::is_ascii_digit) && member.contains(&b'.');
    if !is_of_key {
        return String::new();
    }
    format!(
        "; a key ends at the first dot of a name, and what follows, here `{}`, names the field: \
         rename files whose keys have dots",
        String::from_utf8_lossy(member)
    )
}

fn too_many(group: &Group<'_>) -> TarError {
    let name = |entry: Option<&Entry<'_>>| {
        entry.map(|it| String::from_utf8_lossy(&it.name).into_owned()).unwrap_or_default()
    };
    let (first, second) = (name(group.entries.first()), name(group.entries.get(1)));
    TarError {
        offset: group.entries.first().map_or(0, |entry| entry.header),
        what: format!(
            "`{first}`, `{second}` and {} more files would be one sample: a key ends at the first \
             dot of a name, here `{}`; rename the files so that their keys have no dots",
            group.entries.len() - 2,
            String::from_utf8_lossy(&group.key)
        ),
        unsupported: true,
    }
}
