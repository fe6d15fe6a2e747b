//! Names of members: those that are written, and those that a field of a shard may have.
use crate::wds::{fields::order, scan::Member};
#[cfg(feature = "write")]
use crate::wds::{
    outline::{Outline, each_sample},
    scan::members,
};
use fdconvert_core::{Codec, Encoded, Kind, Result, Schema, Value};
use std::{borrow::Cow, collections::BTreeSet, path::Path};

/// Name of a field's members in what is written, without key and dot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Name {
    /// The same in every sample.
    Fixed(String),
    /// These bytes, then the extension of the image's own codec.
    ByCodec(String),
}

impl Name {
    /// The name of this value.
    pub(crate) fn of(&self, value: &Value<Encoded>) -> Cow<'_, str> {
        match value {
            Value::Image(image) => self.of_codec(Some(image.codec)),
            _ => self.of_codec(None),
        }
    }

    /// The name of an image of that codec, or of another value.
    pub(crate) fn of_codec(&self, codec: Option<Codec>) -> Cow<'_, str> {
        match (self, codec) {
            (Self::ByCodec(prefix), Some(codec)) => {
                Cow::Owned(format!("{prefix}{}", codec.extension()))
            }
            (Self::ByCodec(name) | Self::Fixed(name), _) => Cow::Borrowed(name),
        }
    }

    /// Every name that a value may get.
    pub(crate) fn all(&self) -> Vec<String> {
        match self {
            Self::Fixed(name) => vec![name.clone()],
            Self::ByCodec(prefix) => {
                let files = Codec::ALL.into_iter().filter(|codec| *codec != Codec::Raw);
                files.map(|codec| format!("{prefix}{}", codec.extension())).collect()
            }
        }
    }

    /// Bytes of the longest of them.
    pub(crate) fn max_bytes(&self) -> usize {
        self.all().iter().map(String::len).max().unwrap_or(0)
    }
}

/// The names that the members of a field may have in shards that are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    /// Known names, at least one.
    names: Vec<Vec<u8>>,
    /// True if an extension of another image in place of the last part is the same field.
    any_image: bool,
}

impl Column {
    /// Returns what a manifest lists: names with `;` between them, as WebDataset's `to_tuple` takes
    /// them.
    pub(crate) fn parse(text: &str) -> Self {
        let names = text.split(';').map(|name| name.as_bytes().to_vec()).collect();
        Self { names, any_image: false }
    }

    /// A field of that kind that is so called in one sample; images may be called otherwise in
    /// others.
    pub(crate) fn seen(name: &[u8], kind: &Kind) -> Self {
        let any_image = *kind == Kind::Image && stem_of_image(name).is_some();
        Self { names: vec![name.to_vec()], any_image }
    }

    /// Returns whether the name is a known one. WebDataset takes all for lower case.
    pub(crate) fn has(&self, name: &[u8]) -> bool {
        self.names.iter().any(|known| known.eq_ignore_ascii_case(name))
    }

    /// Returns whether the name is one of this field's, unless it is the known one of another.
    pub(crate) fn takes(&self, name: &[u8]) -> bool {
        let is_like = || {
            let stem = stem_of_image(name);
            self.any_image && stem.is_some() && stem == stem_of_image(self.first())
        };
        self.has(name) || is_like()
    }

    /// The name to call it by.
    pub(crate) fn first(&self) -> &[u8] {
        self.names.first().map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns whether samples may differ in it.
    pub(crate) fn is_open(&self) -> bool {
        self.any_image || self.names.len() > 1
    }

    /// As [`parse`](Self::parse) takes it.
    pub(crate) fn text(&self) -> String {
        let names = self.names.iter().map(|name| String::from_utf8_lossy(name));
        names.collect::<Vec<_>>().join(";")
    }
}

/// Returns what stands before the extension of an image, the dot included.
pub(crate) fn stem_of_image(name: &[u8]) -> Option<&[u8]> {
    let dot = name.iter().rposition(|&byte| byte == b'.').map_or(0, |dot| dot + 1);
    let (stem, extension) = name.split_at_checked(dot)?;
    Codec::from_extension(std::str::from_utf8(extension).ok()?).map(|_| stem)
}

/// The names that the members of each field have in these shards, as
/// [`parse`](Column::parse) takes them. Shards are only looked at where names may differ.
///
/// # Errors
/// Those of [`each_sample`]; `Corrupt` for a sample that has a member twice.
#[cfg(feature = "write")]
pub(crate) fn found<'a>(
    shards: impl Iterator<Item = &'a Path>,
    columns: &[Column],
    outline: Option<&Outline>,
) -> Result<Vec<String>> {
    let mut texts: Vec<String> = columns.iter().map(Column::text).collect();
    if !columns.iter().any(Column::is_open) {
        return Ok(texts);
    }
    let mut names = vec![BTreeSet::new(); columns.len()];
    for path in shards {
        each_sample(path, outline, |group| {
            let members = members(group).map_err(|error| error.at(path))?;
            let own: Vec<&[u8]> = members.iter().map(|it| it.name.as_slice()).collect();
            for (names, at) in names.iter_mut().zip(places(&own, columns)) {
                if let Some(member) = at.and_then(|at| members.get(at))
                    && !names.contains(&member.name)
                {
                    names.insert(member.name.clone());
                }
            }
            Ok(())
        })?;
    }
    for (text, names) in texts.iter_mut().zip(names) {
        let mut names: Vec<_> = names.iter().map(|name| String::from_utf8_lossy(name)).collect();
        // In the order of the codecs, however they are written.
        names.sort_by_key(|name| Codec::from_extension(name.rsplit('.').next().unwrap_or(name)));
        if !names.is_empty() {
            *text = names.join(";");
        }
    }
    Ok(texts)
}

/// Which member of a sample belongs to each field: known names first, so that an image beside the
/// field's own does not take its place.
pub(crate) fn places(members: &[impl AsRef<[u8]>], columns: &[Column]) -> Vec<Option<usize>> {
    let mut places = vec![None; columns.len()];
    for takes in [Column::has, Column::takes] {
        for (at, member) in members.iter().enumerate() {
            if places.contains(&Some(at)) {
                continue;
            }
            let free = places.iter().zip(columns);
            let free = free
                .into_iter()
                .position(|(place, column)| place.is_none() && takes(column, member.as_ref()));
            if let Some(place) = free.and_then(|column| places.get_mut(column)) {
                *place = Some(at);
            }
        }
    }
    places
}

/// The fields of members that lie in the order in which we write them.
pub(crate) fn in_our_order(members: &[Member], schema: &Schema) -> Option<Vec<Column>> {
    let order = order(schema);
    let mut columns = vec![None; order.len()];
    for (member, &field) in members.iter().zip(&order) {
        let kind = &schema.fields.get(field)?.kind;
        *columns.get_mut(field)? = Some(Column::seen(&member.name, kind));
    }
    if members.len() == order.len() { columns.into_iter().collect() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_of_another_codec_is_the_same_field() {
        let columns = [
            Column::seen(b"jpg", &Kind::Image),
            Column::seen(b"seg.png", &Kind::Image),
            Column::seen(b"cls", &Kind::Int),
        ];
        let check = |names: &[&str], expected: [Option<usize>; 3]| {
            assert_eq!(places(names, &columns), expected, "{names:?}");
        };
        check(&["jpg", "seg.png", "cls"], [Some(0), Some(1), Some(2)]);
        check(&["PNG", "seg.webp", "cls"], [Some(0), Some(1), Some(2)]);
        check(&["png", "jpg", "cls"], [Some(1), None, Some(2)]);
        check(&["img", "seg", "seg.txt"], [None, None, None]);
    }

    #[test]
    fn a_manifest_lists_what_there_is() {
        let column = Column::parse("jpg;png");
        assert!(column.takes(b"png") && !column.takes(b"webp"));
        assert_eq!(column.text(), "jpg;png");
        assert!(!Column::parse("jpg").is_open());
    }
}
