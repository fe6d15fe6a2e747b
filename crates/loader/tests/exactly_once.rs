//! Every sample exactly once, over all ranks, despite stops, changing numbers of ranks, threads and
//! rows, and failing samples.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use bytes::Bytes;
use common::{
    legs::{Leg, leg},
    list,
};
use fdconvert_core::{
    Codec, Encoded, Error, FieldSpec, Image, Kind, Look, Reader, Result, Sample, Schema, Source,
    SourceFacts, Value,
};
use fdconvert_loader::{
    Datasets, Failures, Last, Loader, OnError, Options, Sampling, State, Transform, World,
};
use proptest::prelude::*;
use std::{collections::BTreeMap, sync::Arc};

/// Single pixels, with a kind of failure every few samples.
struct Pixels {
    facts: SourceFacts,
    fails_every: u64,
}

impl Pixels {
    fn fails(&self, sample: u64) -> bool {
        self.fails_every > 0 && sample % self.fails_every == 3
    }
}

impl Source for Pixels {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        self.get(index).map(Into::into)
    }

    fn key(&self, index: u64) -> String {
        index.to_string()
    }

    fn fingerprint(&self, _look: Look) -> Result<[u8; 16]> {
        Ok(u128::from(self.len()).to_le_bytes())
    }
}

impl Reader for Pixels {
    fn get(&self, index: u64) -> Result<Sample<Encoded>> {
        if self.fails(index) {
            return match index % 2 {
                0 => Err(Error::sample(self.key(index), "told to fail")),
                _ => panic!("told to panic"),
            };
        }
        let bytes = Bytes::copy_from_slice(&[index as u8, (index >> 8) as u8, 7]);
        let image = Encoded::new(Codec::Raw, 1, 1, bytes);
        let values = vec![Value::Image(image), Value::Int(index as i64)];
        Ok(Sample { key: self.key(index), values })
    }

    fn details(&self) -> serde_json::Map<String, serde_json::Value> {
        serde_json::Map::new()
    }

    fn verify_layout(&self) -> Vec<Error> {
        Vec::new()
    }

    fn verify_sample(&self, _index: u64) -> Result<()> {
        Ok(())
    }
}

fn loader(
    reader: &Arc<Pixels>,
    leg: &Leg,
    rank: u32,
    sampling: &Sampling,
    policy: OnError,
) -> Loader {
    let options = Options::default()
        .batch_size(leg.batch)
        .seed(11)
        .sampling(sampling.clone())
        .world(World { rank, size: leg.world })
        .last(Last::Short)
        .transform(list([Transform::squeeze([1, 1])]))
        .failures(Failures { on_error: policy, max: u64::MAX, ..Failures::default() })
        .threads(leg.threads)
        .fetch_threads(leg.fetch_threads)
        .prefetch(leg.prefetch);
    Loader::new(Datasets::one(reader.clone()).unwrap(), options).unwrap()
}

fn silently<T>(work: impl FnOnce() -> T) -> T {
    static HOOK: std::sync::Once = std::sync::Once::new();
    // Intended panics are kept out of the log.
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if info.payload().downcast_ref::<&str>() != Some(&"told to panic") {
                usual(info);
            }
        }));
    });
    work()
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 200, ..ProptestConfig::with_cases(
        std::env::var("LOADER_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(1500)
    ) })]

    #[test]
    fn every_sample_comes_once(
        len in 1..90u64,
        fails_every in prop_oneof![Just(0u64), 4..20u64],
        windowed in any::<bool>(),
        legs in prop::collection::vec(leg(9, 6), 1..5),
    ) {
        let schema = Schema::new(vec![
            FieldSpec::new("image", Kind::Image),
            FieldSpec::new("label", Kind::Int),
        ]).unwrap();
        let reader = Arc::new(Pixels { facts: SourceFacts::new("pixels", schema, len), fails_every });
        let sampling = if windowed { Sampling::Windowed { chunk: 5, window: 20 } } else { Sampling::Shuffle };
        let mut seen: BTreeMap<u64, u32> = BTreeMap::new();
        let mut state: Option<State> = None;
        silently(|| -> std::result::Result<(), TestCaseError> {
            // The last leg continues to the end.
            let last = legs.len() - 1;
            for (number, leg) in legs.iter().enumerate() {
                let mut ranks: Vec<Loader> = (0..leg.world)
                    .map(|rank| loader(&reader, leg, rank, &sampling, OnError::Skip))
                    .collect();
                if let Some(state) = &state {
                    ranks.iter_mut().for_each(|rank| rank.restore(state).unwrap());
                    if ranks[0].epoch() > 0 {
                        break;
                    }
                }
                let mut steps = 0;
                while number == last || steps < leg.steps {
                    let batches: Vec<_> = ranks.iter_mut().map(Loader::next_batch).collect();
                    if batches.iter().all(Option::is_none) {
                        break;
                    }
                    let states: Vec<_> = ranks.iter().map(Loader::state).collect();
                    prop_assert!(states.windows(2).all(|pair| pair[0] == pair[1]));
                    state = Some(states[0]);
                    for batch in batches {
                        let batch = batch.expect("all ranks make the same steps").unwrap();
                        let rows = batch.images().as_chunks::<3>().0;
                        for (row, sample) in batch.samples().iter().enumerate() {
                            *seen.entry(*sample).or_default() += 1;
                            let fails = reader.fails(*sample);
                            prop_assert_eq!(batch.valid()[row], !fails);
                            let expected = [*sample as u8, (*sample >> 8) as u8, 7];
                            prop_assert_eq!(rows[row], if fails { [0; 3] } else { expected });
                        }
                    }
                    steps += 1;
                }
            }
            Ok(())
        })?;
        prop_assert!(seen.keys().copied().eq(0..len), "{:?}", seen);
        prop_assert!(seen.values().all(|times| *times == 1), "{:?}", seen);
    }
}
