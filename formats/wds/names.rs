//! Member names: those to write, and those that a field may have in a shard.
use crate::wds::{
    fields::{order, plain_name},
    list,
    scan::{MAX_MEMBERS, Member},
};
#[cfg(feature = "write")]
use crate::wds::{
    outline::{Outline, each_sample},
    scan::members,
};
use fdconvert_core::{Codec, Encoded, FieldSpec, Kind, Result, Schema, Value};
use std::{borrow::Cow, collections::BTreeSet, path::Path};

/// Name that the writer gives a field's members, without key and dot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Name {
    /// The same in every sample.
    Fixed(String),
    /// A stem, followed by the extension of the image's codec.
    ByCodec(String),
    /// A stem, followed by the number of an image in a list and the extension of its codec.
    Numbered(String),
}

impl Name {
    /// The name for this value.
    pub(crate) fn of(&self, value: &Value<Encoded>) -> Cow<'_, str> {
        match value {
            Value::Image(image) => self.of_codec(Some(image.codec)),
            _ => self.of_codec(None),
        }
    }

    /// The name for an image of that codec, or for another value.
    pub(crate) fn of_codec(&self, codec: Option<Codec>) -> Cow<'_, str> {
        match (self, codec) {
            (Self::ByCodec(prefix), Some(codec)) => {
                Cow::Owned(format!("{prefix}{}", codec.extension()))
            }
            (Self::ByCodec(name) | Self::Fixed(name) | Self::Numbered(name), _) => {
                Cow::Borrowed(name)
            }
        }
    }

    /// The name of an image in a list.
    pub(crate) fn of_number(&self, number: usize, codec: Codec) -> String {
        let (Self::Numbered(stem) | Self::ByCodec(stem) | Self::Fixed(stem)) = self;
        format!("{stem}{number}.{}", codec.extension())
    }

    /// Every possible name; of a list the one that stands for all.
    pub(crate) fn all(&self) -> Vec<String> {
        match self {
            Self::Fixed(name) => vec![name.clone()],
            Self::ByCodec(prefix) => {
                let files = Codec::ALL.into_iter().filter(|codec| *codec != Codec::Raw);
                files.map(|codec| format!("{prefix}{}", codec.extension())).collect()
            }
            Self::Numbered(stem) => vec![format!("{stem}{}", char::from(list::ALL))],
        }
    }

    /// Bytes of the longest possible name.
    pub(crate) fn max_bytes(&self) -> usize {
        match self {
            Self::Numbered(_) => self.of_number(MAX_MEMBERS, Codec::Webp).len(),
            _ => self.all().iter().map(String::len).max().unwrap_or(0),
        }
    }
}

/// Names that a field's members may have in the shards to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    /// At least one.
    names: Vec<Vec<u8>>,
    /// True if the name with the extension of any other image format is the same field.
    any_image: bool,
}

impl Column {
    /// Parses the names of a manifest: separated by `;`, as in WebDataset's `to_tuple`.
    pub(crate) fn parse(text: &str) -> Self {
        let names = text.split(';').map(|name| name.as_bytes().to_vec()).collect();
        Self { names, any_image: false }
    }

    /// A field of that kind with this name in one sample; other samples may use other names for
    /// images.
    pub(crate) fn seen(name: &[u8], kind: &Kind) -> Self {
        let any_image = *kind == Kind::Image && stem_of_image(name).is_some();
        Self { names: vec![name.to_vec()], any_image }
    }

    /// Returns true if the name is a known one. WebDataset lowers all names.
    pub(crate) fn has(&self, name: &[u8]) -> bool {
        self.names.iter().any(|known| known.eq_ignore_ascii_case(name))
    }

    /// Returns true if the name belongs to this field, unless it is a known name of another field.
    pub(crate) fn takes(&self, name: &[u8]) -> bool {
        let is_like = || {
            let stem = stem_of_image(name);
            self.any_image && stem.is_some() && stem == stem_of_image(self.first())
        };
        self.has(name) || is_like()
    }

    pub(crate) fn first(&self) -> &[u8] {
        self.names.first().map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns true if the name may vary between samples.
    pub(crate) fn is_open(&self) -> bool {
        self.any_image || self.names.len() > 1
    }

    /// Formats the names for [`parse`](Self::parse).
    pub(crate) fn text(&self) -> String {
        let names = self.names.iter().map(|name| String::from_utf8_lossy(name));
        names.collect::<Vec<_>>().join(";")
    }
}

/// Returns the part of an image's name before its extension, including the dot.
pub(crate) fn stem_of_image(name: &[u8]) -> Option<&[u8]> {
    let dot = name.iter().rposition(|&byte| byte == b'.').map_or(0, |dot| dot + 1);
    let (stem, extension) = name.split_at_checked(dot)?;
    Codec::from_extension(std::str::from_utf8(extension).ok()?).map(|_| stem)
}

/// Member names of each field in these shards, in the syntax of [`parse`](Column::parse). Shards
/// are read only if names may vary.
///
/// # Errors
/// Those of [`each_sample`]; `Corrupt` for a sample with a duplicate member.
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
    let lists = list::Lists::of_columns(columns);
    for path in shards {
        each_sample(path, outline, |group| {
            let members = members(group, &lists).map_err(|error| error.at(path))?;
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
        // In the order of the codecs, whatever their spelling.
        names.sort_by_key(|name| Codec::from_extension(name.rsplit('.').next().unwrap_or(name)));
        if !names.is_empty() {
            *text = names.join(";");
        }
    }
    Ok(texts)
}

/// Matches the members of a sample to the fields: known names first, so that another image does not
/// take the place of the field's own one.
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

/// The fields of members that are in the order of fdconvert's writer, and without gaps but for
/// empty lists.
pub(crate) fn in_our_order(members: &[Member], schema: &Schema) -> Option<Vec<Column>> {
    let order = order(schema);
    let mut columns = vec![None; order.len()];
    let mut members = members.iter().peekable();
    for &field in &order {
        let FieldSpec { name, kind, .. } = schema.fields.get(field)?;
        let is_list = *kind == Kind::Images;
        let member = members.next_if(|member| list::is_list(&member.name) == is_list);
        let name = match member {
            Some(member) => member.name.clone(),
            None if is_list => list::all_of(&plain_name(name)),
            None => return None,
        };
        *columns.get_mut(field)? = Some(Column::seen(&name, kind));
    }
    if members.next().is_none() { columns.into_iter().collect() } else { None }
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
