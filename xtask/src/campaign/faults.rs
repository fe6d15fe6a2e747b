//! One call that fails, or transfers fewer bytes than requested.

use super::{
    case::{Case, Court, Disturbance, Event, Notes, Place, Selection},
    points::Point,
    program::Ended,
    tree::Tree,
};
use crate::failure::Result;

/// Number of cases for each configuration with `--quick`.
const QUICK: usize = 60;

/// Results that a call of each kind may give, according to the manual pages, as far as they differ
/// for a program.
const ANSWERS: [(&str, &[&str]); 12] = [
    ("open", &["EIO", "EMFILE", "EACCES", "ENOSPC", "EINTR"]),
    ("read", &["EIO", "EINTR", "short"]),
    ("write", &["EIO", "ENOSPC", "EINTR", "short", "full"]),
    ("sync", &["EIO", "ENOSPC", "EINTR"]),
    ("rename", &["EIO", "ENOSPC", "EACCES"]),
    ("truncate", &["EIO", "ENOSPC", "EINTR"]),
    ("mkdir", &["EIO", "ENOSPC", "EACCES"]),
    ("unlink", &["EIO", "EACCES"]),
    ("stat", &["EIO", "EACCES"]),
    ("lock", &["ENOLCK", "EIO", "EINTR"]),
    ("list", &["EIO"]),
    ("map", &["ENOMEM", "ENODEV"]),
];

/// Returns every result at every call on source and output.
pub(super) fn cases(points: &[Point], selection: &Selection<'_>) -> Vec<Case> {
    let answers = |point: &Point| {
        ANSWERS.iter().find(|(kind, _)| *kind == point.kind).map_or(&[][..], |(_, answers)| answers)
    };
    let all = points.iter().flat_map(|point| {
        answers(point)
            .iter()
            .map(|action| vec![Disturbance { place: Place::Call(point.clone()), action }])
    });
    selection.of(all.collect(), QUICK)
}

/// Makes the call fail, checks the run, and if it failed runs the same command again.
pub(super) fn run(court: &Court<'_>, case: &Case, notes: &mut Notes) -> Result<()> {
    for fault in case {
        let log = court.slot.log();
        let mut variables = fault.variables(court.slot);
        variables.push(("FAULTS_LOG", log.to_string_lossy().into_owned()));
        let ended = court.attack(&variables)?;
        if Tree::read(&court.program.source())? != court.reference.source {
            notes.add(Event::SourceChanged, "");
        }
        notes.add(if log.exists() { Event::Failed } else { Event::NotReached }, "");
        judge(notes, fault, &ended);
        if ended.well() {
            succeeded(notes, court, &ended)?;
        } else {
            again(notes, court)?;
        }
    }
    Ok(())
}

/// Checks that a failed run reports where it failed.
fn judge(notes: &mut Notes, fault: &Disturbance, ended: &Ended) {
    if ended.crashed() {
        notes.add(Event::Crashed, ended.to_string());
    } else if !ended.well() {
        let event = if names(&ended.message, fault) {
            Event::Told
        } else if ended.message.contains("/out/") {
            Event::ToldOther
        } else {
            Event::Untold
        };
        notes.add(event, ended.to_string());
    }
}

fn names(message: &str, fault: &Disturbance) -> bool {
    let path = match &fault.place {
        // A full disk stops every thread, and any of them may report it.
        Place::Call(_) if fault.action == "full" => "out",
        Place::Call(point) => &point.path,
        Place::Nth(..) => "",
    };
    let name = path.rsplit('/').next().unwrap_or(path);
    // A message may name the final file of the scratch file.
    message.contains(name.split(".partial").next().unwrap_or(name))
}

/// Checks a run with exit status 0: the output must be the reference's, and an additional file must
/// be named in a warning.
fn succeeded(notes: &mut Notes, court: &Court<'_>, ended: &Ended) -> Result<()> {
    let mut found = Notes::default();
    found.compare(court)?;
    if found.events.is_empty() {
        notes.add(Event::Sound, "");
        return Ok(());
    }
    for (event, seen) in found.events.into_iter().zip(found.seen) {
        let paths = seen.split(' ').skip(1);
        // A folder stands for its content.
        let named = |path: &str| {
            let (_, name) = path.rsplit_once('/').unwrap_or(("", path));
            let mut parts =
                path.split('/').filter(|part| *part == name || part.ends_with(".partial"));
            parts.any(|part| ended.message.contains(part))
        };
        let event = match event {
            Event::Stray if paths.into_iter().all(named) => Event::Warned,
            event => event,
        };
        notes.add(event, format!("exit 0, {seen}"));
    }
    Ok(())
}

/// The fault was temporary: the same command must succeed, without `--overwrite`.
fn again(notes: &mut Notes, court: &Court<'_>) -> Result<()> {
    let ended = court.attack(&[])?;
    if ended.well() {
        return notes.compare(court);
    }
    notes.refused(court, &ended)
}
