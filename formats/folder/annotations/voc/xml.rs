//! Parses a file of Pascal VOC.
use super::{Annotation, Object};
use crate::folder::annotations::{
    frame::side,
    lists::check_name,
    xml::{decode, root_of},
};
use quick_xml::de::Deserializer;
use serde::{
    Deserialize,
    de::{Error as _, IgnoredAny, MapAccess, Visitor},
};
use std::{collections::BTreeSet, fmt, num::NonZero};

/// Limit of XML events between objects.
const MAX_BETWEEN: usize = 1 << 20;

/// The file as written.
#[derive(Deserialize)]
#[serde(rename = "annotation")]
struct Written {
    size: Option<WrittenSize>,
    #[serde(default, rename = "object")]
    objects: Vec<WrittenObject>,
}

#[derive(Deserialize)]
struct WrittenSize {
    width: Option<String>,
    height: Option<String>,
}

#[derive(Default)]
struct WrittenObject {
    name: Option<String>,
    bndbox: Option<WrittenBox>,
    difficult: Option<String>,
    truncated: Option<String>,
    occluded: Option<String>,
    pose: Option<String>,
    others: Vec<String>,
}

/// `derive` would skip unknown elements.
impl<'de> Deserialize<'de> for WrittenObject {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Elements)
    }
}

struct Elements;

impl<'de> Visitor<'de> for Elements {
    type Value = WrittenObject;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("an object with `name` and `bndbox`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WrittenObject, A::Error> {
        let mut object = WrittenObject::default();
        while let Some(key) = map.next_key::<String>()? {
            let text = match key.as_str() {
                "name" => &mut object.name,
                "difficult" => &mut object.difficult,
                "truncated" => &mut object.truncated,
                "occluded" => &mut object.occluded,
                "pose" => &mut object.pose,
                "bndbox" if object.bndbox.is_none() => {
                    object.bndbox = map.next_value()?;
                    continue;
                }
                "bndbox" => return Err(A::Error::custom("an object has two `bndbox`")),
                _ => {
                    let _: IgnoredAny = map.next_value()?;
                    object.others.push(key);
                    continue;
                }
            };
            if text.is_some() {
                return Err(A::Error::custom(format_args!("an object has two `{key}`")));
            }
            *text = map.next_value()?;
        }
        Ok(object)
    }
}

#[derive(Deserialize)]
struct WrittenBox {
    xmin: Option<String>,
    ymin: Option<String>,
    xmax: Option<String>,
    ymax: Option<String>,
}

/// Parses one file, and collects the names of objects' elements that are not packed; the error is a
/// text that follows the file's name. Entities defined in the file are errors and are not expanded.
pub(in crate::folder::annotations) fn parse(
    bytes: &[u8],
    unpacked: &mut BTreeSet<String>,
) -> Result<Annotation, String> {
    let text = &*decode(bytes)?;
    if let Some(name) = root_of(text).filter(|name| name != "annotation") {
        return Err(format!(
            "not a Pascal VOC annotation: its first element is `{name}`, and not `annotation`"
        ));
    }
    let mut deserializer = Deserializer::from_str(text);
    deserializer.event_buffer_size(NonZero::new(MAX_BETWEEN));
    let written = Written::deserialize(&mut deserializer)
        .map_err(|error| format!("not a Pascal VOC annotation: {error}"))?;
    let size = written.size.map_or(Ok(None), |WrittenSize { width, height }| {
        let side = |name, text: Option<String>| side(name, &text.unwrap_or_default());
        let sides = (side("width", width)?, side("height", height)?);
        Ok::<_, String>(sides.0.zip(sides.1).map(|(width, height)| [width, height]))
    })?;
    let objects = written.objects.into_iter().enumerate().map(|(at, mut object)| {
        unpacked.extend(object.others.drain(..));
        Object::new(object).map_err(|what| format!("object {}: {what}", at + 1))
    });
    Ok(Annotation { size, objects: objects.collect::<Result<_, String>>()?, are_shares: false })
}

impl Object {
    fn new(written: WrittenObject) -> Result<Self, String> {
        let name = written.name.unwrap_or_default().trim().to_owned();
        if name.is_empty() {
            return Err("it has no `name`".to_owned());
        }
        check_name(&name)?;
        let bndbox = written.bndbox.ok_or("it has no `bndbox`")?;
        let side = |name: &str, text: Option<String>| {
            let text = text.ok_or_else(|| format!("its `bndbox` has no `{name}`"))?;
            let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
            number.ok_or_else(|| {
                let shown: String = text.chars().take(20).collect();
                format!("its `{name}` is not a number: `{shown}`")
            })
        };
        let (left, top) = (side("xmin", bndbox.xmin)?, side("ymin", bndbox.ymin)?);
        let (right, bottom) = (side("xmax", bndbox.xmax)?, side("ymax", bndbox.ymax)?);
        let object = Self {
            name: name.into(),
            corners: [left, top, right, bottom],
            difficult: flag("difficult", written.difficult)?,
            truncated: flag("truncated", written.truncated)?,
            occluded: flag("occluded", written.occluded)?,
            pose: written.pose.map(|pose| pose.trim().into()),
        };
        object.bbox(false, [1.0; 2])?;
        Ok(object)
    }
}

fn flag(name: &str, text: Option<String>) -> Result<Option<u8>, String> {
    match text.as_deref().map(str::trim) {
        None | Some("") => Ok(None),
        Some("0" | "0.0" | "false" | "False") => Ok(Some(0)),
        Some("1" | "1.0" | "true" | "True") => Ok(Some(1)),
        Some(text) => {
            let shown: String = text.chars().take(20).collect();
            Err(format!("its `{name}` is neither 0 nor 1: `{shown}`"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_annotation_is_refused() {
        let check = |text: &str, part: &str| {
            let error = parse(text.as_bytes(), &mut BTreeSet::new()).unwrap_err();
            assert!(error.contains(part), "{error}");
        };
        let object = |inner: &str| format!("<annotation><object>{inner}</object></annotation>");
        let corners = |right: &str| {
            format!(
                "<name>a</name><bndbox><xmin>5</xmin><ymin>5</ymin><xmax>{right}</xmax>\
                 <ymax>9</ymax></bndbox>"
            )
        };
        check("", "Pascal VOC");
        check("<annotation><object>", "Pascal VOC");
        check(&object("<name>a</name>"), "object 1: it has no `bndbox`");
        check(&object("<bndbox/>"), "`name`");
        check(&object("<name>a</name><bndbox><xmin>1</xmin></bndbox>"), "`ymin`");
        check(&object(&corners("NaN")), "`NaN`");
        check(&object(&corners("3")), "backwards");
        check(&object(&format!("{}<difficult>2</difficult>", corners("7"))), "`difficult`");
        let bomb = "<!DOCTYPE a [<!ENTITY b \"bbbb\"><!ENTITY c \"&b;&b;&b;\">]><annotation><object>\
                    <name>&c;</name></object></annotation>";
        check(bomb, "Pascal VOC");
    }

    #[test]
    fn depth_and_what_lies_between_objects_are_bounded() {
        let deep = format!("<annotation>{}", "<a>".repeat(200_000));
        assert!(parse(deep.as_bytes(), &mut BTreeSet::new()).is_err());
    }
}
