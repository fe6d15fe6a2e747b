//! One case of a campaign: what is done to the command, what came of it.

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

/// The call to which something happens.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// This one.
    Call(Point),
    /// The one of this number among all calls of these kinds below the output's folder, for runs
    /// whose calls are not known beforehand.
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
    /// The variables that make the library do it.
    pub(super) fn variables(&self, slot: &Slot) -> Vec<(&'static str, String)> {
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let (kinds, at) = match &self.place {
            Place::Call(point) => (&*point.kind, point.at),
            Place::Nth(number, kinds) => (*kinds, *number),
        };
        let mut variables =
            vec![("FAULTS_KINDS", kinds.to_string()), ("FAULTS_AT", at.to_string())];
        // Calls on the source are below no folder of the slot.
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

/// Facts about a configuration before anything is done to it.
pub(super) struct Reference {
    pub(super) configuration: &'static Configuration,
    pub(super) output: Tree,
    pub(super) source: Tree,
    pub(super) points: Vec<Point>,
}

/// Disturbances of one run after another.
pub(super) type Case = Vec<Disturbance>;

/// Something that happened in a case. Those from `Crashed` on are failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A run was killed.
    Killed,
    /// A call failed.
    Failed,
    /// The call that was to be disturbed did not come.
    NotReached,
    /// Exit status 0 and the reference's output.
    Sound,
    /// The same, but the run left a file and named it in a warning.
    Warned,
    /// A failed run, whose message names the file.
    Told,
    /// A failed run, whose message names another file of the output: threads work side by side, and
    /// what one of them takes back may fail the other, which tells first.
    ToldOther,
    /// A signal, a panic, or no end.
    Crashed,
    /// A failed run whose message does not name the file.
    Untold,
    /// The same command did not succeed afterwards.
    Refused,
    /// The same, although the output is complete.
    RefusedComplete,
    /// A file that the reference does not have.
    Stray,
    /// Another or no file where the reference has one, with exit status 0.
    OtherBytes,
    /// The source is not what it was.
    SourceChanged,
}

impl Event {
    pub(super) fn is_failure(self) -> bool {
        self >= Self::Crashed
    }
}

/// Outcome of a case.
pub(super) struct Outcome {
    pub(super) events: Vec<Event>,
    /// Everything a reader needs of a failure, on one line.
    pub(super) line: String,
}

/// The cases of a campaign that are wanted.
pub(super) struct Selection<'a> {
    pub(super) quick: bool,
    pub(super) only: Option<&'a str>,
}

impl Selection<'_> {
    /// All cases, or with `quick` this many, evenly spread.
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

/// Program and slot that cases run in, and the reference that their runs are held against.
pub(super) struct Court<'a> {
    pub(super) program: &'a Program,
    pub(super) slot: &'a Slot,
    pub(super) reference: &'a Reference,
}

impl Court<'_> {
    /// Runs a case from the start, and says what came of it. `run` disturbs the command and notes
    /// what it sees.
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

/// Puts the slot into the state in which the command under test starts.
pub(super) fn prepare(program: &Program, slot: &Slot, configuration: &Configuration) -> Result<()> {
    slot.clear()?;
    configuration.before.iter().try_for_each(|line| program.must(slot, line, &[]))
}

/// Events of a case, with what was seen.
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

    /// A command that should have succeeded and did not: what it left decides how bad that is.
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

/// The case as commands to paste into a shell.
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
