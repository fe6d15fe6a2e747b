//! Reasons for which blocks of commands are not run.

use std::{collections::BTreeMap, fmt};

use super::page::Page;

/// The reasons of all pages, each with the number of blocks.
#[derive(Default)]
pub(super) struct Reasons(BTreeMap<String, usize>);

impl Reasons {
    /// Counts the reasons of a page, and returns messages about blocks without one.
    pub(super) fn count(&mut self, name: &str, page: &Page) -> Vec<String> {
        let mut without = Vec::new();
        for block in page.left_out() {
            if let Some(reason) = &block.reason {
                *self.0.entry(reason.clone()).or_default() += 1;
            } else {
                let line = block.line;
                let cure = "make it a `console` block, or write ```sh no-run: REASON";
                without.push(format!("{name}:{line}: commands that are not run; {cure}"));
            }
        }
        without
    }
}

impl fmt::Display for Reasons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n: usize = self.0.values().sum();
        writeln!(f, "guide: {n} blocks of commands were not run")?;
        self.0.iter().try_for_each(|(reason, n)| writeln!(f, "guide: {n:5} {reason}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_counted_and_missing_ones_named() {
        let mut reasons = Reasons::default();
        let page =
            Page::parse("```sh no-run: b\n```\n```sh no-run: a\n```\n```sh no-run: b\n```\n");
        assert!(reasons.count("page", &page).is_empty());
        let without = reasons.count("page", &Page::parse("text\n```sh\n```\n"));
        assert!(without[0].starts_with("page:2: "), "{without:?}");
        let shown = "guide: 3 blocks of commands were not run\nguide:     1 a\nguide:     2 b\n";
        assert_eq!(reasons.to_string(), shown);
    }
}
