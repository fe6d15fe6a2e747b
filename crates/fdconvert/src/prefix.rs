//! The option `prefix`: names that distinguish the keys of several sources.
use crate::{PackOptions, Prefix};
use fdconvert_core::{Error, Result, Source, option};
use fdconvert_pipeline::Prefixed;
use std::path::{Path, PathBuf};

/// Adds a prefix to the keys of each source, if the options request it.
pub(crate) fn put(
    options: &PackOptions,
    sources: Vec<Box<dyn Source>>,
    paths: &[PathBuf],
) -> Result<Vec<Box<dyn Source>>> {
    let Some(prefix) = &options.prefix else { return Ok(sources) };
    let names = names(prefix, paths)?;
    let named = sources.into_iter().zip(&names);
    Ok(named.map(|(source, name)| Box::new(Prefixed::new(source, name)) as _).collect())
}

fn names(prefix: &Prefix, paths: &[PathBuf]) -> Result<Vec<String>> {
    let wrong = |what: String| Err(Error::usage(option::PREFIX, what));
    let names: Vec<String> = match prefix {
        Prefix::Names(names) => names.clone(),
        Prefix::Auto => paths.iter().map(|path| name_of(path)).collect(),
    };
    if names.len() != paths.len() {
        return wrong(format!("it has {} names for {} sources", names.len(), paths.len()));
    }
    for (at, (name, path)) in names.iter().zip(paths).enumerate() {
        if name.is_empty() {
            let what = format!("{} has no name to take; write one for each source", path.display());
            return wrong(what);
        }
        if names.get(..at).is_some_and(|before| before.contains(name)) {
            let what = "write a name for each source, as in left,right";
            return wrong(format!("two sources are called `{name}`; {what}"));
        }
    }
    Ok(names)
}

/// Returns the last part of a path if it can be part of a key: that of `.` and of recipes cannot.
fn name_of(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let legal = |name: &String| !name.starts_with('.') && !name.contains([':', '?', '\\', '\0']);
    name.filter(legal).unwrap_or_default()
}
