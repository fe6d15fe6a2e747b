use super::{Profile, bench::Bench};
use fdconvert_core::{Error, Format, Reader, Value};
use fdconvert_storage::os::FileExt as _;
use std::fs::File;
use xxhash_rust::xxh3::xxh3_64;

/// Groups contain every sample once, and the file reported for the bytes of an image contains
/// exactly those.
///
/// # Panics
/// When that does not hold.
pub fn places(format: &dyn Format, profile: &Profile) {
    for n_samples in [1, 2, 40] {
        let bench = Bench::new(format, profile);
        let (schema, samples) = bench.labelled(n_samples, 5);
        bench.write(&schema, &samples);
        let reader = bench.open();
        strata(&*reader);
        (0..reader.len()).for_each(|index| extent(&*reader, index));
        for index in [reader.len(), u64::MAX] {
            let found = reader.image_extent(index);
            assert!(matches!(found, Ok(None) | Err(Error::Usage { .. })), "{found:?}");
        }
    }
}

pub(super) fn strata(reader: &dyn Reader) {
    let strata = reader.strata();
    assert_eq!(strata.iter().sum::<u64>(), reader.len());
    let positions = (0..).zip(&strata).flat_map(|(at, &len)| (0..len).map(move |id| (at, id)));
    let mut found: Vec<u64> =
        positions.map(|(stratum, position)| reader.stratum_sample(stratum, position)).collect();
    found.sort_unstable();
    assert!(found.iter().copied().eq(0..reader.len()), "not each sample once: {found:?}");
    // Any number is fine, but no panic.
    let beyond = [(0, reader.len()), (0, u64::MAX), (strata.len(), 0), (usize::MAX, u64::MAX)];
    for (stratum, position) in beyond {
        reader.stratum_sample(stratum, position);
    }
}

fn extent(reader: &dyn Reader, index: u64) {
    let Some(extent) = reader.image_extent(index).unwrap() else { return };
    let sample = reader.get(index).unwrap();
    let image = sample.values.iter().find_map(|value| match value {
        Value::Image(image) => Some(image),
        _ => None,
    });
    let image = image.unwrap();
    let mut bytes = vec![0; extent.len as usize];
    File::open(&extent.path).unwrap().read_exact_at(&mut bytes, extent.offset).unwrap();
    assert!(bytes == image.bytes[..], "sample `{}`: {extent:?} is something else", sample.key);
    if let Some(xxh3) = extent.xxh3 {
        assert_eq!(xxh3, xxh3_64(&bytes), "sample `{}`", sample.key);
    }
}
