//! `fdconvert reproduce`: the experiment of a paper, measured on this machine.
pub(crate) mod args;

use crate::{Outcome, Session, listen::Listener, output};
use args::ReproduceArgs;
use fdconvert_core::{Error, Result, Shown, option};
use fdconvert_reproduce::{Claim, Findings, Plot, ReproduceOptions, reproduce, to_html};
use fdconvert_storage::replace;
use serde_json::{Map, Value};
use std::{
    io,
    path::{Path, PathBuf},
};

/// `fdconvert reproduce`
pub(crate) fn run(args: &ReproduceArgs, session: &Session) -> Result<Outcome> {
    let quiet = args.common.quiet || args.common.json;
    let page = args
        .output
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("paper-{}.html", args.paper.number())));
    let document = page.with_extension("json");
    if document == page {
        let what = "the page is HTML; its numbers are written next to it as .json";
        return Err(Error::usage("--output", what));
    }
    if !args.overwrite {
        for path in [&page, &document] {
            // Checked before minutes of work, not after.
            if path.exists() {
                return Err(Error::exists(option::OUTPUT, path));
            }
        }
    }
    let mut options = ReproduceOptions::default();
    options.quick = args.quick;
    options.threads = args.threads;
    options.rounds = args.rounds;
    options.images = args.images;
    session.command().clone_into(&mut options.command);
    if !args.python.is_empty() {
        options.python.clone_from(&args.python);
    }
    options.scratch = match (&args.scratch, page.parent()) {
        (Some(scratch), _) => scratch.clone(),
        (None, Some(parent)) if !parent.as_os_str().is_empty() => parent.to_owned(),
        (None, _) => ".".into(),
    };
    let listener = Listener::new(session, quiet);
    let findings = reproduce(args.paper, &options, listener.context())?;
    let json = fdconvert::plumbing::document("reproduce", fields(&findings)?);
    let text = format!("{json:#}\n");
    replace(&page, to_html(&findings).as_bytes())?;
    replace(&document, text.as_bytes())?;
    if args.common.json {
        session.print_document(&json)?;
    } else if !args.common.quiet {
        session.print(&summary(&findings, &page))?;
    }
    Ok(Outcome::Complete)
}

/// Returns the findings as fields of a document.
fn fields(findings: &Findings) -> Result<Map<String, Value>> {
    match serde_json::to_value(findings) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Ok(Map::new()),
        Err(cause) => Err(Error::io("write", "the findings")(io::Error::other(cause))),
    }
}

/// Returns the findings as text: the paper's claims with their verdicts, results, and loaders that took no part.
fn summary(findings: &Findings, page: &Path) -> String {
    let mut text = format!("paper {}: {}\n", findings.paper.number(), findings.title);
    for Claim { paper, here, verdict } in &findings.claims {
        let verdict = verdict.text();
        text.push_str(&format!("  {verdict}: {}\n    here: {}\n", Shown(paper), Shown(here)));
    }
    for result in &findings.results {
        text.push_str(&format!("  {}\n", Shown(result)));
    }
    for figure in &findings.figures {
        text.push_str(&format!("{}\n", Shown(&figure.title)));
        if let Plot::Bars { unit, bars, .. } = &figure.plot {
            for bar in bars {
                let value = bar.value.map_or_else(|| "-".into(), |value| format!("{value:.1}"));
                text.push_str(&format!("  {value:>10}  {}\n", Shown(&bar.name)));
            }
            text.push_str(&format!("              ({unit})\n"));
        }
    }
    for missing in &findings.missing {
        text.push_str(&format!("not here: {}: {}\n", Shown(&missing.name), Shown(&missing.why)));
    }
    text.push_str(&format!("{:.0} s; page: {}\n", findings.seconds, output::path(page)));
    text
}
