//! `fdconvert unpack`: packing into a folder.
use crate::{
    Outcome, Session,
    args::UnpackArgs,
    progress::PackProgress,
    request::threads,
    summary::{self, Summary},
};
use fdconvert_codec::Policy;
use fdconvert_core::{MaxDecompressed, Result};
use fdconvert_folder::Folder;
use fdconvert_pipeline::{Job, Plan, pack};
use std::collections::BTreeMap;

/// Bytes are copied: what waits for the writer are views of the source's map.
const BUDGET_BYTES: u64 = 64 << 20;

pub(crate) fn run(args: &UnpackArgs, session: &Session) -> Result<Outcome> {
    let reader =
        fdconvert_reader::open_within(&args.dataset, MaxDecompressed(args.max_decompressed))?;
    let plan = Plan::single_file(reader.len());
    let job = Job {
        source: &*reader,
        policy: &Policy::default(),
        format: &Folder::default(),
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
    let summary =
        Summary { verb: "unpacked", job: &job, report: &report, is_default_format: false };
    summary::print(&summary, args.common, session)
}
