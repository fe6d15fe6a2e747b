use super::{Profile, bench::Bench};
use crate::{damage::files_below, fixtures};
use fdconvert_core::{FieldSpec, Format, Look, Schema};
use fdconvert_storage::os::FileExt as _;
use std::{
    cell::Cell,
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

/// Number of positions damaged outside the profile's ranges.
const N_ELSEWHERE: u64 = 100;

/// A truncated file gives an error or well-formed samples, never a panic.
///
/// # Panics
/// When it does.
pub fn truncation(format: &dyn Format, profile: &Profile) {
    each_file(format, profile, |bench, path| {
        let whole = fs::read(path).unwrap();
        let positions = positions(profile, path, whole.len() as u64);
        // From the end to the start, in place: nothing has the file open in between.
        for &len in positions.iter().rev() {
            open_for_writing(path).set_len(len).unwrap();
            let found = survives(bench, &format!("{} cut at {len}", path.display()));
            let all = whole.len();
            assert!(
                found || !profile.finds_truncation,
                "{} cut from {all} to {len} bytes was not noticed",
                path.display()
            );
        }
        fs::write(path, whole).unwrap();
    });
}

/// A flipped bit gives an error or well-formed samples, never a panic.
///
/// # Panics
/// When it does.
pub fn bit_flips(format: &dyn Format, profile: &Profile) {
    each_file(format, profile, |bench, path| {
        let whole = fs::read(path).unwrap();
        for &at in &positions(profile, path, whole.len() as u64) {
            let byte = whole[at as usize];
            // A file of megabytes is read completely for each bit.
            let bits = if whole.len() < LARGE { 0..8 } else { at % 8..at % 8 + 1 };
            let flipped = bits.map(|bit| byte ^ 1 << bit);
            let mut others: BTreeSet<u8> = flipped.chain([0, 0xff, byte.wrapping_add(1)]).collect();
            others.remove(&byte);
            for damaged in others {
                open_for_writing(path).write_all_at(&[damaged], at).unwrap();
                survives(bench, &format!("{}: {damaged:#x} at {at}", path.display()));
            }
            open_for_writing(path).write_all_at(&[byte], at).unwrap();
        }
    });
}

/// Temporary damage, such as a page that could not be read, has no effect on an open dataset once
/// it is gone.
///
/// # Panics
/// When it has, or when no damage at all was noticed in a dataset with checksums.
pub fn healing(format: &dyn Format, profile: &Profile) {
    let n_noticed = Cell::new(0);
    let has_checksums = Cell::new(false);
    each_file(format, profile, |bench, path| {
        let whole = fs::read(path).unwrap();
        for at in positions(profile, path, whole.len() as u64).into_iter().step_by(HEALED_STEP) {
            let reader = bench.open();
            has_checksums.set(reader.has_checksums());
            let is_sound = || (0..reader.len()).all(|index| reader.verify_row(index).is_ok());
            open_for_writing(path).write_all_at(&[!whole[at as usize]], at).unwrap();
            n_noticed.set(n_noticed.get() + u64::from(!is_sound()));
            open_for_writing(path).write_all_at(&[whole[at as usize]], at).unwrap();
            assert!(is_sound(), "{}: byte {at} is still wrong", path.display());
        }
    });
    assert!(n_noticed.get() > 0 || !has_checksums.get(), "no damage was noticed");
}

/// Limits the time: a dataset is opened for each byte.
const HEALED_STEP: usize = 13;

/// Only one bit of each byte is flipped in a file larger than this.
const LARGE: usize = 1 << 20;

/// Calls `damage` for every file of a small dataset with every kind of the profile.
fn each_file(format: &dyn Format, profile: &Profile, damage: impl Fn(&Bench<'_>, &Path)) {
    let bench = Bench::new(format, profile);
    let fields = profile.kinds.iter().enumerate();
    let fields = fields.map(|(i, kind)| FieldSpec::new(format!("field {i}"), kind.clone()));
    let all = Schema::new(fields.collect()).unwrap();
    let samples = fixtures::samples(&all, &bench.images(), 3, 11);
    bench.write(&all, &samples);
    files_below(&bench.folder()).iter().for_each(|path| damage(&bench, path));
    bench.assert_holds(&all, &samples);
}

fn open_for_writing(path: &Path) -> File {
    OpenOptions::new().write(true).open(path).unwrap()
}

fn positions(profile: &Profile, path: &Path, len: u64) -> BTreeSet<u64> {
    let ranges = (profile.ranges)(path, len);
    let elsewhere = (0..N_ELSEWHERE).map(|i| i * len / N_ELSEWHERE);
    ranges.into_iter().flatten().chain(elsewhere).filter(|&at| at < len).collect()
}

/// Reads and verifies everything, and returns whether there was no error.
fn survives(bench: &Bench<'_>, what: &str) -> bool {
    let read = AssertUnwindSafe(|| {
        let Ok(reader) = bench.format.open(&bench.out()) else { return true };
        let mut complained = !reader.verify_layout().is_empty();
        for index in 0..reader.len().min(20) {
            let _ = reader.key(index);
            complained |= reader.verify_sample(index).is_err();
            match reader.get(index) {
                Ok(sample) => reader.schema().check(&sample).unwrap(),
                Err(_) => complained = true,
            }
        }
        let _ = (reader.get(reader.len()), reader.details(), reader.fingerprint(Look::Sizes));
        complained
    });
    catch_unwind(read).unwrap_or_else(|_| panic!("reading panicked: {what}"))
}
