//! Cases run in parallel, each worker in its folder.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use super::{
    Campaign,
    case::{self, Case, Court, Outcome, Reference, Selection},
    configurations::{Configuration, PYTHON},
    faults, kills, points,
    program::{Program, Slot},
    tree::Tree,
};
use crate::failure::{Context, Failure, Result, fail};

/// Runs all cases of a configuration, in order.
pub(super) fn walk(
    program: &Program,
    configuration: &'static Configuration,
    campaign: Campaign,
    selection: &Selection<'_>,
    jobs: usize,
) -> Result<Vec<Outcome>> {
    let reference = reference(program, configuration)?;
    let cases = match campaign {
        Campaign::Faults => faults::cases(&reference.points, selection),
        Campaign::Kill => kills::cases(&reference.points, selection),
    };
    let run = |slot: &Slot, case: &Case| {
        let court = Court { program, slot, reference: &reference };
        court.try_case(case, |notes| match campaign {
            Campaign::Faults => faults::run(&court, case, notes),
            Campaign::Kill => kills::run(&court, case, notes),
        })
    };

    let next = AtomicUsize::new(0);
    let worker = |number: usize| -> Result<Vec<(usize, Outcome)>> {
        let slot = program.slot(&format!("slot-{number}"));
        let mut outcomes = Vec::new();
        loop {
            let position = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(position) else { return Ok(outcomes) };
            outcomes.push((position, run(&slot, case)?));
        }
    };
    let mut outcomes = thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs)
            .map(|number| {
                scope.spawn({
                    let worker = &worker;
                    move || worker(number)
                })
            })
            .collect();
        let mut all = Vec::new();
        for worker in workers {
            all.extend(worker.join().map_err(|_| died())??);
        }
        Ok::<_, Failure>(all)
    })?;
    outcomes.sort_by_key(|(position, _)| *position);
    Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
}

fn died() -> Failure {
    Failure::new("a worker of the campaign died")
}

/// Runs undisturbed and records the calls, and then a second time: comparisons need an output that
/// is always the same.
fn reference(program: &Program, configuration: &'static Configuration) -> Result<Reference> {
    let slot = program.slot("reference");
    let complete = |variables: &[(&str, String)]| -> Result<Tree> {
        case::prepare(program, &slot, configuration)?;
        program.must(&slot, configuration.attacked, variables)?;
        for line in configuration.after {
            program.must(&slot, line, &[])?;
        }
        Tree::read(&slot.out())
    };
    let first = complete(&[])?;
    let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
    let output =
        complete(&[("FAULTS_BELOW", text(program.work())), ("FAULTS_LOG", text(&slot.log()))])?;
    if output != first || output.is_empty() {
        return fail(format!("{}: two undisturbed runs differ", configuration.name));
    }
    let doing = format!("cannot read {}", slot.log().display());
    let log = std::fs::read_to_string(slot.log()).context(doing)?;
    let mut points = points::of_log(&log, slot.folder())?;
    let source = text(&program.source());
    // A program of Python reads the source itself: what it says of its own failing calls is not ours.
    let reads_source = !configuration.attacked.starts_with(PYTHON);
    points.retain(|point| {
        point.path.starts_with("out") || reads_source && point.path.starts_with(&source)
    });
    Ok(Reference { configuration, output, source: Tree::read(&program.source())?, points })
}
