//! Indices and splits of chosen samples, against plain lists.
use super::{Indices, splits};
use proptest::prelude::*;

/// Lists as they are chosen: of runs, repeats and single indices.
fn lists() -> impl Strategy<Value = Vec<u64>> {
    let run = (0..40_u64, -3..4_i64, 1..30_u64).prop_map(|(first, step, len)| {
        let indices = (0..len).map(|k| first.cast_signed() + step * k.cast_signed());
        indices.filter_map(|index| u64::try_from(index).ok()).collect::<Vec<_>>()
    });
    let any = proptest::collection::vec(0..200_u64, 0..40);
    proptest::collection::vec(prop_oneof![run, any], 0..6).prop_map(|parts| parts.concat())
}

fn listed(indices: &Indices) -> Vec<u64> {
    indices.iter().collect()
}

proptest! {
    #[test]
    fn indices_are_their_list(list in lists()) {
        let indices = Indices::from(list.clone());
        prop_assert_eq!(listed(&indices), list.clone());
        prop_assert_eq!(indices.len(), list.len() as u64);
        prop_assert_eq!(indices.max(), list.iter().copied().max());
        for at in 0..=list.len() {
            prop_assert_eq!(indices.at(at as u64), list.get(at).copied());
        }
        prop_assert!(indices.memory() <= 4 * indices.len() + 8 * 24, "{}", indices.memory());
        prop_assert_eq!(&Indices::from_bytes(&indices.to_bytes()).unwrap(), &indices);
        prop_assert!(indices.check(201).is_ok());
        if let Some(max) = indices.max() {
            prop_assert!(indices.check(max).is_err());
        }
    }

    #[test]
    fn a_choice_of_a_choice_is_a_choice(outer in lists(), inner in lists()) {
        let (outer, inner) = (Indices::from(outer), Indices::from(inner));
        let wanted: Option<Vec<u64>> = inner.iter().map(|position| outer.at(position)).collect();
        prop_assert_eq!(inner.within(&outer).ok().map(|found| listed(&found)), wanted);
    }

    #[test]
    fn splits_are_those_of_the_samples(list in lists(), borders in proptest::collection::vec(0..200_u64, 0..5)) {
        let mut ends: Vec<u64> = borders.into_iter().chain([250]).collect();
        ends.sort_unstable();
        ends.dedup();
        let starts = [0].into_iter().chain(ends.iter().copied());
        let names = ["a", "b", "a", "c", "d", "e"].map(str::to_owned);
        let of: Vec<_> = names.into_iter().zip(starts.zip(ends.iter().copied()))
            .filter(|(_, (start, end))| start < end)
            .map(|(name, (start, end))| (name, start..end)).collect();
        let name = |index: &u64| of.iter().find(|(_, range)| range.contains(index)).unwrap().0.clone();
        let wanted: Vec<String> = list.iter().map(name).collect();
        let found = splits::within(&of, &Indices::from(list));
        let mixes = wanted.chunk_by(|a, b| a == b).count() > of.len();
        prop_assert_eq!(found.is_empty(), mixes || wanted.is_empty());
        let found = found.iter().flat_map(|(name, range)| range.clone().map(move |_| name.clone()));
        if !mixes {
            prop_assert_eq!(found.collect::<Vec<_>>(), wanted);
        }
    }
}

#[test]
fn memory_is_none_for_ranges_and_four_bytes_for_lists() {
    let range = Indices::from(5..10_u64.pow(12));
    assert!(range.memory() <= 24 && range.at(7) == Some(12));
    let even = Indices::stepped(10_u64.pow(12), -2, 1 << 38).unwrap();
    assert!(even.memory() <= 24 && even.at((1 << 38) - 1).is_some());
    // Within a range, and of a range.
    let within = Indices::from(3..1 << 37).within(&even).unwrap();
    assert_eq!((within.memory(), within.at(1)), (24, Some(10_u64.pow(12) - 8)));
    let scattered: Indices = (0..100_000_u64).map(|k| k * k % 99_991).collect();
    assert!(scattered.memory() <= 400_000, "{}", scattered.memory());
    let mask: Indices = Indices::of_mask((0..100_000).map(|k| k % 1000 > 10));
    assert!(mask.memory() <= 24 * 101, "{}", mask.memory());
    let beyond = Indices::from_iter([1, 1 << 40, 9, 7, 3, 1, 8, 2, 0, 4, 6, 5, 9, 1, 3, 3, 7, 5]);
    assert_eq!(beyond.memory(), 8 * beyond.len());
    assert_eq!(beyond.at(1), Some(1 << 40));
}

#[test]
fn indices_beyond_any_sample_are_refused() {
    assert_eq!(Indices::stepped(3, -2, 3), None);
    assert_eq!(Indices::stepped(u64::MAX, 1, 2), None);
    assert_eq!(listed(&Indices::stepped(4, -2, 3).unwrap()), [4, 2, 0]);
    for bytes in [&[][..], &[3], &[0, 1], &[1, 2, 3]] {
        assert!(Indices::from_bytes(bytes).is_err(), "{bytes:?}");
    }
}
