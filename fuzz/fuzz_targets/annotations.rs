//! Any bytes as the objects of an image, read, copied, scaled and chosen from: an error, or lists of one length with numbers that are
//! coordinates, and masks with run lengths that add up to their size.
#![no_main]
use fdconvert_core::objects::{Annotations, Category, ObjectLists, chosen, scaled};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(lists) = ObjectLists::parse(data) {
        let n_objects = lists.n_objects;
        assert!(lists.iter().all(|(_, entries)| entries.len() == n_objects));
        if let Ok(classes) = lists.classes() {
            assert_eq!(classes.n_objects, n_objects);
        }
        let of_lists = ["bbox", "segmentation", "keypoints"];
        for key in of_lists {
            let _ = (0..n_objects).map(|at| lists.entry::<Vec<f64>>(key, at)).count();
        }
        // A number that is too large is found where it is needed.
        if let Ok((document, _)) = scaled(data, [4.0, 3.0], [8.0, 9.0]) {
            ObjectLists::parse(&document).expect("a document stays one");
        }
        // Every second object stays.
        let kept: Vec<_> = (0..n_objects).map(|at| (at % 2 == 0).then_some(0)).collect();
        if let Some(document) = chosen(data, &[Category::new("x")], &kept) {
            let left = ObjectLists::parse(&document).expect("a document stays one");
            assert_eq!(left.n_objects, n_objects.div_ceil(2));
        }
    }
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
