use super::{Profile, bench::Bench};
use fdconvert_core::{Error, FieldSpec, Format};
use fdconvert_storage::fault::{Armed, Operation, arm, arm_once};
use std::{io::ErrorKind, path::Path};

/// A full disk is an `Io` error at any byte, and leaves nothing but whole shards, from which the
/// dataset can be completed.
///
/// # Panics
/// When it is not, or leaves anything else.
pub fn full_disk(format: &dyn Format, profile: &Profile) {
    let mut n_failed = 0;
    let mut succeeded = false;
    // Every byte at first, then in steps of an eighth.
    let mut after_bytes = 0;
    while !succeeded {
        succeeded = run_with(format, profile, after_bytes, arm);
        n_failed += u32::from(!succeeded);
        after_bytes += 1 + after_bytes / 8;
    }
    assert!(n_failed > 20, "only {n_failed} writes could fail");
    // One late write fails, and all others succeed: errors of the last buffered bytes are easily
    // ignored.
    for after_bytes in (after_bytes / 2..after_bytes).step_by(509) {
        run_with(format, profile, after_bytes, arm_once);
    }
}

type Arm = fn(&Path, Operation, u64, ErrorKind) -> Armed;

fn run_with(format: &dyn Format, profile: &Profile, after_bytes: u64, arm: Arm) -> bool {
    let bench = Bench::new(format, profile);
    // One field besides the label with its class names, so that every part of the format is
    // written.
    let (mut schema, mut samples) = bench.labelled(12, 9);
    schema.fields.push(FieldSpec::new("number", fdconvert_core::Kind::Int));
    samples.iter_mut().for_each(|sample| sample.values.push(fdconvert_core::Value::Int(1)));
    let armed = arm(&bench.folder(), Operation::Write, after_bytes, ErrorKind::StorageFull);
    match bench.try_write(&schema, &samples, false) {
        Ok(_) => {
            bench.assert_holds(&schema, &samples);
            true
        }
        Err(Error::Io { source, .. }) => {
            assert_eq!(source.kind(), ErrorKind::StorageFull);
            drop(armed);
            // A committed shard stays, for the next run to resume.
            if bench.recover(&schema, samples.len()) {
                bench.assert_holds(&schema, &samples);
            } else {
                bench.assert_empty();
            }
            false
        }
        Err(other) => panic!("full after {after_bytes} bytes: {other}"),
    }
}

/// A disk that cannot be read gives errors, never a panic, and causes no damage.
///
/// # Panics
/// When that does not hold.
pub fn read_errors(format: &dyn Format, profile: &Profile) {
    let bench = Bench::new(format, profile);
    let (schema, samples) = bench.labelled(12, 9);
    bench.write(&schema, &samples);
    for after_bytes in [0, 1, 10, 100, 1000, 3000] {
        let armed = arm(&bench.folder(), Operation::Read, after_bytes, ErrorKind::Other);
        if let Ok(reader) = format.open(&bench.out()) {
            for index in 0..reader.len() {
                let results = [reader.get(index).map(drop), reader.verify_sample(index)];
                for error in results.into_iter().filter_map(Result::err) {
                    assert!(
                        matches!(error, Error::Io { .. } | Error::Sample { .. }),
                        "a failing disk became: {error}"
                    );
                }
            }
        }
        drop(armed);
        bench.assert_holds(&schema, &samples);
    }
}
