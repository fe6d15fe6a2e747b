//! Comparison of shown and actual output, without the parts that differ between runs.

use super::{page::Page, script::Seen};

/// As a line: any number of lines. Within a line: anything that follows.
const ANYTHING: &str = "...";

/// Returns the numbers of the commands with different output.
pub(super) fn page(page: &Page, seen: &[Seen]) -> Vec<usize> {
    let steps = page.steps().zip(seen).enumerate();
    let differs = steps.filter(|(_, (step, seen))| {
        page.expected(step).is_some_and(|expected| !matches(expected, &seen.output))
    });
    differs.map(|(number, _)| number).collect()
}

/// Formats the command with both outputs.
pub(super) fn explain(name: &str, page: &Page, seen: &[Seen], number: usize) -> String {
    let (Some(step), Some(seen)) = (page.steps().nth(number), seen.get(number)) else {
        return format!("{name}: command {number} was not run");
    };
    let expected = page.expected(step).unwrap_or_default().join("\n");
    let line = step.command.start + 1;
    let command = page.command(step);
    let seen = seen.output.join("\n");
    format!("{name}:{line}: $ {command}\n--- shown\n{expected}\n--- seen\n{seen}")
}

fn matches(expected: &[String], seen: &[String]) -> bool {
    // Only runs of a second and more have a rate, which depends on the machine.
    let seen = match seen.split_first() {
        Some((line, rest)) if line.starts_with("  rate ") => rest,
        _ => seen,
    };
    match expected.split_first() {
        None => seen.is_empty(),
        Some((line, rest)) if line == ANYTHING => {
            (0..=seen.len()).any(|skipped| matches(rest, &seen[skipped..]))
        }
        Some((line, rest)) => seen
            .split_first()
            .is_some_and(|(first, others)| is_like(line, first) && matches(rest, others)),
    }
}

fn is_like(expected: &str, seen: &str) -> bool {
    match expected.split_once(ANYTHING) {
        Some((start, _)) => seen.starts_with(start),
        None => stable(expected) == stable(seen),
    }
}

/// Returns the words of a line: times and rates become `#`, and what bounds a rate is left out.
fn stable(line: &str) -> Vec<&str> {
    let line = line.split_once("bound by ").map_or(line, |(before, _)| before);
    let mut words: Vec<&str> = line.split_whitespace().collect();
    for at in 1..words.len() {
        if is_number(words[at - 1]) && is_unit(words[at]) {
            words[at - 1] = "#";
            words[at] = "#";
        }
    }
    words
}

fn is_number(word: &str) -> bool {
    let digits = |letter: char| letter.is_ascii_digit() || letter == '.' || letter == ',';
    word.starts_with(|letter: char| letter.is_ascii_digit()) && word.chars().all(digits)
}

/// Returns true if the word is a unit of times or rates: `s`, `ms`, `MiB/s`, `samples/s`.
fn is_unit(word: &str) -> bool {
    let word = word.trim_end_matches([':', ',', ';', '.']);
    word == "s" || word == "ms" || word.ends_with("/s")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(expected: &str, seen: &str) -> bool {
        let lines = |text: &str| text.lines().map(String::from).collect::<Vec<_>>();
        matches(&lines(expected), &lines(seen))
    }

    #[test]
    fn times_and_rates_may_differ_and_nothing_else() {
        assert!(same("packed 12 in 0.01 s", "packed 12 in 3.20 s"));
        assert!(!same("packed 12 in 0.01 s", "packed 11 in 0.01 s"));
        let rate = "1992 samples/s, 24.48 MiB/s in, bound by decoding";
        assert!(same(rate, "9 samples/s, 930.10 KiB/s in, bound by syncing to disk"));
        assert!(!same(rate, "9 samples/s, 930.10 KiB/s out, bound by decoding"));
        assert!(same("a\nb", "a\n  rate      9 samples/s, 930.10 KiB/s in, bound by decoding\nb"));
        assert!(!same("a: 59.14 KiB", "a: 59.15 KiB"));
    }

    #[test]
    fn dots_stand_for_any_lines() {
        assert!(same("a\n...\nd", "a\nb\nc\nd"));
        assert!(same("...", ""));
        assert!(same("planned 12 in p (...)", "planned 12 in p (701 B)"));
        assert!(!same("planned 12 in p (...)", "planned 13 in p (701 B)"));
        assert!(!same("a\n...\nd", "a\nb\nc"));
        assert!(!same("a", "a\nb"));
        assert!(!same("a\nb", "a"));
    }
}
