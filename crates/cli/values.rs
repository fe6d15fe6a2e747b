//! Values of options as typed: sizes, shares, ranges, pairs.
use crate::args::SplitArg;
use std::path::PathBuf;

/// A size in bytes with its unit: `8MiB`, `500kB`, `1048576B`; 0 needs none. A bare number may be
/// meant in bytes or in megabytes, which is a shard for each sample or one for all.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let size = text.parse::<bytesize::ByteSize>().map(|size| size.as_u64()).map_err(|_| {
        format!("`{text}` is not a size; write a number with its unit, e.g. 8MiB or 1048576B")
    })?;
    if size > 0 && text.ends_with(|last: char| !last.is_ascii_alphabetic()) {
        return Err(format!("`{text}` has no unit; write {text}MiB, or {text}B for bytes"));
    }
    Ok(size)
}

/// `0..1000`
pub(crate) fn range(text: &str) -> Result<(u64, u64), String> {
    let ends = text
        .split_once("..")
        .and_then(|(start, end)| Some((start.trim().parse().ok()?, end.trim().parse().ok()?)));
    ends.ok_or_else(|| format!("`{text}` is not a range; write e.g. 0..1000"))
}

/// `10%` or `0.1`
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok().map(|percent| percent / 100.0),
        None => text.trim().parse().ok(),
    };
    let share = share.filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("`{text}` is not a share; write e.g. 10% or 0.1"))
}

/// `train=0.9` or `rest=drop`
pub(crate) fn split(text: &str) -> Result<SplitArg, String> {
    let (name, part) =
        text.split_once('=').ok_or_else(|| format!("`{text}` is not NAME=SHARE, e.g. val=0.1"))?;
    let name = name.trim().to_owned();
    if part.trim() == "drop" {
        return match name.as_str() {
            "rest" => Ok(SplitArg::Rest(name, "drop".to_owned())),
            _ => Err(format!("`{text}`: only the rest can be dropped; write rest=drop")),
        };
    }
    Ok(SplitArg::Part(name, share(part)?))
}

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

/// `mask=DIR`
pub(crate) fn pair(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, folder)) if !name.is_empty() && !folder.is_empty() => {
            Ok((name.to_owned(), folder.into()))
        }
        _ => Err(format!("`{text}` is not FIELD=DIR, e.g. mask=annotations")),
    }
}
