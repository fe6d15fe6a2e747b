//! The schema of shards that say nothing about it: by the names in the first sample, as the
//! decoders of WebDataset go by them.
use crate::{
    members,
    wds::{names::Column, scan::Member},
};
use fdconvert_core::{FieldSpec, Kind, Result, Schema};

/// Fields and, in the same order, what their members are called.
pub(crate) fn infer(archive: &[u8], members: &[Member]) -> Result<(Schema, Vec<Column>)> {
    let mut fields: Vec<FieldSpec> = Vec::new();
    let mut columns: Vec<Column> = Vec::new();
    let (mut has_image, mut has_label) = (false, false);
    for member in members {
        let full = String::from_utf8_lossy(&member.name).into_owned();
        let (stem, suffix) = full.rsplit_once('.').unwrap_or(("", &full));
        let bytes = archive.get(member.range()).unwrap_or_default();
        let kind = members::kind(&suffix.to_ascii_lowercase(), bytes);
        let first_of =
            |seen: &mut bool, name: &str| (!std::mem::replace(seen, true)).then(|| name.to_owned());
        let preferred = match kind {
            Kind::Image => first_of(&mut has_image, "image"),
            Kind::Int if stem.is_empty() => first_of(&mut has_label, "label"),
            _ => None,
        };
        let preferred = preferred.unwrap_or_else(|| match (&kind, stem) {
            (Kind::Bytes, _) | (_, "") => full.clone(),
            (_, stem) => stem.to_owned(),
        });
        let is_free = |name: &str| !name.is_empty() && fields.iter().all(|f| f.name != name);
        let name = [preferred, full.clone()].into_iter().find(|name| is_free(name));
        let number = fields.len();
        columns.push(Column::seen(&member.name, &kind));
        fields.push(FieldSpec::new(name.unwrap_or_else(|| format!("field {number}")), kind));
    }
    Ok((Schema::new(fields)?, columns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_kinds() {
        let member = |name: &str| Member { name: name.into(), header: 0, data: 0, len: 0 };
        let members =
            ["mask.png", "JPG", "cls", "x.cls", "json", "a.txt", "a.json", "pickle", "npy"]
                .map(member);
        let (schema, columns) = infer(&[], &members).unwrap();
        let found: Vec<_> =
            schema.fields.iter().map(|field| (field.name.as_str(), field.kind.name())).collect();
        assert_eq!(
            found,
            [
                ("image", "image"),
                ("JPG", "image"),
                ("label", "int"),
                ("x", "int"),
                ("json", "json"),
                ("a", "text"),
                ("a.json", "json"),
                ("pickle", "bytes"),
                ("npy", "bytes"),
            ]
        );
        assert_eq!(columns[1].first(), b"JPG");
    }
}
