//! The test of the gate: it must catch a planted slowdown every time, and nothing without one.

use super::{
    baseline::Baseline,
    count::{Counter, Planted, Surroundings},
    verdict::{Comparison, Verdict},
};
use crate::failure::{Result, fail};

/// The least and greatest ratio of a path, over runs.
type Range = (f64, f64);

/// Runs with and without a slowdown in turns. Each pair uses a folder with a longer name and a
/// longer environment than the one before.
pub(super) fn run(
    counter: &Counter,
    baseline: &Baseline,
    paths: &[String],
    n_runs: usize,
    percent: f64,
) -> Result<()> {
    let planted = counter.plant(baseline, percent)?;
    let (mut n_caught, mut n_passed) = (0, 0);
    let mut ranges = [vec![None; paths.len()], vec![None; paths.len()]];
    for number in 0..n_runs {
        let around = Surroundings { longer_folder: number, longer_environment: 61 * number };
        let count = |planted: &Planted| {
            Ok(Comparison::new(baseline, &counter.count(paths, planted, &around)?))
        };
        let (slowed, plain) = (count(&planted)?, count(&Planted::default())?);
        let all = |found: &Comparison, verdict| found.names(verdict).len() == paths.len();
        let (caught, passed) = (all(&slowed, Verdict::Slower), all(&plain, Verdict::Same));
        n_caught += usize::from(caught);
        n_passed += usize::from(passed);
        let told = |done, what| if done { what } else { "missed" };
        let (caught, passed) = (told(caught, "caught"), told(passed, "passed"));
        println!("run {} of {n_runs}: {caught}, {passed}", number + 1);
        for (ranges, found) in ranges.iter_mut().zip([&plain, &slowed]) {
            widen(ranges, found);
        }
    }
    println!("| path | ratios without | ratios with {percent} % planted |\n|---|---|---|");
    let [plain, slowed] = &ranges;
    for ((path, plain), slowed) in paths.iter().zip(plain).zip(slowed) {
        println!("| {path} | {} | {} |", shown(*plain), shown(*slowed));
    }
    println!("{n_caught} of {n_runs} caught: all {} paths slower", paths.len());
    println!("{n_passed} of {n_runs} passed: no path slower or faster");
    if n_caught < n_runs || n_passed < n_runs {
        return fail("the gate does not tell a slowdown from none");
    }
    Ok(())
}

fn widen(ranges: &mut [Option<Range>], found: &Comparison) {
    for (range, row) in ranges.iter_mut().zip(&found.0) {
        if let Some(ratio) = row.ratio() {
            let (least, largest) = range.unwrap_or((ratio, ratio));
            *range = Some((least.min(ratio), largest.max(ratio)));
        }
    }
}

fn shown(range: Option<Range>) -> String {
    range.map_or_else(|| "none".into(), |(least, largest)| format!("{least:.5}-{largest:.5}"))
}
