//! Samples that cannot be read or decoded, under every policy.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{Memory, epoch, loader, options};
use fdconvert_core::{Error, Value};
use fdconvert_loader::{Batch, Datasets, Failures, Label, Loader, OnError, Options, Sampling};

fn with_policy(policy: OnError) -> Options {
    let failures = Failures { on_error: policy, max: 5, ..Failures::default() };
    options(8, 16).failures(failures).sampling(Sampling::Sequential).threads(2)
}

#[test]
fn failures_are_raised_in_their_turn() {
    let reader = Memory::new(40).broken(&[19, 20]);
    let mut running = loader(&reader, with_policy(OnError::Raise));
    for _ in 0..2 {
        running.next_batch().unwrap().unwrap();
    }
    let before = running.state();
    let Some(Err(error)) = running.next_batch() else { panic!("no error") };
    let said = error.to_string();
    assert!(said.contains("sample-19") && said.contains("number 19 of memory"), "{said}");
    assert_eq!(running.state(), before, "what failed was not consumed");
}

#[test]
fn failed_rows_are_skipped_or_substituted() {
    let reader = Memory::new(40).broken(&[19, 20]);
    let mut skipping = loader(&reader, with_policy(OnError::Skip));
    let batches: Vec<Batch> = (&mut skipping).map(Result::unwrap).take(3).collect();
    let valid: Vec<bool> = batches.iter().flat_map(|batch| batch.valid().to_vec()).collect();
    for (sample, valid) in valid.iter().enumerate() {
        assert_eq!(*valid, sample != 19 && sample != 20);
    }
    let bytes = batches[2].shape().row_bytes();
    assert!(batches[2].images()[3 * bytes..5 * bytes].iter().all(|value| *value == 0));
    assert_eq!(skipping.stats().failures, 2);
    // No class number means "none".
    assert!(batches.iter().flat_map(|batch| batch.labels().unwrap()).all(|label| *label >= 0));
    assert_eq!(skipping.stats().kept, 3);
    drop(batches);
    assert_eq!(skipping.stats().kept, 0);

    let mut substituting = loader(&reader, with_policy(OnError::Substitute));
    let batches: Vec<Batch> = (&mut substituting).map(Result::unwrap).take(3).collect();
    let samples: Vec<u64> = batches.iter().flat_map(|batch| batch.samples().to_vec()).collect();
    let substituted: Vec<bool> =
        batches.iter().flat_map(|batch| batch.substituted().to_vec()).collect();
    for position in 0..24 {
        let broken = position == 19 || position == 20;
        assert_eq!(samples[position], if broken { 21 } else { position as u64 });
        assert_eq!(substituted[position], broken);
    }
    assert_eq!(substituting.stats().substituted, 2);
}

#[test]
fn too_many_failures_are_not_borne() {
    let broken: Vec<u64> = (10..20).collect();
    let reader = Memory::new(40).broken(&broken);
    for policy in [OnError::Skip, OnError::Substitute] {
        let failed = loader(&reader, with_policy(policy)).find_map(Result::err);
        let said = failed.unwrap().to_string();
        assert!(said.contains("more than 5 are not borne"), "{said}");
    }
    // No sample is readable.
    let all: Vec<u64> = (0..10).collect();
    let failures = Failures { on_error: OnError::Substitute, max: 1000, ..Failures::default() };
    let options = options(4, 16).failures(failures);
    let failed = loader(&Memory::new(10).broken(&all), options).find_map(Result::err);
    assert!(failed.unwrap().to_string().contains("samples after it can be read"));
}

#[test]
fn quarantined_samples_are_not_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bad.jsonl");
    let policy = || with_policy(OnError::Quarantine(path.clone()));
    let reader = Memory::new(40).broken(&[19, 20]);
    let mut first = loader(&reader, policy());
    let samples = |batches: Vec<common::Seen>| {
        batches.into_iter().flat_map(|seen| seen.samples).collect::<Vec<_>>()
    };
    let epoch_0 = samples(epoch(&mut first));
    // Two rows may meet one failure: the broken sample's own row and the one before it.
    let n_failures = first.stats().failures;
    assert!((2..=4).contains(&n_failures), "{n_failures}");
    assert_eq!(samples(epoch(&mut first)), epoch_0);
    assert_eq!(first.stats().failures, n_failures, "not tried in the second epoch");
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 2);
    assert!(text.contains("\"sample\":19") && text.contains("sample-20"), "{text}");
    let mut second = loader(&reader, policy());
    assert_eq!(samples(epoch(&mut second)), epoch_0);
    assert_eq!(second.stats().failures, 0);
}

#[test]
fn reads_that_may_succeed_later_are_tried_again() {
    let reader = Memory::new(16).flaky(3);
    let mut running = loader(&reader, with_policy(OnError::Raise));
    assert_eq!(epoch(&mut running).len(), 2);
    assert_eq!(running.stats().retries, 3);
    let failures = Failures { retries: 0, ..Failures::default() };
    let impatient = with_policy(OnError::Raise).failures(failures);
    let failed = loader(&Memory::new(16).flaky(3), impatient).find_map(Result::err);
    assert!(matches!(failed, Some(Error::Io { .. })));
}

#[test]
fn panics_are_errors_of_their_sample() {
    let reader = Memory::new(16).panicking(5);
    let failed = loader(&reader, with_policy(OnError::Raise)).find_map(Result::err);
    let said = failed.unwrap().to_string();
    assert!(said.contains("sample-5") && said.contains("panic"), "{said}");
    assert_eq!(epoch(&mut loader(&reader, with_policy(OnError::Skip))).len(), 2);
}

#[test]
fn sets_without_a_label_of_integers_are_refused_name_another_or_have_none() {
    let with = |label| options(4, 16).label(label);
    let open = |reader, label| Loader::new(Datasets::one(reader).unwrap(), with(label));
    let no_labels = |reader| {
        let mut loader = open(reader, Label::None).unwrap();
        let batch = loader.next_batch().unwrap().unwrap();
        batch.labels().is_none() && batch.len() == 4
    };
    let regression =
        || Memory::new(8).with_fields(&[("label", Value::Float(0.5)), ("id", Value::Int(3))]);
    let said = open(regression(), Label::Auto).err().unwrap().to_string();
    for part in ["label: memory", "`label` (float)", "name `label` or `id`", "(None)"] {
        assert!(said.contains(part), "{said}");
    }
    assert!(no_labels(regression()));
    let mut named = open(regression(), Label::Field("id".into())).unwrap();
    assert_eq!(named.next_batch().unwrap().unwrap().labels(), Some(&[3; 4][..]));
    assert_eq!(named.datasets().left_out(), ["label"]);

    let captions = || Memory::new(8).with_fields(&[("text", Value::Text("a".into()))]);
    for (label, part) in [(Label::Auto, "integers"), (Label::Field("none".into()), "`none`")] {
        let said = open(captions(), label).err().unwrap().to_string();
        assert!(said.contains("`text` (text): name `text` as the label"), "{said}");
        assert!(said.contains("memory has no label") && said.contains(part), "{said}");
    }
    let said = open(captions(), Label::Field("image".into())).err().unwrap().to_string();
    assert!(said.contains("memory has no label `image`"), "{said}");
    assert!(no_labels(captions()) && no_labels(Memory::new(8)));
}
