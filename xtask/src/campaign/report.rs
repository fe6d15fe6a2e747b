//! The report of a campaign: a line for each failing case, and a table for docs/reliability.md.

use super::{
    Campaign,
    case::{Event, Outcome},
    configurations::Configuration,
};
use crate::failure::{Result, fail};

type Column = (&'static str, Event);

const KILLS: &[Column] = &[
    ("kills", Event::Killed),
    ("not reached", Event::NotReached),
    ("crashed", Event::Crashed),
    ("neither version", Event::Between),
    ("refused", Event::Refused),
    ("complete, but refused", Event::RefusedComplete),
    ("stray files", Event::Stray),
    ("other bytes", Event::OtherBytes),
];

const FAULTS: &[Column] = &[
    ("faults", Event::Failed),
    ("not reached", Event::NotReached),
    ("exit 0, same bytes", Event::Sound),
    ("exit 0, file left with a warning", Event::Warned),
    ("error that names the file", Event::Told),
    ("another file of the output", Event::ToldOther),
    ("none", Event::Untold),
    ("crashed", Event::Crashed),
    ("source changed", Event::SourceChanged),
    ("refused afterwards", Event::Refused),
    ("complete, but refused", Event::RefusedComplete),
    ("stray files", Event::Stray),
    ("other bytes", Event::OtherBytes),
];

/// Counts, printed as they arrive and summed up at the end.
pub(super) struct Report {
    columns: &'static [Column],
    rows: Vec<(&'static str, Vec<usize>)>,
    n_cases: usize,
    n_failing: usize,
}

impl Report {
    pub(super) fn new(campaign: Campaign) -> Self {
        let columns = if campaign == Campaign::Kill { KILLS } else { FAULTS };
        Self { columns, rows: Vec::new(), n_cases: 0, n_failing: 0 }
    }

    /// Adds a configuration's outcomes, and prints its failures.
    pub(super) fn add(&mut self, configuration: &Configuration, outcomes: &[Outcome]) {
        let count = |wanted: Event| {
            outcomes.iter().flat_map(|it| &it.events).filter(|event| **event == wanted).count()
        };
        let mut row = vec![outcomes.len()];
        row.extend(self.columns.iter().map(|(_, event)| count(*event)));
        let failing = outcomes.iter().filter(|it| it.events.iter().any(|e| e.is_failure()));
        let before = self.n_failing;
        for outcome in failing {
            println!("FAIL {}", outcome.line);
            self.n_failing += 1;
        }
        let n_failing = self.n_failing - before;
        println!("{}: {} cases, {n_failing} failing", configuration.name, outcomes.len());
        self.n_cases += outcomes.len();
        self.rows.push((configuration.name, row));
    }

    /// Prints the table. Returns an error if cases failed.
    pub(super) fn finish(mut self) -> Result<()> {
        let width = self.columns.len() + 1;
        let sums = (0..width)
            .map(|column| self.rows.iter().filter_map(|(_, row)| row.get(column)).sum::<usize>());
        let sums = sums.collect();
        self.rows.push(("**all**", sums));
        let titles: Vec<_> = self.columns.iter().map(|(title, _)| *title).collect();
        println!("\n| configuration | cases | {} |", titles.join(" | "));
        println!("|---|{}", "---:|".repeat(width));
        for (name, row) in &self.rows {
            let cells: Vec<_> = row.iter().map(ToString::to_string).collect();
            println!("| {name} | {} |", cells.join(" | "));
        }
        println!();
        if self.n_failing > 0 {
            return fail(format!("{} of {} cases fail", self.n_failing, self.n_cases));
        }
        if self.n_cases == 0 {
            return fail("no case is of these configurations and contains this text");
        }
        println!("All {} cases hold.", self.n_cases);
        Ok(())
    }
}
