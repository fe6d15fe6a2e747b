//! Workers that share a dataset: one is killed, or paused and continued, before each of its calls,
//! while another packs what is left.
//!
//! The calls of a worker have names that differ from run to run, so they are counted; a case is a
//! number, and the numbers end where the worker ends before its call comes.

use std::{
    fs,
    process::{Child, Command},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use super::{
    program::{Ended, Program, Slot},
    tree::Tree,
};
use crate::failure::{Context, Failure, Result, fail};

const KINDS: &str = "open,write,sync,rename,truncate,mkdir,unlink";
const WORKER: &str = "pack --plan OUT/x.fdplan --claim --lease 1s OUT/x --threads THREADS";
/// Formats with the plans that are packed: three shards each.
const PLANS: [(&str, &str); 3] = [
    ("wds", "plan SOURCE -o OUT/x.fdplan --format wds --shard-count 4"),
    ("mds", "plan SOURCE -o OUT/x.fdplan --format mds --shard-count 4"),
    ("mixed", "plan SOURCE -o OUT/x.fdplan --format mixed --ratio 0.5 --shard-count 4"),
];
/// Cases that run at the same time: nearly all of the time they wait for a lease to go stale.
const JOBS: usize = 8;
/// With `--quick`: one call of so many.
const QUICK: u64 = 23;

/// Outcome of a case.
enum Outcome {
    /// The worker ended before its call came.
    NotReached,
    Sound,
    /// The other worker stopped at a file that the paused one has locked, and succeeded afterwards.
    Waited,
    Failed(String),
}

pub(super) fn run(program: &Program, formats: &[String], quick: bool) -> Result<()> {
    let wanted = |name: &str| formats.is_empty() || formats.iter().any(|format| format == name);
    let (mut n_failing, mut rows) = (0, Vec::new());
    for (name, plan) in PLANS.iter().filter(|(name, _)| wanted(name)) {
        let slot = program.slot("reference");
        prepare(program, &slot, plan)?;
        program.must(&slot, WORKER, &[])?;
        let reference = Tree::read(&slot.out())?;
        for action in ["kill", "stop"] {
            let court = Court { program, plan, reference: &reference, action };
            let outcomes = walk(&court, if quick { QUICK } else { 1 })?;
            let count = |is: fn(&Outcome) -> bool| outcomes.iter().filter(|it| is(&it.1)).count();
            for (number, outcome) in &outcomes {
                if let Outcome::Failed(what) = outcome {
                    println!("FAIL {name}: {action} at call {number}: {what}");
                    n_failing += 1;
                }
            }
            let waited = count(|it| matches!(it, Outcome::Waited));
            let failed = count(|it| matches!(it, Outcome::Failed(_)));
            println!("{name}: {action} at {} calls, {failed} failing", outcomes.len());
            rows.push(format!("| {name} | {action} | {} | {waited} | {failed} |", outcomes.len()));
        }
    }
    println!("\n| format | worker | cases | waited for the paused one | failing |");
    println!("|---|---|---:|---:|---:|\n{}\n", rows.join("\n"));
    if n_failing > 0 { fail(format!("{n_failing} cases fail")) } else { Ok(()) }
}

fn prepare(program: &Program, slot: &Slot, plan: &str) -> Result<()> {
    slot.clear()?;
    program.must(slot, plan, &[])
}

/// Every call from the first to the last, in steps.
fn walk(court: &Court<'_>, step: u64) -> Result<Vec<(u64, Outcome)>> {
    let (next, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let job = |number: usize| -> Result<Vec<(u64, Outcome)>> {
        let slot = court.program.slot(&format!("slot-{number}"));
        let mut outcomes = Vec::new();
        while !is_over.load(Ordering::Relaxed) {
            let call = 1 + step * next.fetch_add(1, Ordering::Relaxed);
            match court.try_call(&slot, call)? {
                Outcome::NotReached => is_over.store(true, Ordering::Relaxed),
                outcome => outcomes.push((call, outcome)),
            }
        }
        Ok(outcomes)
    };
    let mut outcomes = thread::scope(|scope| {
        let job = &job;
        let jobs: Vec<_> = (0..JOBS).map(|number| scope.spawn(move || job(number))).collect();
        let mut all = Vec::new();
        for job in jobs {
            let died = || Failure::new("a job of the campaign died");
            all.extend(job.join().map_err(|_| died())??);
        }
        Ok::<_, Failure>(all)
    })?;
    outcomes.sort_by_key(|(call, _)| *call);
    Ok(outcomes)
}

/// The reference that cases are held against, with their program, plan and action.
struct Court<'a> {
    program: &'a Program,
    plan: &'a str,
    reference: &'a Tree,
    action: &'static str,
}

impl Court<'_> {
    fn try_call(&self, slot: &Slot, call: u64) -> Result<Outcome> {
        prepare(self.program, slot, self.plan)?;
        let text = |text: &str| text.to_owned();
        let variables = [
            ("FAULTS_BELOW", slot.out().to_string_lossy().into_owned()),
            ("FAULTS_KINDS", text(KINDS)),
            ("FAULTS_AT", call.to_string()),
            ("FAULTS_DO", text(self.action)),
        ];
        if self.action == "kill" {
            let ended = self.program.run(slot, WORKER, &variables)?;
            return match ended.killed() {
                true => self.finish(slot, "after the kill"),
                false if ended.well() => Ok(Outcome::NotReached),
                false => Ok(Outcome::Failed(ended.to_string())),
            };
        }
        let mut first = self.program.start(slot, WORKER, &variables)?;
        if !is_paused(&mut first)? {
            return Ok(match ended(first)? {
                ended if ended.well() => Outcome::NotReached,
                ended => Outcome::Failed(ended.to_string()),
            });
        }
        let second = self.program.run(slot, WORKER, &[])?;
        let waited = !second.well() && second.message.contains("is being written by another run");
        let between = match second.well() {
            true => self.compare(slot, "while the first is paused")?,
            false if waited => Outcome::Sound,
            false => Outcome::Failed(format!("the second worker: {second}")),
        };
        let continued = Command::new("kill").arg("-CONT").arg(first.id().to_string()).status();
        continued.context("cannot continue a worker")?;
        let first = ended(first)?;
        if matches!(between, Outcome::Failed(_)) {
            return Ok(between);
        }
        if !first.well() {
            return Ok(Outcome::Failed(format!("the paused worker: {first}")));
        }
        Ok(match self.finish(slot, "when the first is back")? {
            Outcome::Sound if waited => Outcome::Waited,
            outcome => outcome,
        })
    }

    /// One more worker, which finds something to do or not, and the files.
    fn finish(&self, slot: &Slot, when: &str) -> Result<Outcome> {
        let last = self.program.run(slot, WORKER, &[])?;
        if !last.well() {
            return Ok(Outcome::Failed(format!("a worker {when}: {last}")));
        }
        self.compare(slot, when)
    }

    fn compare(&self, slot: &Slot, when: &str) -> Result<Outcome> {
        let found = Tree::read(&slot.out())?.against(self.reference);
        if found.other.is_empty() && found.stray.is_empty() {
            return Ok(Outcome::Sound);
        }
        let (other, stray) = (found.other.join(" "), found.stray.join(" "));
        Ok(Outcome::Failed(format!("{when}: other: {other}; stray: {stray}")))
    }
}

fn ended(child: Child) -> Result<Ended> {
    Ok(Ended::of(child.wait_with_output().context("cannot wait for a worker")?))
}

/// Waits until a process is stopped, or has ended.
fn is_paused(child: &mut Child) -> Result<bool> {
    let (began, stat) = (Instant::now(), format!("/proc/{}/stat", child.id()));
    while began.elapsed() < Duration::from_secs(60) {
        let state = fs::read_to_string(&stat).context("cannot read the state of a worker")?;
        match state.rsplit(") ").next().and_then(|rest| rest.chars().next()) {
            Some('T') => return Ok(true),
            Some('Z') => return Ok(false),
            _ => thread::sleep(Duration::from_millis(2)),
        }
    }
    fail("a worker neither ends nor stops")
}
