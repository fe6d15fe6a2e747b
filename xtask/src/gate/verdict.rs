//! Comparison of counts with the baseline.

use std::fmt::Write;

use super::baseline::{Baseline, Counts};
use crate::failure::{Result, fail};

/// Share above which a change is not random. Counts of one program vary by less than a thousandth.
const LIMIT: f64 = 0.02;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Same,
    /// More instructions than the limit allows.
    Slower,
    /// Fewer instructions than the limit: worth recording, so that they are not lost again.
    Faster,
    /// The baseline does not have it.
    New,
}

/// A path: its name, the baseline's count, the new count.
pub(super) struct Row {
    pub(super) path: String,
    baseline: Option<u64>,
    now: u64,
}

impl Row {
    pub(super) fn ratio(&self) -> Option<f64> {
        self.baseline.map(|baseline| self.now as f64 / baseline as f64)
    }

    pub(super) fn verdict(&self) -> Verdict {
        match self.ratio() {
            None => Verdict::New,
            Some(ratio) if ratio > 1.0 + LIMIT => Verdict::Slower,
            Some(ratio) if ratio < 1.0 - LIMIT => Verdict::Faster,
            Some(_) => Verdict::Same,
        }
    }
}

/// All counted paths.
pub(super) struct Comparison(pub(super) Vec<Row>);

impl Comparison {
    pub(super) fn new(baseline: &Baseline, counts: &Counts) -> Self {
        let row = |(path, now): &(String, u64)| Row {
            path: path.clone(),
            baseline: baseline.of(path),
            now: *now,
        };
        Self(counts.iter().map(row).collect())
    }

    pub(super) fn names(&self, verdict: Verdict) -> Vec<&str> {
        let rows = self.0.iter().filter(|row| row.verdict() == verdict);
        rows.map(|row| row.path.as_str()).collect()
    }

    /// Returns a Markdown table.
    pub(super) fn table(&self) -> String {
        let mut table = "| path | baseline | now | ratio | |\n|---|---|---|---|---|\n".to_owned();
        for row in &self.0 {
            let baseline = row.baseline.map_or_else(|| "none".into(), |count| count.to_string());
            let ratio = row.ratio().map_or_else(String::new, |ratio| format!("{ratio:.4}"));
            let said = match row.verdict() {
                Verdict::Same => "",
                Verdict::Slower => "slower",
                Verdict::Faster => "faster",
                Verdict::New => "new",
            };
            let Row { path, now, .. } = row;
            let _infallible = writeln!(table, "| {path} | {baseline} | {now} | {ratio} | {said} |");
        }
        table
    }

    /// Fails on slower paths, and on those without a baseline; mentions faster ones.
    pub(super) fn outcome(&self) -> Result<()> {
        let faster = self.names(Verdict::Faster);
        if !faster.is_empty() {
            let faster = faster.join(", ");
            println!(
                "gate: faster by more than 2 %: {faster}; `cargo xtask gate --record` keeps that"
            );
        }
        let (slower, new) = (self.names(Verdict::Slower), self.names(Verdict::New));
        if !slower.is_empty() {
            let slower = slower.join(", ");
            return fail(format!(
                "more than 2 % more instructions than recorded: {slower}; where that is the price of \
                 something, record it with its reason (`cargo xtask gate --record`)"
            ));
        }
        if !new.is_empty() {
            let new = new.join(", ");
            return fail(format!("not in the baseline: {new}; run `cargo xtask gate --record`"));
        }
        println!("gate: {} paths within 2 %", self.0.len() - faster.len());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::tools::Tools;

    fn compared(counts: &[(&str, u64)]) -> Comparison {
        let owned = |(path, count): &(&str, u64)| ((*path).to_owned(), *count);
        let instructions = vec![("a".to_owned(), 1000), ("b".to_owned(), 1_000_000)];
        let baseline = Baseline { tools: Tools::default(), instructions };
        Comparison::new(&baseline, &counts.iter().map(owned).collect())
    }

    #[test]
    fn verdicts_change_at_two_per_cent() {
        let verdict = |now| compared(&[("a", now)]).0[0].verdict();
        assert_eq!([980, 1000, 1020].map(verdict), [Verdict::Same; 3]);
        assert_eq!([1021, 1030, 2000].map(verdict), [Verdict::Slower; 3]);
        assert_eq!([979, 1].map(verdict), [Verdict::Faster; 2]);
        assert_eq!(compared(&[("c", 5)]).0[0].verdict(), Verdict::New);
    }

    #[test]
    fn slower_and_new_paths_fail_and_faster_ones_do_not() {
        let said =
            |counts: &[(&str, u64)]| compared(counts).outcome().err().map(|it| it.to_string());
        assert_eq!(said(&[("a", 1000), ("b", 1_010_000)]), None);
        assert_eq!(said(&[("a", 900)]), None);
        let slower = said(&[("a", 1030), ("b", 900_000)]).unwrap();
        assert!(slower.contains("more instructions than recorded: a;"), "{slower}");
        assert!(said(&[("c", 1)]).unwrap().contains("not in the baseline: c;"));
    }

    #[test]
    fn the_table_has_a_line_for_each_path() {
        let table = compared(&[("a", 1030), ("b", 1_000_000), ("c", 7)]).table();
        let lines: Vec<_> = table.lines().skip(2).collect();
        let expected = [
            "| a | 1000 | 1030 | 1.0300 | slower |",
            "| b | 1000000 | 1000000 | 1.0000 |  |",
            "| c | none | 7 |  | new |",
        ];
        assert_eq!(lines, expected);
    }
}
