//! Any bytes as the objects of an image: an error in words, or lists of one length whose numbers are
//! coordinates.
#![no_main]
use fdconvert_loader::Annotations;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for segmentations in [false, true] {
        match Annotations::parse(data, segmentations) {
            Ok(Annotations { size, boxes, category, area, iscrowd, id, keypoints, polygons }) => {
                let n_objects = boxes.len();
                let lens = [
                    category.map(|list| list.len()),
                    area.map(|list| list.len()),
                    iscrowd.map(|list| list.len()),
                    id.map(|list| list.len()),
                    keypoints.as_ref().map(Vec::len),
                    polygons.as_ref().map(Vec::len),
                ];
                assert!(lens.iter().flatten().all(|len| *len == n_objects));
                assert!(polygons.is_none() || segmentations);
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
