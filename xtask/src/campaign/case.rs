//! A case of a campaign: the disturbances, and the outcome.

use std::path::PathBuf;

use super::{
    configurations::Configuration,
    points::{self, Point},
    program::{Ended, Program, Slot},
    tree::Tree,
};
use crate::failure::Result;

/// An action on a call, and the call.
#[derive(Clone, Debug)]
pub(super) struct Disturbance {
    pub(super) place: Place,
    /// `kill`, `short`, the name of an errno, or `full`: no call of this kind succeeds any more.
    pub(super) action: &'static str,
}

/// The disturbed call.
#[derive(Clone, Debug)]
pub(super) enum Place {
    Call(Point),
    /// The one with this number among all calls of these kinds below the output's folder, for runs
    /// with unknown calls.
    Nth(u64, &'static str),
}

impl std::fmt::Display for Disturbance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.place {
            Place::Call(point) => write!(f, "{} at {point}", self.action),
            Place::Nth(number, _) => write!(f, "{} at call {number}", self.action),
        }
    }
}

impl Disturbance {
    /// Returns the environment variables that make the library do it.
    pub(super) fn variables(&self, slot: &Slot) -> Vec<(&'static str, String)> {
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let (kinds, at) = match &self.place {
            Place::Call(point) => (&*point.kind, point.at),
            Place::Nth(number, kinds) => (*kinds, *number),
        };
        let mut variables =
            vec![("FAULTS_KINDS", kinds.to_string()), ("FAULTS_AT", at.to_string())];
        // Calls on the source are outside the folders of the slot.
        let below = match &self.place {
            Place::Call(point) if point.path.starts_with('/') => PathBuf::from(&point.path),
            _ => slot.out(),
        };
        variables.push(("FAULTS_BELOW", text(below)));
        if let Place::Call(point) = &self.place {
            variables.push(("FAULTS_PATH", text(slot.folder().join(&point.path))));
        }
        if self.action == "full" {
            variables.extend([("FAULTS_DO", "ENOSPC".into()), ("FAULTS_STAYS", "1".into())]);
        } else {
            variables.push(("FAULTS_DO", self.action.into()));
        }
        variables
    }
}

/// Facts about a configuration without disturbances.
pub(super) struct Reference {
    pub(super) configuration: &'static Configuration,
    pub(super) output: Tree,
    pub(super) source: Tree,
    pub(super) points: Vec<Point>,
}

/// Disturbances of consecutive runs.
pub(super) type Case = Vec<Disturbance>;

/// An event of a case. Those from `Crashed` on are failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    Killed,
    Failed,
    /// The disturbed call did not occur.
    NotReached,
    /// Exit status 0 and the reference's output.
    Sound,
    /// As `Sound`, but the run left a file and named it in a warning.
    Warned,
    /// A failed run with a message that names the file.
    Told,
    /// A failed run with a message that names another file of the output: threads run in parallel,
    /// and what one of them undoes may fail another, which reports first.
    ToldOther,
    /// A signal, a panic, or a timeout.
    Crashed,
    /// A failed run with a message that does not name the file.
    Untold,
    /// The output is neither what it was before nor what it becomes.
    Between,
    /// The same command did not succeed afterwards.
    Refused,
    /// As `Refused`, although the output is complete.
    RefusedComplete,
    /// A file that is not in the reference.
    Stray,
    /// Another or no file instead of the reference's, with exit status 0.
    OtherBytes,
    /// The source has changed.
    SourceChanged,
}

impl Event {
    pub(super) fn is_failure(self) -> bool {
        self >= Self::Crashed
    }
}

pub(super) struct Outcome {
    pub(super) events: Vec<Event>,
    /// A complete description of a failure, on one line.
    pub(super) line: String,
}

/// The selected cases of a campaign.
pub(super) struct Selection<'a> {
    pub(super) quick: bool,
    pub(super) only: Option<&'a str>,
}

impl Selection<'_> {
    /// Returns all cases, or with `quick` this many, evenly spread.
    pub(super) fn of(&self, mut cases: Vec<Case>, quick: usize) -> Vec<Case> {
        if let Some(only) = self.only {
            cases.retain(|case| shown(case).contains(only));
        }
        if self.quick { points::evenly(&cases, quick) } else { cases }
    }
}

pub(super) fn shown(case: &Case) -> String {
    case.iter().map(ToString::to_string).collect::<Vec<_>>().join(", then ")
}

/// Program and slot of the cases, and the reference for their runs.
pub(super) struct Court<'a> {
    pub(super) program: &'a Program,
    pub(super) slot: &'a Slot,
    pub(super) reference: &'a Reference,
}

impl Court<'_> {
    /// Runs a case from the start, and returns its outcome. `run` disturbs the command and records
    /// its observations.
    pub(super) fn try_case(
        &self,
        case: &Case,
        run: impl FnOnce(&mut Notes) -> Result<()>,
    ) -> Result<Outcome> {
        prepare(self.program, self.slot, self.reference.configuration)?;
        let mut notes = Notes::default();
        run(&mut notes)?;
        Ok(notes.outcome(self.program, case, self.reference))
    }

    /// Runs the command under test.
    pub(super) fn attack(&self, variables: &[(&str, String)]) -> Result<Ended> {
        self.program.run(self.slot, self.reference.configuration.attacked, variables)
    }
}

/// Brings the slot into the initial state of the command under test.
pub(super) fn prepare(program: &Program, slot: &Slot, configuration: &Configuration) -> Result<()> {
    slot.clear()?;
    configuration.before.iter().try_for_each(|line| program.must(slot, line, &[]))
}

/// Events of a case, with details.
#[derive(Default)]
pub(super) struct Notes {
    pub(super) events: Vec<Event>,
    pub(super) seen: Vec<String>,
}

impl Notes {
    pub(super) fn add(&mut self, event: Event, seen: impl Into<String>) {
        self.events.push(event);
        self.seen.push(seen.into());
    }

    /// Records a command that failed instead of succeeding: the remaining files decide the event.
    pub(super) fn refused(&mut self, court: &Court<'_>, ended: &Ended) -> Result<()> {
        let found = Tree::read(&court.slot.out())?;
        let complete = found.against(&court.reference.output).other.is_empty();
        let event = match (ended.crashed(), complete) {
            (true, _) => Event::Crashed,
            (false, true) => Event::RefusedComplete,
            (false, false) => Event::Refused,
        };
        self.add(event, format!("the same command: {ended}"));
        Ok(())
    }

    /// Checks what a killed command has left.
    pub(super) fn check_either(&mut self, court: &Court<'_>) -> Result<()> {
        let Court { program, slot, reference } = court;
        let mut seen = Vec::new();
        for line in reference.configuration.either {
            let ended = program.run(slot, line, &[])?;
            if ended.well() {
                return Ok(());
            }
            seen.push(format!("{line}: {ended}"));
        }
        if !seen.is_empty() {
            self.add(Event::Between, seen.join(", "));
        }
        Ok(())
    }

    /// Completes the output and compares it.
    pub(super) fn compare(&mut self, court: &Court<'_>) -> Result<()> {
        let Court { program, slot, reference } = court;
        for line in reference.configuration.after {
            let ended = program.run(slot, line, &[])?;
            if !ended.well() {
                self.add(Event::Refused, format!("completing: {ended}"));
                return Ok(());
            }
        }
        let difference = Tree::read(&slot.out())?.against(&reference.output);
        if !difference.other.is_empty() {
            self.add(Event::OtherBytes, format!("other: {}", difference.other.join(" ")));
        }
        if !difference.stray.is_empty() {
            self.add(Event::Stray, format!("stray: {}", difference.stray.join(" ")));
        }
        Ok(())
    }

    fn outcome(self, program: &Program, case: &Case, to: &Reference) -> Outcome {
        let failures = self.events.iter().zip(&self.seen).filter(|(event, _)| event.is_failure());
        let failures: Vec<_> = failures.map(|(event, seen)| format!("{event:?}: {seen}")).collect();
        let again = commands(program, case, to.configuration);
        let name = to.configuration.name;
        let line = format!("{name}: {} | {} | {again}", shown(case), failures.join("; "));
        Outcome { events: self.events, line }
    }
}

/// Returns the case as commands to paste into a shell.
fn commands(program: &Program, case: &Case, configuration: &Configuration) -> String {
    let slot = program.slot("again");
    let folder = slot.folder().to_string_lossy().into_owned();
    let folder = crate::shell::quoted(&folder);
    let mut commands = vec![format!("rm -rf {folder}; mkdir -p {folder}/out")];
    let plain = |line: &&str| program.shown(&slot, line, &[]);
    commands.extend(configuration.before.iter().map(plain));
    for disturbance in case {
        let variables = disturbance.variables(&slot);
        commands.push(program.shown(&slot, configuration.attacked, &variables));
    }
    commands.push(program.shown(&slot, configuration.attacked, &[]));
    commands.extend(configuration.after.iter().map(plain));
    commands.join("; ")
}
