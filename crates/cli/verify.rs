//! `fdconvert verify`.
use crate::{
    Outcome, Session, args::VerifyArgs, jpeg_index, output, progress, request::threads,
    sources::is_plain_folder,
};
use fdconvert_codec::Decoder;
use fdconvert_core::{Class, Error, Limits, MaxDecompressed, Reader, Result, Shown, Value};
use rayon::prelude::*;
use serde_json::{Map, json};
use std::time::Instant;

/// Problems shown one by one on a terminal; `--json` has them all.
const SHOWN: usize = 100;
/// Samples between two looks at the cancel switch.
const CHUNK: u64 = 4096;

/// One thing that is wrong.
struct Problem {
    /// Which sample, when it is about one.
    sample: Option<(u64, String)>,
    error: String,
}

pub(crate) fn run(args: &VerifyArgs, session: &Session) -> Result<Outcome> {
    let began = Instant::now();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads(args.threads)?).build();
    let pool = pool.map_err(|cause| Error::usage("--threads", cause.to_string()))?;
    let mut facts = Facts { has_images: true, has_checksums: false };
    let (n_samples, problems) = match fdconvert_reader::open_within(
        &args.dataset,
        MaxDecompressed(args.max_decompressed),
    ) {
        Ok(reader) => {
            facts = Facts {
                has_images: reader.schema().first_image().is_some(),
                has_checksums: reader.has_checksums(),
            };
            let problems = pool.install(|| check(args, &*reader, session))?;
            (reader.len(), problems)
        }
        // A file that is there and cannot be read as a dataset is what verify looks for.
        Err(error) if error.class() == Class::Data => {
            (0, vec![Problem { sample: None, error: error.chain() }])
        }
        Err(error) => return Err(error),
    };
    let seconds = began.elapsed().as_secs_f64();
    let found = Found { n_samples, facts, problems: &problems };
    report(args, &found, seconds, session)?;
    Ok(if problems.is_empty() { Outcome::Complete } else { Outcome::DataProblems })
}

fn check(args: &VerifyArgs, reader: &dyn Reader, session: &Session) -> Result<Vec<Problem>> {
    let layout = reader.verify_layout();
    let mut problems: Vec<Problem> =
        layout.iter().map(|error| Problem { sample: None, error: error.chain() }).collect();
    let limits = Limits { max_pixels: args.max_pixels, ..Limits::DEFAULT };
    let bar = progress::bar("verifying", args.common.quiet || args.common.json, session);
    bar.set_length(reader.len());
    let mut start = 0;
    while start < reader.len() {
        if session.cancel().is_cancelled() {
            bar.finish_and_clear();
            return Err(Error::Cancelled);
        }
        let end = reader.len().min(start + CHUNK);
        let found: Vec<Problem> = (start..end)
            .into_par_iter()
            .map_init(Decoder::default, |decoder, index| {
                let checked = check_sample(reader, index, args.deep, &limits, decoder);
                bar.inc(1);
                let error = checked.err()?;
                Some(Problem { sample: Some((index, reader.key(index))), error: error.chain() })
            })
            .flatten()
            .collect();
        problems.extend(found);
        start = end;
    }
    bar.finish_and_clear();
    Ok(problems)
}

fn check_sample(
    reader: &dyn Reader,
    index: u64,
    deep: bool,
    limits: &Limits,
    decoder: &mut Decoder,
) -> Result<()> {
    reader.verify_sample(index)?;
    if !deep {
        return Ok(());
    }
    let sample = reader.get(index)?;
    for value in &sample.values {
        if let Value::Image(image) = value {
            decoder.decode(&sample.key, image, limits)?;
        }
    }
    jpeg_index::verify(reader, index, &sample)
}

/// What there is to check.
#[derive(Debug, Clone, Copy)]
struct Facts {
    /// Whether there are images whose pixels `--deep` could check.
    has_images: bool,
    /// Whether every sample has checksums of its own.
    has_checksums: bool,
}

/// What there is to report.
struct Found<'a> {
    n_samples: u64,
    facts: Facts,
    problems: &'a [Problem],
}

fn report(args: &VerifyArgs, found: &Found<'_>, seconds: f64, session: &Session) -> Result<()> {
    let &Found { n_samples, facts: Facts { has_images, has_checksums }, problems } = found;
    if args.common.json {
        let list: Vec<_> = problems
            .iter()
            .map(|problem| match &problem.sample {
                Some((index, key)) => json!({"index": index, "key": key, "error": problem.error}),
                None => json!({"error": problem.error}),
            })
            .collect();
        let mut fields = Map::new();
        fields.insert("dataset".into(), json!(args.dataset.display().to_string()));
        fields.insert("samples".into(), json!(n_samples));
        fields.insert("deep".into(), json!(args.deep));
        fields.insert("has_images".into(), json!(has_images));
        fields.insert("sample_checksums".into(), json!(has_checksums));
        fields.insert("problems".into(), json!(list));
        fields.insert("seconds".into(), json!(seconds));
        return session.print_json("verify", fields);
    }
    let mut text = String::new();
    for problem in problems.iter().take(SHOWN) {
        match &problem.sample {
            Some((index, key)) => {
                let why = output::without_key(&problem.error, key);
                text.push_str(&format!("damaged: sample {index} (`{}`): {why}\n", Shown(key)));
            }
            None => text.push_str(&format!("damaged: {}\n", problem.error)),
        }
    }
    if problems.len() > SHOWN {
        text.push_str(&format!("... and {} more; --json lists all\n", problems.len() - SHOWN));
    }
    if !args.common.quiet || !problems.is_empty() {
        let what = match (args.deep, has_images) {
            (true, true) => "structure, checksums and pixels",
            (true, false) => "structure and checksums; no image field: pixels not checked",
            (false, _) => "structure and checksums",
        };
        let n = output::counted(n_samples, "sample");
        let verdict = match problems.len() {
            0 => format!("all sound ({what})"),
            n => output::counted(n as u64, "problem"),
        };
        let dataset = output::path(&args.dataset);
        text.push_str(&format!("{dataset}: {n} in {seconds:.2} s: {verdict}\n"));
        // Of plain files nothing else is expected.
        if n_samples > 0 && !has_checksums && !is_plain_folder(&args.dataset)? {
            text.push_str("note: its samples have no checksums of their own: a value that was changed may pass\n");
        }
    }
    session.print(&text)
}
