//! Values of options as typed that no library has.

/// `1/4`: the first of four.
pub(crate) fn part(text: &str) -> Result<(u64, u64), String> {
    let numbers = text.split_once('/').and_then(|(index, of)| {
        Some((index.trim().parse::<u64>().ok()?, of.trim().parse::<u64>().ok()?))
    });
    match numbers {
        Some((index, of)) if (1..=of).contains(&index) => Ok((index - 1, of)),
        _ => Err(format!("`{text}` is not a part; write I/N with I from 1 to N, e.g. 1/4")),
    }
}
