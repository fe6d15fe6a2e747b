//! Killed before each call, and killed again while resuming.

use super::{
    case::{self, Case, Disturbance, Event, Notes, Outcome, Place, Reference, Selection},
    points::Point,
    program::{Program, Slot},
};
use crate::failure::Result;

/// The calls that change something, and `open`, which often does.
const KINDS: [&str; 7] = ["open", "write", "sync", "rename", "truncate", "mkdir", "unlink"];
const ALL_KINDS: &str = "open,write,sync,rename,truncate,mkdir,unlink";

/// With `--quick`: cases of one kill, and of three, for each configuration.
const QUICK: (usize, usize) = (30, 8);

/// One kill at every call, and for every call a chain of three: the resumed run is killed at one
/// of its first calls, where it decides what to keep, and the next one again.
pub(super) fn cases(points: &[Point], selection: &Selection<'_>) -> Vec<Case> {
    let kill = |place| Disturbance { place, action: "kill" };
    let points = points
        .iter()
        .filter(|point| KINDS.contains(&point.kind.as_str()) && point.path.starts_with("out"));
    let single: Vec<Case> = points.map(|point| vec![kill(Place::Call(point.clone()))]).collect();
    let chained = single.iter().zip(0..).map(|(first, number)| {
        // Strides without a common divisor, so that many pairs come up.
        let (second, third) = (1 + number % 37, 1 + number * 5 % 23);
        let resumed = [second, third].map(|nth| kill(Place::Nth(nth, ALL_KINDS)));
        first.iter().cloned().chain(resumed).collect()
    });
    let chained = selection.of(chained.collect(), QUICK.1);
    let mut cases = selection.of(single, QUICK.0);
    cases.extend(chained);
    cases
}

/// Kills, resumes, and compares with the reference.
pub(super) fn run(
    program: &Program,
    slot: &Slot,
    case: &Case,
    reference: &Reference,
) -> Result<Outcome> {
    let configuration = reference.configuration;
    case::prepare(program, slot, configuration)?;
    let mut notes = Notes::default();
    let runs = case.iter().map(|kill| kill.variables(slot)).chain([Vec::new()]);
    for variables in runs {
        let ended = program.run(slot, configuration.attacked, &variables)?;
        if ended.killed() && !variables.is_empty() {
            notes.add(Event::Killed, "");
            continue;
        }
        if !variables.is_empty() {
            notes.add(Event::NotReached, "");
        }
        if !ended.well() {
            notes.refused(slot, reference, &ended)?;
            return Ok(notes.outcome(program, case, reference));
        }
        break;
    }
    notes.compare(program, slot, reference)?;
    Ok(notes.outcome(program, case, reference))
}
