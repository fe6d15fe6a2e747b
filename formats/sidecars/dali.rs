//! `STEM.idx` next to each shard, DALI's index of version 1.2: one line per sample, with the place
//! of each of its members.
use super::{Output, Shards};
use fdconvert_core::{Error, Result};

pub(super) fn files(shards: &Shards<'_>) -> Result<Vec<Output>> {
    shards
        .files
        .iter()
        .map(|file| {
            let mut index = format!("v1.2 {}\n", file.n_samples);
            shards.walk(file, |sample| {
                for (i, entry) in sample.entries.iter().enumerate() {
                    let name = std::str::from_utf8(&entry.name).ok();
                    let name = name.filter(|name| !name.contains(char::is_whitespace));
                    let Some(name) = name else {
                        let what =
                            "DALI's index has no way to write names with blanks or not in UTF-8";
                        return Err(Error::sample(String::from_utf8_lossy(&entry.name), what));
                    };
                    // The name is the key, a dot and the field.
                    let field = name.get(sample.key.len() + 1..).unwrap_or_default();
                    let blank = if i == 0 { "" } else { " " };
                    index.push_str(&format!("{blank}{field} {} {} {name}", entry.data, entry.len));
                }
                index.push('\n');
                Ok(())
            })?;
            Ok((file.path.with_extension("idx"), index.into_bytes()))
        })
        .collect()
}
