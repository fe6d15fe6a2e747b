//! `fdconvert index`.
use crate::{Outcome, Session, args::IndexArgs, jpeg_index, output};
use bytes::Bytes;
use fdconvert::JpegIndex;
use fdconvert_core::{Error, Format as _, Result};
use fdconvert_formats::wds::{AddEntryPoints, Wds};
use serde_json::{Map, json};

pub(crate) fn run(args: &IndexArgs, session: &Session) -> Result<Outcome> {
    let wds = match &args.sidecars {
        Some(list) => Wds::with_sidecars(list)?,
        None => Wds::default(),
    };
    refuse_others(args, &wds)?;
    let make = args.jpeg_index.bits().map(|grid_bits| {
        (grid_bits, move |jpegs: &[Bytes]| jpeg_index::make_all(jpegs, grid_bits))
    });
    let how = make.as_ref().map(|(grid_bits, make)| AddEntryPoints { grid_bits: *grid_bits, make });
    let written = wds.index_with(&args.dataset, args.overwrite, how)?;
    if args.common.json {
        let files: Vec<_> = written.iter().map(|path| path.display().to_string()).collect();
        let mut fields = Map::new();
        fields.insert("dataset".into(), json!(args.dataset.display().to_string()));
        fields.insert("files".into(), json!(files));
        session.print_json("indexed", fields)?;
    } else if !args.common.quiet {
        let mut text: String =
            written.iter().map(|path| format!("wrote {}\n", output::path(path))).collect();
        if written.is_empty() {
            text = "everything was there already\n".into();
        }
        session.print(&text)?;
    }
    Ok(Outcome::Complete)
}

/// Other formats have their indexes inside: nothing can be added beside them.
fn refuse_others(args: &IndexArgs, wds: &Wds) -> Result<()> {
    let path = &args.dataset;
    if args.jpeg_index == JpegIndex::OFF || wds.detect(path) {
        return Ok(());
    }
    let formats = fdconvert_reader::formats();
    let found =
        formats.iter().find(|format| format.capabilities().entry_points && format.detect(path));
    let Some(found) = found else { return Ok(()) };
    let what = format!(
        "{path} is a {name} and keeps its entry points inside; pack it again: fdconvert pack {path} \
         NEW --format {name} --jpeg-index on",
        path = path.display(),
        name = found.name()
    );
    Err(Error::usage("--jpeg-index", what))
}
