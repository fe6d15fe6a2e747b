//! The images of a mixture that become BMP: exactly the requested number, and always the same.
#![allow(clippy::unwrap_used)]
use fdconvert_codec::{By, Form, Mixture, Policy};
use fdconvert_core::{
    Codec, Encoded, Error, FieldSpec, Image, Kind, Look, Pixels, Result, Sample, Schema, Source,
    SourceFacts, Value,
};
use fdconvert_pipeline::{Balance, OnError, Plan, PlanRequest, Selection};
use fdconvert_testkit::fake::SHARDS;
use proptest::prelude::*;

/// Images of one of these kinds each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// A BMP can hold it.
    Plain(u32),
    /// It has an alpha channel.
    Alpha,
    /// It cannot be read.
    Broken,
    /// The disk fails.
    Failing,
}

struct Images {
    facts: SourceFacts,
    what: Vec<What>,
}

impl Images {
    fn new(what: Vec<What>) -> Self {
        let schema = Schema::new(vec![FieldSpec::new("image", Kind::Image)]).unwrap();
        Self { facts: SourceFacts::new("images", schema, what.len() as u64), what }
    }
}

impl Source for Images {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        let (side, channels) = match self.what[index as usize] {
            What::Plain(side) => (side, 3),
            What::Alpha => (4, 4),
            What::Failing => {
                let cause = std::io::Error::from_raw_os_error(5);
                return Err(Error::io("read", self.key(index))(cause));
            }
            What::Broken => return Err(Error::sample(self.key(index), "is broken")),
        };
        let data = vec![7; (side * side * u32::from(channels)) as usize];
        let pixels = Pixels { width: side, height: side, channels, data };
        Ok(Sample { key: self.key(index), values: vec![Value::Image(Image::Pixels(pixels))] })
    }

    fn key(&self, index: u64) -> String {
        format!("image {index}")
    }

    fn fingerprint(&self, _look: Look) -> Result<[u8; 16]> {
        Ok([0; 16])
    }
}

fn policy(share: f64, by: By) -> Policy {
    let mixture = Mixture { share, by, seed: 5, max_bytes: Mixture::MAX_BYTES };
    Policy { mixture: Some(mixture), ..Policy::default() }
}

/// A failed read must not change a plan silently: another image would become BMP.
#[test]
fn a_failed_read_never_changes_the_choice_in_silence() {
    let policy = policy(0.5, By::Random);
    let plan = |what: &[What], on_error| {
        let request = PlanRequest { on_error, ..PlanRequest::default() };
        Plan::new(&Images::new(what.to_vec()), &policy, &SHARDS, &request)
    };
    let fine = [What::Plain(4); 6];
    let with = |what: What| {
        let mut all = fine;
        all[2] = what;
        all
    };
    for on_error in [None, Some(OnError::Fail)] {
        let error = plan(&with(What::Failing), on_error).unwrap_err();
        assert!(error.to_string().contains("image 2"), "{error}");
    }
    // A skipped sample stays skipped even if a second read succeeds.
    let skipping = plan(&with(What::Failing), Some(OnError::Skip)).unwrap();
    assert_eq!(skipping.unreadable.keys().copied().collect::<Vec<_>>(), [2]);
    assert!(skipping.unreadable[&2].as_ref().unwrap().text.contains("image 2"));
    // A broken image is broken in every read.
    assert!(plan(&with(What::Broken), Some(OnError::Fail)).is_err());
    assert!(plan(&with(What::Broken), None).unwrap().unreadable.is_empty());
    assert!(plan(&fine, Some(OnError::Skip)).unwrap().unreadable.is_empty());
}

fn plan(source: &Images, share: f64, by: By) -> Plan {
    Plan::new(source, &policy(share, by), &SHARDS, &PlanRequest::default()).unwrap()
}

fn chosen(plan: &Plan) -> Vec<u64> {
    let is_bmp = |position: &u64| plan.form(*position) == Form::Bmp;
    let mut chosen: Vec<u64> =
        (0..plan.len()).filter(is_bmp).map(|position| plan.source_index(position)).collect();
    chosen.sort_unstable();
    chosen
}

proptest! {
    #[test]
    fn as_many_as_asked_for_and_as_can_be(
        what in prop::collection::vec(
            prop_oneof![8 => (1_u32..9).prop_map(What::Plain), 1 => Just(What::Alpha), 1 => Just(What::Broken)],
            1..80,
        ),
        tenths in 0_u32..=10,
        benefit in any::<bool>(),
    ) {
        let share = f64::from(tenths) / 10.0;
        let by = if benefit { By::Benefit } else { By::Random };
        let source = Images::new(what.clone());
        let all = chosen(&plan(&source, share, by));
        let can = what.iter().filter(|what| matches!(what, What::Plain(_))).count();
        let wanted = (what.len() * tenths as usize * 2 + 10) / 20;
        prop_assert_eq!(all.len(), wanted.min(can));
        prop_assert!(all.iter().all(|&index| matches!(what[index as usize], What::Plain(_))));
        // A larger share includes the images of a smaller one.
        if tenths < 10 {
            let more = chosen(&plan(&source, share + 0.1, by));
            prop_assert!(all.iter().all(|index| more.contains(index)));
        }
        // The order of the samples does not matter.
        let request = PlanRequest { shuffle: Some(3), ..PlanRequest::default() };
        let shuffled = Plan::new(&source, &policy(share, by), &SHARDS, &request).unwrap();
        prop_assert_eq!(&chosen(&shuffled), &all);
    }
}

#[test]
fn shares_are_of_what_is_planned() {
    let source = Images::new(vec![What::Plain(3); 1000]);
    let listed = Some((0..100).chain(900..905).collect());
    let selection = Selection { listed, ..Selection::default() };
    let request = PlanRequest { selection, ..PlanRequest::default() };
    let plan = Plan::new(&source, &policy(0.3, By::Random), &SHARDS, &request).unwrap();
    // Half up: 31.5.
    assert_eq!(plan.bmp.as_ref().unwrap().len(), 32);
    let without = Plan::new(&source, &Policy::default(), &SHARDS, &request).unwrap();
    assert_eq!(without.bmp, None);
}

/// An encoded image of the given size that is kept as it is.
struct Kept {
    images: Images,
    sizes: Vec<usize>,
}

impl Kept {
    fn new(sizes: Vec<usize>) -> Self {
        let mut images = Images::new(Vec::new());
        images.facts.len = sizes.len() as u64;
        Self { images, sizes }
    }
}

impl Source for Kept {
    fn facts(&self) -> &SourceFacts {
        &self.images.facts
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        // A PNG header and then arbitrary bytes: plans read no further.
        let mut bytes =
            b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x20\0\0\0\x20\x08\x02\0\0\0".to_vec();
        bytes.resize(self.sizes[index as usize], 0);
        let image = Encoded::new(Codec::Png, 32, 32, bytes.into());
        Ok(Sample { key: self.key(index), values: vec![Value::Image(image.into())] })
    }

    fn key(&self, index: u64) -> String {
        self.images.key(index)
    }

    fn fingerprint(&self, _look: Look) -> Result<[u8; 16]> {
        Ok([0; 16])
    }
}

#[test]
fn by_benefit_takes_those_that_cost_the_fewest_bytes_for_the_most_work() {
    // The BMP of each has 54 + 32 * 96 = 3126 bytes.
    let sizes = vec![1000, 2000, 1500, 3000, 3126, 3200];
    let source = Kept::new(sizes);
    let chosen = |share, by| {
        let plan = Plan::new(&source, &policy(share, by), &SHARDS, &PlanRequest::default());
        chosen(&plan.unwrap())
    };
    // The last two are no larger as BMP: they are taken at any share.
    assert_eq!(chosen(0.1, By::Benefit), [4, 5]);
    assert_eq!(chosen(0.5, By::Benefit), [3, 4, 5]);
    assert_eq!(chosen(0.8, By::Benefit), [1, 2, 3, 4, 5]);
    assert_eq!(chosen(1.0, By::Random), [0, 1, 2, 3, 4, 5]);
    assert!(chosen(0.0, By::Benefit).is_empty());
}

#[test]
fn by_benefit_stops_where_reading_takes_as_long_as_decoding() {
    // Images of 1000, 1010, ... bytes, 3126 as BMP.
    let sizes: Vec<usize> = (0..100).map(|n| 1000 + 10 * n).collect();
    let source = Kept::new(sizes.clone());
    let n_bmp = |read_bytes_per_s| {
        let balance = Balance {
            read_bytes_per_s,
            threads: 2.0,
            cache_bytes: 0.0,
            encoded_seconds: 4e-3,
            bmp_seconds: 1e-3,
        };
        let request = PlanRequest { balance: Some(balance), ..PlanRequest::default() };
        let plan = Plan::new(&source, &policy(0.9, By::Benefit), &SHARDS, &request).unwrap();
        let chosen = chosen(&plan);
        // The largest ones save the most per byte.
        assert!(chosen.iter().copied().eq(100 - chosen.len() as u64..100), "{chosen:?}");
        chosen.len()
    };
    // All encoded: 149,500 bytes and 0.2 s of two threads.
    assert_eq!(n_bmp(149_500.0 / 0.2), 0);
    assert_eq!(n_bmp(1e12), 100);
    let n_fast = n_bmp(1e6);
    assert!((1..90).contains(&n_fast), "{n_fast}");
    assert!(n_bmp(1.2e6) > n_fast);
    // Any other images of the same number take more bytes and save less.
    let request = PlanRequest::default();
    let plan = Plan::new(&source, &policy(0.9, By::Benefit), &SHARDS, &request).unwrap();
    assert_eq!(chosen(&plan).len(), 90);
}
