//! Plans are pure, cover the requested samples, and never change.
#![allow(clippy::unwrap_used)]
#![allow(clippy::single_range_in_vec_init, reason = "a selection may be one range")]
use fdconvert_codec::Policy;
use fdconvert_core::{
    Amount, Codec, Encoded, Error, FieldSpec, Image, Kind, Look, Result, Sample, Schema, Source,
    SourceFacts, Value,
};
use fdconvert_pipeline::{Concat, Plan, PlanRequest, Selection, ShardBy, Sharding, Split};
use fdconvert_testkit::fake::SHARDS;
use std::collections::BTreeSet;

/// Samples `0..n` of `n_classes` classes; sample `i` has `100 + i` bytes.
struct Listing {
    facts: SourceFacts,
}

fn listing(n: u64, prefix: &'static str, classes: &[&str]) -> Listing {
    let names: Vec<String> = classes.iter().map(ToString::to_string).collect();
    let fields =
        vec![FieldSpec::new("image", Kind::Image), FieldSpec::label("label", names.into())];
    Listing { facts: SourceFacts::new(prefix, Schema::new(fields).unwrap(), n) }
}

impl Listing {
    fn class(&self, index: u64) -> i64 {
        let n = self.facts.schema.fields[1].class_names.as_ref().unwrap().len() as u64;
        (index % n) as i64
    }
}

impl Source for Listing {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        if index >= self.len() {
            return Err(Error::usage("sample", "there is none"));
        }
        let bytes = vec![0; 3].into();
        let image = Image::Encoded(Encoded::new(Codec::Raw, 1, 1, bytes));
        let values = vec![Value::Image(image), Value::Int(self.class(index))];
        Ok(Sample { key: self.key(index), values })
    }

    fn key(&self, index: u64) -> String {
        format!("{}/{index}.jpg", self.name())
    }

    fn bytes(&self, index: u64, _amount: Amount) -> Result<Option<u64>> {
        Ok(Some(100 + index))
    }

    fn fingerprint(&self, _look: Look) -> Result<[u8; 16]> {
        Ok([self.len() as u8; 16])
    }
}

/// A listing with two splits: the first `n` samples, and the rest.
struct Divided(Listing, SourceFacts);

impl Divided {
    fn new(listing: Listing, n: u64) -> Self {
        let splits = vec![("test".into(), 0..n), ("train".into(), n..listing.len())];
        let facts = SourceFacts { splits, ..listing.facts.clone() };
        Self(listing, facts)
    }
}

impl Source for Divided {
    fn facts(&self) -> &SourceFacts {
        &self.1
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        self.0.read(index)
    }

    fn key(&self, index: u64) -> String {
        self.0.key(index)
    }

    fn fingerprint(&self, look: Look) -> Result<[u8; 16]> {
        self.0.fingerprint(look)
    }
}

#[test]
fn splits_of_the_source_stay_whatever_the_order() {
    let divided = |prefix, n| Box::new(Divided::new(listing(10, prefix, &["cat"]), n));
    let by = |request: PlanRequest, source: &dyn Source| {
        let plan = plan(source, &request).unwrap();
        let shards = plan.shards.iter();
        shards.map(|s| (s.split.clone(), s.samples.end - s.samples.start)).collect::<Vec<_>>()
    };
    let both = |test, train| vec![("test".to_owned(), test), ("train".to_owned(), train)];
    let source = divided("a", 3);
    assert_eq!(by(PlanRequest::default(), &*source), both(3, 7));
    let shuffled = PlanRequest { shuffle: Some(1), ..PlanRequest::default() };
    let order = plan(&*source, &shuffled).unwrap().order.unwrap();
    assert!(order[..3].iter().all(|index| *index < 3) && order[3..].iter().all(|i| *i >= 3));
    let joined = Concat::join(vec![divided("a", 3), divided("b", 4)]).unwrap();
    assert_eq!(by(PlanRequest::default(), &*joined), both(7, 13));
    let whole = Box::new(listing(5, "c", &["cat"]));
    let mixed = Concat::join(vec![divided("a", 3), whole]).map(drop).unwrap_err();
    assert!(mixed.to_string().contains("no_split_folders=true"), "{mixed}");
    let splits = vec![Split { name: "x".into(), share: 1.0 }];
    let error = plan(&*source, &PlanRequest { splits, ..PlanRequest::default() }).unwrap_err();
    assert!(error.to_string().contains("split: "), "{error}");
}

fn plan(source: &dyn Source, request: &PlanRequest) -> Result<Plan> {
    Plan::new(source, &Policy::default(), &SHARDS, request)
}

fn taken(source: &dyn Source, selection: Selection) -> Vec<u64> {
    let plan = plan(source, &PlanRequest { selection, ..PlanRequest::default() }).unwrap();
    (0..plan.len()).map(|position| plan.source_index(position)).collect()
}

#[test]
fn selections_keep_the_order_and_take_what_they_say() {
    let source = listing(100, "a", &["cat", "dog", "owl"]);
    let listed = Selection { listed: Some(vec![0, 1, 2, 98, 99]), ..Selection::default() };
    assert_eq!(taken(&source, listed), [0, 1, 2, 98, 99]);

    let share = |seed| Selection { share: Some((0.25, seed)), ..Selection::default() };
    let some = taken(&source, share(1));
    assert_eq!(some.len(), 25);
    assert!(some.is_sorted());
    assert_eq!(some, taken(&source, share(1)));
    assert_ne!(some, taken(&source, share(2)));
    // A quarter is part of the half drawn with the same seed.
    let half = taken(&source, Selection { share: Some((0.5, 1)), ..Selection::default() });
    let half: BTreeSet<_> = half.into_iter().collect();
    assert!(some.iter().all(|index| half.contains(index)));
}

#[test]
fn shares_of_classes_are_exact() {
    let source = listing(100, "a", &["cat", "dog", "owl"]);
    let of = |listed, share, seed| {
        let share = Some((share, seed));
        taken(&source, Selection { listed, share, per_class: true, ..Selection::default() })
    };
    let of_all = |share, seed| of(None, share, seed);
    let counts = |indices: &[u64]| {
        [0, 1, 2].map(|class| indices.iter().filter(|index| *index % 3 == class).count())
    };
    // There are 34 cats, and 33 of the others: 8.5 and 8.25.
    let quarter = of_all(0.25, 1);
    assert_eq!(counts(&quarter), [9, 8, 8]);
    assert!(quarter.is_sorted());
    assert_eq!(quarter, of_all(0.25, 1));
    assert_ne!(quarter, of_all(0.25, 2));
    let half: BTreeSet<_> = of_all(0.5, 1).into_iter().collect();
    assert!(quarter.iter().all(|index| half.contains(index)));
    // At least one of each, among the listed samples.
    assert_eq!(counts(&of_all(0.001, 1)), [1, 1, 1]);
    assert_eq!(counts(&of(Some(vec![2, 5, 8]), 0.001, 1)), [0, 0, 1]);
    assert_eq!(of_all(1.0, 1).len(), 100);
    // Halves of decimal shares are reached although their binary fractions fall short: 0.29 x 50.
    let source = listing(100, "a", &["cat", "dog"]);
    for (share, n) in [(0.29, 15), (0.57, 29), (0.01, 1), (0.03, 2)] {
        let selection =
            Selection { share: Some((share, 0)), per_class: true, ..Selection::default() };
        assert_eq!(taken(&source, selection).len(), 2 * n, "{share}");
    }
}

#[test]
fn impossible_requests_are_refused() {
    let source = listing(10, "a", &["cat"]);
    let refused = |request: PlanRequest| plan(&source, &request).unwrap_err().to_string();
    let select = |selection| PlanRequest { selection, ..PlanRequest::default() };
    let none = select(Selection { share: Some((0.0, 0)), ..Selection::default() });
    assert!(refused(none).contains("is empty; take more"));
    let shards = |by, multiple_of| PlanRequest {
        sharding: Sharding { by, multiple_of },
        ..PlanRequest::default()
    };
    assert!(refused(shards(ShardBy::Number(11), 1)).contains("empty"));
    assert!(refused(shards(ShardBy::Count(5), 16)).contains("empty"));
    let split = |parts: &[(&str, f64)]| PlanRequest {
        splits: parts.iter().map(|&(name, share)| Split { name: name.into(), share }).collect(),
        ..PlanRequest::default()
    };
    assert!(refused(split(&[("a", 0.9), ("b", 0.2)])).contains("split: "));
    assert!(refused(split(&[("a", 0.5), ("a", 0.5)])).contains("split: "));
    assert!(refused(split(&[("../a", 0.5)])).contains("split: "));
    assert!(refused(split(&[("a", 0.99), ("b", 0.01)])).contains("empty"));
}

/// Users rely on the permutation: the same seed must always give it.
#[test]
fn a_shuffle_is_a_permutation_that_never_changes() {
    let source = listing(10, "a", &["cat"]);
    let request = PlanRequest { shuffle: Some(7), ..PlanRequest::default() };
    let order = plan(&source, &request).unwrap().order.unwrap();
    assert_eq!(order, PERMUTATION_OF_SEED_7);
    let mut sorted = order;
    sorted.sort_unstable();
    assert_eq!(sorted, (0..10).collect::<Vec<_>>());
}

const PERMUTATION_OF_SEED_7: [u64; 10] = [5, 3, 9, 0, 2, 1, 6, 4, 7, 8];

#[test]
fn splits_are_disjoint_and_of_the_size_asked_for() {
    let source = listing(1000, "a", &["cat", "dog"]);
    let splits = [("train", 0.8), ("val", 0.15)];
    let request = PlanRequest {
        splits: splits.iter().map(|&(name, share)| Split { name: name.into(), share }).collect(),
        sharding: Sharding { by: ShardBy::Count(100), multiple_of: 1 },
        drop_rest: true,
        ..PlanRequest::default()
    };
    // A twentieth of the samples is only left out on request.
    let silent = PlanRequest { drop_rest: false, ..request.clone() };
    assert!(plan(&source, &silent).unwrap_err().to_string().contains("rest=drop"));
    let plan = plan(&source, &request).unwrap();
    assert_eq!(plan.len(), 950);
    let names: Vec<_> = plan.shards.iter().map(|s| (s.split.as_str(), s.number, s.of)).collect();
    assert_eq!(names[0], ("train", 0, 8));
    assert_eq!(names[8], ("val", 0, 2));
    let order = plan.order.unwrap();
    assert!(order[..800].is_sorted() && order[800..].is_sorted());
    assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), 950);
}

#[test]
fn shards_are_cut_as_asked() {
    let source = listing(1000, "a", &["cat"]);
    let lens = |by, multiple_of| -> Vec<u64> {
        let sharding = Sharding { by, multiple_of };
        let plan = plan(&source, &PlanRequest { sharding, ..PlanRequest::default() }).unwrap();
        plan.shards.iter().map(|shard| shard.samples.end - shard.samples.start).collect()
    };
    assert_eq!(lens(ShardBy::Count(300), 1), [300, 300, 300, 100]);
    assert_eq!(lens(ShardBy::Count(300), 8), [125; 8]);
    assert_eq!(lens(ShardBy::Number(3), 1), [334, 333, 333]);
    let by_bytes = lens(ShardBy::Bytes(100_000), 1);
    assert_eq!(by_bytes.iter().sum::<u64>(), 1000);
    assert!(by_bytes.is_sorted_by(|a, b| a >= b), "samples grow: {by_bytes:?}");
    assert_eq!(lens(ShardBy::Bytes(1), 1), [1; 1000]);
}

#[test]
fn what_samples_have_in_common_is_known_before_the_first_is_written() {
    let source = listing(100, "a", &["cat"]);
    let common = plan(&source, &PlanRequest::default()).unwrap().common;
    assert_eq!((common.codec, common.extension.as_deref()), (Some(Codec::Jpeg), Some("jpg")));
}

#[test]
fn sources_are_joined_and_their_classes_by_name() {
    let first: Box<dyn Source> = Box::new(listing(4, "a", &["cat", "owl"]));
    let second: Box<dyn Source> = Box::new(listing(3, "b", &["bee", "cat"]));
    let both = Concat::join(vec![first, second]).unwrap();
    assert_eq!(both.len(), 7);
    assert_eq!(both.name(), "a + b");
    let names = both.schema().fields[1].class_names.clone().unwrap();
    assert_eq!(&names[..], ["bee", "cat", "owl"]);
    let seen: Vec<_> = (0..7).map(|i| (both.key(i), both.label(i).unwrap().unwrap())).collect();
    let expected = [
        ("a/0.jpg", 1),
        ("a/1.jpg", 2),
        ("a/2.jpg", 1),
        ("a/3.jpg", 2),
        ("b/0.jpg", 0),
        ("b/1.jpg", 1),
        ("b/2.jpg", 0),
    ];
    for (index, ((key, label), (expected_key, expected_label))) in
        (0..).zip(seen.iter().zip(expected))
    {
        assert_eq!((key.as_str(), *label), (expected_key, expected_label));
        let sample = both.read(index).unwrap();
        assert!(matches!(sample.values[1], Value::Int(label) if label == expected_label));
    }
    assert!(both.read(7).is_err());

    // Numbers without names are none of these classes.
    let mut numbers = listing(4, "d", &["cat"]);
    numbers.facts.schema.fields[1].class_names = None;
    let first: Box<dyn Source> = Box::new(listing(4, "a", &["cat"]));
    let said = Concat::mix(vec![first, Box::new(numbers)]).map(drop).unwrap_err().to_string();
    assert!(said.contains("has names of classes") && said.contains("only numbers"), "{said}");

    let schema = Schema::new(vec![FieldSpec::new("image", Kind::Image)]).unwrap();
    let other = Listing { facts: SourceFacts::new("c", schema, 1) };
    let first: Box<dyn Source> = Box::new(listing(4, "a", &["cat"]));
    assert!(Concat::join(vec![first, Box::new(other)]).is_err());
}
