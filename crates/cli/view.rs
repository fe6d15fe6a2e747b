//! `fdconvert view`.
use crate::{Outcome, Session, common::Common};
use clap::Args;
use fdconvert::ByteCount;
use fdconvert_core::Result;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[cfg_attr(not(feature = "view"), allow(dead_code, reason = "there is no viewer in this build"))]
pub(crate) struct ViewArgs {
    /// Folder of images, packed dataset or recipe; a path or a URL
    pub(crate) dataset: PathBuf,
    /// Show another dataset side by side; samples are matched by their keys
    #[arg(long, value_name = "OTHER")]
    pub(crate) compare: Option<PathBuf>,
    /// Port on this machine [default: any free one]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    /// Print the address only, and open no browser
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Only these splits [default: all]
    #[arg(long, value_name = "NAME[,NAME]", value_delimiter = ',')]
    pub(crate) split: Vec<String>,
    /// Limit on the decompressed size of compressed shards [default: 4GiB, and 100 times their size]
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    pub(crate) max_decompressed: Option<ByteCount>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[cfg(not(feature = "view"))]
pub(crate) fn run(_args: &ViewArgs, _session: &Session) -> Result<Outcome> {
    let what = "this build has no viewer: build fdconvert with the feature `view`, which it has by \
                default";
    Err(fdconvert_core::Error::usage("view", what))
}

#[cfg(feature = "view")]
pub(crate) fn run(args: &ViewArgs, session: &Session) -> Result<Outcome> {
    use crate::reading::splits;
    use fdconvert_reader::OpenOptions;
    use std::io::{self, IsTerminal};

    let how = OpenOptions::default()
        .max_decompressed(args.max_decompressed.map(|bytes| bytes.0))
        .splits(splits(&args.split));
    let first = served::open(&args.dataset, &how)?;
    let second = args.compare.as_ref().map(|other| served::open(other, &how));
    let server = fdconvert_view::Server::bind(first, second.transpose()?, args.port)?;
    let address = server.address();
    // Printed first, for programs that read it to open the address.
    if args.common.json {
        let mut fields = serde_json::Map::new();
        fields.insert("address".into(), serde_json::json!(address));
        session.print_json("view", fields)?;
    } else {
        session.print(&format!("{address}\n"))?;
    }
    if io::stdout().is_terminal() && !args.no_open && !args.common.json {
        if !args.common.quiet {
            session.say("opened in the browser; Ctrl-C ends it");
        }
        if let Err(cause) = open::that_detached(&address) {
            session.say(&format!("warning: no browser could be started: {cause}"));
        }
    }
    let cancel = session.cancel();
    server.serve(|| cancel.is_cancelled())?;
    Ok(Outcome::Complete)
}

#[cfg(feature = "view")]
mod served {
    use fdconvert_core::Result;
    use fdconvert_reader::OpenOptions;
    use fdconvert_view::Opened;
    use std::path::Path;

    /// Opens a dataset, and returns its format.
    pub(super) fn open(path: &Path, how: &OpenOptions) -> Result<Opened> {
        let reader = fdconvert_reader::open_with(path, how)?.into();
        let recognised = fdconvert_reader::recognise(path);
        let format = recognised.map_or("unknown", |format| format.name()).to_owned();
        Ok(Opened { reader, path: path.display().to_string(), format })
    }
}
