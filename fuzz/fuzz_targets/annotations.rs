//! Any bytes as the objects of an image: an error, or lists of one length with numbers that are
//! coordinates, and masks with run lengths that add up to their size.
#![no_main]
use fdconvert_core::objects::Annotations;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for segmentations in [false, true] {
        match Annotations::parse(data, segmentations) {
            Ok(found) => {
                let Annotations { size, boxes, classes, area, iscrowd, id, keypoints, .. } = found;
                let (polygons, run_lengths) = (found.polygons, found.run_lengths);
                let n_objects = boxes.len();
                let lens = [
                    classes.numbers.map(|list| list.len()),
                    classes.names.map(|list| list.len()),
                    area.map(|list| list.len()),
                    iscrowd.map(|list| list.len()),
                    id.map(|list| list.len()),
                    keypoints.as_ref().map(Vec::len),
                    polygons.as_ref().map(Vec::len),
                    run_lengths.as_ref().map(Vec::len),
                ];
                assert!(lens.iter().flatten().all(|len| *len == n_objects));
                assert!((polygons.is_none() && run_lengths.is_none()) || segmentations);
                for mask in run_lengths.iter().flatten().flatten() {
                    let total: u64 = mask.counts().iter().copied().map(u64::from).sum();
                    let [height, width] = mask.size().map(u64::from);
                    assert_eq!(total, height * width);
                }
                let is_sound = |value: &f64| value.abs() <= 1e9;
                assert!(boxes.iter().flatten().all(is_sound));
                assert!(keypoints.iter().flatten().flatten().flatten().all(is_sound));
                assert!(polygons.iter().flatten().flatten().flatten().flatten().all(is_sound));
                assert!(size.iter().flatten().all(|side| *side >= 1.0));
            }
            Err(what) => assert!(!what.is_empty()),
        }
    }
});
