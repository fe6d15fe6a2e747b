//! Polygons, run lengths and keypoints: their bounding boxes, and how they turn.
use super::entries::parsed;
use crate::folder::annotations::lists::around;
use fdconvert_core::{RunLengths, StoredRunLengths, Turn, objects::numbers};
use serde::{
    Deserialize,
    de::{Deserializer, Error as _, SeqAccess, Visitor},
};
use serde_json::value::RawValue;
use std::fmt;

/// The lengths of a list of numbers, or of the lists in a list, by their text alone, which is JSON:
/// several times as fast as parsing each number. `None` for anything that is not sure to be that.
fn lengths(text: &str, depth: usize) -> Option<Vec<u64>> {
    /// Shorter ones without an exponent are finite.
    const MAX_DIGITS: usize = 300;
    let (mut lengths, mut at_depth, mut length, mut n_digits) = (Vec::new(), 0, 0, 0);
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' => {
                if at_depth != depth || n_digits == MAX_DIGITS {
                    return None;
                }
                length += u64::from(n_digits == 0);
                n_digits += 1;
            }
            b'.' | b'-' => {}
            b',' | b' ' | b'\n' | b'\r' | b'\t' => n_digits = 0,
            b'[' => {
                at_depth += 1;
                (length, n_digits) = (0, 0);
            }
            b']' => {
                if at_depth == depth {
                    lengths.push(length);
                }
                at_depth -= 1;
            }
            _ => return None,
        }
    }
    Some(lengths)
}

/// The length of a list of numbers.
pub(super) fn n_numbers(name: &str, raw: &RawValue) -> Result<u64, String> {
    if let Some([length]) = lengths(raw.get(), 1).as_deref() {
        return Ok(*length);
    }
    let Length(n_numbers) = parsed(name, "a list of numbers", raw)?;
    Ok(n_numbers)
}

/// The length of the first polygon with an odd number of values.
pub(super) fn odd_polygon(raw: &RawValue) -> Result<Option<u64>, String> {
    if let Some(lengths) = lengths(raw.get(), 2) {
        return Ok(lengths.into_iter().find(|len| len % 2 == 1));
    }
    let polygons: Vec<Length> = parsed("segmentation", "lists of numbers", raw)?;
    Ok(polygons.iter().find(|Length(len)| len % 2 == 1).map(|Length(odd)| *odd))
}

/// The box around polygons or a mask; `None` if they are empty.
pub(super) fn around_segmentation(raw: &RawValue) -> Result<Option<[f64; 4]>, String> {
    if raw.get().starts_with('{') {
        let runs: StoredRunLengths = parsed("segmentation", "run lengths", raw)?;
        return Ok(around_mask(&runs.decode()?));
    }
    let polygons: Vec<Vec<f64>> = parsed("segmentation", "lists of numbers", raw)?;
    Ok(around(polygons.iter().flat_map(|polygon| polygon.chunks_exact(2)).filter_map(pair)))
}

/// The box around the labelled keypoints.
pub(super) fn around_keypoints(raw: &RawValue) -> Result<Option<[f64; 4]>, String> {
    let points: Vec<f64> = match serde_json::from_str::<Vec<[f64; 3]>>(raw.get()) {
        Ok(triples) => triples.into_flattened(),
        Err(_) => parsed("keypoints", "a list of numbers", raw)?,
    };
    let labelled = points.chunks_exact(3).filter(|point| point.last() != Some(&0.0));
    Ok(around(labelled.filter_map(pair)))
}

fn pair(point: &[f64]) -> Option<[f64; 2]> {
    Some([*point.first()?, *point.get(1)?])
}

fn around_mask(mask: &RunLengths) -> Option<[f64; 4]> {
    let height = u64::from(mask.size().first().copied()?).max(1);
    let mut at = 0_u64;
    let mut corners = Vec::new();
    for (number, run) in mask.counts().iter().enumerate() {
        let (start, end) = (at, at + u64::from(*run));
        at = end;
        let Some(last) = end.checked_sub(1).filter(|last| number % 2 == 1 && *last >= start) else {
            continue;
        };
        let (first_column, last_column) = (start / height, last / height);
        let (top, bottom) = match first_column == last_column {
            true => (start % height, last % height),
            // It spans two columns, and so touches both the lower and the upper edge.
            false => (0, height - 1),
        };
        corners.push([first_column as f64, top as f64]);
        corners.push([(last_column + 1) as f64, (bottom + 1) as f64]);
    }
    around(corners.into_iter())
}

/// Turns a segmentation.
pub(super) fn turn_segmentation(text: &str, turn: Turn) -> Result<String, String> {
    let unreadable = |_| "its `segmentation` cannot be read again".to_owned();
    if text.starts_with('{') {
        let runs: StoredRunLengths = serde_json::from_str(text).map_err(unreadable)?;
        let turned = turn.run_lengths(&runs.decode()?)?;
        let [height, width] = turned.size();
        let counts: Vec<String> = turned.counts().iter().map(u32::to_string).collect();
        return Ok(format!("{{\"size\":[{height},{width}],\"counts\":[{}]}}", counts.join(",")));
    }
    let polygons: Vec<Vec<f64>> = serde_json::from_str(text).map_err(unreadable)?;
    let polygons = polygons.iter().map(|polygon| {
        let points = polygon.chunks_exact(2).filter_map(pair);
        numbers(points.map(|point| turn.point(point)).collect::<Vec<_>>().as_flattened())
    });
    Ok(format!("[{}]", polygons.collect::<Vec<_>>().join(",")))
}

/// Turns keypoints; unlabelled ones stay at 0.
pub(super) fn turn_keypoints(text: &str, turn: Turn) -> Result<String, String> {
    let points: Vec<f64> = serde_json::from_str(text)
        .map_err(|_| "its `keypoints` cannot be read again".to_owned())?;
    let turned = points.chunks_exact(3).flat_map(|point| match *point {
        [x, y, visibility] if visibility != 0.0 || x != 0.0 || y != 0.0 => {
            let [x, y] = turn.pixel([x, y]);
            [x, y, visibility]
        }
        _ => [0.0; 3],
    });
    Ok(numbers(&turned.collect::<Vec<_>>()))
}

/// Length of a list of numbers.
struct Length(u64);

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Numbers)
    }
}

struct Numbers;

impl<'de> Visitor<'de> for Numbers {
    type Value = Length;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a list of numbers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Length, A::Error> {
        let mut n_numbers = 0;
        while let Some(number) = list.next_element::<f64>()? {
            if !number.is_finite() {
                return Err(A::Error::custom("a number is not finite"));
            }
            n_numbers += 1;
        }
        Ok(Length(n_numbers))
    }
}

#[cfg(test)]
mod tests {
    use super::lengths;

    #[test]
    fn lists_are_counted_by_their_text() {
        let cases: &[(&str, usize, Option<&[u64]>)] = &[
            ("[1, -2.5,3]", 1, Some(&[3])),
            ("[]", 1, Some(&[0])),
            ("[[1,2],[ 3.25 , 4, 5]]", 2, Some(&[2, 3])),
            ("[[]]", 2, Some(&[0])),
            ("[]", 2, Some(&[])),
            // These are parsed: numbers at another depth, exponents, and other values.
            ("[1]", 2, None),
            ("[[1]]", 1, None),
            ("[1e999]", 1, None),
            ("[null]", 1, None),
            ("[\"1\"]", 1, None),
        ];
        for (text, depth, expected) in cases {
            assert_eq!(lengths(text, *depth).as_deref(), *expected, "{text}");
        }
        assert_eq!(lengths(&format!("[{}]", "1".repeat(301)), 1), None);
    }
}
