//! Histograms of numbers in at most 24 bins, independent of the filters.
use serde_json::{Map, Value as Json, json};

/// Largest number of bins.
const MOST: usize = 24;

/// Ratio of numbers above which a logarithmic scale is used.
const WIDE: f64 = 30.0;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span {
    least: f64,
    most: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Numbers {
    span: Span,
    /// Start of each bin, and the end of the last one.
    edges: Vec<f64>,
    is_whole: bool,
    counts: Vec<u64>,
}

impl Numbers {
    /// Returns the span of all chunks; `None` if nothing is known.
    pub(super) fn spanning(spans: impl Iterator<Item = Option<[f64; 2]>>) -> Option<Span> {
        let join = |one: [f64; 2], other: [f64; 2]| [one[0].min(other[0]), one[1].max(other[1])];
        spans.flatten().reduce(join).map(|[least, most]| Span { least, most })
    }

    pub(super) fn add(&mut self, value: f64) {
        let bin = self.edges.partition_point(|edge| *edge <= value);
        let bin = bin.saturating_sub(1).min(self.counts.len().saturating_sub(1));
        if let Some(count) = self.counts.get_mut(bin) {
            *count += 1;
        }
    }

    /// Returns the facet as JSON, without its name.
    pub(super) fn document(&self) -> Map<String, Json> {
        let ends = self.edges.iter().zip(self.edges.iter().skip(1)).zip(&self.counts);
        let last = self.counts.len().saturating_sub(1);
        let bins = ends.enumerate().map(|(at, ((from, to), n))| {
            // Both ends are included: for whole numbers, the last one below the edge.
            let to = match self.is_whole {
                true => to - 1.0,
                false if at == last => self.span.most,
                false => *to,
            };
            json!({"from": number(*from), "to": number(to), "n": n})
        });
        let bins: Vec<Json> = bins.collect();
        let mut document = Map::new();
        document.insert("min".into(), number(self.span.least));
        document.insert("max".into(), number(self.span.most));
        document.insert("bins".into(), json!(bins));
        document
    }
}

/// Formats whole numbers without a decimal point.
fn number(value: f64) -> Json {
    const EXACT: f64 = 9e15;
    if value.fract() == 0.0 && value.abs() < EXACT { json!(value as i64) } else { json!(value) }
}

impl Span {
    /// Divides the span into bins. If there are few whole numbers, each has a bin.
    pub(super) fn bins(self, is_whole: bool) -> Numbers {
        let Self { least, most } = self;
        // The last edge is above the largest number.
        let end = if is_whole { most + 1.0 } else { most };
        let n_bins = if is_whole && end - least < MOST as f64 { end - least } else { MOST as f64 };
        let is_wide = least > 0.0 && most / least > WIDE;
        let edge = |at: f64| match is_wide {
            true => least * (end / least).powf(at / n_bins),
            false => least + (end - least) * at / n_bins,
        };
        let mut edges: Vec<f64> = (0..=n_bins as usize).map(|at| edge(at as f64)).collect();
        if is_whole {
            edges.iter_mut().for_each(|edge| *edge = edge.ceil());
        }
        if let Some(first) = edges.first_mut() {
            *first = least;
        }
        if let Some(last) = edges.last_mut() {
            *last = end;
        }
        // Several edges of small whole numbers may coincide.
        edges.dedup();
        if edges.len() < 2 {
            edges = vec![least, end];
        }
        let counts = vec![0; edges.len() - 1];
        Numbers { span: self, edges, is_whole, counts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bins(numbers: &[f64], is_whole: bool) -> Vec<(f64, f64, u64)> {
        let span = Numbers::spanning(numbers.iter().map(|value| Some([*value, *value]))).unwrap();
        let mut counted = span.bins(is_whole);
        numbers.iter().for_each(|value| counted.add(*value));
        let document = counted.document();
        let bins = document["bins"].as_array().unwrap();
        let of = |bin: &Json, name: &str| bin[name].as_f64().unwrap();
        bins.iter()
            .map(|bin| (of(bin, "from"), of(bin, "to"), bin["n"].as_u64().unwrap()))
            .collect()
    }

    #[test]
    fn few_whole_numbers_have_a_bin_each() {
        assert_eq!(bins(&[3.0, 5.0, 5.0], true), [(3.0, 3.0, 1), (4.0, 4.0, 0), (5.0, 5.0, 2)]);
        assert_eq!(bins(&[7.0], true), [(7.0, 7.0, 1)]);
    }

    #[test]
    fn every_number_is_in_one_bin_and_the_bins_meet() {
        let even: Vec<f64> = (100..1000).map(f64::from).collect();
        let wide: Vec<f64> = (1..5000).map(|it| f64::from(it) * 7.0).collect();
        for numbers in [even, wide] {
            let bins = bins(&numbers, true);
            assert!(bins.len() > 12 && bins.len() <= MOST, "{bins:?}");
            for pair in bins.windows(2) {
                assert_eq!(pair[0].1 + 1.0, pair[1].0, "{bins:?}");
            }
            for (from, to, n) in &bins {
                let here = numbers.iter().filter(|it| (*from..=*to).contains(*it)).count();
                assert_eq!(*n, here as u64, "{bins:?}");
            }
            assert_eq!(bins.last().unwrap().1, *numbers.last().unwrap());
        }
    }

    #[test]
    fn numbers_that_are_not_whole_are_spread_evenly() {
        let halves: Vec<f64> = (0..100).map(|it| f64::from(it) * 0.5 - 10.0).collect();
        let bins = bins(&halves, false);
        assert_eq!(bins.len(), MOST);
        assert_eq!((bins[0].0, bins[MOST - 1].1), (-10.0, 39.5));
        assert_eq!(bins.iter().map(|bin| bin.2).sum::<u64>(), 100);
        assert_eq!(bins_of_one(), 1);
    }

    fn bins_of_one() -> u64 {
        bins(&[0.25], false).iter().map(|bin| bin.2).sum()
    }
}
