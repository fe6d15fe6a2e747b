//! `fdconvert index`.
use crate::{Outcome, Session, args::IndexArgs};
use fdconvert_core::Result;
use fdconvert_wds::Wds;
use serde_json::{Map, json};

pub(crate) fn run(args: &IndexArgs, session: &Session) -> Result<Outcome> {
    let wds = match &args.sidecars {
        Some(list) => Wds::with_sidecars(list)?,
        None => Wds::default(),
    };
    let written = wds.index(&args.dataset, args.overwrite)?;
    if args.common.json {
        let files: Vec<_> = written.iter().map(|path| path.display().to_string()).collect();
        let mut fields = Map::new();
        fields.insert("dataset".into(), json!(args.dataset.display().to_string()));
        fields.insert("files".into(), json!(files));
        session.print_json("indexed", fields)?;
    } else if !args.common.quiet {
        let mut text: String =
            written.iter().map(|path| format!("wrote {}\n", path.display())).collect();
        if written.is_empty() {
            text = "everything was there already\n".into();
        }
        session.print(&text)?;
    }
    Ok(Outcome::Complete)
}
