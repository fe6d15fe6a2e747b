//! Tells the layout of a source by its names, and opens it.
use super::{KnownLayout, LAYOUTS, Opened, Recognised, names::Names};
use crate::folder::{Folder, sidecar};
use fdconvert_core::{Error, Remark, Result, Source, option};
use fdconvert_storage::place::is_url;
use std::path::Path;

/// Folders in each other that hold nothing but the next one, as archives are unpacked.
const MAX_ABOVE: usize = 2;

impl Folder {
    /// Opens a folder in the layout of that name, or in the one that its names show. A file of
    /// annotations stands for its folder. The result is one source, or several to be joined; `None`
    /// if no layout is recognised and none was named.
    ///
    /// # Errors
    /// `Usage` if the folder is not of the named layout, and for damaged annotations; `Io`.
    pub fn open_layout(
        &self,
        path: &Path,
        name: Option<&str>,
    ) -> Result<Option<Vec<Box<dyn Source>>>> {
        let wanted = |layout: &&KnownLayout| name.is_none_or(|name| name == layout.name);
        let layouts: Vec<&KnownLayout> = LAYOUTS.iter().filter(wanted).collect();
        let Some((layout, recognised, others)) = recognise(path, &layouts)? else {
            return match layouts.first().filter(|_| name.is_some()) {
                Some(layout) => Err(unlike(path, layout)),
                None => Ok(None),
            };
        };
        let is_chosen = name.is_some();
        let mut opened =
            (layout.open)(&recognised, self).map_err(|error| of_source(error, is_chosen))?;
        let facts = match &mut opened {
            Opened::Folders(readers) => readers.iter_mut().map(|it| &mut it.facts).collect(),
            Opened::Pixels(reader) => vec![&mut reader.facts],
        };
        for (at, facts) in facts.into_iter().enumerate() {
            facts.name = name_of(path, &facts.name);
            if at > 0 {
                continue;
            }
            if !is_chosen {
                facts.remarks.push(told(layout, &recognised, &others));
            }
            if let Some(first) = recognised.unread.first() {
                let n = recognised.unread.len();
                let files = if n == 1 {
                    "1 other file of annotations is"
                } else {
                    "other files of annotations are"
                };
                let files = if n == 1 { files.to_owned() } else { format!("{n} {files}") };
                facts.remarks.push(format!("{files} not read, e.g. {first}").into());
            }
        }
        Ok(Some(match opened {
            Opened::Folders(readers) => {
                readers.into_iter().map(|reader| Box::new(reader) as Box<dyn Source>).collect()
            }
            Opened::Pixels(reader) => vec![reader],
        }))
    }
}

type Choice<'a> = (&'a KnownLayout, Recognised, Vec<&'static str>);

/// The first layout that the names show, and the names of the others that they show, too.
fn recognise<'a>(path: &Path, layouts: &[&'a KnownLayout]) -> Result<Option<Choice<'a>>> {
    if is_url(path) {
        return Ok(None);
    }
    if path.is_file() {
        for layout in layouts {
            if let Some(recognised) = (layout.of_file)(path)? {
                return Ok(Some((layout, recognised, Vec::new())));
            }
        }
        return Ok(None);
    }
    if !path.is_dir() || sidecar::is_there(path) {
        return Ok(None);
    }
    let mut names = Names::list(path)?;
    for _ in 0..=MAX_ABOVE {
        let mut found: Option<Choice<'a>> = None;
        for layout in layouts {
            // What another layout makes of a folder that is recognised already is only a remark.
            let recognised = (layout.of_folder)(&names);
            match (&mut found, recognised) {
                (None, Err(error)) => return Err(error),
                (None, Ok(Some(recognised))) => found = Some((layout, recognised, Vec::new())),
                (Some((_, _, others)), Ok(Some(_))) => others.push(layout.name),
                _ => {}
            }
        }
        if let Some((layout, mut recognised, others)) = found {
            recognised.by = format!("{}{}", names.above(), recognised.by);
            return Ok(Some((layout, recognised, others)));
        }
        match names.only_folder()? {
            Some(inner) => names = inner,
            None => return Ok(None),
        }
    }
    Ok(None)
}

/// The remark on a layout that was not named.
fn told(layout: &KnownLayout, recognised: &Recognised, others: &[&str]) -> Remark {
    let also = match others {
        [] => String::new(),
        _ => format!(" (its names also look like {})", others.join(", ")),
    };
    let what = format!("read as {}, by {}{also}", layout.name, recognised.by);
    Remark::from(what).cure("to pack the folder as it is", option::LAYOUT.with("folder"))
}

fn unlike(path: &Path, layout: &KnownLayout) -> Error {
    let (path, name, signs) = (path.display(), layout.name, layout.signs);
    let what = format!("{path} is not a dataset of the layout {name}, which has {signs}");
    Error::usage(option::LAYOUT, what)
}

/// What is wrong in a dataset that was recognised is not about an option that was given.
fn of_source(error: Error, is_chosen: bool) -> Error {
    match error {
        Error::Usage { option: about, what } => {
            let about = if about.name == option::LABELS.as_str() { "source".into() } else { about };
            let error = Error::Usage { option: about, what };
            match is_chosen {
                true => error,
                false => error.cure("to pack the folder as it is", option::LAYOUT.with("folder")),
            }
        }
        other => other,
    }
}

/// The name of the dataset: that of the folder given.
fn name_of(path: &Path, known: &str) -> String {
    match path.file_name().filter(|_| path.is_dir()) {
        Some(name) => name.to_string_lossy().into_owned(),
        None => known.to_owned(),
    }
}
