//! `fdconvert index`.
use crate::{Outcome, Session, common::Common, jpeg_index, output};
use bytes::Bytes;
use clap::Args;
use fdconvert::JpegIndex;
use fdconvert_core::{Error, Format as _, Layout, Result, shell_word};
use fdconvert_formats::wds::{AddEntryPoints, Wds};
use serde_json::{Map, json};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct IndexArgs {
    /// Folder of tar shards, or a single one
    pub(crate) dataset: PathBuf,
    /// fdx, dali, wids, timm, hf, card, croissant, energon, img2dataset [default: fdx,dali,wids]
    #[arg(long, value_name = "LIST")]
    pub(crate) sidecars: Option<String>,
    /// Add entry points of JPEGs: on (every 2048 bits), off, 512, 1024, 2048, 4096
    #[arg(long, value_name = "BITS", default_value = "off")]
    pub(crate) jpeg_index: JpegIndex,
    /// Overwrite existing files
    #[arg(long)]
    pub(crate) overwrite: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

pub(crate) fn run(args: &IndexArgs, session: &Session) -> Result<Outcome> {
    let wds = match &args.sidecars {
        Some(list) => Wds::with_sidecars(list)?,
        None => Wds::default(),
    };
    refuse_others(args, &wds)?;
    refuse_without_shards(args, &wds)?;
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

/// Refuses other formats: they have their indexes inside, so that nothing can be added next to
/// them.
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

/// Refuses a dataset of another format: it has its index inside, or none at all.
fn refuse_without_shards(args: &IndexArgs, wds: &Wds) -> Result<()> {
    let path = &args.dataset;
    if wds.detect(path) {
        return Ok(());
    }
    let formats = fdconvert_reader::formats();
    let Some(found) = formats.iter().find(|format| format.detect(path)) else { return Ok(()) };
    let (name, capabilities) = (found.name(), found.capabilities());
    let pack = |format: &str| {
        let path = shell_word(&path.to_string_lossy());
        format!("fdconvert pack {path} NEW --format {format}")
    };
    let what = match capabilities.layout {
        _ if capabilities.formulas_only => "is a formula, which needs no index".to_owned(),
        Layout::File => format!(
            "is a {name}, which has its index inside where fdconvert wrote it; for one of another \
             tool, pack it: {}",
            pack(name)
        ),
        Layout::Shards => format!(
            "is a dataset of the format {name}, which has its indexes where fdconvert wrote it; for \
             one of another tool, pack it: {}",
            pack(name)
        ),
        Layout::Images => {
            format!("has images that are files, which have no index; pack it: {}", pack("wds"))
        }
    };
    Err(Error::usage("index", format!("{} {what}", path.display())))
}
