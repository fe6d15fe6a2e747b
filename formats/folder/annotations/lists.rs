//! What the annotations of all tools share besides the text of their documents.

/// Limit of a category's name in bytes: it is repeated for every object of the category.
const MAX_NAME_BYTES: usize = 1000;

/// Refuses a name that would make documents many times as large as the annotations.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    if name.len() <= MAX_NAME_BYTES {
        return Ok(());
    }
    Err(format!("the name of a category has {} bytes, over {MAX_NAME_BYTES}", name.len()))
}

/// Formats keys for messages: the first few of many.
pub(super) fn keys<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const MAX: usize = 8;
    let mut shown: Vec<&str> = names.take(MAX + 1).collect();
    let more = if shown.len() > MAX { ", ..." } else { "" };
    shown.truncate(MAX);
    format!("the keys {}{more}", shown.join(", "))
}

/// Left, top, width and height of the box around points; `None` for no points.
pub(super) fn around(points: impl Iterator<Item = [f64; 2]>) -> Option<[f64; 4]> {
    let wider = |[left, top, right, bottom]: [f64; 4], [x, y]: [f64; 2]| {
        [left.min(x), top.min(y), right.max(x), bottom.max(y)]
    };
    let bounds = points.fold(None, |bounds: Option<[f64; 4]>, [x, y]| {
        Some(bounds.map_or([x, y, x, y], |bounds| wider(bounds, [x, y])))
    });
    bounds.map(|[left, top, right, bottom]| [left, top, right - left, bottom - top])
}
