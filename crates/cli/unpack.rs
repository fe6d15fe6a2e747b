//! `fdconvert unpack`: packing into a folder.
use crate::{
    Outcome, Session,
    args::UnpackArgs,
    progress::PackProgress,
    request::threads,
    splits,
    summary::{self, Summary},
};
use fdconvert_codec::Policy;
use fdconvert_core::{MaxDecompressed, Reader, Result, shell_word, split_names};
use fdconvert_folder::Folder;
use fdconvert_pipeline::{Job, Plan, pack};
use std::collections::BTreeMap;

/// Bytes are copied: what waits for the writer are views of the source's map.
const BUDGET_BYTES: u64 = 64 << 20;

pub(crate) fn run(args: &UnpackArgs, session: &Session) -> Result<Outcome> {
    let reader =
        fdconvert_reader::open_within(&args.dataset, MaxDecompressed(args.max_decompressed))?;
    let plan = Plan::single_file(reader.len());
    let splits = reader.splits();
    let is_divided = split_names(&splits).len() > 1;
    let format = Folder::default().record_splits(if is_divided { splits } else { Vec::new() });
    let job = Job {
        source: &*reader,
        policy: &Policy::default(),
        format: &format,
        out: &args.out,
        plan: &plan,
        params: &BTreeMap::new(),
        jpeg_index: None,
        threads: threads(args.threads)?,
        budget_bytes: BUDGET_BYTES,
        on_error: args.on_error.into(),
        part: None,
        overwrite: false,
    };
    let mut progress =
        PackProgress::new("unpacking", args.common.quiet || args.common.json, session);
    let packed = pack(&job, session.cancel(), &mut progress);
    progress.clear();
    let report = packed?;
    let summary = Summary {
        verb: "unpacked",
        job: &job,
        report: &report,
        splits: match job.source.splits()[..] {
            [] => splits::written(&job, &report),
            _ => splits::kept_together(&job, &report),
        },
        split_notes: split_notes(args, &*reader),
        is_default_format: false,
    };
    summary::print(&summary, args.common, session)
}

/// What becomes of splits in a folder, where files lie where their names say.
fn split_notes(args: &UnpackArgs, reader: &dyn Reader) -> Vec<String> {
    let splits = reader.splits();
    let mut notes = match &split_names(&splits)[..] {
        [] => Vec::new(),
        [only] if splits::folder_split(&args.out).is_some_and(|name| name == *only) => Vec::new(),
        [only] => vec![format!("all are of the split {only}, which a folder of that name keeps")],
        names => {
            let dataset = shell_word(&args.dataset.display().to_string());
            vec![format!(
                "fdconvert.json says which files are of the splits {}, and pack keeps them; \
                 `fdconvert pack {dataset} OUT --format folder` writes a folder for each",
                names.join(", ")
            )]
        }
    };
    notes.extend(reader.remarks());
    notes
}
