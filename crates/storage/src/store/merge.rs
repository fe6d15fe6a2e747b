//! Merges nearby ranges into requests.
//!
//! A request costs as much as some hundred kilobytes, so ranges with a small gap between them are
//! requested together, and the bytes of the gap are discarded. The smallest gaps are filled first,
//! until a twentieth of the bytes would be discarded. In sequential reading this fills every gap
//! but those between pages; in a global shuffle it merges samples that happen to be neighbours.
use std::ops::Range;

/// A gap of at most this many bytes is always filled: the headers of a request and its answer are
/// not much smaller, and those between the members of a tar have this size.
const MIN_GAP: u64 = 2 << 10;
/// Maximum size of a filled gap.
const MAX_GAP: u64 = 128 << 10;
/// Maximum length of a merged range: several of this length in parallel are faster than one.
const MAX_LEN: u64 = 4 << 20;
/// Gaps over [`MIN_GAP`] may add one byte per this many requested bytes.
const GAP_SHARE: u64 = 20;

/// A range fetched by one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Merged {
    pub(crate) range: Range<u64>,
    /// Bytes of it in gaps.
    pub(crate) gaps: u64,
}

/// Merges ranges, in any order, into ranges to request, in ascending order. Each input range is
/// inside one of the results.
pub(crate) fn merge(mut ranges: Vec<Range<u64>>) -> Vec<Merged> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let ranges = united(ranges);
    let fills = filled(&ranges);
    let mut merged: Vec<Merged> = Vec::new();
    for (range, fills) in ranges.into_iter().zip(fills) {
        match merged.last_mut() {
            Some(last) if fills && range.end - last.range.start <= MAX_LEN => {
                last.gaps += range.start - last.range.end;
                last.range.end = range.end;
            }
            _ => merged.push(Merged { range, gaps: 0 }),
        }
    }
    merged
}

/// Sorts ranges and joins overlapping ones.
fn united(ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    let mut united: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match united.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => united.push(range),
        }
    }
    united
}

/// For each range, whether the gap before it is filled.
fn filled(ranges: &[Range<u64>]) -> Vec<bool> {
    let pairs = ranges.iter().zip(ranges.iter().skip(1));
    let mut gaps: Vec<(u64, usize)> =
        pairs.zip(1..).map(|((a, b), at)| (b.start - a.end, at)).collect();
    gaps.retain(|(gap, _)| *gap <= MAX_GAP);
    gaps.sort_unstable();
    let mut left = ranges.iter().map(|range| range.end - range.start).sum::<u64>() / GAP_SHARE;
    let mut filled = vec![false; ranges.len()];
    for (gap, at) in gaps {
        if gap > MIN_GAP && gap > left {
            break;
        }
        left = left.saturating_sub(gap);
        if let Some(filled) = filled.get_mut(at) {
            *filled = true;
        }
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(ranges: &[Range<u64>]) -> Vec<(Range<u64>, u64)> {
        merge(ranges.to_vec()).into_iter().map(|it| (it.range, it.gaps)).collect()
    }

    #[test]
    fn neighbours_are_one_request() {
        assert_eq!(merged(&[]), []);
        assert_eq!(merged(&[5..5, 7..7]), []);
        assert_eq!(merged(&[20..30, 10..20, 12..14]), [(10..30, 0)]);
        assert_eq!(merged(&[10..20, 1020..1030]), [(10..1030, 1000)]);
        assert_eq!(merged(&[0..10, 9000..9010]), [(0..10, 0), (9000..9010, 0)]);
        // A gap of 9000 bytes is less than a twentieth of these.
        assert_eq!(merged(&[0..200_000, 209_000..300_000]), [(0..300_000, 9000)]);
    }

    #[test]
    fn samples_in_sequence_are_few_requests() {
        // A hundred kilobytes each, with tar headers between them, 16 MiB in all.
        let ranges: Vec<_> = (0..160).map(|at| at * 106_000..at * 106_000 + 104_900).collect();
        let merged = merge(ranges);
        assert!(merged.len() <= 5, "{}", merged.len());
        assert!(merged.iter().all(|it| it.range.end - it.range.start <= MAX_LEN));
        assert!(merged.iter().map(|it| it.gaps).sum::<u64>() < 160 * 1100);
    }

    #[test]
    fn of_any_ranges_each_lies_in_one_request_and_gaps_stay_small() {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for round in 0..200 {
            let spread = 1 << (20 + round % 10);
            let ranges: Vec<_> = (0..300)
                .map(|_| {
                    let start = random(spread);
                    start..start + 1 + random(200_000)
                })
                .collect();
            let asked: u64 = united({
                let mut sorted = ranges.clone();
                sorted.sort_unstable_by_key(|range| (range.start, range.end));
                sorted
            })
            .iter()
            .map(|range| range.end - range.start)
            .sum();
            let merged = merge(ranges.clone());
            for range in &ranges {
                let holds =
                    |it: &&Merged| it.range.start <= range.start && range.end <= it.range.end;
                assert_eq!(merged.iter().filter(holds).count(), 1);
            }
            assert!(merged.is_sorted_by(|a, b| a.range.end <= b.range.start));
            let fetched: u64 = merged.iter().map(|it| it.range.end - it.range.start).sum();
            let gaps: u64 = merged.iter().map(|it| it.gaps).sum();
            assert_eq!(fetched, asked + gaps);
            assert!(gaps <= asked / GAP_SHARE + merged.len() as u64 * MIN_GAP);
        }
    }
}
