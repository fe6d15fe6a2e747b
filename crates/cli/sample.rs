//! `fdconvert sample`: photos for trying the other commands.
use crate::{Outcome, Session, common::Common, output};
use clap::Args;
use fdconvert_core::{Error, Result};
use fdconvert_storage::ScratchDir;
use serde_json::{Map, json};
use std::{fs, path::PathBuf};

#[derive(Debug, Args)]
pub(crate) struct SampleArgs {
    /// Folder to write; must not exist
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Name and bytes of a photo.
macro_rules! photo {
    ($number:literal) => {
        (
            concat!("kodak-", $number, ".jpg"),
            include_bytes!(concat!("photos/kodak-", $number, ".jpg")).as_slice(),
        )
    };
}

/// Name and bytes.
type Photo = (&'static str, &'static [u8]);

/// Kodak's test photos (`tests/fixtures/kodak`, free of restrictions), at most 256 pixels wide, by
/// what is on them.
const CLASSES: [(&str, [Photo; 4]); 3] = [
    ("building", [photo!("01"), photo!("07"), photo!("19"), photo!("21")]),
    ("closeup", [photo!("03"), photo!("15"), photo!("17"), photo!("23")]),
    ("scene", [photo!("05"), photo!("09"), photo!("11"), photo!("13")]),
];

pub(crate) fn run(args: &SampleArgs, session: &Session) -> Result<Outcome> {
    if args.out.exists() {
        let what = format!("{} exists; name a new folder", args.out.display());
        return Err(Error::usage("output", what));
    }
    let folder = ScratchDir::open(&args.out, [0; 16], false)?;
    let mut n_bytes = 0;
    for (class, photos) in CLASSES {
        let below = folder.path().join(class);
        fs::create_dir(&below).map_err(Error::io("create the folder", &below))?;
        for (name, bytes) in photos {
            let path = below.join(name);
            fs::write(&path, bytes).map_err(Error::io("write", &path))?;
            n_bytes += bytes.len() as u64;
        }
    }
    folder.commit(&args.out)?;
    let names: Vec<&str> = CLASSES.iter().map(|(class, _)| *class).collect();
    let n_photos: usize = CLASSES.iter().map(|(_, photos)| photos.len()).sum();
    if args.common.json {
        let mut fields = Map::new();
        fields.insert("out".into(), json!(args.out.display().to_string()));
        fields.insert("samples".into(), json!(n_photos));
        fields.insert("classes".into(), json!(names));
        fields.insert("bytes".into(), json!(n_bytes));
        session.print_json("sample", fields)?;
    } else if !args.common.quiet {
        session.print(&format!(
            "wrote {} of {} ({}) into {}: {}\n",
            output::counted(n_photos as u64, "photo"),
            output::counted(names.len() as u64, "class"),
            names.join(", "),
            output::path(&args.out),
            output::size(n_bytes)
        ))?;
    }
    Ok(Outcome::Complete)
}
