//! What stands in the attributes of CVAT's elements.
use quick_xml::events::{BytesRef, BytesStart};
use std::{borrow::Cow, collections::BTreeMap};

/// A character reference, or one of the five entities of XML.
pub(super) fn resolved(reference: &BytesRef<'_>) -> Result<String, String> {
    if let Some(char) = reference.resolve_char_ref().map_err(|error| error.to_string())? {
        return Ok(char.to_string());
    }
    let name = reference.decode().map_err(|error| error.to_string())?;
    let known = quick_xml::escape::resolve_predefined_entity(&name);
    known.map(str::to_owned).ok_or_else(|| format!("the entity `{name}` is not expanded"))
}

pub(super) fn attributes(tag: &BytesStart<'_>) -> Result<BTreeMap<String, String>, String> {
    let mut attributes = BTreeMap::new();
    for attribute in tag.attributes() {
        let attribute = attribute.map_err(|error| error.to_string())?;
        let name = String::from_utf8_lossy(attribute.key.as_ref()).into_owned();
        let raw = std::str::from_utf8(&attribute.value).map_err(|error| error.to_string())?;
        // Only character references and the five entities of XML.
        let value: Cow<'_, str> =
            quick_xml::escape::unescape(raw).map_err(|error| error.to_string())?;
        attributes.insert(name, value.into_owned());
    }
    Ok(attributes)
}

pub(super) fn number(text: &str) -> Result<f64, String> {
    let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| {
        let shown: String = text.chars().take(20).collect();
        format!("`{shown}` is not a number")
    })
}

/// Points such as `1.5,2;3,4`.
pub(super) fn points(text: &str) -> Result<Vec<[f64; 2]>, String> {
    let pairs = text.split(';').map(str::trim).filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| {
        let (x, y) = pair.split_once(',').ok_or("its `points` are not pairs of numbers")?;
        Ok([number(x)?, number(y)?])
    });
    pairs.collect()
}

/// The corners of a box that is turned clockwise by degrees around its middle.
pub(super) fn turned([[left, top], [right, bottom]]: [[f64; 2]; 2], degrees: f64) -> [[f64; 2]; 4] {
    let [x, y] = [(left + right) / 2.0, (top + bottom) / 2.0];
    let (sin, cos) = degrees.to_radians().sin_cos();
    let corners = [[left, top], [right, top], [right, bottom], [left, bottom]];
    corners.map(|[corner_x, corner_y]| {
        let [dx, dy] = [corner_x - x, corner_y - y];
        // Far finer than any annotation, and without the noise of the last bits.
        [x + dx * cos - dy * sin, y + dx * sin + dy * cos].map(|it| (it * 1e6).round() / 1e6)
    })
}
