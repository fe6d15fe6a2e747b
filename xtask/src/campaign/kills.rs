//! Kills before each call, and again while resuming.

use super::{
    case::{Case, Court, Disturbance, Event, Notes, Place, Selection},
    points::Point,
};
use crate::failure::Result;

/// The calls that change something, and `open`, which often does.
const KINDS: [&str; 7] = ["open", "write", "sync", "rename", "truncate", "mkdir", "unlink"];
const ALL_KINDS: &str = "open,write,sync,rename,truncate,mkdir,unlink";

/// Number of cases of one kill, and of three, for each configuration with `--quick`.
const QUICK: (usize, usize) = (30, 8);

/// Returns one kill at every call, and for every call a chain of three: the resumed run is killed
/// at one of its first calls, where it decides what to keep, and the next one again.
pub(super) fn cases(points: &[Point], selection: &Selection<'_>) -> Vec<Case> {
    let kill = |place| Disturbance { place, action: "kill" };
    let points = points
        .iter()
        .filter(|point| KINDS.contains(&point.kind.as_str()) && point.path.starts_with("out"));
    let single: Vec<Case> = points.map(|point| vec![kill(Place::Call(point.clone()))]).collect();
    let chained = single.iter().zip(0..).map(|(first, number)| {
        // Strides without a common divisor, so that many pairs occur.
        let (second, third) = (1 + number % 37, 1 + number * 5 % 23);
        let resumed = [second, third].map(|nth| kill(Place::Nth(nth, ALL_KINDS)));
        first.iter().cloned().chain(resumed).collect()
    });
    let chained = selection.of(chained.collect(), QUICK.1);
    let mut cases = selection.of(single, QUICK.0);
    cases.extend(chained);
    cases
}

/// Kills, resumes, compares with the reference, and runs the command again.
pub(super) fn run(court: &Court<'_>, case: &Case, notes: &mut Notes) -> Result<()> {
    let runs = case.iter().map(|kill| kill.variables(court.slot)).chain([Vec::new()]);
    for variables in runs {
        let ended = court.attack(&variables)?;
        if ended.killed() && !variables.is_empty() {
            notes.add(Event::Killed, "");
            notes.check_either(court)?;
            continue;
        }
        if !variables.is_empty() {
            notes.add(Event::NotReached, "");
        }
        if !ended.well() {
            return notes.refused(court, &ended);
        }
        break;
    }
    notes.compare(court)?;
    if case.len() == 1 {
        // A loop that restarts jobs must end with success.
        let ended = court.attack(&[])?;
        if !ended.well() {
            return notes.refused(court, &ended);
        }
        notes.compare(court)?;
    }
    Ok(())
}
